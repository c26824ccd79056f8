"""Mean absolute error."""

from __future__ import annotations

import numpy as np

from dyads.pairs import F64


def absolute_errors(truth: F64, answer: F64) -> F64:
    """|y − ŷ| of every held-out value."""
    return np.abs(truth - answer)


def mae(truth: F64, answer: F64) -> float:
    """MAE = Σ_n |y_n − ŷ_n| / n; ratings count alike, whoever gave them."""
    return float(np.mean(absolute_errors(truth, answer)))
