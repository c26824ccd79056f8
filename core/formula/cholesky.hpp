// cholesky.hpp: a small linear system, or one in every lane: C x = h for a positive definite C, and draws of N(x, C⁻¹).
//
// C and h come as one lower triangle by rows without gaps: row 0 is not read, row r holds h_r, C_r1 .. C_rr. It is
// factored as C = L'L from the last row up. Then column 0 has become w = L'⁻¹ h by itself, and x = L⁻¹ (w + z) is the
// solution for z = 0, a draw around it for standard normal z.
#pragma once
#include "number.hpp"

namespace dyads::formula {

// Where row r of a triangle without gaps begins.
constexpr int64_t triangle(int64_t r) { return r * (r + 1) / 2; }

// In place, for rows 1 .. n-1; the diagonal becomes 1 / L_rr. NaN where C is not positive definite.
template <class T>
inline void cholesky(T* c, int64_t n) {
    for (int64_t l = n - 1; l >= 1; l--) {
        T* last = c + triangle(l);
        const T inverse = all<T>(1) / Number<T>::root(last[l]);
        for (int64_t k = 0; k < l; k++) last[k] = last[k] * inverse;
        last[l] = inverse;
        for (int64_t r = 1; r < l; r++) {
            const T factor = -last[r];
            T* row = c + triangle(r);
            for (int64_t k = 0; k <= r; k++) row[k] = mul_add(factor, last[k], row[k]);
        }
    }
}

// x[1 .. n-1]: noise before, solution after. x[0] is left alone.
template <class T>
inline void solve(const T* factored, int64_t n, T* x) {
    for (int64_t r = 1; r < n; r++) {
        const T* row = factored + triangle(r);
        T rest = row[0] + x[r];
        for (int64_t k = 1; k < r; k++) rest = mul_add(-row[k], x[k], rest);
        x[r] = rest * row[r];
    }
}

}  // namespace dyads::formula
