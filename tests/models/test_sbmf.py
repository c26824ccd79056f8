from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dyads
from dyads.engines.local import Local
from dyads.errors import ConfigError
from dyads.kernels.shapes import SbmfRows
from dyads.models.sbmf import SBMF
from dyads.pairs import Csr, Pairs, csr
from dyads.state import arrays_equal
from dyads.streams import At

NOISE = 0.5
PLANTED = dyads.synthetic.ratings(noise=NOISE, random_state=1)
TRAIN, TEST = dyads.split.fraction(PLANTED.pairs, 0.1, 1)


@pytest.fixture(scope="module")
def model():
    return SBMF(n_factors=3, random_state=0).fit(TRAIN, show_progress=False)


def small_pairs(n_users=8, n_items=6, seed=0):
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((n_users, n_items)) < 0.6)
    return Pairs.from_matrix(csr(rows, columns, rng.normal(3.0, 1.0, rows.size), n_users, n_items).to_scipy(n_items))


@pytest.fixture(scope="module", params=[True, False], ids=["biases", "no biases"])
def little(request):
    model = SBMF(n_factors=2, biases=request.param, burn_in=3, n_draws=4, random_state=5, prior_mean=0.2)
    return model.fit(small_pairs(), show_progress=False)


# --- recovery ---


# The noise cannot be foretold; what the parameters add is less than an eighth of it.
def test_planted_ratings_are_met_up_to_their_noise(model):
    rmse = -model.score(TEST)
    assert 0.97 * NOISE < rmse < 1.15 * NOISE
    assert np.sqrt(np.mean(model.posterior_.noise)) == pytest.approx(NOISE, rel=0.05)


@pytest.mark.parametrize(("share", "low", "high"), [(0.9, 0.86, 0.94), (0.5, 0.46, 0.54)])
def test_predictive_intervals_cover_what_they_say(model, share, low, high):
    value, spread = model.predict_pairs(TEST, return_std=True, with_noise=True)
    inside = np.abs(TEST.values() - value) < stats.norm.ppf(0.5 + share / 2.0) * spread
    assert low < inside.mean() < high


# Without noise the interval is of the mean, which is known here.
def test_intervals_of_the_mean_cover_the_planted_mean(model):
    value, spread = model.predict_pairs(TEST, return_std=True)
    rows, columns = TEST.rows(), TEST.columns()
    truth = PLANTED.offset + PLANTED.user_bias[rows] + PLANTED.item_bias[columns]
    truth += np.einsum("nk,nk->n", PLANTED.user[rows], PLANTED.item[columns])
    inside = np.abs(truth - value) < stats.norm.ppf(0.95) * spread
    assert 0.82 < inside.mean() < 0.97
    assert (spread < NOISE).mean() > 0.95


# --- parts of an answer ---


def test_predictions_are_averages_over_the_draws_of_all_chains():
    pairs = small_pairs()
    model = SBMF(n_factors=2, burn_in=2, n_draws=3, n_chains=2, random_state=1).fit(pairs, show_progress=False)
    posterior, said = model.posterior_, model.predict_pairs([(3, 2)], return_std=True)
    each = posterior.offset + np.einsum("ck,ck->c", posterior.user[:, 3], posterior.item[:, 2])
    assert len(each) == 6
    np.testing.assert_allclose((said[0][0], said[1][0]), (each.mean(), each.std()), rtol=1e-6)


def test_the_plan_is_fifty_sweeps_and_a_hundred_draws():
    plan = SBMF().plan(small_pairs(), None)
    assert (plan.burn_in, plan.ticks, plan.tol) == (50, 150, None)


@pytest.mark.parametrize(("clip", "low", "high"), [("data", None, None), ((2.5, 3.5), 2.5, 3.5)])
def test_answers_are_clipped_on_request(clip, low, high):
    pairs = small_pairs()
    values = pairs.values()
    low, high = (float(values.min()), float(values.max())) if low is None else (low, high)
    free, bound = (
        SBMF(n_factors=2, burn_in=1, n_draws=2, clip=c, random_state=1).fit(pairs, show_progress=False)
        for c in (None, clip)
    )
    cells = [(u, i) for u in range(8) for i in range(6)]
    value = free.predict_pairs(cells)
    assert value.min() < low or value.max() > high
    np.testing.assert_array_equal(bound.predict_pairs(cells), np.clip(value, low, high))


