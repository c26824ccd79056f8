# Every formula beside another way to the same number: moments by matrices, averages by integration, mixtures by
# enumeration, draws by their moments.

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from dyads import posterior as here
from dyads.posterior import Posterior, answer, expit, last, latent, mean_answer, scores, side, spread_answer, stacked
from dyads.state import RowPosterior, arrays_equal
from dyads.streams import At

N_USERS, N_ITEMS, K = 5, 7, 3
EVERY = [(i, j) for i in range(N_USERS) for j in range(N_ITEMS)]
USERS, ITEMS = (np.array(column) for column in zip(*EVERY, strict=True))
LINKS = ["identity", "logistic", "probit", "none"]


# Random numbers of every shape that a posterior has; `var` says which sides know their variance.
def made(link="identity", c=3, var="both", rates=False, clip=None, seed=0):
    rng = np.random.default_rng(seed)

    def means(n):
        return rng.normal(size=(c, n, K)).astype(np.float32)

    def variances(n, which):
        return rng.gamma(2.0, 0.2, size=(c, n, K)).astype(np.float32) if var in (which, "both") else None

    return Posterior(
        user=means(N_USERS),
        user_var=variances(N_USERS, "user"),
        item=means(N_ITEMS),
        item_var=variances(N_ITEMS, "item"),
        offset=rng.normal(size=c),
        offset_var=rng.gamma(1.0, 0.3, size=c) if var != "none" else np.zeros(c),
        noise=rng.gamma(2.0, 1.0, size=c) if link == "identity" else None,
        user_alpha=None,
        item_alpha=rng.gamma(2.0, 2.0, size=(c, N_ITEMS)) if rates else None,
        clip=None if clip is None else np.array(clip),
        n_factors=K,
        link=link,
        small=None,
    )


def everyone(posterior):
    return side(posterior, "user", np.arange(N_USERS))


# Mean and variance of offset + u·v for u ~ N(m, S), v ~ N(n, T): E[(u·v)²] = tr((S + mmᵀ)(T + nnᵀ)).
def by_matrices(posterior, users, c, i, j):
    m, n = users.mean[c, i], posterior.item[c, j].astype(np.float64)
    s = np.zeros((K, K)) if users.var is None else np.diag(users.var[c, i])
    s = s if users.cov is None else users.cov[c, i]
    t = np.zeros((K, K)) if posterior.item_var is None else np.diag(posterior.item_var[c, j].astype(np.float64))
    second = np.trace((s + np.outer(m, m)) @ (t + np.outer(n, n)))
    return posterior.offset[c] + m @ n, second - (m @ n) ** 2 + posterior.offset_var[c]


# --- latent values ---


@pytest.mark.parametrize("var", ["none", "user", "item", "both"])
def test_latent_moments_are_those_of_a_product_of_gaussians(var):
    posterior = made(var=var)
    mean, spread = latent(posterior, everyone(posterior), USERS, ITEMS)
    for n, (i, j) in enumerate(EVERY):
        for c in range(3):
            due = by_matrices(posterior, everyone(posterior), c, i, j)
            assert mean[c, n] == pytest.approx(due[0], abs=1e-12)
            assert spread[c, n] == pytest.approx(due[1], abs=1e-12)


@pytest.mark.parametrize("var", ["none", "both"])
def test_latent_moments_take_covariances_where_there_are_any(var):
    posterior, rng = made(var=var), np.random.default_rng(1)
    root = rng.normal(size=(3, N_USERS, K, K))
    cov = root @ root.transpose(0, 1, 3, 2)
    users = RowPosterior(rng.normal(size=(3, N_USERS, K)), np.einsum("cikk->cik", cov).copy(), cov)
    mean, spread = latent(posterior, users, USERS, ITEMS)
    for n, (i, j) in enumerate(EVERY):
        for c in range(3):
            np.testing.assert_allclose((mean[c, n], spread[c, n]), by_matrices(posterior, users, c, i, j), atol=1e-11)


# --- links ---


def test_the_logistic_function_does_not_overflow():
    x = np.array([-1e4, -800.0, -30.0, 0.0, 30.0, 800.0, 1e4])
    with np.errstate(all="raise", under="ignore"):
        value = expit(x)
    np.testing.assert_allclose(value, [0.0, 0.0, np.exp(-30.0), 0.5, 1.0, 1.0, 1.0], rtol=1e-12, atol=1e-300)


def by_integration(link, mean, var, power):
    g = {"logistic": lambda a: 1.0 / (1.0 + np.exp(-a)), "probit": stats.norm.cdf}[link]

    def height(z):
        return g(mean + np.sqrt(var) * z) ** power * stats.norm.pdf(z)

    return integrate.quad(height, -12.0, 12.0, epsabs=1e-13, limit=400, points=[-mean / np.sqrt(var)])[0]


