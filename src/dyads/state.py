"""What moves through a fit: placed arrays, states, plans, records. All of it is immutable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dyads.pairs import F64, I64, Csr

Info = Mapping[str, float]  # what one step has to say, by name; the loop keeps it as the trace


class Placed(NamedTuple):
    """One side's arrays where an engine put them; methods hand it around and never look inside."""

    arrays: Any  # the method's NamedTuple of per-row arrays; the part that is saved
    csr: Csr | None  # this side's rows of the data
    cuts: I64  # borders of the shards, set by the data alone
    data: Any = None  # rebuilt from the pairs on resume (tables, closed cells), never saved


class State(NamedTuple):
    """All that a resume needs and nothing else."""

    user: Placed
    item: Placed
    small: Any  # the method's NamedTuple of numbers and small float64 arrays
    tick: int  # ticks done since the first fit; never restarts


class Objective(NamedTuple):
    """A bound, log joint or expected score; `std_error` is 0 where it is exact."""

    value: float
    std_error: float


class RowPosterior(NamedTuple):
    """Rows of one side, one Gaussian (or point) per component of the posterior they were made with."""

    mean: F64  # (C, n, K)
    var: F64 | None = None  # (C, n, K)
    cov: F64 | None = None  # (C, n, K, K), where it was asked for
    alpha: F64 | None = None  # (C, n), for methods with a Dirichlet side


class Plan(NamedTuple):
    """How long a fit is. Every number comes from the data and the parameters, none from the machine."""

    ticks: int  # at most so many
    mark: int = 1  # objective, trace and stopping rule are looked at every so many ticks
    chunk: int = 1  # ticks given to one step; never changes a result
    burn_in: int | None = None  # draws are kept after so many ticks; None: the last state is the posterior
    tol: float | None = None  # stop when the objective gains less than this share of itself
    window: int = 5  # marks compared by the stopping rule


class Record(NamedTuple):
    """What a callback is told at a mark; one shape for all methods."""

    chain: int
    tick: int
    ticks: int
    seconds: float
    objective: Objective | None
    info: Info


def arrays_equal(a: Any, b: Any) -> bool:
    """Whether two NamedTuple trees hold the same bits."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return type(a) is type(b) and all(arrays_equal(x, y) for x, y in zip(a, b, strict=True))
    return a is b or bool(np.array_equal(np.asarray(a), np.asarray(b)))
