// cholesky.hpp: linear systems by C = L'L on the triangles that gram.hpp makes: `width` small ones at once in lanes, a
// large one by itself in blocks.
//
// See formula/cholesky.hpp for what the triangle holds. Taken from the last row up, every update reads and writes
// contiguous rows, and the update of what is left is the Gram kernel with some rows of L as neighbours.
#pragma once
#include "formula/cholesky.hpp"
#include "gram.hpp"

namespace dyads {

// Systems of at most so many rows go in lanes; beyond, `width` triangles leave the first-level cache.
inline constexpr int64_t lane_rows = 41;

template <class V>
class LaneSolver {
    static constexpr int W = width<V>;

  public:
    using Item = typename formula::Number<V>::Scalar;

    // Solves m <= W systems of n rows in triangles of one stride, c and x one after the other. x[1 .. n-1] of each
    // holds its noise, and then its solution.
    void solve(int64_t m, const Item* c, int64_t stride, int64_t n, Item* x, int64_t x_stride) {
        V* const lower = reinterpret_cast<V*>(memory_.get((formula::triangle(n) + quad + n) * W));
        V* const unknown = lower + formula::triangle(n) + quad;
        const Item* row[W];
        for (int64_t r = 1; r < n; r++) {
            for (int l = 0; l < W; l++) row[l] = c + std::min<int64_t>(l, m - 1) * n * stride + r * stride;
            for (int64_t k = 0; k <= r; k += quad) {
                V part[quad];
                load_quads(part, row, k);
                transpose_quads(part);
                for (int q = 0; q < quad; q++) lower[formula::triangle(r) + k + q] = part[q];
            }
        }
        for (int64_t s = 0; s < n; s++) {
            Item noise[W];
            for (int l = 0; l < W; l++) noise[l] = x[std::min<int64_t>(l, m - 1) * x_stride + s];
            unknown[s] = load<V>(noise);
        }
        formula::cholesky(lower, n);
        formula::solve(lower, n, unknown);
        for (int64_t s = 1; s < n; s++) {
            Item solved[W];
            store(solved, unknown[s]);
            for (int64_t l = 0; l < m; l++) x[l * x_stride + s] = solved[l];
        }
    }

  private:
    Scratch<Item> memory_;
};

// One system in blocks of `width` rows. Triangle, inverses and unknowns have room for n rounded up to whole vectors.
template <class V>
class BlockSolver {
    static constexpr int W = width<V>;

  public:
    using Item = typename formula::Number<V>::Scalar;

    // As LaneSolver, for one system, whose triangle becomes L.
    void solve(Item* c, int64_t stride, int64_t n, Item* x) {
        Item* const inverse = memory_.get(padded<V>(n));
        for (int64_t r = n; r < padded<V>(n); r++) {
            std::fill_n(c + r * stride, stride, Item(0));
            c[r * stride + r] = Item(1);
            x[r] = Item(0);
        }
        for (int64_t first = padded<V>(n) - W; first >= 0; first -= W) {
            factor_diagonal(c, stride, first, n, inverse);
            for (int64_t k = 0; k < first; k += W) factor_left(c, stride, first, k, n, inverse);
            Item* const rows = c + first * stride;
            if (first > 0) add_gram<V, true>(Panels<Item>{rows, rows, W, stride}, first, c, stride);
        }
        for (int64_t first = 0; first < n; first += W) forward(c, stride, first, inverse, x);
    }

  private:
    Scratch<Item> memory_;

    static void factor_diagonal(Item* c, int64_t stride, int64_t first, int64_t n, Item* inverse) {
        Item* const corner = c + first * stride + first;
        V row[W];
#pragma GCC unroll 16
        for (int r = 0; r < W; r++) row[r] = load<V>(corner + r * stride);
#pragma GCC unroll 16
        for (int l = W - 1; l >= 0; l--) {
            if (first + l == 0 || first + l >= n) {
                inverse[first + l] = Item(1);
                continue;
            }
            const V scale = formula::all<V>(Item(1) / formula::Number<Item>::root(lane(row[l], l)));
            row[l] = row[l] * scale;
            inverse[first + l] = lane(scale, 0);
#pragma GCC unroll 16
            for (int r = l - 1; r >= 0; r--) row[r] = mul_add(-formula::all<V>(lane(row[l], r)), row[l], row[r]);
        }
#pragma GCC unroll 16
        for (int r = 0; r < W; r++) store(corner + r * stride, row[r]);
    }

    // Columns k .. k + W - 1 of the same rows.
    static void factor_left(Item* c, int64_t stride, int64_t first, int64_t k, int64_t n, const Item* inverse) {
        Item* const rows = c + first * stride;
        V row[W];
#pragma GCC unroll 16
        for (int r = 0; r < W; r++) row[r] = load<V>(rows + r * stride + k);
#pragma GCC unroll 16
        for (int l = W - 1; l >= 0; l--) {
            if (first + l >= n) continue;
            row[l] = row[l] * inverse[first + l];
#pragma GCC unroll 16
            for (int r = 0; r < l; r++)
                row[r] = mul_add(-formula::all<V>(rows[l * stride + first + r]), row[l], row[r]);
        }
#pragma GCC unroll 16
        for (int r = 0; r < W; r++) store(rows + r * stride + k, row[r]);
    }

    // x of rows first .. first + W - 1, from those before.
    static void forward(const Item* c, int64_t stride, int64_t first, const Item* inverse, Item* x) {
        const Item* const rows = c + first * stride;
        V sums[W] = {}, column[W];
        x[0] = Item(0);
        for (int64_t k = 0; k < first; k += W) {
            const V known = load<V>(x + k);
#pragma GCC unroll 16
            for (int r = 0; r < W; r++) sums[r] = mul_add(load<V>(rows + r * stride + k), known, sums[r]);
        }
        transpose(sums);
        Item half[W];
        for (int r = 0; r < W; r++) half[r] = rows[r * stride];
        V rest = first == 0 ? load<V>(half) + load<V>(x) : load<V>(half) + load<V>(x + first) - total(sums);
#pragma GCC unroll 16
        for (int r = 0; r < W; r++) column[r] = load<V>(rows + r * stride + first);
        transpose(column);
#pragma GCC unroll 16
        for (int l = 0; l < W; l++) {
            const Item now = first + l == 0 ? Item(0) : lane(rest, l) * inverse[first + l];
            rest = mul_add(-formula::all<V>(now), column[l], rest);
            x[first + l] = now;
        }
    }

    static V total(const V (&sums)[W]) {
        V all{};
        for (int r = 0; r < W; r++) all += sums[r];
        return all;
    }
    static Item lane(Lanes x, int l) { return x[l]; }
    static Item lane(double x, int) { return x; }
};

}  // namespace dyads
