// entry_chain.hpp: what one sampled entry asks of the parameters it touches (Hernández-Lobato, Houlsby, Ghahramani
// 2014).
//
// a_ij = u_i · v_j + b_i + b_j + z, every parameter a Gaussian with mean m and variance s, held as m / s and 1 / s. The
// chain moves z, then every coordinate of v_j, then every one of u_i, each by a natural-gradient step with ξ at its
// optimum before it. The caller brings the numbers into place and takes the targets away.
#pragma once
#include "lambda.hpp"
#include "number.hpp"

namespace dyads::formula {

// m / s and 1 / s.
template <class T>
struct Natural {
    T first, second;
};

template <class T>
struct Gaussian {
    T mean, variance;
};

template <class T>
inline Gaussian<T> gaussian(Natural<T> n) {
    const T variance = all<T>(1) / n.second;
    return {n.first * variance, variance};
}

// How a group of parameters moves: ρ, one over the probability of the entry given its row (for z, of the entry), and
// the prior.
template <class T>
struct Motion {
    T rate, weight;
    Natural<T> prior;
};

// One side of the entry: n factors and a bias. `state` comes with the saved parameters and goes with the targets, those
// parameters that this entry alone asks for; `now` is room for as many.
template <class T>
struct EntrySide {
    Natural<T>* state;
    Gaussian<T>* now;
    Motion<T> motion;
};

template <class T>
struct EntryOffset {
    Natural<T> state;
    Motion<T> motion;
};

// E[a] and Var[a]; the sign of the entry, x - 1/2, beside them.
template <class T>
struct Latent {
    T mean, variance, half;
};

// One coordinate meets `other` (mean 1 and variance 0 for a bias and z) in a; its state becomes its target.
template <class T>
inline void move_coordinate(Latent<T>& a, Natural<T>& state, Gaussian<T>& now, Gaussian<T> other,
                            const Motion<T>& motion) {
    const T curve = lambda(mul_add(a.mean, a.mean, a.variance)) * typename Number<T>::Scalar(2);  // ξ² = E[a²]
    const T square = mul_add(other.mean, other.mean, other.variance);
    const T rest = mul_add(-other.mean, now.mean, a.mean);
    const Natural<T> target = {mul_add(motion.weight * other.mean, mul_add(-curve, rest, a.half), motion.prior.first),
                               mul_add(motion.weight * curve, square, motion.prior.second)};
    const Gaussian<T> next = gaussian<T>({mul_add(motion.rate, target.first - state.first, state.first),
                                          mul_add(motion.rate, target.second - state.second, state.second)});
    a.mean = mul_add(other.mean, next.mean - now.mean, a.mean);
    a.variance = mul_add(square, next.variance - now.variance, a.variance);
    a.variance = mul_add(other.variance, mul_add(next.mean, next.mean, -(now.mean * now.mean)), a.variance);
    now = next;
    state = target;
}

// E[a] = Σ um vm + biases + z, Var[a] = Σ (um² vs + us vm² + us vs) + their variances.
template <class T>
inline Latent<T> latent(const EntrySide<T>& u, const EntrySide<T>& v, Gaussian<T> z, T x, int n_factors) {
    const Gaussian<T>&bu = u.now[n_factors], &bv = v.now[n_factors];
    Latent<T> a{bu.mean + bv.mean + z.mean, bu.variance + bv.variance + z.variance,
                x - typename Number<T>::Scalar(0.5)};
    for (int k = 0; k < n_factors; k++) {
        const Gaussian<T>&uk = u.now[k], &vk = v.now[k];
        a.mean = mul_add(uk.mean, vk.mean, a.mean);
        a.variance = mul_add(uk.mean * uk.mean, vk.variance, a.variance);
        a.variance = mul_add(uk.variance, mul_add(vk.mean, vk.mean, vk.variance), a.variance);
    }
    return a;
}

template <class T>
inline void move_side(Latent<T>& a, EntrySide<T>& side, const EntrySide<T>& other, int n_factors) {
    for (int k = 0; k < n_factors; k++) move_coordinate(a, side.state[k], side.now[k], other.now[k], side.motion);
    move_coordinate(a, side.state[n_factors], side.now[n_factors], {all<T>(1), T{}}, side.motion);
}

// The whole chain for an entry x (0 or 1) in row u and column v.
template <class T>
inline void entry_chain(EntrySide<T>& u, EntrySide<T>& v, EntryOffset<T>& z, T x, int n_factors) {
    for (int k = 0; k <= n_factors; k++) {
        u.now[k] = gaussian(u.state[k]);
        v.now[k] = gaussian(v.state[k]);
    }
    Gaussian<T> offset = gaussian(z.state);
    Latent<T> a = latent(u, v, offset, x, n_factors);
    move_coordinate(a, z.state, offset, {all<T>(1), T{}}, z.motion);
    move_side(a, v, u, n_factors);
    move_side(a, u, v, n_factors);
}

}  // namespace dyads::formula
