// across.hpp: sums and questions across lanes that several kernels ask.
#pragma once
#include "simd.hpp"

namespace dyads {

namespace detail {

// Half as many vectors: each holds the pairwise sums of two.
template <int size, int... lane>
inline Lanes add_pairs(Lanes a, Lanes b, std::integer_sequence<int, lane...>) {
    return shuffle<(lane & size ? lanes + lane - size : lane)...>(a, b) +
           shuffle<(lane & size ? lanes + lane : lane + size)...>(a, b);
}

template <int size>
inline Lanes fold_rows(Lanes* x) {
    constexpr auto all = std::make_integer_sequence<int, lanes>{};
#pragma GCC unroll 8
    for (int r = 0; r < size; r++) x[r] = add_pairs<size>(x[r], x[r + size], all);
    if constexpr (size > 1)
        return fold_rows<size / 2>(x);
    else
        return x[0];
}

}  // namespace detail

// Lane l of the result is the sum of the lanes of x[l], halves first; x is lost.
inline Lanes row_sums(Lanes (&x)[lanes]) { return detail::fold_rows<lanes / 2>(x); }
inline double row_sums(double (&x)[1]) { return x[0]; }

// Bit l: whether a > b in lane l.
inline uint32_t above(Lanes a, Lanes b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
#elif defined(__AVX2__)
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)));
#elif defined(__SSE2__)
    return static_cast<uint32_t>(_mm_movemask_ps(_mm_cmpgt_ps(a, b)));
#else
    const SignedLanes greater = a > b;
    uint32_t bits = 0;
    for (int l = 0; l < lanes; l++) bits |= greater[l] ? uint32_t{1} << l : 0;
    return bits;
#endif
}

inline Lanes greater(Lanes a, Lanes b) {
#if defined(__SSE2__)
    return DYADS_X86(max_ps)(a, b);
#else
    return a > b ? a : b;
#endif
}

// The number in lane l, or the number itself.
inline float lane(Lanes x, int l) { return x[l]; }
inline double lane(double x, int) { return x; }

}  // namespace dyads
