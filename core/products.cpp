// products.cpp: rows of a sparse matrix times a block of K columns.
//
// A row's sum is taken over blocks of its entries, each in registers, and the blocks' sums are added in order: the
// error grows with the length of a block and the number of blocks, not with that of the row, and the blocks of a heavy
// row can be shared out without a change of bits.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "python.hpp"
#include "side.hpp"

namespace dyads {
namespace {

using formula::mul_add;

constexpr int64_t block_entries = 512;
constexpr int64_t heavy_entries = 64 * block_entries;  // in a row whose blocks are shared out
constexpr int64_t polled_entries = 1 << 18;            // between two looks at the stop flag

template <class V, class Item>
class Products {
  public:
    // `block` (n, k) row by row, at least one vector wide.
    Products(const Item* block, int64_t step, int64_t k) : block_(block), step_(step), k_(k) {}

    // to[0 .. k - 1] = Σ of one block of entries.
    void block_sum(const int32_t* idx, const float* val, int64_t n, Item* to) const {
        int64_t c = 0;
        while (k_ - c >= 8 * W) c = columns<8>(idx, val, n, c, to);
        while (k_ - c >= 4 * W) c = columns<4>(idx, val, n, c, to);
        if (k_ - c >= 2 * W) c = columns<2>(idx, val, n, c, to);
        if (k_ - c >= W) c = columns<1>(idx, val, n, c, to);
        if (c < k_)
            columns<1>(idx, val, n, std::max<int64_t>(0, k_ - W), to);  // the last vector overlaps its neighbour
    }

    void row_sum(const int32_t* idx, const float* val, int64_t n, Item* part, Item* to) const {
        std::fill_n(to, k_, Item(0));
        for (int64_t e = 0; e < n; e += block_entries) {
            block_sum(idx + e, val ? val + e : nullptr, std::min(block_entries, n - e), part);
            for (int64_t c = 0; c < k_; c++) to[c] += part[c];
        }
    }

  private:
    static constexpr int W = width<V>;

    template <int vectors>
    int64_t columns(const int32_t* idx, const float* val, int64_t n, int64_t c, Item* to) const {
        V sum[vectors]{};
        for (int64_t e = 0; e < n; e++) {
            const Item* from = block_ + idx[e] * step_ + c;
            if (e + 8 < n)
                for (int v = 0; v < vectors; v++) __builtin_prefetch(block_ + idx[e + 8] * step_ + c + v * W);
            const V x = formula::all<V>(val ? static_cast<Item>(val[e]) : Item(1));
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) sum[v] = mul_add(x, load<V>(from + v * W), sum[v]);
        }
        for (int v = 0; v < vectors; v++) store_first(to + c + v * W, sum[v], k_ - c - v * W);
        return c + vectors * W;
    }

    const Item* block_;
    const int64_t step_, k_;
};

template <class V, class Item>
void row_products(Array<const int64_t, 1> ptr, Array<const int32_t, 1> idx, std::optional<Array<const float, 1>> values,
                  Array<const int64_t, 1> cuts, Array<const Item, 2> block, Array<Item, 2> out, int threads) {
    const auto k = static_cast<int64_t>(block.shape(1)), n_columns = static_cast<int64_t>(block.shape(0));
    if (k == 0) return;
    const int64_t step = std::max<int64_t>(k, width<V>);
    Scratch<Item> wide;
    if (step > k) {  // narrower than a vector: rows are laid out anew, with zeros behind them
        Item* to = wide.get(n_columns * step);
        std::fill_n(to, n_columns * step, Item(0));
        for (int64_t r = 0; r < n_columns; r++) std::copy_n(block.data() + r * k, k, to + r * step);
    }
    const Products<V, Item> products(step > k ? wide.get(0) : block.data(), step, k);
    const int64_t* begin = ptr.data();
    const float* val = values ? values->data() : nullptr;
    const auto values_from = [val](int64_t e) { return val ? val + e : nullptr; };
    run_shards(static_cast<int64_t>(cuts.shape(0)) - 1, threads, [&](int64_t shard, Stop& stop) {
        std::vector<Item> part(static_cast<size_t>(k));
        int64_t since = 0;
        for (int64_t r = cuts.data()[shard]; r < cuts.data()[shard + 1]; r++) {
            const int64_t e = begin[r], n = begin[r + 1] - e;
            if (n > heavy_entries) continue;
            products.row_sum(idx.data() + e, values_from(e), n, part.data(), out.data() + r * k);
            if ((since += n) < polled_entries) continue;
            if (stop.asked()) return;
            since = 0;
        }
    });
    for (size_t r = 0; r + 1 < ptr.shape(0); r++) {
        const int64_t e = begin[r], n = begin[r + 1] - e, n_blocks = (n + block_entries - 1) / block_entries;
        if (n <= heavy_entries) continue;
        std::vector<Item> parts(static_cast<size_t>(n_blocks * k));
        run_shards((n_blocks + 15) / 16, threads, [&](int64_t shard, Stop&) {
            for (int64_t b = 16 * shard; b < std::min(n_blocks, 16 * shard + 16); b++) {
                const int64_t first = b * block_entries, m = std::min(block_entries, n - first);
                products.block_sum(idx.data() + e + first, values_from(e + first), m, parts.data() + b * k);
            }
        });
        Item* to = out.data() + static_cast<int64_t>(r) * k;
        std::fill_n(to, k, Item(0));
        for (int64_t b = 0; b < n_blocks; b++)
            for (int64_t c = 0; c < k; c++) to[c] += parts[static_cast<size_t>(b * k + c)];
    }
}

}  // namespace

void bind_products(nb::module_& m) {
    m.def("row_products_float32", &row_products<Lanes, float>, nb::arg("ptr"), nb::arg("idx"), nb::arg("val"),
          nb::arg("cuts"), nb::arg("block"), nb::arg("out"), nb::arg("threads"));
    m.def("row_products_float64", &row_products<double, double>, nb::arg("ptr"), nb::arg("idx"), nb::arg("val"),
          nb::arg("cuts"), nb::arg("block"), nb::arg("out"), nb::arg("threads"));
}

}  // namespace dyads
