// log.hpp: the natural logarithm, within 1 unit in the last place in float and in double.
#pragma once
#include "number.hpp"

namespace dyads::formula {

// (2 artanh(s) / s - 2) / s² as a polynomial in s², for 1 / sqrt 2 <= m <= sqrt 2 and s = (m - 1) / (m + 1); minimax in
// the relative error of log m: 2^-30.2 and 2^-59.5.
template <int digits>
struct LogSeries;
template <>
struct LogSeries<24> {
    static constexpr float c[] = {0x1.55557ap-1f, 0x1.995e9cp-2f, 0x1.31e676p-2f};
};
template <>
struct LogSeries<53> {
    static constexpr double c[] = {0x1.5555555555593p-1, 0x1.999999997fb32p-2, 0x1.2492494217911p-2,
                                   0x1.c71c51e80a668p-3, 0x1.7466462771b91p-3, 0x1.39a0f5a229eedp-3,
                                   0x1.2f0d8759f407bp-3};
};

// x = 2^e m, with f = m - 1 and log m = f - f²/2 + s (f²/2 + s² P(s²)). For finite x at least as large as the smallest
// normal number; anything else gives a number without meaning.
template <class T>
inline T log(T x) {
    using N = Number<T>;
    using Scalar = typename N::Scalar;
    using Word = typename N::Word;
    using Signed = typename N::Signed;
    constexpr int exponent_at = N::digits - 1;
    constexpr Scalar root_half = Scalar(0.70710678118654752);

    const Word bits = bits_as<Word>(x);
    const Signed e = bits_as<Signed>(bits - bits_as<typename Number<Scalar>::Word>(root_half)) >> exponent_at;
    const T exponent = N::of(e);
    const T f = bits_as<T>(bits - (bits_as<Word>(e) << exponent_at)) - Scalar(1);
    const T s = f / (f + Scalar(2));
    const T square = s * s, half = f * f * Scalar(0.5);
    const T tail =
        mul_add(s, mul_add(square, polynomial(square, LogSeries<N::digits>::c), half), exponent * N::ln2_tail);
    return mul_add(exponent, all<T>(N::ln2_head), f - (half - tail));
}

}  // namespace dyads::formula
