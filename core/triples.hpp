// triples.hpp: triples of a user, one of its ones and one of its zeros, each by its address.
//
// Triple n takes the four words of one block at row n: two name a one of the data, two scale to a whole number below
// the open weight of its user, and the zero is the item that stands at it. Which one that is takes two searches: how
// many closed items stand before it, and which item covers the weight reached with them. All searches of a group go
// step by step together, so that their cache misses overlap and no branch depends on the data.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "streams.hpp"

namespace dyads {

struct Triple {
    uint32_t user, one, zero;  // rows of one table: users first, then items
};

inline constexpr uint32_t no_row = 0xFFFFFFFF;  // stands three times where a user has no zero

// What triples are drawn from: the ones in row order, and for each row its closed items with the open weight before
// each.
struct Negatives {
    const int32_t *user, *item;  // of every one
    int64_t n_ones;
    const int64_t* ptr;  // closed items of every row; at least the ones
    const int32_t* idx;
    const int64_t* gap;
    const int64_t *upto, *room;
    int64_t n_users, n_items;
};

// The last of the sorted numbers from[0 .. n - 1] that is at most x, where from[0] is.
inline const int64_t* last_at_most(const int64_t* from, int64_t n, int64_t x) {
    while (n > 1) {
        const int64_t half = n >> 1;
        from += half & -static_cast<int64_t>(from[half] <= x);
        n -= half;
    }
    return from;
}

// The item that covers a weight. An index of equal buckets leaves few items to search; where all weigh one it is the
// weight itself.
class Cover {
  public:
    Cover(const int64_t* upto, int64_t n_items) : upto_(upto) {
        for (int64_t j = 0; j < n_items && all_one_; j++) all_one_ = upto[j] == j;
        all_one_ = all_one_ && upto[n_items] == n_items;
        if (all_one_) return;
        while (upto[n_items] >> shift_ > 2 * n_items) shift_++;
        const int64_t n_buckets = (upto[n_items] >> shift_) + 2;
        first_.resize(static_cast<size_t>(n_buckets));
        for (int64_t b = 0, j = 0; b < n_buckets; b++) {
            while (j < n_items - 1 && upto[j + 1] <= b << shift_) j++;
            first_[static_cast<size_t>(b)] = j;
        }
    }

    bool all_one() const { return all_one_; }

    int64_t item(int64_t weight) const {
        if (all_one_) return weight;
        const auto bucket = static_cast<size_t>(weight >> shift_);
        const int64_t low = first_[bucket], n = first_[bucket + 1] - low + 1;
        return last_at_most(upto_ + low, n, weight) - upto_;
    }

  private:
    const int64_t* upto_;
    bool all_one_ = true;
    int shift_ = 0;
    std::vector<int64_t> first_;
};

class Triples {
  public:
    Triples(const Negatives& from, At at, uint32_t site)
        : from_(from), cover_(from.upto, from.n_items), at_(at), site_(site) {}

    // Triples [first, first + n) of the minibatch at `tick`.
    void draw(uint32_t tick, int64_t first, int64_t n, Triple* out) const {
        for (int64_t g = 0; g < n; g += group) draw_group(tick, first + g, std::min(group, n - g), out + g);
    }

  private:
    static constexpr int64_t group = 64;

    struct Group {
        uint32_t word[4][group];
        uint32_t user[group], item[group];
        int64_t size, one[group], weight[group], base[group], n[group], closed[group];
    };

    void draw_group(uint32_t tick, int64_t first, int64_t n, Triple* out) const {
        Group g;
        g.size = padded<Lanes>(n);
        words(tick, first, g);
        for (int64_t t = 0; t < g.size; t++) {
            g.one[t] =
                static_cast<int64_t>(formula::below(g.word[0][t], g.word[1][t], static_cast<uint64_t>(from_.n_ones)));
            __builtin_prefetch(from_.user + g.one[t]);
            __builtin_prefetch(from_.item + g.one[t]);
        }
        search(g, start(g));
        for (int64_t t = 0; t < g.size; t++) {
            g.closed[t] = from_.gap[g.base[t]];
            if (!cover_.all_one()) __builtin_prefetch(from_.idx + g.base[t]);
        }
        for (int64_t t = 0; t < n; t++) out[t] = finish(g, t);
    }

    void words(uint32_t tick, int64_t first, Group& g) const {
        const WordLanes none{};
        for (int64_t t = 0; t < g.size; t += lanes) {
            const auto block =
                formula::philox<WordLanes>(none + tick, none + (site_ << 24 | at_.chain),
                                           lane_numbers + static_cast<uint32_t>(first + t), none, at_.seed);
            for (int q = 0; q < 4; q++) store(g.word[q] + t, block.word[q]);
        }
    }

    // The closed items to search and the open weight looked for; gives how many steps the longest search takes.
    int start(Group& g) const {
        int64_t longest = 1;
        for (int64_t t = 0; t < g.size; t++) {
            const auto user = static_cast<uint32_t>(from_.user[g.one[t]]);
            g.user[t] = user;
            g.item[t] = static_cast<uint32_t>(from_.item[g.one[t]]);
            g.weight[t] = scaled(g.word[2][t], g.word[3][t], static_cast<uint64_t>(from_.room[user]));
            g.base[t] = from_.ptr[user];
            g.n[t] = from_.ptr[user + 1] - g.base[t];
            longest = std::max(longest, g.n[t]);
            __builtin_prefetch(from_.gap + g.base[t] + g.n[t] / 2);
        }
        return std::bit_width(static_cast<uint64_t>(longest - 1));
    }

    void search(Group& g, int steps) const {
        for (int step = 0; step < steps; step++)
            for (int64_t t = 0; t < g.size; t++) {
                const int64_t half = g.n[t] >> 1;
                g.base[t] += half & -static_cast<int64_t>(from_.gap[g.base[t] + half] <= g.weight[t]);
                g.n[t] -= half;
            }
    }

    Triple finish(const Group& g, int64_t t) const {
        if (from_.room[g.user[t]] == 0) return {no_row, no_row, no_row};
        int64_t shut = 0;  // what weighs on the closed items before the zero
        if (g.closed[t] <= g.weight[t])
            shut = cover_.all_one() ? g.base[t] + 1 - from_.ptr[g.user[t]]
                                    : from_.upto[from_.idx[g.base[t]] + 1] - g.closed[t];
        const auto users = static_cast<uint32_t>(from_.n_users);
        return {g.user[t], users + g.item[t], users + static_cast<uint32_t>(cover_.item(g.weight[t] + shut))};
    }

    // (high 2^32 + low) bound / 2^64, rounded down.
    static int64_t scaled(uint32_t low, uint32_t high, uint64_t bound) {
        const auto word = static_cast<uint64_t>(high) << 32 | low;
        return static_cast<int64_t>(static_cast<unsigned __int128>(word) * bound >> 64);
    }

    const Negatives from_;
    const Cover cover_;
    const At at_;
    const uint32_t site_;
};

}  // namespace dyads
