// topn.hpp: the scores of a strip of users against a panel of items, and the best of each user.
//
// Items lie in panels of three vectors, users in strips, both with k outermost, so that the inner loop is a broadcast
// and three products; scores stay in registers, and only a panel with one above a user's worst kept score is looked at.
// Items come in rising order and only a greater score enters, so that ties go to the smaller number.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "across.hpp"

namespace dyads::topn {

using formula::mul_add;

inline constexpr int vectors = 3, panel = vectors * lanes, strip = lanes == 16 ? 8 : 4;
inline constexpr int64_t depth = 256;  // products added up in one register

template <int users>
struct Tile {
    Lanes x[users][vectors];
};

// Σ over k of n products: `step` users lie side by side in `left`.
template <int users>
inline Tile<users> multiply(const float* left, int64_t step, const float* right, int64_t n) {
    Lanes sum[users][vectors]{};  // in registers, for all its indices are constants
    for (int64_t k = 0; k < n; k++, left += step, right += panel) {
        Lanes item[vectors];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) item[v] = load<Lanes>(right + v * lanes);
#pragma GCC unroll 8
        for (int u = 0; u < users; u++) {
            const Lanes user = formula::all<Lanes>(left[u]);
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++) sum[u][v] = mul_add(user, item[v], sum[u][v]);
        }
    }
    Tile<users> tile;
#pragma GCC unroll 8
    for (int u = 0; u < users; u++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) tile.x[u][v] = sum[u][v];
    return tile;
}

// The same over any number of products: sums of `depth`, added in order.
template <int users>
inline Tile<users> product(const float* left, int64_t step, const float* right, int64_t n) {
    Tile<users> total = multiply<users>(left, step, right, std::min(depth, n));
    for (int64_t k = depth; k < n; k += depth) {
        const Tile<users> more = multiply<users>(left + k * step, step, right + k * panel, std::min(depth, n - k));
        for (int u = 0; u < users; u++)
            for (int v = 0; v < vectors; v++) total.x[u][v] += more.x[u][v];
    }
    return total;
}

// How far a product of n terms may be from the exact one, as a share of Σ |terms|, its inputs' roundings with it.
inline double share_of_error(int64_t n) {
    const auto roundings = static_cast<double>(std::min(n, depth) + n / depth + 8);
    return 1.01 * roundings * 0x1p-24;
}

// The best of one user so far, greatest first.
struct Best {
    float* score;
    int32_t* place;  // in the order of the candidates
    int64_t n;

    float worst() const { return score[n - 1]; }

    void clear() {
        std::fill_n(score, n, -std::numeric_limits<float>::infinity());
        std::fill_n(place, n, -1);
    }

    void enter(float value, int32_t at) {
        int64_t k = n - 1;
        for (; k > 0 && score[k - 1] < value; k--) {
            score[k] = score[k - 1];
            place[k] = place[k - 1];
        }
        score[k] = value;
        place[k] = at;
    }
};

}  // namespace dyads::topn
