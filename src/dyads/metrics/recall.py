"""Recall at N."""

from __future__ import annotations

from dyads.metrics.standing import Standing
from dyads.pairs import F64


def recall(standing: Standing, N: int) -> F64:
    """Per user, the share of the held-out items T that stand in the first N of the list:

        recall@N = |first N ∩ T| / |T|.

    With one held-out item per user this is the recall of Hernández-Lobato et al. (2014), section 4. It is not divided
    by min(N, |T|), so that a user with more than N held-out items cannot reach 1. Ties by item order.
    """
    return standing.per_user((standing.place() < N).astype(float)) / standing.held()
