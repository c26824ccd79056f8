// bpr.hpp: the arithmetic of a minibatch of triples: contributions at the values it starts from, then their sums.
//
// Users and items stand in one table of padded rows [1 or bias, f_1 .. f_K, 0 ..]: one dot product of a user with the
// difference of two items carries the biases too. A triple writes one contribution for each of its three rows, and they
// are added in triple order: no accumulators, no sorting, and the same bits whoever adds them.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "across.hpp"
#include "formula/exp.hpp"
#include "formula/log.hpp"
#include "triples.hpp"

namespace dyads::bpr {

using formula::mul_add;

// Rows start on cache lines of their own, so that two cores never write to the same one.
template <class Item>
int64_t stride(int64_t n_factors) {
    constexpr int64_t line = 64 / sizeof(Item);
    return (1 + n_factors + line - 1) / line * line;
}

struct Sums {
    double log_sigma = 0;  // Σ log σ(x)
    int64_t correct = 0, skipped = 0;
    void operator+=(const Sums& more) {
        log_sigma += more.log_sigma;
        correct += more.correct;
        skipped += more.skipped;
    }
};

template <class Item>
struct Rates {
    Item rate, shrink;  // η, and η λ
};

// A row's numbers, known to the compiler where `vectors` is not 0.
template <class V, int vectors>
constexpr int64_t fixed(int64_t stride) {
    return vectors ? vectors * width<V> : stride;
}

template <class V, class Item, int vectors = 0>
class Minibatch {
  public:
    Minibatch(const Item* table, int64_t stride, Rates<Item> rates)
        : table_(table), stride_(fixed<V, vectors>(stride)), rates_(rates) {}

    // The contributions of n triples, three rows of the table's stride each.
    Sums contributions(const Triple* triples, int64_t n, Item* out) const {
        Sums sums;
        V log_sigma{};
        for (int64_t t = 0; t < n; t += W) {
            const int64_t m = std::min<int64_t>(W, n - t);
            for (int64_t s = t + W; s < std::min(n, t + 2 * W); s++) prefetch(triples[s]);
            block(triples + t, m, out + 3 * t * step(), sums, log_sigma);
        }
        sums.log_sigma = static_cast<double>(sum(log_sigma));
        return sums;
    }

  private:
    static constexpr int W = width<V>;

    struct Rows {
        const Item *user, *one, *zero;
    };

    int64_t step() const { return fixed<V, vectors>(stride_); }

    Rows rows(const Triple& t) const {
        if (t.user == no_row) return {table_, table_, table_};  // any: nothing comes of it
        return {table_ + t.user * step(), table_ + t.one * step(), table_ + t.zero * step()};
    }

    void prefetch(const Triple& triple) const {
        const Rows r = rows(triple);
        for (int64_t s = 0; s < step(); s += 64 / static_cast<int64_t>(sizeof(Item))) {
            __builtin_prefetch(r.user + s);
            __builtin_prefetch(r.one + s);
            __builtin_prefetch(r.zero + s);
        }
    }

    // At most W triples side by side: a margin in each lane.
    void block(const Triple* triples, int64_t m, Item* out, Sums& sums, V& log_sigma) const {
        Rows from[W];
        Item open[W]{}, pull[W];
        V x[W]{};
        for (int64_t l = 0; l < m; l++) {
            from[l] = rows(triples[l]);
            open[l] = triples[l].user == no_row ? Item(0) : Item(1);
            for (int64_t s = 0; s < step(); s += W)
                x[l] = mul_add(load<V>(from[l].user + s), load<V>(from[l].one + s) - load<V>(from[l].zero + s), x[l]);
        }
        const V margin = row_sums(x), here = load<V>(open);
        const V zero{}, one = formula::all<V>(1);
        const V tail = formula::exp(margin > zero ? -margin : margin);  // never above 1
        store(pull, (margin > zero ? tail : one) * rates_.rate / (one + tail));
        log_sigma += here * ((margin > zero ? zero : margin) - formula::log(one + tail));
        sums.correct += std::popcount(above(here * margin, zero));
        sums.skipped += m - std::popcount(above(here, zero));
        for (int64_t l = 0; l < m; l++) contribution(from[l], pull[l], out + 3 * l * step());
    }

    void contribution(const Rows& r, Item pull, Item* out) const {
        const V push = formula::all<V>(pull), shrink = formula::all<V>(-rates_.shrink);
        for (int64_t s = 0; s < step(); s += W) {
            const V u = load<V>(r.user + s), i = load<V>(r.one + s), j = load<V>(r.zero + s), pulled = push * u;
            store(out + s, mul_add(push, i - j, shrink * u));
            store(out + step() + s, mul_add(shrink, i, pulled));
            store(out + 2 * step() + s, mul_add(shrink, j, -pulled));
        }
        out[0] = Item(0);  // the one that meets the biases stays
    }

    const Item* table_;
    const int64_t stride_;
    const Rates<Item> rates_;
};

// Adds one contribution to its row.
template <class V, int vectors = 0, class Item>
inline void add_row(Item* row, const Item* part, int64_t stride) {
    for (int64_t s = 0; s < fixed<V, vectors>(stride); s += width<V>)
        store(row + s, load<V>(row + s) + load<V>(part + s));
}

}  // namespace dyads::bpr
