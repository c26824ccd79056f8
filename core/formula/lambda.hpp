// lambda.hpp: λ(ξ) = tanh(ξ/2) / (4ξ), the curvature of Jaakkola and Jordan's bound on the logistic function, positive.
#pragma once
#include "exp.hpp"

namespace dyads::formula {

// tanh(y) / y in powers of y².
template <int digits>
struct TanhSeries;
template <>
struct TanhSeries<24> {
    static constexpr float c[] = {1.0f, -1.0f / 3, 2.0f / 15, -17.0f / 315};
};
template <>
struct TanhSeries<53> {
    static constexpr double c[] = {1.0,         -1.0 / 3,         2.0 / 15,          -17.0 / 315,
                                   62.0 / 2835, -1382.0 / 155925, 21844.0 / 6081075, -929569.0 / 638512875};
};

// λ from ξ², on which alone it depends. With e = exp(-ξ), tanh(ξ/2) = (1 - e) / (1 + e); below ξ = 1/4, where 1 - e
// loses its digits, the series. λ(0) = 1/8.
template <class T>
inline T lambda(T square) {
    using N = Number<T>;
    using Scalar = typename N::Scalar;
    const T near = polynomial(square * Scalar(0.25), TanhSeries<N::digits>::c) * Scalar(0.125);
    const T xi = N::root(square), e = exp(-xi);
    const T far = (all<T>(Scalar(1)) - e) / ((e + Scalar(1)) * xi * Scalar(4));
    return square < all<T>(Scalar(0.0625)) ? near : far;
}

}  // namespace dyads::formula