GRID = [(mean, var) for mean in (-6.0, -2.0, -0.3, 0.0, 1.0, 4.0) for var in (1e-6, 0.1, 1.0, 4.0)]


# The rescaled probit stays within two hundredths of the mean of σ; the probit and the identity are exact.
@pytest.mark.parametrize(("link", "within"), [("logistic", 0.02), ("probit", 1e-10)])
@pytest.mark.parametrize(("mean", "var"), GRID)
def test_mean_answers_are_averages_over_the_gaussian(link, within, mean, var):
    found = mean_answer(link, np.array([mean]), np.array([var]))[0]
    assert abs(found - by_integration(link, mean, var, 1)) < within


@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize(("mean", "var"), GRID)
def test_spreads_of_answers_are_those_of_the_gaussian(link, mean, var):
    found = spread_answer(link, np.array([mean]), np.array([var]))[0]
    due = by_integration(link, mean, var, 2) - by_integration(link, mean, var, 1) ** 2
    assert abs(np.sqrt(found) - np.sqrt(max(due, 0.0))) < 2e-3


@pytest.mark.parametrize("link", ["identity", "none"])
def test_without_a_bend_answers_are_the_latent_values(link):
    mean, var = np.array([-3.0, 0.5]), np.array([0.2, 4.0])
    assert mean_answer(link, mean, var) is mean
    assert spread_answer(link, mean, var) is var


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_a_point_has_no_spread(link):
    assert spread_answer(link, np.array([-1.0, 2.0]), np.zeros(2)).max() < 1e-15


# --- mixtures ---


@pytest.mark.parametrize("rates", [False, True])
@pytest.mark.parametrize("link", LINKS)
def test_answers_are_those_of_the_mixture(link, rates):
    posterior = made(link, rates=rates)
    found = answer(posterior, everyone(posterior), USERS, ITEMS)
    for n, (i, j) in enumerate(EVERY):
        first, second = [], []
        for c in range(3):
            mean, var = (np.array([x]) for x in by_matrices(posterior, everyone(posterior), c, i, j))
            value, spread = mean_answer(link, mean, var)[0], spread_answer(link, mean, var)[0]
            rate, rate2 = 1.0, 1.0
            if rates:
                law = stats.beta(posterior.item_alpha[c, j], np.delete(posterior.item_alpha[c], j).sum())
                rate, rate2 = law.mean(), law.var() + law.mean() ** 2
            first.append(value * rate)
            second.append((spread + value**2) * rate2)
        assert found.value[n] == pytest.approx(np.mean(first), rel=1e-9)
        assert found.spread[n] ** 2 == pytest.approx(np.mean(second) - np.mean(first) ** 2, rel=1e-6, abs=1e-12)


def test_noise_stands_apart_and_is_averaged_as_a_variance():
    posterior = made("identity")
    found = answer(posterior, everyone(posterior), USERS, ITEMS)
    np.testing.assert_allclose(found.noise, np.sqrt(posterior.noise.mean()))
    assert (answer(made("probit"), everyone(made("probit")), USERS, ITEMS).noise == 0).all()


def test_answers_stay_within_the_range_that_was_named():
    free, bound = (made("identity", clip=clip) for clip in (None, (-0.5, 1.0)))
    value = answer(free, everyone(free), USERS, ITEMS).value
    assert value.min() < -0.5 and value.max() > 1.0
    np.testing.assert_array_equal(answer(bound, everyone(bound), USERS, ITEMS).value, np.clip(value, -0.5, 1.0))


def test_rates_are_those_of_a_dirichlet():
    posterior = made(rates=True)
    mean, var = here.popularity(posterior)
    for c in range(3):
        law = stats.dirichlet(posterior.item_alpha[c])
        np.testing.assert_allclose(mean[c], law.mean())
        np.testing.assert_allclose(var[c], law.var())
    assert here.popularity(made()) is None


# --- scores of whole rows take another way to the same answers ---


