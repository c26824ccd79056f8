"""Reliability of probabilities: how often do the cells that were given p hold a one?

After Dimitriadis, Gneiting and Jordan (2021): the curve is the increasing step function nearest to the outcomes (pool
adjacent violators), so that no bins need to be chosen, and the Brier score S falls into three parts,

    S = MCB − DSC + UNC,   MCB = S − S_c,   DSC = S_r − S_c,   UNC = S_r,

with S_c the score of the recalibrated answers and S_r that of the overall share of ones. The band is where the curve
of a calibrated model would run: outcomes are drawn anew from the answers themselves, answers held fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from dyads.pairs import F64, I64

POINTS = 256  # the curve is kept at so many answers evenly spread by count, and by value; at each it is exact


class Reliability(NamedTuple):
    """A curve, its band, and the parts of the Brier score."""

    answer: F64  # ascending, all different
    observed: F64  # recalibrated share of ones at each answer
    low: F64  # the band of a calibrated model, pointwise
    high: F64
    level: float  # of the band
    miscalibration: float  # MCB, 0 is best
    discrimination: float  # DSC, more is better
    uncertainty: float  # UNC, a property of the data
    p_value: float  # how often a calibrated model would look at least as miscalibrated


def recalibrated(ones: F64, counts: F64) -> F64:
    """Pool adjacent violators: the increasing function nearest to the shares ones / counts, weighted by counts."""
    fitted: F64 = isotonic_regression(ones / counts, weights=counts).x
    return fitted


def reliability(
    truth: F64, answer: F64, level: float = 0.9, n_resamples: int = 200, rng: np.random.Generator | None = None
) -> Reliability:
    """The reliability of `answer` for cells whose value is (not) zero; equal answers are one point of the curve."""
    rng = np.random.default_rng(0) if rng is None else rng
    order = np.argsort(answer, kind="stable")
    p, x = answer[order], (truth[order] != 0).astype(float)
    starts = np.flatnonzero(np.diff(p, prepend=-1.0))
    counts = np.diff(np.append(starts, len(p))).astype(float)
    kept = _kept(p[starts])
    curve, parts = _fit(x, p, starts, counts)
    drawn, worse = np.empty((n_resamples, len(kept))), 0
    for b in range(n_resamples):
        again, (mcb, _, _) = _fit((rng.random(len(p)) < p).astype(float), p, starts, counts)
        drawn[b] = again[kept]
        worse += mcb >= parts[0]
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return Reliability(p[starts][kept], curve[kept], low, high, level, *parts, (1 + worse) / (1 + n_resamples))


def _fit(x: F64, p: F64, starts: I64, counts: F64) -> tuple[F64, tuple[float, float, float]]:
    """The curve at every different answer, and (MCB, DSC, UNC)."""
    ones, n = np.add.reduceat(x, starts), len(x)
    curve = recalibrated(ones, counts)
    share = ones.sum() / n
    # Σ (x − c)² over cells that share the answer c, for x in {0, 1}: ones (1 − 2c) + count c²
    score = float(np.mean((x - p) ** 2))
    score_c = float(np.sum(ones * (1.0 - 2.0 * curve) + counts * curve**2)) / n
    score_r = float(share * (1.0 - share))
    return curve, (score - score_c, score_r - score_c, score_r)


def _kept(p: F64) -> I64:
    """Numbers of the answers at which the curve is kept."""
    by_count = np.linspace(0, len(p) - 1, min(POINTS, len(p))).astype(np.int64)
    by_value = np.searchsorted(p, np.linspace(p[0], p[-1], POINTS))
    return np.unique(np.concatenate([by_count, np.minimum(by_value, len(p) - 1)]))
