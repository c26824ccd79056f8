"""The best hyper-parameters of a grid, found on the training data alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from dyads import parameters, split
from dyads.border import as_pairs
from dyads.errors import ConfigError
from dyads.metrics import Metric
from dyads.metrics import metric as named
from dyads.pairs import Pairs

__all__ = ["Search", "Trial", "search"]

SHARE = 0.1  # of the ratings of train are held out


class Trial(NamedTuple):
    """One point of the grid."""

    parameters: dict[str, Any]
    value: float
    seconds: float


@dataclass(frozen=True)
class Search:
    """What `search` found. `model` is fitted on all of train with the best parameters, None without `refit`."""

    metric: str
    best: dict[str, Any]
    value: float
    trials: tuple[Trial, ...]
    seconds: float  # of everything, the refit too
    fits: int
    model: Any

    def __str__(self) -> str:
        names = list(self.best)
        lines = [(*names, self.metric, "seconds")]
        lines += [(*(str(t.parameters[n]) for n in names), f"{t.value:.4f}", f"{t.seconds:.1f}") for t in self.trials]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        best = ", ".join(f"{name}={value!r}" for name, value in self.best.items())
        cost = f"{self.fits} fits in {self.seconds:.1f} s"
        return "\n".join([*table, "", f"Best: {best} ({self.metric} {self.value:.4f}); {cost}."])


def search(
    model: Any,
    grid: Mapping[str, Sequence[Any]],
    train: Any,
    metric: str | None = None,
    *,
    N: int = 10,
    random_state: Any = 0,
    refit: bool = True,
) -> Search:
    """Fit every combination of the grid to a part of `train` and judge it on the rest; no test data are touched.

    The rest is one pair per user for a ranking metric (recall, where none is named), a tenth of the ratings for an
    error (the RMSE, where none is named for a rating model), and hidden cells for probabilities. Of equals the first
    in the order of the grid wins. All fits have the same seed, so that the result is one of the data, the grid and
    `random_state`.
    """
    from dyads.evaluate import chosen, evaluate  # which offers this function as its own

    begun, points, rng = time.perf_counter(), _points(model, grid), split.draws(random_state)
    train = as_pairs(train)
    one = named(metric or ("rmse" if model.answer == "rating" else "recall"), N)
    inner, held = _parts(train, one.kind, rng)
    for point in points:  # before the first fit, so that a mistake shows at once
        made = _made(model, point)
        parameters.check(made)
        chosen(made, one.name, N, inner, held)
    shared = {} if isinstance(model.random_state, Integral) else {"random_state": int(rng.integers(2**63))}
    trials = []
    for point in points:
        started = time.perf_counter()
        fitted = _made(model, shared | point).fit(inner, show_progress=False)
        report = evaluate(fitted, inner, held, [one.name], n_bootstrap=0, baseline=False)
        trials.append(Trial(point, report[one.name].value, time.perf_counter() - started))
    best = min(trials, key=lambda trial: _loss(one, trial.value))
    final = _made(model, shared | best.parameters).fit(train, show_progress=False) if refit else None
    seconds = time.perf_counter() - begun
    return Search(one.name, best.parameters, best.value, tuple(trials), seconds, len(trials) + refit, final)


def _points(model: Any, grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    known = model.get_params()
    for name, options in grid.items():
        if name not in known:
            raise ConfigError(f"{type(model).__name__} has no parameter {name!r}: it has {', '.join(known)}")
        if isinstance(options, (str, bytes)) or not hasattr(options, "__len__") or not len(options):
            raise ConfigError(f"grid[{name!r}]={options!r} holds no values to try: give a list of them")
    if not grid:
        raise ConfigError("grid={} holds nothing to try: give a list of values for a parameter")
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _made(model: Any, changes: dict[str, Any]) -> Any:
    return type(model)(**(model.get_params() | changes))


def _parts(train: Pairs, kind: str, rng: np.random.Generator) -> tuple[Pairs, Pairs]:
    if kind == "calibration":
        return split.cells(train, random_state=rng)
    return split.fraction(train, SHARE, rng) if kind == "rating" else split.leave_one_out(train, rng)


def _loss(one: Metric, value: float) -> float:
    """Less is better; what could not be measured comes last."""
    if np.isnan(value):
        return np.inf
    return -value if one.best == np.inf else abs(value - one.best)
