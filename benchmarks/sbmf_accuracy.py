"""RMSE and coverage of SBMF on MovieLens-1M, beside the Gibbs sampler of myFM on the same splits.

    DYADS_DATA=FOLDER python benchmarks/sbmf_accuracy.py [--factors 50] [--seeds 5]

FOLDER holds ml-1m.zip. Ratings are split 90:10, both samplers keep 100 draws after 50 sweeps, and both have priors of
their own for users and for items. Precisions are Gamma(1, 1) in the paper behind SBMF and Gamma(1/2, 1/2) in myFM,
which shows at many factors; so SBMF runs under both.

Printed for every split: the errors under the paper's priors and under myFM's, the error of myFM, the ratio of the last
two, the share of held-out ratings in SBMF's 90 % intervals under the same priors, and seconds of both fits.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import dyads
from dyads import split
from dyads.pairs import Pairs

BURN_IN, N_DRAWS = 50, 100
PRIORS = {"prior_shape": 0.5, "prior_rate": 0.5, "prior_noise_shape": 0.5, "prior_noise_rate": 0.5}  # myFM's


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factors", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    pairs = ratings(Path(os.environ["DYADS_DATA"]))
    print(f"ML-1M 90:10, K = {asked.factors}, {BURN_IN} + {N_DRAWS} sweeps")
    print("split  paper's  same     myFM     ratio    coverage@90  seconds SBMF  seconds myFM", flush=True)
    lines = []
    for seed in range(asked.seeds):
        train, test = split.fraction(pairs, 0.1, random_state=seed)
        papers, _, _ = sbmf(train, test, asked.factors, seed)
        mine, inside, fast = sbmf(train, test, asked.factors, seed, **PRIORS)
        theirs, slow = myfm(train, test, asked.factors, seed)
        lines.append((papers, mine, theirs, mine / theirs, inside, fast, slow))
        print(f"{seed:5d}  {row(lines[-1])}", flush=True)
    print(f" mean  {row(np.mean(lines, axis=0))}")


def row(line: Any) -> str:
    papers, mine, theirs, ratio, inside, fast, slow = line
    return f"{papers:.5f}  {mine:.5f}  {theirs:.5f}  {ratio:.5f}  {inside:11.4f}  {fast:12.1f}  {slow:12.1f}"


def ratings(folder: Path) -> Pairs:
    """The ratings; the archive is unpacked beside nothing that stays."""
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(folder / "ml-1m.zip") as archive:
        return dyads.read(archive.extract("ml-1m/ratings.dat", scratch), value=2)


def sbmf(train: Pairs, test: Pairs, n_factors: int, seed: int, **priors: float) -> tuple[float, float, float]:
    """RMSE, coverage, seconds."""
    begun = time.perf_counter()
    model = dyads.SBMF(n_factors=n_factors, burn_in=BURN_IN, n_draws=N_DRAWS, random_state=seed, **priors)
    model.fit(train, show_progress=False)
    seconds = time.perf_counter() - begun
    asked = ["rmse", "coverage@90"]
    report = dyads.evaluate(model, train, test, metrics=asked, n_bootstrap=0, baseline=False)
    return report["rmse"].value, report["coverage@90"].value, seconds


def myfm(train: Pairs, test: Pairs, n_factors: int, seed: int) -> tuple[float, float]:
    """RMSE, seconds."""
    from myfm import MyFMGibbsRegressor

    model, begun = MyFMGibbsRegressor(rank=n_factors, random_seed=seed), time.perf_counter()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):  # its progress bar has no switch
        model.fit(
            indicators(train),
            train.values().astype(np.float64),
            n_iter=BURN_IN + N_DRAWS,
            n_kept_samples=N_DRAWS,
            group_shapes=list(train.shape),
        )
    seconds = time.perf_counter() - begun
    return float(np.sqrt(np.mean((model.predict(indicators(test)) - test.values()) ** 2))), seconds


def indicators(pairs: Pairs) -> Any:
    """A row per rating, with a one in the column of its user and one in that of its item."""
    n, n_users = pairs.n_pairs, pairs.shape[0]
    columns = np.stack([pairs.rows(), n_users + pairs.columns()], axis=1).ravel()
    return sparse.csr_matrix((np.ones(2 * n), columns, np.arange(0, 2 * n + 1, 2)), shape=(n, sum(pairs.shape)))


if __name__ == "__main__":
    main()
