"""Intervals by drawing the users anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyads.metrics import Metric
from dyads.pairs import F64


class Sums(NamedTuple):
    """A metric's terms added up per user, and how much each user weighs."""

    metric: Metric
    terms: F64
    weights: F64


def values(sums: list[Sums], times: F64 | None = None) -> F64:
    """Each metric's value, every user counted so many times (once without)."""
    terms, weights = (np.array([s[part] for s in sums]) for part in (1, 2))
    times = np.ones(terms.shape[-1]) if times is None else times
    total, weight = terms @ times, weights @ times
    means = np.divide(total, weight, out=np.full(len(sums), np.nan), where=weight > 0)
    return np.array([float(s.metric.finish(mean)) for s, mean in zip(sums, means, strict=True)])


def intervals(sums: list[Sums], n_bootstrap: int, level: float, rng: np.random.Generator) -> tuple[F64, F64]:
    """Central percentile intervals (Efron 1979): as many users are drawn as there are, with repeats.

    All metrics see the same draws, so that they can be compared; NaN without draws.
    """
    low, high = np.full(len(sums), np.nan), np.full(len(sums), np.nan)
    if not n_bootstrap or not sums:
        return low, high
    n_users = len(sums[0].terms)
    drawn = np.empty((n_bootstrap, len(sums)))
    for b in range(n_bootstrap):
        drawn[b] = values(sums, np.bincount(rng.integers(n_users, size=n_users), minlength=n_users).astype(float))
    known = ~np.isnan(drawn).all(axis=0)
    if known.any():
        low[known], high[known] = np.nanquantile(drawn[:, known], [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return low, high
