"""Root mean squared error."""

from __future__ import annotations

import numpy as np

from dyads.pairs import F64


def squared_errors(truth: F64, answer: F64) -> F64:
    """(y − ŷ)² of every held-out value."""
    return (truth - answer) ** 2


def rmse(truth: F64, answer: F64) -> float:
    """RMSE = √( Σ_n (y_n − ŷ_n)² / n ); ratings count alike, whoever gave them."""
    return float(np.sqrt(np.mean(squared_errors(truth, answer))))
