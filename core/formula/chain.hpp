// chain.hpp: one coordinate after the other, each drawn from its own conditional given all others (SBMF, eq. 17-20).
//
// A row of the data is y = Σ_s v_s x_s + noise over its neighbours. With h_s = Σ e v_s, e the residuals before the
// move, and q_s = Σ v_s², coordinate s moves to
//     x_s' = (pull_s + τ (h_s + x_s q_s)) / p_s + z_s / √p_s,   p_s = precision_s + τ q_s,
// where precision and pull = precision · mean are those of the prior.
#pragma once
#include "number.hpp"

namespace dyads::formula {

template <class T>
struct Prior {
    const typename Number<T>::Scalar *precision, *pull;  // by coordinate
    typename Number<T>::Scalar tau;
};

// What of a move is known before h is: x' = start + weight (h + x q).
template <class T>
struct Conditional {
    T start, weight;
};

template <class T>
inline Conditional<T> conditional(T precision, T pull, typename Number<T>::Scalar tau, T q, T z) {
    const T variance = all<T>(1) / mul_add(q, all<T>(tau), precision);
    return {mul_add(Number<T>::root(variance), z, pull * variance), variance * tau};
}

template <class T>
inline T moved(const Conditional<T>& given, T x, T q, T h) {
    return mul_add(given.weight, mul_add(x, q, h), given.start);
}

// The chain of coordinates first .. n-1 of one row (or of a row in every lane) from the row's Gram matrix alone, a
// lower triangle by rows, `stride` apart: row 1 + s holds Σ y v_s, then Σ v_s v_0 .. Σ v_s². Row 0 is not read.
template <class T>
inline void chain(const T* gram, int64_t stride, int64_t first, int64_t n, const Prior<T>& prior, const T* z, T* x) {
    for (int64_t s = first; s < n; s++) {
        const T* row = gram + (s + 1) * stride;
        const T q = row[s + 1];
        T h = row[0];
        for (int64_t t = 0; t <= s; t++) h = mul_add(-row[t + 1], x[t], h);
        for (int64_t t = s + 1; t < n; t++) h = mul_add(-gram[(t + 1) * stride + s + 1], x[t], h);
        const auto given = conditional(all<T>(prior.precision[s]), all<T>(prior.pull[s]), prior.tau, q, z[s]);
        x[s] = moved(given, x[s], q, h);
    }
}

}  // namespace dyads::formula
