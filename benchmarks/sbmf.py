"""A sweep of SBMF on MovieLens 1M, beside the yardsticks of this machine and the samplers of others.

A sweep is one tick of a fit: hyper-parameters, both sides, their noise. Counted of it, per rating, side and coordinate:
4 multiply-adds of 2 operations (residual and square as a row is gathered, residual and sum in its pass), and 4 bytes of
the row that is gathered.

    DYADS_DATA=... python benchmarks/sbmf.py [K ...]

myFM and SMURFF are measured where they are installed, one thread each, sweeps alone without their set-up; SMURFF's is
BPMF, which is another model.
"""

from __future__ import annotations

import os

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TQDM_DISABLE": "1"})  # before NumPy and peers

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from ml1m import training
from scipy import sparse
from yardsticks import best, fma_peak, gather, gram_share, stream

from dyads import SBMF
from dyads.engines.local import Local
from dyads.kernels import native
from dyads.pairs import Pairs
from dyads.streams import At

PEER_SWEEPS, PEER_LIMIT = 4, 100  # no peer beyond this K: its sweep takes seconds


def sweeps(pairs: Pairs, n_factors: int, threads: int) -> Callable[[], None]:
    """A call that does one sweep of a fit, hyper-parameters and all."""
    model, engine = SBMF(n_factors=n_factors), Local(threads)
    state = model.init(pairs, engine, At(5, 0, 0))

    def sweep() -> None:
        nonlocal state
        state = model.step(state, engine, At(5, 0, state.tick), 1)

    sweep()
    return sweep


def myfm(pairs: Pairs, n_factors: int) -> float:
    """Seconds of the shortest sweep of myFM's Gibbs sampler."""
    from myfm import MyFMRegressor

    (n_users, n_items), n, ticks = pairs.shape, pairs.n_pairs, []
    cells = np.stack([pairs.rows(), n_users + pairs.columns()], axis=1).ravel()
    design = sparse.csr_matrix((np.ones(2 * n), cells, np.arange(0, 2 * n + 1, 2)), shape=(n, n_users + n_items))

    def mark(*_: Any) -> tuple[bool, dict[str, Any]]:
        ticks.append(time.process_time())
        return False, {}

    model = MyFMRegressor(rank=n_factors, random_seed=1)
    values = pairs.values().astype(np.float64)
    model.fit(design, values, n_iter=PEER_SWEEPS + 1, n_kept_samples=1, group_shapes=[n_users, n_items], callback=mark)
    return float(min(np.diff(ticks)))


def smurff(pairs: Pairs, n_factors: int) -> float:
    """Seconds of the shortest sweep of SMURFF's BPMF."""
    from smurff import FixedNoise, TrainSession

    session = TrainSession(
        priors=["normal", "normal"], num_latent=n_factors, burnin=PEER_SWEEPS, nsamples=1, num_threads=1, verbose=0
    )
    session.addTrainAndTest(pairs.to_scipy().astype(np.float64).tocoo(), None, FixedNoise(1.4))
    session.init()
    ticks = [time.process_time()]
    for _ in range(PEER_SWEEPS):
        session.step()
        ticks.append(time.process_time())
    return float(min(np.diff(ticks)))


def against(peer: Callable[[Pairs, int], float], pairs: Pairs, n_factors: int, seconds: float) -> str:
    """How many times longer a peer takes."""
    try:
        other = peer(pairs, n_factors)
    except ImportError:
        return f"{peer.__name__} is not installed"
    return f"{peer.__name__} {other * 1e3:.0f} ms, {other / seconds:.1f}x"


def measured(pairs: Pairs, n_factors: int, peak: float) -> float:
    """Prints one K; gives back seconds per sweep on one thread."""
    n, (n_users, n_items) = pairs.n_pairs, pairs.shape
    seconds, _ = best(sweeps(pairs, n_factors, 1), 1.0)
    alone, together = (best(sweeps(pairs, n_factors, threads), 1.0, threads=2)[0] for threads in (1, 2))
    floor = gather(pairs.by_user.idx, n_items, n_factors)[0] + gather(pairs.by_item.idx, n_users, n_factors)[0]
    share = 16.0 * n * n_factors / seconds / 1e9 / peak
    parts = [
        f"K={n_factors:3d}: {seconds * 1e3:.1f} ms a sweep, {seconds / n / n_factors * 1e9:.3f} ns per rating and K",
        f"{share:.0%} of the FMA peak",
        f"{floor / seconds:.0%} of the gather's bandwidth ({seconds / floor:.2f}x the bare gather)",
        f"two threads {alone / together:.2f}x one",
        f"Gram phase {gram_share(n_factors, peak):.0%} of the FMA peak",
    ]
    print(", ".join(parts), flush=True)
    if n_factors <= PEER_LIMIT:
        print("       " + "; ".join(against(peer, pairs, n_factors, seconds) for peer in (myfm, smurff)), flush=True)
    return seconds


def main(sizes: list[int]) -> None:
    """Print a line or two for every K, and how time grows with it."""
    pairs, peak = training(), max(fma_peak() for _ in range(3))
    assert pairs.by_item.nnz == pairs.n_pairs
    print(f"ML-1M, {pairs.n_pairs} ratings, level {native.level()}: FMA chain {peak:.0f} GFLOP/s, ", end="")
    print(f"stream {stream():.1f} GB/s")
    times = [measured(pairs, k, peak) for k in sizes]
    if len(sizes) > 1:
        slope = np.log(times[-1] / times[0]) / np.log(sizes[-1] / sizes[0])
        print(f"slope of log time on log K from {sizes[0]} to {sizes[-1]}: {slope:.2f}")


if __name__ == "__main__":
    main([int(k) for k in sys.argv[1:]] or [20, 50, 100, 200])
