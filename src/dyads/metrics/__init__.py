"""Metrics: one small file each, and the table by which `dyads.evaluate` finds them.

Ranking metrics are per user and averaged over users that have held-out items; the others are averaged over held-out
values. A name may carry a number: `recall@5`, `coverage@50` (per cent).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyads.errors import ConfigError
from dyads.metrics.auc import auc
from dyads.metrics.average_rank import average_rank
from dyads.metrics.brier import brier, quadratic_losses
from dyads.metrics.coverage import coverage, inside
from dyads.metrics.hit_rate import hit_rate
from dyads.metrics.log_loss import log_loss, log_losses
from dyads.metrics.mae import absolute_errors, mae
from dyads.metrics.mrr import mrr
from dyads.metrics.ndcg import ndcg
from dyads.metrics.recall import recall
from dyads.metrics.reliability import Reliability, reliability
from dyads.metrics.rmse import rmse, squared_errors
from dyads.metrics.standing import Standing, stand
from dyads.pairs import F64
from dyads.parameters import is_whole

__all__ = [
    "Metric",
    "Outcomes",
    "Reliability",
    "Standing",
    "auc",
    "average_rank",
    "brier",
    "coverage",
    "hit_rate",
    "log_loss",
    "mae",
    "metric",
    "mrr",
    "ndcg",
    "recall",
    "reliability",
    "rmse",
    "stand",
]


class Outcomes(NamedTuple):
    """Held-out values beside what the model said of them."""

    truth: F64
    answer: F64
    spread: F64  # standard deviation of one value: parameters and noise together


class Metric(NamedTuple):
    """A metric by name, with its number filled in."""

    name: str
    kind: str  # "ranking", "rating" or "calibration"
    terms: Callable[..., F64]  # of a Standing, one per user; of Outcomes, one per value
    finish: Callable[[F64], F64]  # of their mean
    best: float  # which end is better: inf, 0, or the aim of a coverage


def _same(mean: F64) -> F64:
    return mean


_LISTS = {"recall": recall, "hit_rate": hit_rate, "ndcg": ndcg}
_ORDERS = {"mrr": mrr, "auc": auc, "average_rank": average_rank}
_LOSSES: dict[str, tuple[str, Callable[[F64, F64], F64], Callable[[F64], F64]]] = {
    "rmse": ("rating", squared_errors, np.sqrt),
    "mae": ("rating", absolute_errors, _same),
    "log_loss": ("calibration", log_losses, _same),
    "brier": ("calibration", quadratic_losses, _same),
}
NAMES = (*_LISTS, *_ORDERS, *_LOSSES, "coverage")


def metric(name: str, N: int = 10) -> Metric:
    """The metric of this name; lists without a number of their own have N places, intervals 90 per cent."""
    word, at, text = str(name).partition("@")
    if word not in NAMES:
        raise ConfigError(f"metric {name!r} is unknown: give one of {', '.join(NAMES)}, or for example recall@5")
    if not is_whole(N) or N < 1:
        raise ConfigError(f"N={N!r} is no length of a list: give a whole number of at least 1")
    numbered = word in _LISTS or word == "coverage"
    if at and not (numbered and text.isdecimal() and int(text) > 0 and (word in _LISTS or int(text) < 100)):
        raise ConfigError(f"metric {name!r} carries {text!r}: lists take a length as in recall@5, coverage a per cent")
    number = int(text) if at else 90 if word == "coverage" else N
    if word in _LISTS:
        ranked = _LISTS[word]
        return Metric(f"{word}@{number}", "ranking", lambda standing: ranked(standing, number), _same, np.inf)
    if word in _ORDERS:
        return Metric(word, "ranking", _ORDERS[word], _same, np.inf)
    if word == "coverage":
        aim = number / 100.0
        return Metric(f"coverage@{number}", "rating", lambda o: inside(o.truth, o.answer, o.spread, aim), _same, aim)
    kind, loss, finish = _LOSSES[word]
    return Metric(word, kind, lambda o: loss(o.truth, o.answer), finish, 0.0)
