from __future__ import annotations

import zipfile

import numpy as np
import pytest
from gibbs_peer import BURN_IN, N_DRAWS, PEER_PRIORS, peer_rmse

import dyads
from dyads import kernels, split

pytestmark = pytest.mark.slow

SEEDS = range(5)


@pytest.fixture(scope="module")
def ratings(data_folder, tmp_path_factory):
    if kernels.compiled("sbmf") is None:
        pytest.skip("five fits of a million ratings take an hour on the NumPy twins: build the compiled kernels")
    with zipfile.ZipFile(data_folder / "ml-1m.zip") as archive:
        pairs = dyads.read(archive.extract("ml-1m/ratings.dat", tmp_path_factory.mktemp("ml-1m")), value=2)
    assert (pairs.shape, pairs.n_pairs) == ((6040, 3706), 1_000_209)
    return pairs


def reports(ratings, **priors):
    found = []
    for seed in SEEDS:
        train, test = split.fraction(ratings, 0.1, random_state=seed)
        model = dyads.SBMF(n_factors=50, burn_in=BURN_IN, n_draws=N_DRAWS, random_state=seed, **priors)
        model.fit(train, show_progress=False)
        asked = ["rmse", "coverage@90"]
        found.append(dyads.evaluate(model, train, test, metrics=asked, n_bootstrap=0, baseline=False))
    return found


@pytest.mark.parametrize("priors", [{}, PEER_PRIORS], ids=["the paper's priors", "myFM's priors"])
def test_nine_tenths_of_the_ratings_lie_in_their_intervals(ratings, priors):
    for report in reports(ratings, **priors):
        assert 0.88 < report["coverage@90"].value < 0.92
        assert 0.82 < report["rmse"].value < 0.85


# Some minutes a split; benchmarks/sbmf_accuracy.py prints the same comparison, and SBMF with the paper's priors too.
def test_the_error_under_the_same_priors_is_within_a_five_hundredth_of_another_gibbs_sampler(ratings):
    pytest.importorskip("myfm", reason="myFM is not installed: pip install 'dyads[bench]'")
    mine = np.mean([report["rmse"].value for report in reports(ratings, **PEER_PRIORS)])
    theirs = np.mean([peer_rmse(*split.fraction(ratings, 0.1, random_state=s), n_factors=50, seed=s) for s in SEEDS])
    assert abs(mine / theirs - 1.0) <= 0.002
