from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dyads.models.sbmf import SBMF
from dyads.pairs import Pairs
from dyads.posterior import latent, side

# One user and two items, whose posterior is known. Chains are independent, so that the mean of a number over a chain
# is one observation; every comparison fails by chance once in 10,000 seeds.

FALSE_ALARM = 1e-4
VALUES = np.array([1.3, -0.4])
PAIRS = Pairs.from_matrix(VALUES[None])
CHAINS = {"burn_in": 20, "n_draws": 60, "n_chains": 25}


# (numbers, chains): means over every chain of the numbers that `of` makes of the two cells' latent values.
def chain_means(model, of):
    posterior = model.fit(PAIRS, show_progress=False).posterior_
    both = np.array([0, 1])
    cells, _ = latent(posterior, side(posterior, "user", np.array([0])), np.zeros(2, dtype=np.int64), both)
    found = np.array(of(posterior, cells))
    return found.reshape(len(found), CHAINS["n_chains"], -1).mean(axis=2)


# Priors so narrow that only u, v1 and v2 are unknown: given u the values are Gaussian, so that one integral is left.
def test_draws_have_the_posterior_of_a_quadrature(kernel_set):
    sure, noise, offset, centre = 1e8, 0.3, 0.2, 0.5
    model = SBMF(
        n_factors=1,
        biases=False,
        random_state=1,
        prior_mean=centre,
        prior_strength=sure,
        prior_shape=sure,
        prior_rate=sure,  # factors of precision 1
        prior_offset_mean=offset,
        prior_offset_precision=sure,
        prior_noise_shape=sure,
        prior_noise_rate=sure * noise,
        **CHAINS,
    )
    u = np.linspace(-7.0, 8.0, 20_001)[:, None]
    left = VALUES - offset
    weight = stats.norm(centre, 1.0).pdf(u[:, 0]) * stats.norm(u * centre, np.sqrt(u**2 + noise)).pdf(left).prod(axis=1)
    weight /= weight.sum()
    var = 1.0 / (1.0 + u**2 / noise)
    mean = u * var * (centre + u * left / noise)  # of u v1 and u v2 given u
    first, product = weight @ mean, weight @ mean.prod(axis=1)
    second = weight @ (mean**2 + u**2 * var)
    expected = [*first, *second, product]

    def of(posterior, cells):
        a, b = cells.T - offset
        return a, b, a * a, b * b, a * b

    for seen, truth in zip(chain_means(model, of), expected, strict=True):
        assert stats.ttest_1samp(seen, truth).pvalue > FALSE_ALARM / len(expected)


# Every parameter unknown: draws of the prior, weighted by the likelihood of the two ratings.
@pytest.mark.slow
def test_draws_have_the_posterior_of_weighted_draws_of_the_prior(kernel_set):
    shapes = {"prior_shape": 3.0, "prior_rate": 2.0, "prior_noise_shape": 4.0, "prior_noise_rate": 2.0}
    model = SBMF(n_factors=1, random_state=2, prior_mean=0.4, prior_offset_precision=1.0, **shapes, **CHAINS)
    n, rng = 400_000, np.random.default_rng(3)
    tau, mu = rng.gamma(4.0, 1.0 / 2.0, n), rng.standard_normal(n)

    def column(rows):
        precision = rng.gamma(3.0, 1.0 / 2.0, (n, 1))
        mean = 0.4 + rng.standard_normal((n, 1)) / np.sqrt(precision)
        return mean + rng.standard_normal((n, rows)) / np.sqrt(precision)

    cells = mu[:, None] + column(1) + column(2) + column(1) * column(2)
    weight = (tau[:, None] ** 0.5 * np.exp(-0.5 * tau[:, None] * (VALUES - cells) ** 2)).prod(axis=1)

    def numbers(mu, tau, cells):
        return [*np.tanh(cells.T), *np.tanh(cells.T) ** 2, np.tanh(mu), np.tanh(tau)]  # bounded, so that errors are

    def of(posterior, cells):
        return numbers(posterior.offset, 1.0 / posterior.noise, cells)

    for seen, drawn in zip(chain_means(model, of), numbers(mu, tau, cells), strict=True):
        truth = weight @ drawn / weight.sum()
        error2 = (weight**2 @ (drawn - truth) ** 2) / weight.sum() ** 2
        z = (seen.mean() - truth) / np.sqrt(seen.var(ddof=1) / len(seen) + error2)
        assert 2.0 * stats.t.sf(abs(z), len(seen) - 1) > FALSE_ALARM / 6
