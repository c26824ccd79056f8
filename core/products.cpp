// products.cpp: rows of a sparse matrix times a block of K columns.
//
// A row's sum is taken over blocks of its entries, each in registers, and the blocks' sums are added in order: the
// error grows with the length of a block and the number of blocks, not with that of the row, and the blocks of a heavy
// row can be shared out without a change of bits.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <utility>
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

    // to[0 .. k - 1] = Σ of one block of entries: up to eight vectors of columns in a go.
    void block_sum(const int32_t* idx, const float* val, int64_t n, Item* to) const {
        for (int64_t c = 0; c < k_; c += 8 * W) {
            const int64_t vectors = std::min<int64_t>(8, (k_ - c + W - 1) / W);
            constexpr auto each = std::make_integer_sequence<int, 8>{};
            some_columns(vectors, idx, val, n, c, to, each);
        }
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

    template <int... before>
    void some_columns(int64_t vectors, const int32_t* idx, const float* val, int64_t n, int64_t c, Item* to,
                      std::integer_sequence<int, before...>) const {
        ((vectors == before + 1 ? columns<before + 1>(idx, val, n, c, to) : void()), ...);
    }

    // The last vector ends with the last column and may overlap the one before it, which sums the same numbers.
    template <int vectors>
    void columns(const int32_t* idx, const float* val, int64_t n, int64_t c, Item* to) const {
        const int64_t last = std::max<int64_t>(0, std::min(c + (vectors - 1) * W, k_ - W));
        V sum[vectors]{};
        for (int64_t e = 0; e < n; e++) {
            const Item* from = block_ + idx[e] * step_;
            if (e + 8 < n)
                for (int v = 0; v < vectors; v++) __builtin_prefetch(block_ + idx[e + 8] * step_ + c + v * W);
            const V x = formula::all<V>(val ? static_cast<Item>(val[e]) : Item(1));
#pragma GCC unroll 8
            for (int v = 0; v < vectors - 1; v++) sum[v] = mul_add(x, load<V>(from + c + v * W), sum[v]);
            sum[vectors - 1] = mul_add(x, load<V>(from + last), sum[vectors - 1]);
        }
        for (int v = 0; v < vectors - 1; v++) store(to + c + v * W, sum[v]);
        store_first(to + last, sum[vectors - 1], k_ - last);
    }

    const Item* block_;
    const int64_t step_, k_;
};

template <class V, class Item>
struct Side {
    const Products<V, Item>& products;
    const int64_t* ptr;
    const int32_t* idx;
    const float* val;
    int64_t k;
    Item* out;

    int64_t entries(int64_t r) const { return ptr[r + 1] - ptr[r]; }
    bool heavy(int64_t r) const { return entries(r) > heavy_entries; }
    const float* values(int64_t e) const { return val ? val + e : nullptr; }

    void light_rows(int64_t first, int64_t last, Stop& stop) const {
        std::vector<Item> part(static_cast<size_t>(k));
        int64_t since = 0;
        for (int64_t r = first; r < last; r++) {
            if (heavy(r)) continue;
            products.row_sum(idx + ptr[r], values(ptr[r]), entries(r), part.data(), out + r * k);
            if ((since += entries(r)) < polled_entries) continue;
            if (stop.asked()) return;
            since = 0;
        }
    }

    void heavy_row(int64_t r, int threads) const {
        constexpr int64_t blocks = 16;  // in a shard
        const int64_t n = entries(r), n_blocks = (n + block_entries - 1) / block_entries;
        std::vector<Item> parts(static_cast<size_t>(n_blocks * k));
        run_shards((n_blocks + blocks - 1) / blocks, threads, [&](int64_t shard, Stop&) {
            for (int64_t b = blocks * shard; b < std::min(n_blocks, blocks * (shard + 1)); b++) {
                const int64_t first = b * block_entries, e = ptr[r] + first;
                products.block_sum(idx + e, values(e), std::min(block_entries, n - first), parts.data() + b * k);
            }
        });
        std::fill_n(out + r * k, k, Item(0));
        for (size_t i = 0; i < parts.size(); i++) out[r * k + static_cast<int64_t>(i) % k] += parts[i];
    }
};

// The block, or for columns narrower than a vector the same rows with zeros behind them.
template <class Item>
const Item* widened(const Array<const Item, 2>& block, int64_t step, Scratch<Item>& wide) {
    const auto n = static_cast<int64_t>(block.shape(0)), k = static_cast<int64_t>(block.shape(1));
    if (step == k) return block.data();
    Item* to = wide.get(n * step);
    std::fill_n(to, n * step, Item(0));
    for (int64_t r = 0; r < n; r++) std::copy_n(block.data() + r * k, k, to + r * step);
    return to;
}

template <class V, class Item>
void row_products(Array<const int64_t, 1> ptr, Array<const int32_t, 1> idx, std::optional<Array<const float, 1>> values,
                  Array<const int64_t, 1> cuts, Array<const Item, 2> block, Array<Item, 2> out, int threads) {
    const auto k = static_cast<int64_t>(block.shape(1));
    if (k == 0) return;
    const int64_t step = std::max<int64_t>(k, width<V>);
    Scratch<Item> wide;
    const Products<V, Item> products(widened(block, step, wide), step, k);
    const Side<V, Item> side{products, ptr.data(), idx.data(), values ? values->data() : nullptr, k, out.data()};
    run_shards(static_cast<int64_t>(cuts.shape(0)) - 1, threads,
               [&](int64_t shard, Stop& stop) { side.light_rows(cuts.data()[shard], cuts.data()[shard + 1], stop); });
    for (int64_t r = 0; r + 1 < static_cast<int64_t>(ptr.shape(0)); r++)
        if (side.heavy(r)) side.heavy_row(r, threads);
}

}  // namespace

void bind_products(nb::module_& m) {
    m.def("row_products_float32", &row_products<Lanes, float>, nb::arg("ptr"), nb::arg("idx"), nb::arg("val"),
          nb::arg("cuts"), nb::arg("block"), nb::arg("out"), nb::arg("threads"));
    m.def("row_products_float64", &row_products<double, double>, nb::arg("ptr"), nb::arg("idx"), nb::arg("val"),
          nb::arg("cuts"), nb::arg("block"), nb::arg("out"), nb::arg("threads"));
}

}  // namespace dyads
