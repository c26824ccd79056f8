// bpr.hpp: the arithmetic of a minibatch of triples: contributions at the values it starts from, then their sums.
//
// Users and items stand in one table of padded rows [1 or bias, f_1 .. f_K, 0 ..]: one dot product of a user with the
// difference of two items carries the biases too. A triple writes one contribution for each of its three rows, and they
// are added in triple order: no accumulators, no sorting, and the same bits whoever adds them.
#pragma once
#include <algorithm>
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

template <class V, class Item>
class Minibatch {
  public:
    Minibatch(const Item* table, int64_t stride, Rates<Item> rates) : table_(table), stride_(stride), rates_(rates) {}

    // The contributions of n triples, three rows of the table's stride each.
    Sums contributions(const Triple* triples, int64_t n, Item* out) const {
        Sums sums;
        for (int64_t t = 0; t < n; t += W) {
            const int64_t m = std::min<int64_t>(W, n - t);
            for (int64_t s = t + W; s < std::min(n, t + 2 * W); s++) prefetch(triples[s]);
            block(triples + t, m, out + 3 * t * stride_, sums);
        }
        return sums;
    }

  private:
    static constexpr int W = width<V>;

    const Item* row(uint32_t number) const { return table_ + (number == no_row ? 0 : number) * stride_; }

    void prefetch(const Triple& triple) const {
        const Item *u = row(triple.user), *i = row(triple.one), *j = row(triple.zero);
        for (int64_t s = 0; s < stride_; s += 64 / static_cast<int64_t>(sizeof(Item))) {
            __builtin_prefetch(u + s);
            __builtin_prefetch(i + s);
            __builtin_prefetch(j + s);
        }
    }

    // At most W triples side by side: a margin in each lane.
    void block(const Triple* triples, int64_t m, Item* out, Sums& sums) const {
        V x[W]{};
        for (int64_t l = 0; l < m; l++) {
            const Item *u = row(triples[l].user), *i = row(triples[l].one), *j = row(triples[l].zero);
            for (int64_t s = 0; s < stride_; s += W)
                x[l] = mul_add(load<V>(u + s), load<V>(i + s) - load<V>(j + s), x[l]);
        }
        const V margin = row_sums(x);
        const V zero{}, one = formula::all<V>(1);
        const V tail = formula::exp(margin > zero ? -margin : margin);  // never above 1
        const V pull = (margin > zero ? tail : one) * rates_.rate / (one + tail);
        const V log_sigma = (margin > zero ? zero : margin) - formula::log(one + tail);
        for (int64_t l = 0; l < m; l++) {
            if (triples[l].user == no_row) {
                sums.skipped++;
                continue;
            }
            sums.log_sigma += lane(log_sigma, static_cast<int>(l));
            sums.correct += lane(margin, static_cast<int>(l)) > Item(0);
            contribution(triples[l], lane(pull, static_cast<int>(l)), out + 3 * l * stride_);
        }
    }

    void contribution(const Triple& triple, Item pull, Item* out) const {
        const Item *u = row(triple.user), *i = row(triple.one), *j = row(triple.zero);
        const V push = formula::all<V>(pull), shrink = formula::all<V>(-rates_.shrink);
        for (int64_t s = 0; s < stride_; s += W) {
            const V us = load<V>(u + s), is = load<V>(i + s), js = load<V>(j + s), pulled = push * us;
            store(out + s, mul_add(push, is - js, shrink * us));
            store(out + stride_ + s, mul_add(shrink, is, pulled));
            store(out + 2 * stride_ + s, mul_add(shrink, js, -pulled));
        }
        out[0] = Item(0);  // the one that meets the biases stays
    }

    const Item* table_;
    const int64_t stride_;
    const Rates<Item> rates_;
};

// Adds one contribution to its row.
template <class V, class Item>
inline void add_row(Item* row, const Item* part, int64_t stride) {
    for (int64_t s = 0; s < stride; s += width<V>) store(row + s, load<V>(row + s) + load<V>(part + s));
}

}  // namespace dyads::bpr
