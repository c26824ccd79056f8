// circle.hpp: the cosine and the sine of an angle given in turns.
#pragma once
#include "number.hpp"

namespace dyads::formula {

// sin(2 pi f) = f (tau + tau_tail + f² S(f²)) and cos(2 pi f) = 1 + f² C(f²) on |f| <= 1/8, minimax: 2^-28 and 2^-34 in
// float, 2^-58 and 2^-64 in double.
template <int digits>
struct CircleSeries;
template <>
struct CircleSeries<24> {
    static constexpr float tau = 0x1.921fb6p+2f, tau_tail = -0x1.777a5cp-23f;
    static constexpr float sin[] = {-0x1.4abbcp+5f, 0x1.46603p+6f, -0x1.2dd02ap+6f};
    static constexpr float cos[] = {-0x1.3bd3ccp+4f, 0x1.03c1dep+6f, -0x1.55c664p+6f, 0x1.d9f78ap+5f};
};
template <>
struct CircleSeries<53> {
    static constexpr double tau = 0x1.921fb54442d18p+2, tau_tail = 0x1.1a62633145c07p-52;
    static constexpr double sin[] = {-0x1.4abbce625be47p+5, 0x1.466bc67758d80p+6,  -0x1.32d2cce332d8ap+6,
                                     0x1.5078301b04a82p+5,  -0x1.e300a5fd34b58p+3, 0x1.e403ae618284fp+1};
    static constexpr double cos[] = {-0x1.3bd3cc9be45dep+4, 0x1.03c1f081b5ab0p+6,  -0x1.55d3c7e3c95b7p+6,
                                     0x1.e1f50683b3a7ap+5,  -0x1.a6d1ecb6d38b2p+4, 0x1.f9cc6a790be95p+2,
                                     -0x1.b26fcd61de331p+0};
};

template <class T>
struct Point {
    T cos, sin;
};

// 0 <= turns <= 1. With q the nearest quarter, turns - q/4 is exact: an angle in radians would lose the last bits.
template <class T>
inline Point<T> circle(T turns) {
    using N = Number<T>;
    using Scalar = typename N::Scalar;
    using Word = typename N::Word;
    using Series = CircleSeries<N::digits>;
    constexpr Scalar shift = static_cast<Scalar>(uint64_t{3} << (N::digits - 2));  // as in exp.hpp
    constexpr int sign_at = 8 * sizeof(Scalar) - 1;

    const T shifted = turns * Scalar(4) + shift;
    const Word quarter = bits_as<Word>(shifted);  // its two low bits
    const T f = turns - (shifted - shift) * Scalar(0.25);
    const T square = f * f;
    const T sin =
        mul_add(f, all<T>(Series::tau), f * mul_add(square, polynomial(square, Series::sin), all<T>(Series::tau_tail)));
    const T cos = mul_add(square, polynomial(square, Series::cos), all<T>(Scalar(1)));
    const auto odd = (quarter & 1) != 0;
    const Word sin_sign = (quarter & 2) << (sign_at - 1), cos_sign = ((quarter + 1) & 2) << (sign_at - 1);
    return {bits_as<T>(bits_as<Word>(odd ? sin : cos) ^ cos_sign),
            bits_as<T>(bits_as<Word>(odd ? cos : sin) ^ sin_sign)};
}

}  // namespace dyads::formula
