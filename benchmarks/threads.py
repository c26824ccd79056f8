"""How compiled kernels grow with threads: each against itself on one thread, in the same run.

    python benchmarks/threads.py [threads ...]

The data are drawn here: 5·10⁶ ratings of 60,000 users and 12,000 items with popular ones, as ones for BPR.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dyads import BPR, SBMF
from dyads.engines.local import Local, shard_cuts
from dyads.kernels import native
from dyads.kernels.shapes import ProductRows, ProductShared
from dyads.pairs import Pairs, csr
from dyads.rank import question
from dyads.state import RowPosterior
from dyads.streams import At

USERS, ITEMS, DRAWN = 60_000, 12_000, 6_000_000
REPEATS = 5


def data() -> Pairs:
    """Cells of users and items that are active and popular in unlike measure."""
    rng = np.random.default_rng(0)
    rows = (USERS * rng.beta(0.7, 1.6, DRAWN)).astype(np.int64)
    columns = (ITEMS * rng.beta(0.4, 2.0, DRAWN)).astype(np.int64)
    block = csr(rows, columns, rng.integers(1, 6, DRAWN), USERS, ITEMS, "mean")
    return Pairs.from_matrix(block.to_scipy(ITEMS))


def steps(model: Any, pairs: Pairs, n: int, threads: int) -> Callable[[], None]:
    """A call that does n ticks of a fit."""
    engine = Local(threads)
    state = model.init(pairs, engine, At(0, 0, 0))

    def step() -> None:
        nonlocal state
        state = model.step(state, engine, At(0, 0, state.tick), n)

    return step


def products(pairs: Pairs, k: int, threads: int) -> Callable[[], None]:
    """A call that multiplies the matrix by k columns."""
    block, out = np.ones((ITEMS, k), np.float32), np.empty((USERS, k), np.float32)
    cuts, given = shard_cuts(pairs.by_user.ptr), (ProductRows(out), ProductShared(block), At(0, 0, 0), threads)
    return lambda: native.KERNELS["row_products"](pairs.by_user, cuts, *given)


def top(pairs: Pairs, k: int, threads: int) -> Callable[[], None]:
    """A call that ranks all items for some users."""
    model = SBMF(n_factors=k, burn_in=0, n_draws=1, random_state=0).fit(pairs, show_progress=False)
    users = RowPosterior(model.posterior_.user[:, :6000].astype(np.float64))
    ask = question(model.posterior_, users, "mean")._replace(n=10, exclude=pairs.by_user.slice(0, 6000))
    return lambda: native.KERNELS["top_n"](ask, threads)


def shortest(call: Callable[[], None]) -> float:
    call()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main(counts: list[int]) -> None:
    pairs = data()
    assert pairs.by_item.nnz == pairs.n_pairs
    ones = Pairs(pairs.users, pairs.items, pairs.by_user._replace(val=None))
    print(f"{pairs.n_pairs} pairs, level {native.level()}, {os.cpu_count()} cores; times against one thread")
    minibatches = 500_000 // 1024
    work: dict[str, Callable[[int], Callable[[], None]]] = {
        "SBMF, K = 20, a sweep": lambda n: steps(SBMF(n_factors=20), pairs, 1, n),
        "SBMF, K = 100, a sweep": lambda n: steps(SBMF(n_factors=100), pairs, 1, n),
        "BPR, K = 20, minibatches of 1024": lambda n: steps(BPR(n_factors=20), ones, minibatches, n),
        "BPR, K = 50, minibatches of 1024": lambda n: steps(BPR(n_factors=50), ones, minibatches, n),
        "X · B, 50 columns": lambda n: products(pairs, 50, n),
        "top 10 of 6000 users, K = 50": lambda n: top(pairs, 50, n),
    }
    for name, of in work.items():
        alone = shortest(of(1))
        grown = ", ".join(f"{n} threads {alone / shortest(of(n)):.2f}x" for n in counts)
        print(f"{name}: {alone * 1e3:.1f} ms; {grown}", flush=True)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [2])
