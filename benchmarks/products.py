"""Sparse times block: X · B of MovieLens-1M for K columns, beside scipy's csr @ dense in the same run.

    DYADS_DATA=folder of ml-1m.zip python benchmarks/products.py [threads ...]

An entry reads a row of 4 K bytes and takes 2 K operations; the rows of B lie in the caches. Xᵀ · B is the same kernel
on the other orientation.
"""

from __future__ import annotations

import io
import os
import sys
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from dyads.engines.local import shard_cuts
from dyads.kernels import native
from dyads.kernels.shapes import ProductRows, ProductShared
from dyads.pairs import csr
from dyads.streams import At

COLUMNS = (10, 20, 50, 100, 200)


def ratings() -> sp.csr_array:
    with zipfile.ZipFile(Path(os.environ["DYADS_DATA"]) / "ml-1m.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("ratings.dat"))
        text = io.StringIO(archive.read(name).decode().replace("::", " "))
    rows, columns, values = np.loadtxt(text, dtype=np.int64, usecols=(0, 1, 2)).T
    rows, columns = (np.unique(side, return_inverse=True)[1] for side in (rows, columns))
    return sp.csr_array((values.astype(np.float32), (rows, columns)))


def best(run: Callable[[], object], repeats: int = 7) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    x = ratings()
    for name, matrix in (("X B", x), ("Xᵀ B", sp.csr_array(x.T))):
        rows, columns = matrix.nonzero()
        side = csr(rows, columns, matrix.data, *matrix.shape)
        for k in COLUMNS:
            block = np.random.default_rng(0).normal(size=(matrix.shape[1], k)).astype(np.float32)
            out = np.empty((matrix.shape[0], k), dtype=np.float32)
            given = side, shard_cuts(side.ptr), ProductRows(out), ProductShared(block), At(0, 0, 0)
            theirs = best(lambda matrix=matrix, block=block: matrix @ block)
            line = f"{name}, K = {k}: scipy {theirs / side.nnz * 1e9:.1f} ns an entry"
            for threads in [int(text) for text in sys.argv[1:]] or [1, 2]:
                ours = best(partial(native.KERNELS["row_products"], *given, threads))
                rate = 2e-9 * side.nnz * k / ours
                line += (
                    f"; {threads} threads {ours / side.nnz * 1e9:.1f}, {theirs / ours:.1f} times, {rate:.0f} GFLOP/s"
                )
            print(line, flush=True)


if __name__ == "__main__":
    main()
