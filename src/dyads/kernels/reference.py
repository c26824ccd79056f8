"""The twins: every kernel in plain NumPy and float64, in the order of the equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyads.kernels.ranking import top_n as top_n
from dyads.kernels.shapes import (
    BprCheck,
    BprCheckSums,
    BprData,
    BprItems,
    BprShared,
    BprSums,
    BprUsers,
    EntrySides,
    Motion,
    Negatives,
    NoSums,
    ProductRows,
    ProductShared,
    SbmfRows,
    SbmfShared,
    SbmfSums,
    Totals,
)
from dyads.pairs import F32, F64, I64, U32, Csr
from dyads.streams import At, Site, normal, quads, scaled

# --- sums over the entries of each row --------------------------------------------------------------------------


def row_sums(values: F64, ptr: I64) -> F64:
    """Σ of `values` over the entries of each row, in entry order; 0 for an empty row."""
    out = np.zeros(len(ptr) - 1)
    some = np.flatnonzero(ptr[1:] > ptr[:-1])
    if some.size:
        out[some] = np.add.reduceat(values, ptr[some])
    return out


def row_totals(block: Csr, first_row: int, own: Any, shared: None, at: At) -> Totals:
    """Writes the sum of the values of each row."""
    own.taken[:] = row_sums(block.values().astype(np.float64), block.ptr)
    return Totals(float(own.taken.sum()))


# --- Gram matrices, systems, chains: what row kernels are made of ---------------------------------------------------


def gram(block: Csr, factors: Any, y: Any, weight: Any = None) -> tuple[F64, F64]:
    """Of every row the matrix Σ w f f' (n, K, K) and the vector Σ y f (n, K) over its neighbours' factors f.

    `y` and `weight` have one value per entry; a weight may be negative, and is one where none are given.
    """
    f = np.asarray(factors, dtype=np.float64)[block.idx]
    w = np.ones(block.nnz) if weight is None else np.asarray(weight, dtype=np.float64)
    rows, k = [slice(a, b) for a, b in zip(block.ptr[:-1], block.ptr[1:], strict=True)], f.shape[1]
    matrix = np.array([f[r].T @ (w[r, None] * f[r]) for r in rows]).reshape(-1, k, k)
    return matrix, np.array([f[r].T @ y[r] for r in rows]).reshape(-1, k)


def solve(matrix: Any, vector: Any, z: Any) -> F64:
    """x = L⁻¹ (L'⁻¹ h + z) with C = L'L, L lower: a draw of N(C⁻¹ h, C⁻¹) for standard normal z, its mean for z = 0."""
    c = np.asarray(matrix, dtype=np.float64)
    lower = np.swapaxes(np.linalg.cholesky(c[:, ::-1, ::-1])[:, ::-1, ::-1], 1, 2)
    half = np.linalg.solve(np.swapaxes(lower, 1, 2), np.asarray(vector, dtype=np.float64)[..., None])
    x: F64 = np.linalg.solve(lower, half + np.asarray(z)[..., None])[..., 0]
    return x


def chain(matrix: Any, vector: Any, prior: tuple[F64, F64, float], z: Any, x: Any) -> F64:
    """One pass over the coordinates: each is drawn given all others, from the row's Gram matrix and vector alone.

    `prior` is (precision, precision · mean, τ).
    """
    precision, pull, tau = prior
    new = np.array(x, dtype=np.float64)
    for k in range(new.shape[1]):
        q = matrix[:, k, k]
        h = vector[:, k] - np.einsum("nk,nk->n", matrix[:, k], new)
        variance = 1.0 / (precision[k] + tau * q)  # eq. 18
        new[:, k] = variance * (pull[k] + tau * (h + new[:, k] * q)) + np.sqrt(variance) * z[:, k]  # eq. 17, 20
    return new


def row_products(block: Csr, first_row: int, own: ProductRows, shared: ProductShared, at: At) -> NoSums:
    """Writes X · B for some rows of X: each row's Σ_j x_rj B_j."""
    own.out[:] = 0
    some = np.flatnonzero(block.counts())
    if some.size:
        parts = block.values().astype(np.float64)[:, None] * shared.block[block.idx]
        own.out[some] = np.add.reduceat(parts, block.ptr[some], axis=0)
    return NoSums()


# --- Bayesian personalised ranking (Rendle et al. 2009) ------------------------------------------------------------


def bpr(data: BprData, user: BprUsers, item: BprItems, shared: BprShared, at: At) -> BprSums:
    """Some minibatches of triples, one after the other; every triple of a minibatch starts from the same values."""
    log_sigma, correct, skipped = 0.0, 0, 0
    for m in range(shared.n_minibatches):
        now = at._replace(tick=at.tick + m)
        one, zero = bpr_triples(data, now, Site.BPR_TRIPLE, shared.minibatch)
        open_rows = zero >= 0
        one, zero = one[open_rows], zero[open_rows]
        u, i, j = data.rows[one].astype(np.int64), data.items[one].astype(np.int64), zero
        x = bpr_margin(user, item, u, i, j)
        rate = shared.learning_rate / (1.0 + shared.decay * now.tick * shared.minibatch / len(data.rows))
        _bpr_move(user, item, (u, i, j), x, rate, rate * shared.regularization)
        log_sigma -= float(np.logaddexp(0.0, -x).sum())
        correct += int((x > 0).sum())
        skipped += int((~open_rows).sum())
    return BprSums(log_sigma, correct, skipped)


def bpr_check(data: BprData, user: BprUsers, item: BprItems, shared: BprCheck, at: At) -> BprCheckSums:
    """Sums of log σ(x) over triples that are the same at every tick; moves nothing."""
    one, zero = bpr_triples(data, at._replace(tick=0), Site.BPR_CHECK, shared.n_triples)
    one, zero = one[zero >= 0], zero[zero >= 0]
    x = bpr_margin(user, item, data.rows[one].astype(np.int64), data.items[one].astype(np.int64), zero)
    value = -np.logaddexp(0.0, -x)
    return BprCheckSums(len(value), float(value.sum()), float((value * value).sum()))


def bpr_triples(data: BprData, at: At, site: int, n: int) -> tuple[I64, I64]:
    """n triples: the number of a one, uniform over all; and a zero of its row by weight, -1 where there is none."""
    w = quads(at, site, np.arange(n))
    one = scaled(w[0], w[1], len(data.rows))
    row = data.rows[one].astype(np.int64)
    room = data.negatives.room[row]
    zero = open_item(data.negatives, row, wide(w[2], w[3], room))
    return one, np.where(room > 0, zero, -1)


def wide(low: U32, high: U32, bound: I64) -> I64:
    """(high · 2³² + low) · bound >> 64 for a bound below 2⁶²."""
    a, b, m = low.astype(np.uint64), high.astype(np.uint64), bound.astype(np.uint64)
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    m0, m1 = m & mask, m >> half
    middle = (a * m0 >> half) + (a * m1 & mask) + (b * m0 & mask)
    value: I64 = (b * m1 + (a * m1 >> half) + (b * m0 >> half) + (middle >> half)).astype(np.int64)
    return value


def open_item(table: Negatives, rows: I64, weight: I64) -> I64:
    """The item that stands at open weight `weight[n]` of row `rows[n]`."""
    first, last = table.ptr[rows], table.ptr[rows + 1]
    low, high = first.copy(), last.copy()
    while (low < high).any():  # how many closed items stand before it
        middle = low + high >> 1
        before = (low < high) & (table.gap[np.minimum(middle, max(len(table.gap) - 1, 0))] <= weight)
        high = np.where((low < high) & ~before, middle, high)
        low = np.where(before, middle + 1, low)
    behind = low > first
    last_closed = np.maximum(low - 1, 0)
    shut = np.zeros(len(rows), dtype=np.int64)
    if len(table.idx):
        j = table.idx[last_closed]
        shut = np.where(behind, table.shut[last_closed] + table.upto[j + 1] - table.upto[j], 0)
    found: I64 = np.searchsorted(table.upto, weight + shut, side="right") - 1
    return found


def bpr_margin(user: BprUsers, item: BprItems, u: I64, i: I64, j: I64) -> F64:
    """x = (b_i + u·v_i) − (b_j + u·v_j)."""
    difference = item.factors[i].astype(np.float64) - item.factors[j]
    x: F64 = np.einsum("nk,nk->n", user.factors[u].astype(np.float64), difference)
    return x + (item.bias[i].astype(np.float64) - item.bias[j])


def _bpr_move(user: BprUsers, item: BprItems, triple: tuple[I64, I64, I64], x: F64, rate: float, shrink: float) -> None:
    """θ += η (σ(−x) ∂x/∂θ − λ θ) for every triple, each parameter's parts added in triple order."""
    u, i, j = triple
    pull = rate / (1.0 + np.exp(np.clip(x, -700, 700)))[:, None]
    fu, fi, fj = (part.astype(np.float64) for part in (user.factors[u], item.factors[i], item.factors[j]))
    both = np.stack([i, j], axis=1).ravel()
    _add(user.factors, u, pull * (fi - fj) - shrink * fu)
    moves = np.stack([pull * fu - shrink * fi, -pull * fu - shrink * fj], axis=1)
    _add(item.factors, both, moves.reshape(len(both), fu.shape[1]))
    bi, bj = item.bias[i].astype(np.float64)[:, None], item.bias[j].astype(np.float64)[:, None]
    _add(item.bias[:, None], both, np.stack([pull - shrink * bi, -pull - shrink * bj], axis=1).reshape(-1, 1))


def _add(target: F32, rows: I64, parts: F64) -> None:
    """target[rows] += parts, rows that come again added in order before they are rounded."""
    touched, place = np.unique(rows, return_inverse=True)
    total = np.zeros((len(touched), parts.shape[1]))
    np.add.at(total, place, parts)
    target[touched] = (target[touched] + total).astype(target.dtype)


# --- sampled entries of a binary matrix (Hernández-Lobato, Houlsby, Ghahramani 2014) ------------------------------


def curvature(square: F64) -> F64:
    """λ(ξ) = tanh(ξ/2) / (4ξ) from ξ², positive; 1/8 at 0."""
    xi = np.sqrt(square)
    small = xi < 1e-4
    return np.where(small, 0.125 - square / 96, np.tanh(xi / 2) / (4 * np.where(small, 1.0, xi)))


def entry_chain(sides: EntrySides, u: Motion, v: Motion, z: Motion, x: F64) -> EntrySides:
    """The parameters that each entry alone asks for: z moves, then v_j, then u_i, ξ at its optimum before each step.

    Every entry starts from the parameters it is given; `x` is 0 or 1.
    """
    target = EntrySides(*(np.array(part, dtype=np.float64) for part in sides))
    um, us = sides.u_first / sides.u_second, 1.0 / sides.u_second
    vm, vs = sides.v_first / sides.v_second, 1.0 / sides.v_second
    zm, zs = sides.z_first / sides.z_second, 1.0 / sides.z_second
    one, none = np.ones(len(x)), np.zeros(len(x))
    d = um.shape[1] - 1

    def step(first: F64, second: F64, m: F64, om: F64, os: F64, how: Motion) -> tuple[F64, F64, F64, F64]:
        a = np.einsum("nk,nk->n", um[:, :d], vm[:, :d]) + um[:, d] + vm[:, d] + zm
        spread = um**2 * vs + us * vm**2 + us * vs
        variance = spread[:, :d].sum(axis=1) + us[:, d] + vs[:, d] + zs
        lam = curvature(a * a + variance)
        t1 = how.prior_first + how.weight * om * (x - 0.5 - 2 * lam * (a - om * m))
        t2 = how.prior_second + how.weight * 2 * lam * (om * om + os)
        precision = second + how.rate * (t2 - second)
        return t1, t2, (first + how.rate * (t1 - first)) / precision, 1.0 / precision

    first, second, zm, zs = step(sides.z_first, sides.z_second, zm, one, none, z)
    target = target._replace(z_first=first, z_second=second)
    for moved, m, s, om, os, how in (
        ((target.v_first, target.v_second), vm, vs, um, us, v),
        ((target.u_first, target.u_second), um, us, vm, vs, u),
    ):
        for k in range(d + 1):
            other = (om[:, k], os[:, k]) if k < d else (one, none)
            t1, t2, new_m, new_s = step(moved[0][:, k], moved[1][:, k], m[:, k], *other, how)
            moved[0][:, k], moved[1][:, k], m[:, k], s[:, k] = t1, t2, new_m, new_s
    return target


# --- SBMF (Saha, Misra, Ravindran 2015) ---------------------------------------------------------------------------


def sbmf(block: Csr, first_row: int, own: SbmfRows, shared: SbmfShared, at: At) -> SbmfSums:
    """A draw of the bias and factors of some rows, one coordinate after the other, given the other side."""
    n, n_factors = own.factors.shape
    neighbours = shared.other.factors[block.idx].astype(np.float64)
    factors, bias = own.factors.astype(np.float64), own.bias.astype(np.float64)
    row = np.repeat(np.arange(n), np.diff(block.ptr))
    e = block.values().astype(np.float64) - shared.offset - shared.other.bias[block.idx] - bias[row]
    e -= np.einsum("nk,nk->n", factors[row], neighbours)
    if shared.draw:
        z = normal(at, shared.site, first_row + np.arange(n), n_factors + 1)
        tau, ones = shared.noise_precision, np.ones(block.nnz)
        columns = [(bias, ones, 0)] if shared.biased else []
        columns += [(factors[:, k], neighbours[:, k], k + 1) for k in range(n_factors)]
        for x, v, c in columns:
            variance = 1.0 / (shared.precision[c] + tau * row_sums(v * v, block.ptr))  # eq. 18
            pull = tau * row_sums(v * (e + x[row] * v), block.ptr)
            new = variance * (shared.precision[c] * shared.mean[c] + pull) + np.sqrt(variance) * z[:, c]  # eq. 17, 20
            new = new.astype(own.factors.dtype).astype(np.float64)
            e += v * (x - new)[row]
            x[:] = new
        own.factors[:], own.bias[:] = factors, bias
    return SbmfSums(
        np.concatenate([[bias.sum()], factors.sum(axis=0)]),
        np.concatenate([[bias @ bias], np.einsum("nk,nk->k", factors, factors)]),
        float(e.sum()),
        float(e @ e),
    )