@pytest.mark.parametrize("rates", [False, True])
@pytest.mark.parametrize("var", ["none", "user", "item", "both"])
@pytest.mark.parametrize("link", LINKS)
def test_scores_are_the_answers_of_every_item(link, var, rates):
    posterior = made(link, var=var, rates=rates)
    users = everyone(posterior)
    due = answer(posterior, users, USERS, ITEMS).value.reshape(N_USERS, N_ITEMS)
    np.testing.assert_allclose(scores(posterior, users), due, rtol=1e-9, atol=1e-12)
    some = np.array([5, 0, 2])
    np.testing.assert_allclose(scores(posterior, users, some), due[:, some], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("link", LINKS)
def test_scores_by_the_mean_are_latent_means(link):
    posterior = made(link)
    users = everyone(posterior)
    due = latent(posterior, users, USERS, ITEMS)[0].mean(axis=0).reshape(N_USERS, N_ITEMS)
    np.testing.assert_allclose(scores(posterior, users, by="mean"), due, rtol=1e-9, atol=1e-12)


# --- parts ---


def test_one_posterior_is_stacked_of_several():
    parts = [made(c=1, rates=True, clip=(0, 1), seed=s) for s in range(3)]
    whole = stacked(parts)
    assert whole.user.shape == (3, N_USERS, K)
    for c, part in enumerate(parts):
        np.testing.assert_array_equal(whole.user[c], part.user[0])
        np.testing.assert_array_equal(whole.item_alpha[c], part.item_alpha[0])
        assert whole.noise[c] == part.noise[0]
    assert whole.clip is parts[0].clip
    assert arrays_equal(last(whole), parts[-1])
    assert stacked(parts[:1]) is parts[0]


def test_rows_of_a_side_are_taken_by_number():
    posterior, numbers = made(rates=True), np.array([3, 0, 3])
    rows = side(posterior, "item", numbers)
    np.testing.assert_array_equal(rows.mean, posterior.item[:, numbers])
    np.testing.assert_array_equal(rows.var, posterior.item_var[:, numbers])
    np.testing.assert_array_equal(rows.alpha, posterior.item_alpha[:, numbers])
    assert rows.mean.dtype == np.float64 and rows.cov is None
    assert side(posterior, "user", numbers).alpha is None


# --- draws ---

CELLS = (np.array([0, 0, 1, 4, 0]), np.array([2, 5, 2, 6, 2]))  # rows and items shared, and one cell twice


# E[a], Cov[a] of the pairs within one component, for a = offset + u·v.
def joint_moments(posterior, c):
    users = everyone(posterior)
    n = len(CELLS[0])
    mean, cov = np.empty(n), np.empty((n, n))
    v, vs = posterior.item[c].astype(float), posterior.item_var[c].astype(float)
    u, us = users.mean[c], users.var[c]
    for a, (i, j) in enumerate(zip(*CELLS, strict=True)):
        mean[a] = by_matrices(posterior, users, c, i, j)[0]
        for b, (k, m) in enumerate(zip(*CELLS, strict=True)):
            same_user, same_item = i == k, j == m
            cov[a, b] = posterior.offset_var[c]
            cov[a, b] += same_user * (us[i] * v[j] * v[m]).sum() + same_item * (vs[j] * u[i] * u[k]).sum()
            cov[a, b] += same_user * same_item * (us[i] * vs[j]).sum()
    return mean, cov


# 5 means and 15 covariances of 2000 draws against their standard errors: a false alarm in 10^6 runs at 5.3 of them.
def test_draws_are_joint():
    posterior = made(c=1)
    drawn = here.sample(posterior, *CELLS, At(3, 0, 0), 2000)
    mean, cov = joint_moments(posterior, 0)
    away = drawn - mean
    for a in range(5):
        assert abs(away[:, a].mean()) < 5.3 * away[:, a].std() / np.sqrt(2000)
        for b in range(a + 1):
            product = away[:, a] * away[:, b]
            assert abs(product.mean() - cov[a, b]) < 5.3 * product.std() / np.sqrt(2000)
    np.testing.assert_allclose(drawn[:, 0], drawn[:, 4], rtol=1e-12)


def test_draws_of_points_are_their_components_in_turn():
    posterior = made(var="none")
    drawn = here.sample(posterior, *CELLS, At(3, 0, 0), 7)
    due = latent(posterior, everyone(posterior), *CELLS)[0]
    np.testing.assert_allclose(drawn, due[np.arange(7) % 3], atol=1e-12)


def test_draws_have_their_address():
    posterior = made()
    eight = here.sample(posterior, *CELLS, At(3, 0, 0), 8)
    np.testing.assert_array_equal(eight[3:], here.sample(posterior, *CELLS, At(3, 0, 3), 5))
    assert not np.allclose(eight, here.sample(posterior, *CELLS, At(4, 0, 0), 8))
    one = here.sample(posterior, CELLS[0][:1], CELLS[1][:1], At(3, 0, 0), 8)
    np.testing.assert_allclose(one[:, 0], eight[:, 0], rtol=1e-12)  # whoever else is asked
