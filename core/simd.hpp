// simd.hpp: the lanes of the CPU level this file is compiled for: 16 floats with AVX-512, 8 with AVX2, 4 elsewhere.
//
// Lanes, WordLanes and SignedLanes are vector types of GCC and Clang: + - * / & | ^ << >> and comparisons work lane by
// lane, a plain number stands for itself in every lane, and `mask ? a : b` selects. Here is only what those do not
// give.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

#include "formula/number.hpp"
#include "formula/philox.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace dyads {

#if defined(__AVX512F__)
inline constexpr int lanes = 16;
#define DYADS_X86(operation) _mm512_##operation
#define DYADS_X86_WORDS __m512i
#elif defined(__AVX2__)
inline constexpr int lanes = 8;
#define DYADS_X86(operation) _mm256_##operation
#define DYADS_X86_WORDS __m256i
#else
inline constexpr int lanes = 4;
#if defined(__SSE2__)
#define DYADS_X86(operation) _mm_##operation
#define DYADS_X86_WORDS __m128i
#endif
#endif

typedef float Lanes __attribute__((vector_size(4 * lanes)));
typedef uint32_t WordLanes __attribute__((vector_size(4 * lanes)));
typedef int32_t SignedLanes __attribute__((vector_size(4 * lanes)));
typedef uint64_t WideLanes __attribute__((vector_size(4 * lanes)));  // half as many lanes of 64 bits

// How many items a vector holds. A plain number holds one, so that kernels written for lanes run in double for tests.
template <class V>
inline constexpr int width = lanes;
template <>
inline constexpr int width<double> = 1;
template <>
inline constexpr int width<float> = 1;

// n rounded up to whole vectors.
template <class V>
constexpr int64_t padded(int64_t n) {
    return (n + width<V> - 1) / width<V> * width<V>;
}

// --- memory ------------------------------------------------------------------------------------------------------

template <class V, class Item>
inline V load(const Item* from) {
    static_assert(sizeof(V) == width<V> * sizeof(Item));
    V x;
    std::memcpy(&x, from, sizeof x);  // one instruction, aligned or not
    return x;
}

template <class V, class Item>
inline void store(Item* to, V x) {
    static_assert(sizeof(V) == width<V> * sizeof(Item));
    std::memcpy(to, &x, sizeof x);
}

// The first n items, n <= lanes, and zeros after them; nothing beyond them is touched.
template <class V, class Item>
inline V load_first(const Item* from, int64_t n) {
    V x{};
    std::memcpy(&x, from, static_cast<size_t>(n) * sizeof(Item));
    return x;
}

template <class V, class Item>
inline void store_first(Item* to, V x, int64_t n) {
    if (n >= width<V>)
        store(to, x);
    else if (n > 0)
        std::memcpy(to, &x, static_cast<size_t>(n) * sizeof(Item));
}

// One in the first n lanes, zero in the others.
template <class V>
inline V first_ones(int64_t n) {
    using Item = typename formula::Number<V>::Scalar;
    alignas(64) static constexpr auto steps = [] {
        struct {
            Item at[2 * width<V>] = {};
        } made;
        for (int l = 0; l < width<V>; l++) made.at[l] = Item(1);
        return made;
    }();
    return load<V>(steps.at + (width<V> - n));
}

// --- across lanes ------------------------------------------------------------------------------------------------

// Lane l of the result is lane index[l] of a and b laid end to end.
template <int... index, class V>
inline V shuffle(V a, V b) {
#if __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(a, b, index...);
#else
    return __builtin_shuffle(a, b, SignedLanes{index...});
#endif
}

namespace detail {

template <int... lane>
constexpr WordLanes counted(std::integer_sequence<int, lane...>) {
    return WordLanes{lane...};
}

// Swaps the blocks of `size` lanes that lie across the diagonal of two rows `size` apart.
template <int size, int... lane>
inline void swap_blocks(Lanes& a, Lanes& b, std::integer_sequence<int, lane...>) {
    const Lanes low = shuffle<(lane & size ? lanes + lane - size : lane)...>(a, b);
    b = shuffle<(lane & size ? lanes + lane : lane + size)...>(a, b);
    a = low;
}

// Of every four lanes: two of a and two of b, from `from` on, by turns or one pair behind the other.
template <int from, int... lane>
inline Lanes zip(Lanes a, Lanes b, std::integer_sequence<int, lane...>) {
    return shuffle<(lane / 4 * 4 + from + lane % 4 / 2 + (lane & 1 ? lanes : 0))...>(a, b);
}

template <int from, int... lane>
inline Lanes join(Lanes a, Lanes b, std::integer_sequence<int, lane...>) {
    return shuffle<(lane / 4 * 4 + from + (lane & 1) + (lane & 2 ? lanes : 0))...>(a, b);
}

template <int size>
inline void transpose_blocks(Lanes (&rows)[lanes]) {
#pragma GCC unroll 16
    for (int r = 0; r < lanes; r++)
        if (!(r & size)) swap_blocks<size>(rows[r], rows[r + size], std::make_integer_sequence<int, lanes>{});
    if constexpr (size > 1) transpose_blocks<size / 2>(rows);
}

template <int size, int... lane>
inline float fold(Lanes x, std::integer_sequence<int, lane...> all) {
    const Lanes sum = x + shuffle<(lane ^ size)...>(x, x);
    if constexpr (size > 1)
        return fold<size / 2>(sum, all);
    else
        return sum[0];
}

}  // namespace detail

