// words.cpp: words, uniforms and normals of consecutive rows at one site.
#include <algorithm>

#include "python.hpp"
#include "streams.hpp"

namespace dyads {
namespace {

constexpr int64_t shard_words = 1 << 16;

// Row r of `out` gets the words of row first_row + r, each row by `fill`.
template <class T>
void fill_rows(Array<T, 2> out, Stream stream, int64_t first_row, int threads,
               void (*fill)(const Stream&, int64_t, T*)) {
    const auto rows = static_cast<int64_t>(out.shape(0)), n = static_cast<int64_t>(out.shape(1));
    const int64_t step = std::max<int64_t>(1, shard_words / std::max<int64_t>(1, n));
    T* const data = out.data();
    run_shards((rows + step - 1) / step, threads, [=](int64_t shard, Stop&) {
        Stream row = stream;
        for (int64_t r = shard * step; r < std::min(rows, (shard + 1) * step); r++) {
            row.row = static_cast<uint32_t>(first_row + r);
            fill(row, n, data + r * n);
        }
    });
}

template <class T, void (*fill)(const Stream&, int64_t, T*)>
void bind_fill(nb::module_& m, const char* name) {
    m.def(
        name,
        [](Array<T, 2> out, uint64_t seed, uint32_t chain, uint32_t tick, uint32_t site, int64_t first_row,
           int threads) { fill_rows<T>(out, Stream{{seed, chain, tick}, site, 0}, first_row, threads, fill); },
        nb::arg("out").noconvert(), nb::arg("seed"), nb::arg("chain"), nb::arg("tick"), nb::arg("site"),
        nb::arg("first_row"), nb::arg("threads"));
}

// The block of one counter, from the last lane.
nb::tuple philox_block(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint64_t seed) {
    const WordLanes none{};
    const auto block = formula::philox<WordLanes>(none + a, none + b, none + c, none + d, seed);
    constexpr int last = lanes - 1;
    return nb::make_tuple(block.word[0][last], block.word[1][last], block.word[2][last], block.word[3][last]);
}

}  // namespace

void bind_words(nb::module_& m) {
    m.def("philox", &philox_block);
    bind_fill<uint32_t, fill_words>(m, "fill_words");
    bind_fill<float, fill_uniform>(m, "fill_uniform");
    bind_fill<float, fill_normal>(m, "fill_normal");
}

}  // namespace dyads
