"""Brier score of probabilities."""

from __future__ import annotations

import numpy as np

from dyads.pairs import F64


def quadratic_losses(truth: F64, answer: F64) -> F64:
    """(x − p)² of every cell, x = 1 where the value is not zero."""
    missed: F64 = (truth != 0).astype(float) - answer
    return missed**2


def brier(truth: F64, answer: F64) -> float:
    """The mean over the cells (Brier 1950); 0 is best."""
    return float(np.mean(quadratic_losses(truth, answer)))
