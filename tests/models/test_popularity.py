from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dyads.models.popularity import Popularity
from dyads.pairs import Pairs
from dyads.streams import At

COUNTS = np.array([[3, 0, 1, 0], [0, 2, 4, 0], [1, 0, 0, 0]])
TAKEN = COUNTS.sum(axis=0)


def fitted(alpha=1.0, data=COUNTS, **more):
    return Popularity(prior_concentration=alpha, **more).fit(data, show_progress=False)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 7.5])
def test_mean_and_spread_are_those_of_the_dirichlet(alpha):
    law = stats.dirichlet(alpha + TAKEN)
    for user in range(3):
        value, spread = fitted(alpha).predict_pairs([(user, item) for item in range(4)], return_std=True)
        np.testing.assert_allclose(value, law.mean(), rtol=1e-12)
        np.testing.assert_allclose(spread**2, law.var(), rtol=1e-12)
    assert value.sum() == pytest.approx(1.0)


def test_every_user_old_or_new_is_given_the_most_taken():
    model = fitted()
    due = np.argsort(-TAKEN, kind="stable").tolist()
    for user in range(3):
        assert model.recommend(user, N=4, filter_already_liked_items=False)[0].tolist() == due
    new = model.recommend("new", {"new": [due[0]]}, N=3, recalculate_user=True)
    assert new[0].tolist() == due[1:]
    np.testing.assert_array_equal(new[1], model.predict_pairs([(0, item) for item in due[1:]]))


def test_the_mean_ranks_as_the_answer_does():
    X = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 0, 0, 1]])
    model = Popularity().fit(X)
    for given in ({}, {"user_items": X[:1], "recalculate_user": True}):
        by_answer, by_mean = (model.recommend([0], **given, N=4, rank_by=by) for by in ("answer", "mean"))
        assert by_mean[0].tolist() == by_answer[0].tolist() == [[1, 2, -1, -1]]
        assert by_mean[1].tolist() == by_answer[1].tolist()


def test_ones_are_counted_once_with_a_threshold():
    ones = fitted(data=COUNTS, binarize=0.0)
    np.testing.assert_array_equal(ones.posterior_.item_alpha, 1.0 + (COUNTS > 0).sum(axis=0)[None])
    many = fitted(data=COUNTS, binarize=2.0)
    np.testing.assert_array_equal(many.posterior_.item_alpha, 1.0 + (COUNTS > 2).sum(axis=0)[None])


def test_pairs_that_come_again_are_counted():
    model = fitted(data=Pairs.of(["a", "a", "b"], ["x", "x", "y"]))
    assert model.predict_pairs([("a", "x"), ("b", "y")]).tolist() == pytest.approx([3 / 5, 2 / 5])


def test_the_score_is_the_mean_log_probability():
    model, test = fitted(), np.array([[0, 1, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]])
    p = (1.0 + TAKEN) / (4.0 + TAKEN.sum())
    assert model.score(test) == pytest.approx((np.log(p[1]) + 3 * np.log(p[2]) + np.log(p[3])) / 5)


# --- simulate ---

CELLS = Pairs.from_matrix(np.ones((40, 5)))


# 200 pairs from one law; chi-square with a false alarm in 10^5 runs.
def test_simulated_items_follow_the_law_they_were_drawn_with():
    for seed in range(3):
        bare, pairs = Popularity(prior_concentration=2.0).simulate(CELLS, At(seed, 0, 0))
        rate = bare.item.taken
        assert rate.sum() == pytest.approx(1.0)
        taken = np.bincount(pairs.columns(), weights=pairs.values(), minlength=5)
        assert taken.sum() == 200
        assert stats.chisquare(taken, 200 * rate).pvalue > 1e-5


# Over many laws the rates are Dirichlet: each is Beta(2, 8); a false alarm in 10^5 runs.
def test_laws_are_drawn_from_the_prior():
    model = Popularity(prior_concentration=2.0)
    rates = [model.simulate(CELLS, At(0, 0, tick))[0].item.taken[3] for tick in range(500)]
    assert stats.kstest(rates, stats.beta(2.0, 8.0).cdf).pvalue > 1e-5
