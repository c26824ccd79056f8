# Data for the row kernels: shapes that break loops, and how far a result may be off.

from __future__ import annotations

from typing import Any

import numpy as np

from dyads.pairs import Csr

SETS = [("float", np.float32, 1e-4), ("double", np.float64, 1e-10)]


# Neighbours in ascending order, `counts[r]` of them in row r.
def block(counts: Any, n_columns: int, rng: np.random.Generator, values: bool = True) -> Csr:
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows = [np.sort(rng.choice(n_columns, count, replace=False)) for count in counts]
    idx = np.concatenate([*rows, np.empty(0)]).astype(np.int32)
    val = rng.normal(3.0, 1.0, len(idx)).astype(np.float32) if values else None
    return Csr(ptr, idx, val)


# Around the lanes of a level: 0, 1, one less, as many, one more, and so on.
def counts_around(lanes: int) -> list[int]:
    return [0, 1, 2, lanes - 1, lanes, lanes + 1, 0, 4 * lanes - 1, 4 * lanes, 4 * lanes + 1, 9 * lanes + 3]


def assert_near(found: Any, expected: Any, scale: float, tolerance: float) -> None:
    off = np.max(np.abs(np.asarray(found, dtype=np.float64) - expected), initial=0.0)
    assert off <= tolerance * scale, (off, scale)


def largest(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0)) + 1e-30
