// descent.hpp: many minibatches of triples, one after the other, on the threads of a call.
//
// Triples depend on the data and their address alone, so those of many minibatches are drawn ahead, all threads at
// once. A minibatch then has two short phases: contributions, in pieces of triples; and their sums, in parts of the
// table's rows, each part in triple order. One longer than `longest` is worked off slice by slice: the slices read the
// table as it was and add to a second one, so that memory is bounded and no bit depends on the length of a slice.
#pragma once
#include <algorithm>
#include <cstring>
#include <vector>

#include "bpr.hpp"
#include "phases.hpp"
#include "side.hpp"
#include "triples.hpp"

namespace dyads::bpr {

inline constexpr int64_t longest = 2048;      // triples whose contributions are held at once
inline constexpr int64_t ahead = 16384;       // triples drawn at once
inline constexpr int64_t piece = 128;         // triples whose contributions one thread computes in a go
inline constexpr int64_t worthwhile = 16384;  // numbers in a slice's contributions from which on threads share a slice

struct Shared {
    int64_t n_minibatches, minibatch;
    double learning_rate, decay, regularization;
};

// One table of all rows, [1, f ..] for users, [bias, f ..] for items.
template <class Item>
struct Packed {
    Item *user, *item, *bias;
    int64_t n_users, n_items, k;

    int64_t rows() const { return n_users + n_items; }
    Item* factors(int64_t r) const { return r < n_users ? user + r * k : item + (r - n_users) * k; }

    void pack(Item* table, int64_t step, int64_t first, int64_t last) const {
        for (int64_t r = first; r < last; r++) {
            Item* to = table + r * step;
            to[0] = r < n_users ? Item(1) : bias[r - n_users];
            std::copy_n(factors(r), k, to + 1);
            std::fill(to + 1 + k, to + step, Item(0));
        }
    }

    void unpack(const Item* table, int64_t step, int64_t first, int64_t last) const {
        for (int64_t r = first; r < last; r++) {
            if (r >= n_users) bias[r - n_users] = table[r * step];
            std::copy_n(table + r * step + 1, k, factors(r));
        }
    }
};

// Which contributions of a slice each part of the rows adds, in triple order.
class Parts {
  public:
    void sort(const uint32_t* rows, int64_t n, int64_t n_parts) {
        ends_.assign(static_cast<size_t>(n_parts) + 2, 0);
        order_.resize(static_cast<size_t>(n));
        for (int64_t e = 0; e < n; e++) ends_[part(rows[e], n_parts) + 1]++;
        for (size_t q = 1; q < ends_.size(); q++) ends_[q] += ends_[q - 1];
        for (int64_t e = 0; e < n; e++) order_[ends_[part(rows[e], n_parts)]++] = static_cast<uint32_t>(e);
    }
    const uint32_t* begin(int64_t q) const { return order_.data() + (q ? ends_[static_cast<size_t>(q) - 1] : 0); }
    const uint32_t* end(int64_t q) const { return order_.data() + ends_[static_cast<size_t>(q)]; }

  private:
    static size_t part(uint32_t row, int64_t n_parts) {
        const auto scattered = static_cast<uint64_t>(row * 0x9E3779B1u);
        return row == no_row ? static_cast<size_t>(n_parts) : scattered * static_cast<uint64_t>(n_parts) >> 32;
    }

    std::vector<uint32_t> ends_, order_;
};

template <class V, class Item>
class Descent {
  public:
    Descent(const Triples& triples, int64_t n_ones, Packed<Item> packed, const Shared& shared, uint32_t tick)
        : triples_(triples),
          n_ones_(n_ones),
          packed_(packed),
          shared_(shared),
          tick_(tick),
          stride_(stride<Item>(packed.k)),
          length_(std::min(shared.minibatch, longest)),
          slices_((shared.minibatch + length_ - 1) / length_),
          wide_(slices_ > 1) {}

    Sums run(Phases& phases, Stop& stop) {
        const int64_t n = packed_.rows();
        now_ = memory_.get(n * stride_);
        parts_ = phases.threads() > 1 && length_ * stride_ * 3 >= worthwhile ? phases.threads() : 1;
        each_row_range(phases, [this](int64_t a, int64_t b) { packed_.pack(now_, stride_, a, b); });
        start_ = now_;
        if (wide_) {
            start_ = second_.get(n * stride_);
            std::memcpy(start_, now_, static_cast<size_t>(n * stride_) * sizeof(Item));
            touched_.assign(static_cast<size_t>(n), 0);
        }
        contributions_ = third_.get(3 * length_ * stride_);
        const int64_t all = shared_.n_minibatches * slices_;
        const int64_t step = std::clamp<int64_t>(ahead / length_, 1, Phases::most_pieces / 2);
        drawn_.resize(static_cast<size_t>(std::min(step, all) * length_));
        order_.resize(static_cast<size_t>(step));
        for (int64_t first = 0; first < all; first += step) {
            const int64_t last = std::min(all, first + step);
            phases.run(last - first, [&](int64_t s) { draw(first + s, s); });
            for (int64_t s = first; s < last; s++) {
                if (stop.asked()) return sums_;
                move(phases, s, s - first);
            }
        }
        each_row_range(phases, [this](int64_t a, int64_t b) { packed_.unpack(now_, stride_, a, b); });
        return sums_;
    }

