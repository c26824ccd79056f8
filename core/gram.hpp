// gram.hpp: Gram matrices in register blocks.
//
// C[r][c] += Σ_j a_j[r] b_j[c] for c <= r, C a lower triangle by rows. Row r is broadcast, columns are vectors, so that
// little is wasted where K fills no whole vectors. Column 0 of a neighbour holds its target y: Gram matrix and
// right-hand side are one triangle, and no row of it is special. With weights, which may be negative, a holds the bare
// neighbours and b the weighted ones; without, both are the same panel. What stands right of the diagonal has no
// meaning.
#pragma once
#include <algorithm>

#include "side.hpp"

namespace dyads {

using formula::mul_add;

// n neighbours, `step` numbers apart.
template <class Item>
struct Panels {
    const Item *a, *b;
    int64_t n, step;

    Panels from(int64_t row, int64_t column) const { return {a + row, b + column, n, step}; }
};

namespace detail {

template <class V>
inline constexpr int strip_rows = width<V> == 16 ? 8 : 4;  // rows of a register block: 8 x 3 or 4 x 3 vectors

// One register block: `rows` rows and `across` vectors of columns.
template <class V, bool subtract, int rows, int across, class Item>
inline void block(const Panels<Item>& panels, Item* c, int64_t stride) {
    constexpr int W = width<V>;
    V sum[rows][across];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < across; v++) sum[r][v] = load<V>(c + r * stride + v * W);
    const Item *a = panels.a, *b = panels.b;
    for (int64_t j = 0; j < panels.n; j++, a += panels.step, b += panels.step) {
        V column[across];
#pragma GCC unroll 3
        for (int v = 0; v < across; v++) column[v] = load<V>(b + v * W);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            const V row = subtract ? -formula::all<V>(a[r]) : formula::all<V>(a[r]);
#pragma GCC unroll 3
            for (int v = 0; v < across; v++) sum[r][v] = mul_add(row, column[v], sum[r][v]);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < across; v++) store(c + r * stride + v * W, sum[r][v]);
}

// The block of this many rows, at most `most`.
template <class V, bool subtract, int most, int across, class Item>
inline void strip(int64_t rows, const Panels<Item>& panels, Item* c, int64_t stride) {
    if constexpr (most > 0) {
        if (rows == most)
            block<V, subtract, most, across>(panels, c, stride);
        else
            strip<V, subtract, most - 1, across>(rows, panels, c, stride);
    }
}

}  // namespace detail

// Adds (or subtracts) the panels' products to rows 0 .. n - 1 of a triangle; `stride` and the panels' step hold n
// rounded up to whole vectors.
template <class V, bool subtract = false, class Item>
void add_gram(const Panels<Item>& panels, int64_t n, Item* c, int64_t stride) {
    constexpr int W = width<V>, strip_rows = detail::strip_rows<V>;
    detail::strip<V, subtract, W, 1>(std::min<int64_t>(n, W), panels, c, stride);
    for (int64_t r = W; r < n; r += strip_rows) {
        const int64_t rows = std::min<int64_t>(strip_rows, n - r), vectors = (r + rows - 1) / W + 1;
        for (int64_t v = 0; v < vectors;) {
            const int64_t left = vectors - v, across = left % 3 == 0 || left > 4 ? 3 : left == 1 ? 1 : 2;
            const Panels<Item> from = panels.from(r, v * W);
            Item* const into = c + r * stride + v * W;
            if (across == 3)
                detail::strip<V, subtract, strip_rows, 3>(rows, from, into, stride);
            else if (across == 2)
                detail::strip<V, subtract, strip_rows, 2>(rows, from, into, stride);
            else
                detail::strip<V, subtract, strip_rows, 1>(rows, from, into, stride);
            v += across;
        }
    }
}

// What a triangle of n rows, and a panel beside it, take between two rows.
template <class V>
constexpr int64_t gram_stride(int64_t n) {
    return padded<V>(quads(n));
}

// How many neighbours a panel holds: it stays in the first-level cache, together with what it is made from.
constexpr int64_t panel_rows(int64_t stride) {
    const int64_t numbers = stride > 64 ? 10240 : 3072;
    return std::clamp<int64_t>(numbers / stride, 16, 128);
}

inline constexpr int64_t gram_block = 4096;  // neighbours whose products are summed in single precision

// Adds the triangle (n rows) of some neighbours, at most gram_block of them, to `total`: a heavy row is the sum of its
// blocks in order, in float64, and so keeps its digits. fill(first, last, a, b, step) writes the panels of some
// neighbours; b == a without weights.
template <class V, class Fill>
void add_block(int64_t neighbours, int64_t n, bool weighted, Scratch<typename formula::Number<V>::Scalar>& memory,
               double* total, Fill fill) {
    using Item = typename formula::Number<V>::Scalar;
    const int64_t stride = gram_stride<V>(n), most = panel_rows(stride), panel = stride * (most + 1);
    Item* const c = memory.get(stride * n + 2 * panel);
    Item *const a = c + stride * n, *const b = weighted ? a + panel : a;
    std::fill_n(a, 2 * panel, Item(0));
    std::fill_n(c, stride * n, Item(0));
    for (int64_t j = 0; j < neighbours; j += most) {
        const int64_t m = std::min(most, neighbours - j);
        fill(j, j + m, a, b, stride);
        add_gram<V>(Panels<Item>{a, b, m, stride}, n, c, stride);
    }
    for (int64_t r = 0; r < n; r++)
        for (int64_t k = 0; k <= r; k++) total[r * stride + k] += static_cast<double>(c[r * stride + k]);
}

}  // namespace dyads
