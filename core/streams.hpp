// streams.hpp: random words by address, many at a time.
//
// The words of one (tick, site, chain, row) come in groups of 64: word w is output (w % 64) / 16 of block
// 16 (w / 64) + w % 16. So 16 lanes, 8 or 4 write the same words where they belong, without moving lanes about.
#pragma once
#include <cstdint>

#include "formula/draw.hpp"
#include "simd.hpp"

namespace dyads {

struct At {
    uint64_t seed;
    uint32_t chain, tick;
};

// The words of one row at one site.
struct Stream {
    At at;
    uint32_t site, row;

    template <class W>
    formula::Block<W> block(W number) const {
        const W none{};
        return formula::philox<W>(none + at.tick, none + (site << 24 | at.chain), none + row, number, at.seed);
    }
};

inline constexpr int64_t group_blocks = 16, group_words = 64;

// Calls take(place, block) for every vector of blocks that holds some of the first n words; output q of those blocks
// belongs at place + 16 q.
template <class Take>
inline void blocks(const Stream& stream, int64_t n, Take take) {
    for (int64_t group = 0; group * group_words < n; group++)
        for (int64_t part = 0; part < group_blocks && group * group_words + part < n; part += lanes) {
            const auto first = static_cast<uint32_t>(group * group_blocks + part);
            take(group * group_words + part, stream.block<WordLanes>(lane_numbers + first));
        }
}

inline void fill_words(const Stream& stream, int64_t n, uint32_t* out) {
    blocks(stream, n, [&](int64_t place, const formula::Block<WordLanes>& block) {
        for (int q = 0; q < 4; q++, place += group_blocks) store_first(out + place, block.word[q], n - place);
    });
}

// n uniforms of (0, 1).
inline void fill_uniform(const Stream& stream, int64_t n, float* out) {
    blocks(stream, n, [&](int64_t place, const formula::Block<WordLanes>& block) {
        for (int q = 0; q < 4; q++, place += group_blocks)
            store_first(out + place, formula::unit<Lanes>(block.word[q]), n - place);
    });
}

// The same normals in double precision, for tests.
inline void fill_normal(const Stream& stream, int64_t n, double* out) {
    for (int64_t group = 0; group * group_words < n; group++)
        for (int64_t lane = 0; lane < group_blocks && group * group_words + lane < n; lane++) {
            const auto block = stream.block<uint32_t>(static_cast<uint32_t>(group * group_blocks + lane));
            for (int q = 0; q < 4; q += 2) {
                const auto two = formula::normals<double>(block.word[q], block.word[q + 1]);
                const int64_t place = group * group_words + q * group_blocks + lane;
                if (place < n) out[place] = two.cos;
                if (place + group_blocks < n) out[place + group_blocks] = two.sin;
            }
        }
}

// n standard normals: outputs 0 and 1 give the cosine's and the sine's at q = 0 and 1, outputs 2 and 3 at q = 2 and 3.
inline void fill_normal(const Stream& stream, int64_t n, float* out) {
    blocks(stream, n, [&](int64_t place, const formula::Block<WordLanes>& block) {
        for (int q = 0; q < 4 && place < n; q += 2, place += 2 * group_blocks) {
            const auto two = formula::normals<Lanes>(block.word[q], block.word[q + 1]);
            store_first(out + place, two.cos, n - place);
            store_first(out + place + group_blocks, two.sin, n - place - group_blocks);
        }
    });
}

}  // namespace dyads
