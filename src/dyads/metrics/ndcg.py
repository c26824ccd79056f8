"""Normalised discounted cumulative gain at N."""

from __future__ import annotations

import numpy as np

from dyads.metrics.standing import Standing
from dyads.pairs import F64


def ndcg(standing: Standing, N: int) -> F64:
    """Per user, with held-out items T of gain 1 and places p counted from 1:

        nDCG@N = Σ_{t ∈ T, p_t ≤ N} 1 / log₂(p_t + 1)  /  Σ_{p = 1}^{min(N, |T|)} 1 / log₂(p + 1)

    (Järvelin and Kekäläinen 2002, with the discount from the first place on). Ties by item order.
    """
    place = standing.place()
    gains = np.where(place < N, 1.0 / np.log2(place + 2.0), 0.0)
    longest = min(N, int(standing.held().max(initial=1)))
    best: F64 = np.cumsum(1.0 / np.log2(np.arange(longest) + 2.0))
    reached: F64 = standing.per_user(gains) / best[np.minimum(standing.held(), N) - 1]
    return reached
