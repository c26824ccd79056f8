from __future__ import annotations

import pytest
from gibbs_peer import BURN_IN, N_DRAWS, peer_rmse

import dyads
from dyads import split

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def parts(data_folder):
    pairs = dyads.read(data_folder / "ml-100k.tsv", value=2)
    assert (pairs.shape, pairs.n_pairs) == ((943, 1682), 100_000)
    return split.fraction(pairs, 0.1, random_state=0)


@pytest.fixture(scope="module")
def report(parts):
    model = dyads.SBMF(n_factors=10, burn_in=BURN_IN, n_draws=N_DRAWS, random_state=0)
    model.fit(parts[0], show_progress=False)
    return dyads.evaluate(model, *parts, metrics=["rmse", "coverage@90"], n_bootstrap=0)


# Published figures of Bayesian factorisations on other tenths of these data lie between 0.89 and 0.91.
def test_the_error_is_that_of_a_gibbs_sampler(report):
    assert 0.87 < report["rmse"].value < 0.91
    assert report["rmse"].value < 0.95 * report["rmse"].popularity


def test_nine_tenths_of_the_ratings_lie_in_their_intervals(report):
    assert 0.88 < report["coverage@90"].value < 0.92


def test_the_error_stands_beside_another_gibbs_sampler(report, parts):
    assert report["rmse"].value <= 1.005 * peer_rmse(*parts, n_factors=10)
