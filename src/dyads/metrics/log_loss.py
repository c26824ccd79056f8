"""Logarithmic loss of probabilities."""

from __future__ import annotations

import numpy as np

from dyads.pairs import F64

LEAST = float(np.finfo(np.float64).eps)  # answers stay so far from 0 and 1: one wrong certainty costs 36, not infinity


def log_losses(truth: F64, answer: F64) -> F64:
    """−x log p − (1 − x) log(1 − p) of every cell, x = 1 where the value is not zero; in nats."""
    p = np.clip(answer, LEAST, 1.0 - LEAST)
    return -np.log(np.where(truth != 0, p, 1.0 - p))


def log_loss(truth: F64, answer: F64) -> float:
    """The mean over the cells; 0 is best."""
    return float(np.mean(log_losses(truth, answer)))
