// exp.hpp: e^x, within 1 unit in the last place in float and in double.
#pragma once
#include "number.hpp"

namespace dyads::formula {

// (e^r - 1 - r) / r² on |r| <= ln 2 / 2, minimax in the relative error of e^r: 2^-28.3 and 2^-57.9.
template <int digits>
struct ExpSeries;
template <>
struct ExpSeries<24> {
    static constexpr float lowest = -87.5f, highest = 89.0f;
    static constexpr float c[] = {0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558f4p-5f, 0x1.123a6ap-7f, 0x1.6a2352p-10f};
};
template <>
struct ExpSeries<53> {
    static constexpr double lowest = -708.5, highest = 710.0;
    static constexpr double c[] = {0x1.000000000000ap-1,  0x1.55555555554f9p-3,  0x1.55555555507f2p-5,
                                   0x1.1111111127e8dp-7,  0x1.6c16c1844ad28p-10, 0x1.a01a0129afc28p-13,
                                   0x1.a01999ae41f9cp-16, 0x1.71df263910085p-19, 0x1.28adce0cffbc3p-22,
                                   0x1.ad7eeb0cfd0e8p-26};
};

// x = n ln 2 + r. Overflows to infinity; below sqrt 2 times the smallest normal number it is 0; NaN stays NaN.
// Adding 1.5 · 2^(digits - 1) rounds to a whole number and leaves it in the low bits, so no conversion is needed.
template <class T>
inline T exp(T x) {
    using N = Number<T>;
    using Scalar = typename N::Scalar;
    using Word = typename N::Word;
    using ScalarWord = typename Number<Scalar>::Word;
    using Series = ExpSeries<N::digits>;
    constexpr Scalar shift = static_cast<Scalar>(uint64_t{3} << (N::digits - 2));
    constexpr ScalarWord bias = (ScalarWord{1} << (8 * sizeof(Scalar) - N::digits - 1)) - 1;

    const T low = all<T>(Series::lowest), high = all<T>(Series::highest);
    x = x < low ? low : x;
    x = x > high ? high : x;
    const T shifted = mul_add(x, all<T>(Scalar(1.4426950408889634)), all<T>(shift));
    const T n = shifted - shift;
    const T r = mul_add(-n, all<T>(N::ln2_tail), mul_add(-n, all<T>(N::ln2_head), x));
    const T p = mul_add(r * r, polynomial(r, Series::c), r) + Scalar(1);
    // 2^(n - 1) and twice p, for 2^n may be one too large. It is 0 where n is lowest.
    const Word scale = (bits_as<Word>(shifted) - bits_as<ScalarWord>(shift) + (bias - 1)) << (N::digits - 1);
    return p * Scalar(2) * bits_as<T>(scale);
}

}  // namespace dyads::formula
