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
    """Rows at the optimum of mean log σ(x) − λ/2 ‖u‖² over their ones times drawn zeros; empty rows at 0.

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
        zeros = _zeros(rows.row(r), weight, at)
        if len(rows.row(r)) and len(zeros) and k:
            mean[0, r, :k] = _newton(table[rows.row(r)], table[zeros], k, shrink)
    return RowPosterior(mean)


def _zeros(ones: I32, weight: I64, at: At) -> I64:
    """Drawn zeros by weight, all of them where they are few; the same words for every row."""
    room = weight.copy()
    room[ones] = 0
    open_items = np.flatnonzero(room)
    if len(open_items) <= ZEROS:
        return open_items
    upto = np.cumsum(room)
    drawn = integers(at, Site.FOLD_IN, np.zeros(1, dtype=np.int64), ZEROS, int(upto[-1]))[0]
    return np.asarray(np.searchsorted(upto, drawn, side="right"), dtype=np.int64)


def _newton(ones: F64, zeros: F64, k: int, shrink: float) -> F64:
    """argmax over u of mean log σ(x_i − x_j) − λ/2 ‖u‖², x = bias + u·v, by damped Newton steps."""
    difference = (ones[:, None, :k] - zeros[None, :, :k]).reshape(-1, k)
    bias = (ones[:, None, k + 1] - zeros[None, :, k + 1]).ravel()
    shrink = max(shrink, 1e-6)  # separable rows have no optimum without it
    u = np.zeros(k)
    value = _value(u, difference, bias, shrink)
    for _ in range(STEPS):
        p = expit(-(bias + difference @ u))
        slope = difference.T @ p / len(p) - shrink * u
        curve = (difference * (p * (1.0 - p))[:, None]).T @ difference / len(p) + shrink * np.eye(k)
        step = np.linalg.solve(curve, slope)
        while (new := _value(u + step, difference, bias, shrink)) < value and np.abs(step).max() > CLOSE:
            step /= 2.0
        u, value = u + step, new
        if np.abs(step).max() <= CLOSE:
            break
    return u


def _value(u: F64, difference: F64, bias: F64, shrink: float) -> float:
    return float(-np.logaddexp(0.0, -(bias + difference @ u)).mean() - shrink / 2.0 * u @ u)
