"""Coverage of predictive intervals."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from dyads.pairs import F64


def inside(truth: F64, answer: F64, spread: F64, level: float) -> F64:
    """1 where |y − ŷ| ≤ z s, else 0; z is the normal quantile of the central interval of probability `level`.

    NaN where s is not known.
    """
    z = NormalDist().inv_cdf(0.5 + 0.5 * level)
    return np.where(np.isnan(spread), np.nan, np.abs(truth - answer) <= z * spread)


def coverage(truth: F64, answer: F64, spread: F64, level: float) -> float:
    """The share of held-out values inside their interval ŷ ± z s; `level` is the aim.

    s holds the spread of the parameters and the noise of one value together, and the predictive law is taken as
    normal. Ratings on a scale of a few steps can only come near the aim. The borders count as inside.
    """
    return float(np.mean(inside(truth, answer, spread, level)))
