// number.hpp: what a formula may ask of a number type.
//
// A formula is written once over T and runs as `double`, as `float` in a thread of a graphics card, or as a
// vector of lanes: no branches on values, `mask ? a : b` instead, which scalars and GCC vectors both know.
// Plain C++ that includes nothing of ours but other files of this folder.
#pragma once
#include <cstdint>

namespace dyads::formula {

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__CUDA_ARCH__)
inline constexpr bool fused = true;  // the level multiplies and adds with one rounding
#else
inline constexpr bool fused = false;
#endif

template <class To, class From>
constexpr To bits_as(From x) {
    return __builtin_bit_cast(To, x);
}

// One specialisation per type. Scalar is the number in one lane; Word and Signed have the width of T, lane for lane;
// `digits` counts T's significant bits; ln2_head + ln2_tail = ln 2, and an exponent times ln2_head is exact.
template <class T>
struct Number;

template <>
struct Number<double> {
    using Scalar = double;
    using Word = uint64_t;
    using Signed = int64_t;
    static constexpr int digits = 53;
    static constexpr double ln2_head = 0x1.62e42fefa38p-1, ln2_tail = 0x1.ef35793c7673p-45;
    template <class Integer>
    static double of(Integer i) {
        return static_cast<double>(i);
    }
    static double fuse(double a, double b, double c) { return __builtin_fma(a, b, c); }
    static double root(double x) { return __builtin_sqrt(x); }
};

template <>
struct Number<float> {
    using Scalar = float;
    using Word = uint32_t;
    using Signed = int32_t;
    static constexpr int digits = 24;
    static constexpr float ln2_head = 0x1.62e4p-1f, ln2_tail = 0x1.7f7d1cp-20f;
    template <class Integer>
    static float of(Integer i) {
        return static_cast<float>(i);
    }
    static float fuse(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
    static float root(float x) { return __builtin_sqrtf(x); }
};

// The same number in every lane. Less nothing and not more: x - 0 is x for the compiler too, 0 + x is not where x is
// -0.
template <class T>
inline T all(typename Number<T>::Scalar x) {
    return x - T{};
}

// a b + c: one rounding where the level has it, two where it has not. The only place where products and sums
// are contracted; the compiler may not do it by itself (-ffp-contract=off).
template <class T>
inline T mul_add(T a, T b, T c) {
    if constexpr (fused)
        return Number<T>::fuse(a, b, c);
    else
        return a * b + c;
}

// c[0] + c[1] x + ... + c[n-1] x^(n-1), Horner.
template <int n, class T, class C>
inline T polynomial(T x, const C (&c)[n]) {
    T sum = all<T>(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) sum = mul_add(sum, x, all<T>(c[i]));
    return sum;
}

}  // namespace dyads::formula
