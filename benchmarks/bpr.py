"""BPR on MovieLens-1M, all ratings as ones: ns per triple and recall@10, beside implicit's BPR in the same run.

    DYADS_DATA=folder of ml-1m.zip python benchmarks/bpr.py [threads ...]

Both learn the same 90 % of the pairs with the same step and penalty for as many triples, turn and turn about; a pass is
timed by itself and the best one counts. A triple reads three rows of K + 1 numbers and writes them back: 24 (K + 1)
bytes, and 10 (K + 1) operations.
"""

from __future__ import annotations

import io
import os
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dyads import BPR
from dyads.engines.local import Local
from dyads.kernels import native
from dyads.kernels.ranking import top
from dyads.pairs import Pairs
from dyads.streams import At

FACTORS, MINIBATCHES = (10, 20, 50), (256, 1024, 2048)
PASSES, RATE, PENALTY = 8, 0.05, 0.005


def ones() -> tuple[sp.csr_array, sp.csr_array]:
    """90 % of the pairs to learn from and 10 % to find again."""
    with zipfile.ZipFile(Path(os.environ["DYADS_DATA"]) / "ml-1m.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith("ratings.dat"))
        table = np.loadtxt(io.StringIO(archive.read(name).decode().replace("::", " ")), dtype=np.int64, usecols=(0, 1))
    rows, columns = (np.unique(column, return_inverse=True)[1] for column in table.T)
    held_out = np.random.default_rng(1).random(len(rows)) < 0.1
    shape = rows.max() + 1, columns.max() + 1
    parts = (held_out, ~held_out)
    test, train = (sp.csr_array((np.ones(p.sum(), np.float32), (rows[p], columns[p])), shape=shape) for p in parts)
    return train, test


def recall(user: np.ndarray, item: np.ndarray, train: sp.csr_array, test: sp.csr_array) -> float:
    scores = (user @ item.T).astype(np.float64)
    scores[train.nonzero()] = -np.inf
    numbers, found = top(scores, 10)[0], test.toarray() > 0
    held_out = found.sum(axis=1)
    hits = np.take_along_axis(found, numbers, 1).sum(axis=1)
    return float(np.mean(hits[held_out > 0] / np.minimum(held_out[held_out > 0], 10)))


class Ours:
    """A fit that can be timed pass by pass."""

    def __init__(self, train: sp.csr_array, k: int, minibatch: int, threads: int) -> None:
        pairs = Pairs.from_matrix(train)
        self.model = BPR(n_factors=k, minibatch=minibatch, learning_rate=RATE, regularization=PENALTY, random_state=0)
        self.engine, self.n = Local(threads), -(-pairs.n_pairs // minibatch)
        self.triples = self.n * minibatch
        self.state = self.model.init(pairs, self.engine, At(0, 0, 0))

    def a_pass(self) -> float:
        start = time.perf_counter()
        self.state = self.model.step(self.state, self.engine, At(0, 0, self.state.tick), self.n)
        return time.perf_counter() - start

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        posterior = self.model.read_out(self.state, self.engine)
        return posterior.user[0], posterior.item[0]


def theirs(train: sp.csr_array, k: int, threads: int) -> tuple[list[float], Any]:
    """Seconds of each pass of implicit, and its model."""
    from implicit.bpr import BayesianPersonalizedRanking

    settings = {"learning_rate": RATE, "regularization": PENALTY, "iterations": PASSES}
    model, clock = BayesianPersonalizedRanking(factors=k, num_threads=threads, random_state=1, **settings), []
    clock.append(time.perf_counter())
    model.fit(sp.csr_matrix(train), show_progress=False, callback=lambda *_: clock.append(time.perf_counter()))
    return np.diff(clock).tolist(), model


def main() -> None:
    train, test = ones()
    print(f"{train.nnz} ones, {PASSES} passes, level {native.level()}")
    for k in FACTORS:
        for threads in [int(text) for text in sys.argv[1:]] or [1, 2]:
            fits = {m: Ours(train, k, m, threads) for m in MINIBATCHES}
            took: dict[int, list[float]] = {m: [] for m in MINIBATCHES}
            for m in MINIBATCHES * (PASSES // 2):
                took[m].append(fits[m].a_pass())
            peer, model = theirs(train, k, threads)
            for m in MINIBATCHES * (PASSES - PASSES // 2):
                took[m].append(fits[m].a_pass())
            other = min(peer) / train.nnz * 1e9
            found = recall(model.user_factors, model.item_factors, train, test)
            print(f"K = {k}, {threads} threads: implicit {other:.0f} ns a triple, recall@10 {found:.3f}")
            for m, fit in fits.items():
                ns, found = min(took[m]) / fit.triples * 1e9, recall(*fit.factors(), train, test)
                print(
                    f"  minibatch {m}: {ns:.1f} ns a triple, {other / ns:.1f} times, recall@10 {found:.3f}", flush=True
                )


if __name__ == "__main__":
    main()
