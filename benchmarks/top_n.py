"""The 10 best of 50,000 items for each user, 50 factors, 50 exclusions each, beside the bare matrix products.

The yardstick is numpy's float32 product of the same blocks with nothing done to the scores, at the best of several block
sizes, on as many threads, in the same run: python benchmarks/top_n.py [users] [threads ...]

Operations: 2 · users · 50,000 · 50 for the means; with variances three times as many if every cell were computed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from dyads.kernels import native
from dyads.kernels.shapes import Spread, TopN
from dyads.pairs import Csr

ITEMS, FACTORS, N, EXCLUDED = 50_000, 50, 10, 50
HEIGHTS, WIDTHS = (128, 512, 2048), (512, 2048, 8192, ITEMS)


def best(run: Callable[[], object], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def bare(user: np.ndarray, item: np.ndarray, height: int, width: int) -> Callable[[], None]:
    """The products alone, block by block into the same memory."""
    out = np.empty((height, width), dtype=np.float32)
    parts = [np.ascontiguousarray(item[first : first + width].T) for first in range(0, len(item), width)]

    def run() -> None:
        for first in range(0, len(user), height):
            rows = user[first : first + height]
            for part in parts:
                np.matmul(rows, part, out=out[: len(rows), : part.shape[1]])

    return run


def questions(users: int) -> dict[str, TopN]:
    rng = np.random.default_rng(0)
    user, item = rng.normal(size=(1, users, FACTORS)), rng.normal(size=(1, ITEMS, FACTORS)).astype(np.float32)
    shut = np.sort(rng.integers(0, ITEMS, (users, EXCLUDED)), axis=1).astype(np.int32)
    exclude = Csr(np.arange(users + 1) * EXCLUDED, shut.ravel(), None)
    mean = TopN(user, item, np.zeros(1), None, None, "none", exclude, None, N)
    spread = Spread(
        rng.gamma(2, 0.05, user.shape[1:]), rng.gamma(2, 0.05, item.shape[1:]).astype(np.float32), 0.1, np.pi / 8
    )
    likely = mean._replace(spread=spread, link="logistic")
    rare = likely._replace(offset=np.array([-40.0]))  # every answer far below a half, as with few ones
    return {"mean": mean, "variance": likely, "variance, rare ones": rare}


def main() -> None:
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    asks = questions(users)
    user, item = asks["mean"].user[0].astype(np.float32), asks["mean"].item[0]
    print(f"{users} users x {ITEMS} items x {FACTORS} factors, level {native.level()}")
    for threads in [int(text) for text in sys.argv[2:]] or [1, 2]:
        with threadpool_limits(threads, "blas"):
            some = min(users, 4096)
            tried = {(h, w): best(bare(user[:some], item, h, w), 2) for h in HEIGHTS for w in WIDTHS}
            shape = min(tried, key=tried.__getitem__)
            yard = bare(user, item, *shape)
            alone = best(yard)
            print(
                f"{threads} threads: sgemm alone {alone:.2f} s in blocks of {shape}, {rate(users, alone):.0f} GFLOP/s"
            )
            for name, ask in asks.items():
                took = []
                for _ in range(3):  # turn and turn about, so that both see the same machine
                    alone = min(alone, best(yard, 1))
                    took.append(best(lambda ask=ask: native.KERNELS["top_n"](ask, threads), 1))
                found = f"{min(took):.2f} s, {rate(users, min(took)):.0f} GFLOP/s"
                print(f"  top {N} by {name}: {found}, {min(took) / alone:.2f} of sgemm")


def rate(users: int, seconds: float) -> float:
    return 2e-9 * users * ITEMS * FACTORS / seconds


if __name__ == "__main__":
    main()
