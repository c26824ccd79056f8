// draw.hpp: what is drawn from random words. A word has 32 bits, and stands in a Word of T's width.
#pragma once
#include "circle.hpp"
#include "log.hpp"

namespace dyads::formula {

// ((word >> 9) + 1/2) / 2^23: exact in float, never 0 or 1.
template <class T>
inline T unit(typename Number<T>::Word word) {
    using N = Number<T>;
    using Scalar = typename N::Scalar;
    return (N::of(bits_as<typename N::Signed>(word >> 9)) + Scalar(0.5)) * Scalar(0x1p-23);
}

// Two standard normals from two words, by Box and Muller.
template <class T>
inline Point<T> normals(typename Number<T>::Word first, typename Number<T>::Word second) {
    using N = Number<T>;
    const T radius = N::root(log(unit<T>(first)) * typename N::Scalar(-2));
    const Point<T> at = circle(unit<T>(second));
    return {radius * at.cos, radius * at.sin};
}

// A whole number below `bound` (at most 2^32): (high 2^32 + low) bound / 2^64, rounded down.
inline uint64_t below(uint32_t low, uint32_t high, uint64_t bound) {
    return (high * bound + (low * bound >> 32)) >> 32;
}

}  // namespace dyads::formula
