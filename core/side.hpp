// side.hpp: one side of the data as row kernels gather it, and the scratch memory they work in.
//
// A side's table has one padded row per user or item, [bias, 1, f_1 .. f_K, 0 ..]. When a neighbour is gathered, slot 0
// becomes y = value - offset - bias, the target, and slot 1 carries the row's own bias as one more coordinate: every
// coordinate of a row is then treated alike, and no slot needs a branch.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "formula/number.hpp"
#include "simd.hpp"

namespace dyads {

using formula::mul_add;

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
            const bool huge = static_cast<size_t>(n) * sizeof(Item) > (size_t{4} << 20);
            const size_t page = huge ? size_t{2} << 20 : 64;
            const size_t bytes = (static_cast<size_t>(n) * sizeof(Item) + page - 1) / page * page;
            std::free(data_);
            size_ = 0;
            data_ = static_cast<Item*>(std::aligned_alloc(page, bytes));
            if (!data_) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
            if (huge) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
            size_ = n;
        }
        return data_;
    }

  private:
    Item* data_ = nullptr;
    int64_t size_ = 0;
};

// A row's values and the numbers of its neighbours.
template <class Item>
struct Neighbours {
    int64_t n;
    const int32_t* index;
    const Item* value;  // null: all ones
    Item at(int64_t j) const { return value ? value[j] : Item(1); }
};

// The rows of one side in a sparse matrix.
template <class Item>
struct Rows {
    const int64_t* ptr;
    const int32_t* index;
    const Item* value;
    Neighbours<Item> row(int64_t r) const {
        return {ptr[r + 1] - ptr[r], index + ptr[r], value ? value + ptr[r] : nullptr};
    }
};

template <class Item>
struct Table {
    const Item* data;
    int64_t stride;  // a row's slots, padded to whole vectors
    const Item* row(int64_t r) const { return data + r * stride; }
};

// Packs rows [first, last) of factors (n, K) and biases into a table.
template <class Item>
inline void pack_rows(Item* table, int64_t stride, const Item* factors, const Item* bias, int64_t k, int64_t first,
                      int64_t last) {
    for (int64_t r = first; r < last; r++) {
        Item* row = table + r * stride;
        row[0] = bias ? bias[r] : Item(0);
        row[1] = Item(1);
        std::copy_n(factors + r * k, k, row + 2);
        std::fill(row + 2 + k, row + stride, Item(0));
    }
}

}  // namespace dyads