  private:
    template <class Work>
    void each_row_range(Phases& phases, Work work) {
        const int64_t n = packed_.rows(), ranges = std::min<int64_t>(n, phases.threads() > 1 ? 64 : 1);
        phases.run(ranges, [&](int64_t r) { work(n * r / ranges, n * (r + 1) / ranges); });
    }

    int64_t size(int64_t slice) const { return std::min(length_, shared_.minibatch - slice % slices_ * length_); }
    Triple* drawn(int64_t place) { return drawn_.data() + place * length_; }

    void draw(int64_t slice, int64_t place) {
        const auto tick = static_cast<uint32_t>(tick_ + slice / slices_);
        triples_.draw(tick, slice % slices_ * length_, size(slice), drawn(place));
        if (parts_ > 1) order_[static_cast<size_t>(place)].sort(row_numbers(drawn(place)), 3 * size(slice), parts_);
    }

    void move(Phases& phases, int64_t slice, int64_t place) {
        const int64_t n = size(slice), pieces = (n + piece - 1) / piece;
        const Triple* triples = drawn(place);
        const Minibatch<V, Item> minibatch(start_, stride_, rates(slice / slices_));
        Sums sums[longest / piece];
        const auto contribute = [&](int64_t p) {
            const int64_t t = p * piece;
            sums[p] = minibatch.contributions(triples + t, std::min(piece, n - t), contributions_ + 3 * t * stride_);
        };
        if (parts_ > 1) {
            phases.run(pieces, contribute);
            phases.run(parts_, [&](int64_t q) { add_part(place, q); });
        } else {
            for (int64_t p = 0; p < pieces; p++) contribute(p);
            add_all(triples, n);
        }
        for (int64_t p = 0; p < pieces; p++) sums_ += sums[p];
        if (wide_ && slice % slices_ == slices_ - 1)
            each_row_range(phases, [this](int64_t a, int64_t b) { restart(a, b); });
    }

    Rates<Item> rates(int64_t m) const {
        const double entries = static_cast<double>(tick_ + m) * static_cast<double>(shared_.minibatch);
        const double rate = shared_.learning_rate / (1.0 + shared_.decay * entries / static_cast<double>(n_ones_));
        return {static_cast<Item>(rate), static_cast<Item>(rate * shared_.regularization)};
    }

    static const uint32_t* row_numbers(const Triple* triples) {
        static_assert(sizeof(Triple) == 3 * sizeof(uint32_t));
        return reinterpret_cast<const uint32_t*>(triples);
    }

    void add_part(int64_t place, int64_t q) {
        const uint32_t* rows = row_numbers(drawn(place));
        const Parts& parts = order_[static_cast<size_t>(place)];
        const uint32_t* end = parts.end(q);
        for (const uint32_t* e = parts.begin(q); e < end; e++) {
            if (e + 8 < end) prefetch(rows[e[8]], contributions_ + e[8] * stride_);
            add(rows[*e], contributions_ + *e * stride_);
        }
    }

    void add_all(const Triple* triples, int64_t n) {
        const uint32_t* rows = row_numbers(triples);
        for (int64_t e = 0; e < 3 * n; e++)
            if (rows[e] != no_row) add(rows[e], contributions_ + e * stride_);
    }

    void prefetch(uint32_t row, const Item* part) const {
        for (int64_t s = 0; s < stride_; s += 64 / static_cast<int64_t>(sizeof(Item))) {
            __builtin_prefetch(now_ + row * stride_ + s, 1);
            __builtin_prefetch(part + s);
        }
    }

    void add(uint32_t row, const Item* part) {
        add_row<V>(now_ + row * stride_, part, stride_);
        if (wide_) touched_[row] = 1;
    }

    void restart(int64_t first, int64_t last) {
        for (int64_t r = first; r < last; r++) {
            if (touched_[static_cast<size_t>(r)]) std::copy_n(now_ + r * stride_, stride_, start_ + r * stride_);
            touched_[static_cast<size_t>(r)] = 0;
        }
    }

    const Triples& triples_;
    const int64_t n_ones_;
    const Packed<Item> packed_;
    const Shared shared_;
    const int64_t tick_, stride_, length_, slices_;
    const bool wide_;
    int64_t parts_ = 1;
    Item *now_ = nullptr, *start_ = nullptr, *contributions_ = nullptr;
    Scratch<Item> memory_, second_, third_;
    std::vector<uint8_t> touched_;
    std::vector<Triple> drawn_;
    std::vector<Parts> order_;
    Sums sums_;
};

}  // namespace dyads::bpr
