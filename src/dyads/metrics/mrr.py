"""Mean reciprocal rank."""

from __future__ import annotations

import numpy as np

from dyads.metrics.standing import Standing
from dyads.pairs import F64


def mrr(standing: Standing) -> F64:
    """Per user, one over the place p (from 1) of the held-out item that stands first:

        RR = 1 / min_{t ∈ T} p_t.

    An item among equals takes the mean of their places, so that a model which scores all alike gets 2 / (n + 1) and
    not 1.
    """
    if not len(standing.users):
        return np.empty(0)
    return 1.0 / (1.0 + np.minimum.reduceat(standing.mean_place(), standing.ptr[:-1]))