// 0, 1, 2, ... in the lanes.
inline constexpr WordLanes lane_numbers = detail::counted(std::make_integer_sequence<int, lanes>{});

// Lane c of row r becomes lane r of row c.
inline void transpose(Lanes (&rows)[lanes]) { detail::transpose_blocks<lanes / 2>(rows); }

inline void transpose(double (&)[1]) {}

// Four neighbouring numbers of `width` rows, from `at` on. Piece q holds those of rows q, q + 4, .. one after the
// other; transpose_quads makes piece q column at + q, a row in every lane.
inline constexpr int quad = 4;

inline void load_quads(Lanes (&piece)[quad], const float* const* row, int64_t at) {
#pragma GCC unroll 4
    for (int q = 0; q < quad; q++) {
#if defined(__AVX512F__)
        __m512 four = _mm512_castps128_ps512(_mm_loadu_ps(row[q] + at));
        four = _mm512_insertf32x4(four, _mm_loadu_ps(row[q + 4] + at), 1);
        four = _mm512_insertf32x4(four, _mm_loadu_ps(row[q + 8] + at), 2);
        piece[q] = _mm512_insertf32x4(four, _mm_loadu_ps(row[q + 12] + at), 3);
#elif defined(__AVX2__)
        const __m256 two = _mm256_castps128_ps256(_mm_loadu_ps(row[q] + at));
        piece[q] = _mm256_insertf128_ps(two, _mm_loadu_ps(row[q + 4] + at), 1);
#else
        piece[q] = load<Lanes>(row[q] + at);
#endif
    }
}

inline void load_quads(double (&piece)[quad], const double* const* row, int64_t at) {
    for (int q = 0; q < quad; q++) piece[q] = row[0][at + q];
}

inline void transpose_quads(Lanes (&piece)[quad]) {
    constexpr auto all = std::make_integer_sequence<int, lanes>{};
    const Lanes a = detail::zip<0>(piece[0], piece[1], all), b = detail::zip<0>(piece[2], piece[3], all);
    const Lanes c = detail::zip<2>(piece[0], piece[1], all), d = detail::zip<2>(piece[2], piece[3], all);
    piece[0] = detail::join<0>(a, b, all);
    piece[1] = detail::join<2>(a, b, all);
    piece[2] = detail::join<0>(c, d, all);
    piece[3] = detail::join<2>(c, d, all);
}

inline void transpose_quads(double (&)[quad]) {}

// The sum of the lanes: halves first, so always in one order.
inline float sum(Lanes x) { return detail::fold<lanes / 2>(x, std::make_integer_sequence<int, lanes>{}); }
inline double sum(double x) { return x; }

}  // namespace dyads

// --- what formulas ask of a number, and of a word ------------------------------------------------------------------

namespace dyads::formula {

template <>
struct Number<Lanes> {
    using Scalar = float;
    using Word = WordLanes;
    using Signed = SignedLanes;
    static constexpr int digits = 24;
    static constexpr float ln2_head = Number<float>::ln2_head, ln2_tail = Number<float>::ln2_tail;
    static Lanes of(SignedLanes i) { return __builtin_convertvector(i, Lanes); }
#if defined(__FMA__)
    static Lanes fuse(Lanes a, Lanes b, Lanes c) { return DYADS_X86(fmadd_ps)(a, b, c); }
#elif defined(__ARM_NEON)
    static Lanes fuse(Lanes a, Lanes b, Lanes c) { return bits_as<Lanes>(vfmaq_f32(c, a, b)); }
#endif
#if defined(__SSE2__)
    static Lanes root(Lanes x) { return DYADS_X86(sqrt_ps)(x); }
#elif defined(__ARM_NEON)
    static Lanes root(Lanes x) { return bits_as<Lanes>(vsqrtq_f32(x)); }
#else
    static Lanes root(Lanes x) {
        for (int l = 0; l < lanes; l++) x[l] = __builtin_sqrtf(x[l]);
        return x;
    }
#endif
};

template <>
struct Product<WordLanes> {
    WordLanes high, low;
    static Product of(WordLanes a, uint32_t b) {
#if defined(__SSE2__)  // even and odd lanes apart, each product in 64 bits
        const WideLanes wide = bits_as<WideLanes>(a), factor = WideLanes{} + b;
        const WideLanes even = times(wide, factor), odd = times(wide >> 32, factor);
        constexpr uint64_t low_half = 0xFFFFFFFF;
        return {bits_as<WordLanes>((even >> 32) | (odd & ~low_half)),
                bits_as<WordLanes>((even & low_half) | (odd << 32))};
    }
    static WideLanes times(WideLanes a, WideLanes b) {  // of the low halves
        return bits_as<WideLanes>(DYADS_X86(mul_epu32)(bits_as<DYADS_X86_WORDS>(a), bits_as<DYADS_X86_WORDS>(b)));
#else
        Product product;
        for (int l = 0; l < lanes; l++) {
            const uint64_t wide = uint64_t{a[l]} * b;
            product.high[l] = static_cast<uint32_t>(wide >> 32);
            product.low[l] = static_cast<uint32_t>(wide);
        }
        return product;
#endif
    }
};

}  // namespace dyads::formula