def test_ratings_that_outgrow_32_bits_are_said():
    X = 1e38 * np.random.default_rng(0).integers(1, 4, (6, 5))
    state = SBMF(n_factors=2)
    engine = Local(1)
    begun = state.init(Pairs.from_matrix(X), engine, At(0, 0, 0))
    damaged = begun._replace(user=begun.user._replace(arrays=SbmfRows(*(a * np.nan for a in begun.user.arrays))))
    with pytest.raises(ConfigError, match=r"SBMF left the numbers of 32 bits in sweep 1, on ratings from 1e\+38 to 3e"):
        state.step(damaged, engine, At(0, 0, 0), 1)


def test_without_biases_none_are_learned():
    model = SBMF(n_factors=2, burn_in=1, n_draws=2, biases=False, random_state=1)
    model.fit(small_pairs(), show_progress=False)
    assert not model.user_bias_.any() and not model.item_bias_.any()


# --- fold-in: the conditional of (bias, factors) given each draw of the other side ---


# The same law by conditioning the joint Gaussian of x and r, dense, one draw and one row at a time.
def conditional(model, c, which, others, ratings):
    posterior, k = model.posterior_, model.posterior_.n_factors
    past, table = posterior.small, (posterior.item if which == "user" else posterior.user)[c].astype(np.float64)
    prior = (past.user_mean, past.user_precision) if which == "user" else (past.item_mean, past.item_precision)
    mean, cov = prior[0][c].copy(), np.diag(1.0 / prior[1][c])
    if not model.biases:
        mean[0], cov[0, 0] = 0.0, 0.0
    bias = table[others, k + 1 if which == "user" else k]
    design = np.concatenate([np.ones((len(others), 1)), table[others, :k]], axis=1)
    away = ratings - posterior.offset[c] - bias - design @ mean
    both = design @ cov @ design.T + np.eye(len(others)) / past.noise_precision[c]
    gain = cov @ design.T @ np.linalg.inv(both)
    return mean + gain @ away, cov - gain @ design @ cov


HISTORIES = [([0, 2, 3], [4.0, 1.0, 2.5]), ([5], [3.0]), ([], []), ([0, 1, 2, 3, 4, 5], [1.0, 2.0, 3.0, 4.0, 5.0, 1.5])]


def block_of(histories):
    ptr = np.cumsum([0, *(len(idx) for idx, _ in histories)])
    idx = np.array([i for row, _ in histories for i in row], dtype=np.int32)
    return Csr(ptr.astype(np.int64), idx, np.array([v for _, row in histories for v in row], dtype=np.float32))


@pytest.mark.parametrize("which", ["user", "item"])
def test_new_rows_have_the_exact_conditional(little, which):
    k, block = 2, block_of(HISTORIES)
    placed = little.fold_in(block, which, little.posterior_, At(0, 0, 0), cov=True)
    own, ones = (k, k + 1) if which == "user" else (k + 1, k)
    order = [own, *range(k)]
    for r, (others, ratings) in enumerate(HISTORIES):
        for c in range(4):
            mean, cov = conditional(little, c, which, np.array(others, dtype=int), np.array(ratings))
            np.testing.assert_allclose(placed.mean[c, r, order], mean, atol=1e-9)
            np.testing.assert_allclose(placed.cov[c, r][np.ix_(order, order)], cov, atol=1e-9)
            assert placed.mean[c, r, ones] == 1.0
            assert not placed.cov[c, r, ones].any()
    np.testing.assert_array_equal(placed.var, np.einsum("crkk->crk", placed.cov))


def test_an_empty_history_is_the_prior(little):
    placed = little.fold_in(block_of([([], [])]), "user", little.posterior_, At(0, 0, 0), cov=True)
    past = little.posterior_.small
    np.testing.assert_allclose(placed.mean[:, 0, :2], past.user_mean[:, 1:])
    np.testing.assert_allclose(placed.var[:, 0, :2], 1.0 / past.user_precision[:, 1:])


@pytest.mark.parametrize("which", ["user", "item"])
def test_a_row_is_placed_alike_alone_and_among_others(little, which):
    block = block_of(HISTORIES)
    together = little.fold_in(block, which, little.posterior_, At(0, 0, 0), cov=True)
    for r in range(len(HISTORIES)):
        alone = little.fold_in(block.slice(r, r + 1), which, little.posterior_, At(0, 0, 0), cov=True)
        for one, many in zip(alone[:3], together[:3], strict=True):
            np.testing.assert_array_equal(one[:, 0], many[:, r])


