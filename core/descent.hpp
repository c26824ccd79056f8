// descent.hpp: many minibatches of triples, one after the other, on the threads of a call.
//
// Triples depend on the data and their address alone, so those of many minibatches are drawn ahead, all threads at
// once. A minibatch then has two short phases: contributions, in pieces of triples; and their sums, in parts of the
// table's rows, each part in triple order. One longer than `longest` is worked off slice by slice: the slices read the
// table as it was and add to a second one, so that memory is bounded and no bit depends on the length of a slice.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <vector>

#include "bpr.hpp"
#include "phases.hpp"
#include "side.hpp"
#include "triples.hpp"

namespace dyads::bpr {

inline constexpr int64_t longest = 2048;      // triples whose contributions are held at once
inline constexpr int64_t ahead = 16384;       // triples drawn at once
inline constexpr int64_t piece = 64;          // triples whose contributions one thread computes in a go
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

// Whether threads share a slice. That pays where their cores share a cache and costs where they do not, and no bit
// depends on it: so both ways are tried now and then, and the faster one is taken.
class Sharing {
  public:
    explicit Sharing(bool possible) : possible_(possible) {}

    bool now() const {
        const int64_t turn = slices_ % period;
        return possible_ && (turn < tried ? turn / run % 2 == 1 : faster_);
    }

    void took(double seconds) {
        double& shortest = shortest_[now()];
        shortest = std::min(shortest, seconds);
        if (++slices_ % period != tried) return;
        faster_ = shortest_[1] < shortest_[0];
        shortest_[0] = shortest_[1] = std::numeric_limits<double>::infinity();
    }

  private:
    static constexpr int64_t run = 4, tried = 6 * run, period = 2048;  // slices
    bool possible_, faster_ = false;
    int64_t slices_ = 0;
    double shortest_[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
};

template <class V, class Item, int vectors = 0>
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
        threads_ = phases.threads();
        sharing_ = Sharing(threads_ > 1 && length_ * stride_ * 3 >= worthwhile);
        each_row_range(phases, [this](int64_t a, int64_t b) { packed_.pack(now_, stride_, a, b); });
        start_ = now_;
        if (wide_) {
            start_ = second_.get(n * stride_);
            std::memcpy(start_, now_, static_cast<size_t>(n * stride_) * sizeof(Item));
            touched_.assign(static_cast<size_t>(n), 0);
        }
        contributions_ = third_.get(3 * length_ * stride_);
        if (!every_slice(phases, stop)) return sums_;
        each_row_range(phases, [this](int64_t a, int64_t b) { packed_.unpack(now_, stride_, a, b); });
        return sums_;
    }

  private:
    template <class Work>
    void each_row_range(Phases& phases, Work work) {
        const int64_t n = packed_.rows(), ranges = std::min<int64_t>(n, phases.threads() > 1 ? 64 : 1);
        phases.run(ranges, [&](int64_t r) { work(n * r / ranges, n * (r + 1) / ranges); });
    }

    // While one stretch of slices is worked off, the next is drawn. False if the work was stopped.
    bool every_slice(Phases& phases, Stop& stop) {
        const int64_t all = shared_.n_minibatches * slices_;
        const int64_t step = std::clamp<int64_t>(ahead / length_, 1, Pieces::most);
        for (std::vector<Triple>& drawn : drawn_) drawn.resize(static_cast<size_t>(std::min(step, all) * length_));
        phases.run(std::min(step, all), [this](int64_t s) { draw(s, drawn_[0].data() + s * length_); });
        for (int64_t first = 0, turn = 0; first < all; first += step, turn = 1 - turn) {
            const int64_t last = std::min(all, first + step);
            Triple* const next = drawn_[1 - turn].data();
            const Piece draw_next = [this, last, next](int64_t s) { draw(last + s, next + s * length_); };
            const Later later(phases, std::min(step, all - last), draw_next);
            for (int64_t s = first; s < last; s++) {
                if (stop.asked()) return false;
                const auto start = std::chrono::steady_clock::now();
                move(phases, s, drawn_[turn].data() + (s - first) * length_);
                const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
                sharing_.took(took.count() / static_cast<double>(size(s)));
            }
            phases.finish_later();
        }
        return true;
    }

    // Pieces that are not at work any more when it ends.
    class Later {
      public:
        Later(Phases& phases, int64_t n, const Piece& piece) : phases_(phases) { phases.run_later(n, piece); }
        ~Later() { phases_.settle_later(); }
        Later(const Later&) = delete;
        Later& operator=(const Later&) = delete;

      private:
        Phases& phases_;
    };

    int64_t size(int64_t slice) const { return std::min(length_, shared_.minibatch - slice % slices_ * length_); }

    void draw(int64_t slice, Triple* to) const {
        const auto tick = static_cast<uint32_t>(tick_ + slice / slices_);
        triples_.draw(tick, slice % slices_ * length_, size(slice), to);
    }

    void move(Phases& phases, int64_t slice, const Triple* triples) {
        const int64_t n = size(slice), pieces = (n + piece - 1) / piece;
        const Minibatch<V, Item, vectors> minibatch(start_, stride_, rates(slice / slices_));
        Sums sums[longest / piece];
        const auto contribute = [&](int64_t p) {
            const int64_t t = p * piece;
            sums[p] = minibatch.contributions(triples + t, std::min(piece, n - t), contributions_ + 3 * t * stride_);
        };
        if (sharing_.now()) {
            phases.run(pieces, contribute);
            phases.run(threads_, [&](int64_t q) { add_part(triples, n, q); });
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

    // The contributions to a part of the rows, in triple order: first which they are, without a branch, then their
    // sums.
    void add_part(const Triple* triples, int64_t n, int64_t q) {
        const uint32_t* rows = row_numbers(triples);
        const auto parts = static_cast<uint64_t>(threads_), part = static_cast<uint64_t>(q);
        uint32_t own[3 * longest];
        int64_t n_own = 0;
        for (int64_t e = 0; e < 3 * n; e++) {
            const auto scattered = static_cast<uint64_t>(rows[e] * 0x9E3779B1u);
            own[n_own] = static_cast<uint32_t>(e);
            n_own += (scattered * parts >> 32 == part) & (rows[e] != no_row);
        }
        for (int64_t i = 0; i < n_own; i++) {
            if (i + 8 < n_own) prefetch(rows[own[i + 8]], contributions_ + own[i + 8] * stride_);
            add(rows[own[i]], contributions_ + own[i] * stride_);
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
        add_row<V, vectors>(now_ + row * stride_, part, stride_);
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
    int64_t threads_ = 1;
    Sharing sharing_{false};
    Item *now_ = nullptr, *start_ = nullptr, *contributions_ = nullptr;
    Scratch<Item> memory_, second_, third_;
    std::vector<uint8_t> touched_;
    std::vector<Triple> drawn_[2];
    Sums sums_;
};

}  // namespace dyads::bpr
