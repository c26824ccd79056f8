// side.hpp: one side of the data as row kernels gather it, and the scratch memory they work in.
//
// A side's table has one row per user or item, [bias, f_1 .. f_K], filled up with zeros to whole quads: four numbers
// are the least that is gathered at once.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "formula/number.hpp"
#include "simd.hpp"

namespace dyads {

// Aligned memory that grows and is used again. Large pieces ask for huge pages: random rows of a big table cost as much
// in address look-ups as in cache lines.
template <class Item>
class Scratch {
  public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() { std::free(data_); }

    Item* get(int64_t n) {
        if (n > size_) {
            constexpr size_t large = size_t{4} << 20, huge_page = size_t{2} << 20, line = 64;
            const size_t page = static_cast<size_t>(n) * sizeof(Item) > large ? huge_page : line;
            const size_t bytes = (static_cast<size_t>(n) * sizeof(Item) + page - 1) / page * page;
            std::free(data_);
            size_ = 0;
            data_ = static_cast<Item*>(std::aligned_alloc(page, bytes));
            if (data_ == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
            if (page == huge_page) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
            size_ = n;
        }
        return data_;
    }

  private:
    Item* data_ = nullptr;
    int64_t size_ = 0;
};

// One row of the data: the numbers of its neighbours and their values.
struct Neighbours {
    int64_t n;
    const int32_t* index;
    const float* value;  // null: all ones

    float at(int64_t j) const { return value != nullptr ? value[j] : 1.0F; }
    Neighbours part(int64_t first, int64_t last) const {
        return {last - first, index + first, value != nullptr ? value + first : nullptr};
    }
};

// The rows of one side of the data.
struct Rows {
    const int64_t* ptr;
    const int32_t* index;
    const float* value;

    int64_t count(int64_t r) const { return ptr[r + 1] - ptr[r]; }
    Neighbours row(int64_t r) const { return {count(r), index + ptr[r], value != nullptr ? value + ptr[r] : nullptr}; }
};

// n rounded up to whole quads.
constexpr int64_t quads(int64_t n) { return (n + quad - 1) / quad * quad; }

template <class Item>
struct Table {
    const Item* data;
    int64_t n, stride;

    static int64_t stride_for(int64_t n_factors) { return quads(n_factors + 1); }
    // A row of zeros stands behind the last one, and room for whole vectors that are read from a row's middle.
    static int64_t room(int64_t n, int64_t stride) { return (n + 1) * stride + 2 * lanes; }

    const Item* row(int64_t r) const { return data + r * stride; }
    const Item* zeros() const { return row(n); }
    void prefetch(int64_t r) const {
        constexpr int64_t line = 64 / sizeof(Item);
        for (int64_t s = 0; s < stride; s += line) __builtin_prefetch(row(r) + s);
    }
};

// Rows [first, last) of a table from factors (n, K) and biases.
template <class Item>
inline void pack_rows(Item* table, int64_t stride, const Item* factors, const Item* bias, int64_t n_factors,
                      int64_t first, int64_t last) {
    for (int64_t r = first; r < last; r++) {
        Item* row = table + r * stride;
        row[0] = bias[r];
        std::copy_n(factors + r * n_factors, n_factors, row + 1);
        std::fill(row + 1 + n_factors, row + stride, Item(0));
    }
}

// value - offset of neighbours b .. b + m - 1 in the lanes, zeros in the others.
template <class V>
inline V targets(const Neighbours& row, int64_t b, int64_t m, typename formula::Number<V>::Scalar offset) {
    using Item = typename formula::Number<V>::Scalar;
    Item value[width<V>] = {};
    if (row.value != nullptr && m == width<V>)
        for (int l = 0; l < width<V>; l++) value[l] = Item(row.value[b + l]) - offset;
    else
        for (int64_t l = 0; l < m; l++) value[l] = Item(row.at(b + l)) - offset;
    return load<V>(value);
}

}  // namespace dyads
