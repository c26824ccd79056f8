// rows.cpp: the pieces that row kernels are made of, by themselves: Gram matrices, systems, chains.
//
// Matrices come whole, (rows, n, n), and only their lower triangles are read. With `float` arrays the work is done in
// lanes, with `double` ones in plain numbers.
#include <optional>
#include <vector>

#include <nanobind/stl/optional.h>
#include "cholesky.hpp"

#include "formula/chain.hpp"
#include "python.hpp"
#include "team.hpp"

namespace dyads {
namespace {

template <class Item>
int64_t length(const Item& array, int axis) {
    return static_cast<int64_t>(array.shape(axis));
}

// Gram matrix Σ w f f' and vector Σ y f of the neighbours of every row. No weights: all are one.
template <class V, class Item = typename formula::Number<V>::Scalar>
void gram(Array<const int64_t, 1> ptr, Array<const int32_t, 1> idx, Array<const Item, 2> factors,
          Array<const Item, 1> y, std::optional<Array<const Item, 1>> weight, Array<Item, 3> matrix,
          Array<Item, 2> vector, int threads) {
    const int64_t k = length(factors, 1), n = k + 1, stride = gram_stride<V>(n);
    const Item* const w = weight ? weight->data() : nullptr;
    run_shards(length(ptr, 0) - 1, threads, [=](int64_t r, Stop& stop) {
        static thread_local Scratch<Item> memory;
        std::vector<double> total(n * stride);
        const int64_t first = ptr.data()[r], last = ptr.data()[r + 1];
        for (int64_t at = first; at < last && !stop.asked(); at += gram_block)
            add_block<V>(std::min(last - at, gram_block), n, w != nullptr, memory, total.data(),
                         [&](int64_t from, int64_t to, Item* a, Item* b, int64_t step) {
                             for (int64_t e = at + from; e < at + to; e++, a += step, b += step) {
                                 const Item* const f = factors.data() + idx.data()[e] * k;
                                 for (int64_t s = 0; s < k; s++) {
                                     a[1 + s] = f[s];
                                     if (w != nullptr) b[1 + s] = w[e] * f[s];
                                 }
                                 b[0] = y.data()[e];
                             }
                         });
        for (int64_t i = 0; i < k; i++) {
            vector.data()[r * k + i] = static_cast<Item>(total[(i + 1) * stride]);
            for (int64_t j = 0; j <= i; j++)
                matrix.data()[(r * k + i) * k + j] = matrix.data()[(r * k + j) * k + i] =
                    static_cast<Item>(total[(i + 1) * stride + j + 1]);
        }
    });
}

// Row r of the systems as a triangle of k + 1 rows.
template <class Item>
void as_triangle(const Item* matrix, const Item* vector, int64_t k, Item* c, int64_t stride) {
    for (int64_t i = 0; i < k; i++) {
        c[(i + 1) * stride] = vector[i];
        std::copy_n(matrix + i * k, i + 1, c + (i + 1) * stride + 1);
    }
}

// x: standard normal noise, or zeros; it becomes a draw of N(C⁻¹ h, C⁻¹), or its mean.
template <class V, class Item = typename formula::Number<V>::Scalar>
void solve(Array<const Item, 3> matrix, Array<const Item, 2> vector, Array<Item, 2> x, bool in_lanes, int threads) {
    const int64_t m = length(x, 0), k = length(x, 1), n = k + 1, stride = gram_stride<V>(n);
    const int64_t step = in_lanes ? width<V> : 1;
    run_shards((m + step - 1) / step, threads, [=](int64_t shard, Stop&) {
        static thread_local LaneSolver<V> lane_solver;
        static thread_local BlockSolver<V> block_solver;
        const int64_t first = shard * step, count = std::min(step, m - first);
        std::vector<Item> c(step * n * stride + padded<V>(n) * stride), unknown(step * stride);
        for (int64_t l = 0; l < count; l++) {
            as_triangle(matrix.data() + (first + l) * k * k, vector.data() + (first + l) * k, k,
                        c.data() + l * n * stride, stride);
            std::copy_n(x.data() + (first + l) * k, k, unknown.begin() + l * stride + 1);
        }
        if (in_lanes)
            lane_solver.solve(count, c.data(), stride, n, unknown.data(), stride);
        else
            block_solver.solve(c.data(), stride, n, unknown.data());
        for (int64_t l = 0; l < count; l++)
            std::copy_n(unknown.begin() + l * stride + 1, k, x.data() + (first + l) * k);
    });
}

// One pass of the chain over every row: x moves, coordinate by coordinate.
template <class Item>
void chain(Array<const Item, 3> matrix, Array<const Item, 2> vector, Array<const Item, 1> precision,
           Array<const Item, 1> pull, Item tau, Array<const Item, 2> noise, Array<Item, 2> x) {
    const int64_t k = length(x, 1), stride = k + 1;
    std::vector<Item> c((k + 1) * stride);
    for (int64_t r = 0; r < length(x, 0); r++) {
        as_triangle(matrix.data() + r * k * k, vector.data() + r * k, k, c.data(), stride);
        formula::chain(c.data(), stride, 0, k, formula::Prior<Item>{precision.data(), pull.data(), tau},
                       noise.data() + r * k, x.data() + r * k);
    }
}

}  // namespace

void bind_rows(nb::module_& m) {
    m.def("gram_float", &gram<Lanes>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
          nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
    m.def("gram_double", &gram<double>, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
          nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
    m.def("solve_float", &solve<Lanes>, nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg());
    m.def("solve_double", &solve<double>, nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg());
    m.def("chain_float", &chain<float>);
    m.def("chain_double", &chain<double>);
    m.attr("lane_rows") = lane_rows;
}

}  // namespace dyads
