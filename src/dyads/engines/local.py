"""The engine of one machine: fixed shards, run by threads, summed in shard order."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any

import numpy as np

from dyads import kernels
from dyads.errors import ConfigError
from dyads.pairs import I64, Csr
from dyads.state import Placed, State
from dyads.streams import At

SHARDS = 64  # at most so many; enough to balance 16 threads, few enough that their sums cost nothing
MOST_THREADS = 1 << 16  # more than any machine has cores; the kernels take 32 bits
SHARD_COST = 4096  # rows + entries that are worth a shard of their own


def shard_cuts(ptr: I64) -> I64:
    """Borders of shards of about equal rows + entries: a function of the data, never of the machine."""
    cost = ptr + np.arange(len(ptr))
    n = int(np.clip(cost[-1] // SHARD_COST, 1, SHARDS))
    inner = np.searchsorted(cost, cost[-1] * np.arange(1, n) / n)
    return np.unique(np.concatenate([[0], inner, [len(ptr) - 1]])).astype(np.int64)


def thread_count(n_jobs: int | None) -> int:
    """None: `DYADS_THREADS`, else every core; -1 also means every core, as in scikit-learn."""
    if n_jobs is None and os.environ.get("DYADS_THREADS"):
        text = os.environ["DYADS_THREADS"]
        if not text.isdecimal() or int(text) == 0:
            raise ConfigError(f"DYADS_THREADS={text!r} is not a number of threads; set it to 1 or more, or unset it")
        return min(int(text), MOST_THREADS)
    if n_jobs is None or n_jobs == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs < 1:
        raise ConfigError(f"n_jobs={n_jobs!r} is not a number of threads; give 1 or more, or None for all cores")
    return min(int(n_jobs), MOST_THREADS)


def add(a: Any, b: Any) -> Any:
    """The sum of two NamedTuples of numbers and arrays, field by field."""
    return type(a)(*(x + y for x, y in zip(a, b, strict=True)))


def _resolve(shared: Any) -> Any:
    """`shared` with the arrays of every placed side in it."""
    return None if shared is None else type(shared)(*(x.arrays if isinstance(x, Placed) else x for x in shared))


def _copy(arrays: Any, threads: int) -> Any:
    return type(arrays)(*(kernels.copied(a, threads) for a in arrays))


class Local:
    """Threads over fixed shards; results do not depend on how many threads there are."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.threads = thread_count(n_jobs)

    def place(self, side: str, arrays: Any, csr: Csr | None, data: Any = None) -> Placed:
        cuts = shard_cuts(csr.ptr) if csr is not None else np.array([0, len(arrays[0])])
        return Placed(arrays, csr, cuts, data, len(arrays[0]), 0 if csr is None else csr.nnz)

    def each(self, kernel: str, own: Placed, shared: Any, at: At) -> tuple[Placed, Any]:
        given, new, csr = _resolve(shared), _copy(own.arrays, self.threads), own.csr
        if csr is None:
            raise TypeError("each() needs a side that was placed with its rows of the data")
        compiled = kernels.compiled(kernel)
        if compiled is not None:
            return own._replace(arrays=new), compiled(csr, own.cuts, new, given, at, self.threads)
        twin = kernels.twin(kernel)

        def shard(s: int) -> Any:
            first, last = int(own.cuts[s]), int(own.cuts[s + 1])
            mine = type(new)(*(a[first:last] for a in new))
            return twin(csr.slice(first, last), first, mine, given, at)

        sums = reduce(add, self._map(shard, len(own.cuts) - 1))
        return own._replace(arrays=new), sums

    def entries(self, kernel: str, state: State, shared: Any, at: At) -> tuple[State, Any]:
        user, item = (_copy(side.arrays, self.threads) for side in (state.user, state.item))
        given, compiled = (state.user.data, user, item, _resolve(shared), at), kernels.compiled(kernel)
        sums = kernels.twin(kernel)(*given) if compiled is None else compiled(*given, self.threads)
        return state._replace(user=state.user._replace(arrays=user), item=state.item._replace(arrays=item)), sums

    def collect(self, own: Placed) -> Any:
        return own.arrays

    def _map(self, shard: Callable[[int], Any], n: int) -> list[Any]:
        if self.threads == 1 or n == 1:
            return [shard(s) for s in range(n)]
        with ThreadPoolExecutor(min(self.threads, n)) as team:
            return list(team.map(shard, range(n)))
