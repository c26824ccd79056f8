"""Placing new rows by a ranking objective, for the methods that learn from triples."""

from __future__ import annotations

import numpy as np

from dyads.pairs import F64, I32, I64, Csr
from dyads.posterior import Posterior, expit
from dyads.state import RowPosterior
from dyads.streams import At, Site, integers

ZEROS = 256  # zeros drawn for a row; every one of the row is compared with each of them
STEPS = 30  # Newton steps at most
CLOSE = 1e-10  # a step below it ends them


def ranking_rows(rows: Csr, which: str, posterior: Posterior, shrink: float, at: At) -> RowPosterior:
    """Rows at the optimum of mean log σ(x) − λ/2 ‖u‖² over their ones times their zeros; empty rows at 0.

    Zeros count by their weight as negatives: all of them where they are few, else as many as are drawn by it.

    An item is placed by the transposed objective, its users before other users, with the mean bias of the items.
    """
    table = (posterior.item if which == "user" else posterior.user)[0].astype(np.float64)
    k, n = posterior.n_factors, rows.n_rows
    mean = np.zeros((1, n, k + 2))
    mean[0, :, k + (which == "user")] = 1.0
    if which == "item":
        table = np.concatenate([table[:, :k], np.zeros((len(table), 2))], axis=1)  # a user's bias orders no users
        mean[0, :, k + 1] = posterior.item[0, :, k + 1].mean()
    weight = posterior.small.weight[0] if which == "user" else np.ones(len(table), dtype=np.int64)
    for r in range(n):
        ones, (zeros, share) = rows.row(r), _zeros(rows.row(r), weight, at)
        if len(ones) and len(zeros) and k:
            mean[0, r, :k] = _newton(*_differences(table[ones], table[zeros], k), np.tile(share, len(ones)), shrink)
    return RowPosterior(mean)


def _zeros(ones: I32, weight: I64, at: At) -> tuple[I64, F64]:
    """Zeros of a row and what each of them counts, 1 together; the same words for every row."""
    room = weight.copy()
    room[ones] = 0
    zeros = np.flatnonzero(room)
    if len(zeros) <= ZEROS:
        return zeros, room[zeros] / max(room.sum(), 1)
    upto = np.cumsum(room)
    drawn = integers(at, Site.FOLD_IN, np.zeros(1, dtype=np.int64), ZEROS, int(upto[-1]))[0]
    return np.searchsorted(upto, drawn, side="right"), np.full(ZEROS, 1.0 / ZEROS)


def _differences(ones: F64, zeros: F64, k: int) -> tuple[F64, F64]:
    """Factors and biases of every one less those of every zero."""
    difference = (ones[:, None] - zeros).reshape(-1, ones.shape[1])
    return difference[:, :k], difference[:, k + 1]


def _newton(difference: F64, bias: F64, share: F64, shrink: float) -> F64:
    """argmax over u of the mean by share of log σ(bias + u·difference) − λ/2 ‖u‖², by damped Newton steps."""
    shrink, share = max(shrink, 1e-6), share / share.sum()  # separable rows have no optimum without λ
    u = np.zeros(difference.shape[1])
    value = _value(u, difference, bias, share, shrink)
    for _ in range(STEPS):
        p = expit(-(bias + difference @ u))
        slope = difference.T @ (share * p) - shrink * u
        curve = (difference * (share * p * (1.0 - p))[:, None]).T @ difference + shrink * np.eye(len(u))
        step = np.linalg.solve(curve, slope)
        while (new := _value(u + step, difference, bias, share, shrink)) < value and np.abs(step).max() > CLOSE:
            step /= 2.0
        u, value = u + step, new
        if np.abs(step).max() <= CLOSE:
            break
    return u


def _value(u: F64, difference: F64, bias: F64, share: F64, shrink: float) -> float:
    return float(-share @ np.logaddexp(0.0, -(bias + difference @ u)) - shrink / 2.0 * u @ u)
