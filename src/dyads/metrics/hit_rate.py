"""Hit rate at N."""

from __future__ import annotations

from dyads.metrics.standing import Standing
from dyads.pairs import F64


def hit_rate(standing: Standing, N: int) -> F64:
    """Per user, 1 if any of the held-out items T stands in the first N of the list, else 0:

        hit@N = [first N ∩ T ≠ ∅].

    Ties by item order.
    """
    return (standing.per_user((standing.place() < N).astype(float)) > 0).astype(float)
