// philox.hpp: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; 2011).
#pragma once
#include <cstdint>

namespace dyads::formula {

// The product of a word of 32 bits and a constant, as two words. Lanes specialise it.
template <class W>
struct Product {
    W high, low;
    static Product of(W a, uint32_t b) {
        const uint64_t product = uint64_t{a} * b;
        return {static_cast<W>(product >> 32), static_cast<W>(product)};
    }
};

template <class W>
struct Block {
    W word[4];
};

// Ten rounds over the counter (a, b, c, d); the key is the seed, its low word first.
template <class W>
inline Block<W> philox(W a, W b, W c, W d, uint64_t seed) {
    uint32_t low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const Product<W> first = Product<W>::of(a, 0xD2511F53), second = Product<W>::of(c, 0xCD9E8D57);
        a = second.high ^ b ^ low;
        b = second.low;
        c = first.high ^ d ^ high;
        d = first.low;
        low += 0x9E3779B9;
        high += 0xBB67AE85;
    }
    return {{a, b, c, d}};
}

}  // namespace dyads::formula