def test_the_verbs_for_new_rows_give_the_last_draw_and_its_covariance(little):
    for which, place in (("user", little.recalculate_user), ("item", little.recalculate_item)):
        given = {"new": dict(zip(HISTORIES[0][0], HISTORIES[0][1], strict=True))}
        factors, cov = place("new", given, return_cov=True)
        mean, due = conditional(little, 3, which, np.array(HISTORIES[0][0]), np.array(HISTORIES[0][1]))
        np.testing.assert_allclose(factors, mean[1:], atol=1e-9)
        np.testing.assert_allclose(cov, due[1:, 1:], atol=1e-9)


def test_a_new_user_is_ranked_by_the_mean_over_all_draws(little):
    others, ratings = HISTORIES[0]
    given = {"new": dict(zip(others, ratings, strict=True))}
    ids, scores, spread = little.recommend("new", given, N=3, recalculate_user=True, return_std=True)
    assert set(ids) == {1, 4, 5}
    posterior = little.posterior_
    for item, score, std in zip(ids, scores, spread, strict=True):
        values, within = [], []
        for c in range(4):
            mean, cov = conditional(little, c, "user", np.array(others), np.array(ratings))
            v = np.concatenate([[1.0], posterior.item[c, item, :2].astype(np.float64)])
            values.append(posterior.offset[c] + posterior.item[c, item, 3] + v @ mean)
            within.append(v @ cov @ v)
        assert score == pytest.approx(np.mean(values), rel=1e-9)
        assert std == pytest.approx(np.sqrt(np.mean(within) + np.var(values)), rel=1e-6)


# --- simulate ---

CELLS = small_pairs(30, 20, seed=3)


def test_what_is_simulated_has_the_shape_of_its_cells():
    model = SBMF(n_factors=2)
    bare, pairs = model.simulate(CELLS, At(1, 0, 0))
    assert (bare.user.factors.shape, bare.user.bias.shape) == ((30, 2), (30,))
    assert (bare.item.factors.shape, bare.item.bias.shape) == ((20, 2), (20,))
    assert bare.small.user.mean.shape == (3,) and bare.small.noise_precision > 0
    assert arrays_equal(pairs.by_user[:2], CELLS.by_user[:2])
    assert pairs.by_user.val.dtype == np.float32
    assert not SBMF(n_factors=2, biases=False).simulate(CELLS, At(1, 0, 0))[0].user.bias.any()


def test_what_is_simulated_has_its_address():
    first, again, other = (SBMF(n_factors=2).simulate(CELLS, At(seed, 0, 0)) for seed in (1, 1, 2))
    assert arrays_equal(first[0], again[0]) and first[1].fingerprint == again[1].fingerprint
    assert first[1].fingerprint != other[1].fingerprint


# Residuals over their standard deviation are standard normal: a false alarm in 10^5 runs.
def test_simulated_values_stand_around_the_mean_of_their_state():
    model = SBMF(n_factors=2)
    bare, _ = model.simulate(CELLS, At(4, 0, 0))
    engine = Local(1)
    state = model.place(CELLS, engine, bare)
    z = []
    for tick in range(20):
        same, pairs = model.simulate(CELLS, At(4, 0, tick), state)
        assert arrays_equal(same[:3], bare[:3])
        rows, columns = pairs.rows(), pairs.columns()
        mean = bare.small.offset + bare.user.bias[rows] + bare.item.bias[columns]
        mean = mean + np.einsum("nk,nk->n", bare.user.factors[rows], bare.item.factors[columns])
        z.append((pairs.values() - mean) * np.sqrt(bare.small.noise_precision))
    assert stats.kstest(np.concatenate(z), "norm").pvalue > 1e-5


def test_a_model_finds_what_it_has_simulated():
    cells = dyads.synthetic.ratings(n_users=120, n_items=80, n_pairs=4000, random_state=2).pairs
    tight = {"prior_shape": 5.0, "prior_rate": 5.0, "prior_noise_shape": 50.0, "prior_noise_rate": 10.0}
    bare, pairs = SBMF(n_factors=2, **tight).simulate(cells, At(9, 0, 0))
    train, test = dyads.split.fraction(pairs, 0.1, 0)
    model = SBMF(n_factors=2, random_state=0, **tight).fit(train, show_progress=False)
    noise = bare.small.noise_precision**-0.5
    assert 0.9 * noise < -model.score(test) < 1.25 * noise
    value, spread = model.predict_pairs(test, return_std=True, with_noise=True)
    assert 0.86 < (np.abs(test.values() - value) < 1.645 * spread).mean() < 0.94
