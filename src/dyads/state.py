"""What moves through a fit: placed arrays, states, plans, records. All of it is immutable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dyads.pairs import F64, I64, Csr, Pairs
from dyads.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dyads.posterior import Posterior

Info = Mapping[str, float]  # numbers of a state, by name; the loop keeps them as the trace


class Placed(NamedTuple):
    """One side's arrays where an engine put them; methods hand it around and read nothing but its sizes."""

    arrays: Any  # the method's NamedTuple of per-row arrays; the part that is saved
    csr: Csr | None  # this side's rows of the data
    cuts: I64  # borders of the shards, set by the data alone
    data: Any  # rebuilt from the pairs on resume (tables, closed cells), never saved
    n_rows: int
    n_entries: int  # of the data


class State(NamedTuple):
    """All that a resume needs and nothing else."""

    user: Placed
    item: Placed
    small: Any  # the method's NamedTuple of numbers and small float64 arrays
    tick: int  # ticks done since the first fit; never restarts


class Bare(NamedTuple):
    """A state outside of every engine: what a file holds, and what a fit goes on from."""

    user: Any  # the method's NamedTuples of NumPy arrays
    item: Any
    small: Any
    tick: int


def bare(state: State, engine: Any) -> Bare:
    """A state read back from its engine."""
    return Bare(engine.collect(state.user), engine.collect(state.item), state.small, state.tick)


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
    """How long a fit is, counted from where it starts. Every number comes from the data and the parameters."""

    ticks: int  # at most so many
    mark: int = 1  # objective, trace and stopping rule are looked at every so many ticks
    chunk: int = 1  # ticks given to one step; never changes a result
    burn_in: int | None = None  # draws are kept after so many ticks; None: the last state is the posterior
    tol: float | None = None  # stop when the objective gains less than this share of itself
    window: int = 5  # marks compared by the stopping rule


class Record(NamedTuple):
    """What a callback is told at a mark; one shape for all methods."""

    chain: int
    tick: int  # ticks done since the first fit
    done: int  # ticks done in this fit
    ticks: int  # ticks planned for this fit
    seconds: float
    objective: Objective | None
    info: Info


class Fitted(NamedTuple):
    """What a fit leaves behind: all that the verbs need, and all that a file keeps."""

    pairs: Pairs | None  # the pairs it was fitted on; None where a file was saved without them
    users: Vocabulary
    items: Vocabulary
    states: tuple[Bare, ...]  # the last of every chain: where `partial_fit` goes on
    posterior: Posterior
    trace: tuple[Record, ...]
    seed: int
    fingerprint: str  # of the pairs
    stopped: str  # "length", "tolerance" or "callback"


def arrays_equal(a: Any, b: Any) -> bool:
    """Whether two NamedTuple trees hold the same bits."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return type(a) is type(b) and all(arrays_equal(x, y) for x, y in zip(a, b, strict=True))
    return a is b or bool(np.array_equal(np.asarray(a), np.asarray(b)))
