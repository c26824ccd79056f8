from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from dyads.engines.local import Local
from dyads.models import sbmf
from dyads.models._normal_gamma import NormalGamma, from_prior
from dyads.models.sbmf import SBMF
from dyads.pairs import Pairs, csr
from dyads.state import Bare, bare
from dyads.streams import At, Site, normal

# Every conditional is held against one thing: the log joint density (16), written out term by term with scipy's
# densities. As a function of one number it is that number's conditional up to a constant.

AT = At(3, 1, 4)
SIDES = ("user", "item")
FLOAT32 = 1e-6  # compiled kernels hold residuals so


@pytest.fixture(params=[True, False], ids=["biases", "no biases"])
def walk(kernel_set, monkeypatch, request):
    return walked(monkeypatch, biases=request.param)


class Walk(NamedTuple):
    model: SBMF
    values: Pairs
    before: Bare
    after: Bare
    shapes: list[Any]  # of the Gamma draws, in the order of the sweep


# A generator whose draws are known: a Gamma draw is 1.2 times its shape, a normal 0.7.
class Scripted:
    def __init__(self) -> None:
        self.shapes: list[Any] = []

    def gamma(self, shape: Any, size: Any = None) -> Any:
        self.shapes.append(shape)
        return np.full(size, 1.2 * shape) if size else 1.2 * shape

    def standard_normal(self, size: Any = None) -> Any:
        return np.full(size, 0.7) if size else 0.7


# One sweep on 7 x 4 cells, one user and one item without a rating.
def walked(monkeypatch: Any, **changes: Any) -> Walk:
    rng, engine = np.random.default_rng(0), Local(1)
    rows, columns = np.nonzero(rng.random((6, 3)) < 0.7)
    values = rng.normal(3.0, 1.0, rows.size)
    pairs = Pairs.from_matrix(csr(rows, columns, values, 7, 4).to_scipy(4))
    model = SBMF(
        n_factors=3,
        prior_mean=0.3,
        prior_strength=2.0,
        prior_shape=1.5,
        prior_rate=0.7,
        prior_offset_mean=1.0,
        prior_offset_precision=0.4,
        prior_noise_shape=2.5,
        prior_noise_rate=1.7,
        **changes,
    )
    start, _ = model.simulate(pairs, At(5, 0, 0))
    state = model.init(pairs, engine, AT, start._replace(tick=AT.tick))
    scripted = Scripted()
    monkeypatch.setattr(sbmf, "generator", lambda at, site: scripted)
    before = copied(bare(state, engine))
    return Walk(model, pairs, before, bare(model.step(state, engine, AT, 1), engine), scripted.shapes)


def copied(state: Bare) -> Bare:
    user, item = (type(side)(*(array.copy() for array in side)) for side in (state.user, state.item))
    return Bare(user, item, state.small, state.tick)


def log_joint(model: SBMF, values: Pairs, state: Bare) -> float:
    small = state.small
    found = stats.norm(model.prior_offset_mean, model.prior_offset_precision**-0.5).logpdf(small.offset)  # (6)
    found += stats.gamma(model.prior_noise_shape, scale=1 / model.prior_noise_rate).logpdf(
        small.noise_precision
    )  # (11)
    tables = []
    for side, rows in ((small.user, state.user), (small.item, state.item)):
        columns = [rows.factors[:, k].astype(np.float64) for k in range(model.n_factors)]
        tables.append((rows.bias.astype(np.float64), np.array(columns).T))
        for c, x in enumerate([rows.bias.astype(np.float64), *columns]):
            if c or model.biases:
                precision = side.precision[c]
                found += stats.gamma(model.prior_shape, scale=1 / model.prior_rate).logpdf(precision)  # (12)-(15)
                found += stats.norm(model.prior_mean, (model.prior_strength * precision) ** -0.5).logpdf(side.mean[c])
                found += stats.norm(side.mean[c], precision**-0.5).logpdf(x).sum()  # (7)-(10)
    (b, u), (c, v) = tables
    i, j = values.rows(), values.columns()
    mean = small.offset + b[i] + c[j] + (u[i] * v[j]).sum(axis=1)
    found += stats.norm(mean, small.noise_precision**-0.5).logpdf(values.values().astype(np.float64)).sum()  # (5)
    return float(found)


# The mean and standard deviation of the Gaussian whose log density is `log_density`, a parabola.
def gaussian(log_density: Any) -> tuple[float, float]:
    low, middle, high = (log_density(x) for x in (-1.0, 0.0, 1.0))
    curvature = 2.0 * middle - low - high
    return (high - low) / (2.0 * curvature), curvature**-0.5


# The same for n numbers together: mean and covariance.
def gaussians(log_density: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    unit, middle = np.eye(n), log_density(np.zeros(n))
    slope = np.array([(log_density(unit[a]) - log_density(-unit[a])) / 2.0 for a in range(n)])
    up, down = (np.array([log_density(sign * unit[a]) for a in range(n)]) for sign in (1.0, -1.0))
    both = np.array([[log_density(unit[a] + unit[b]) for b in range(n)] for a in range(n)])
    curved = both - up[:, None] - up + middle
    assert np.allclose(np.diag(curved), up + down - 2.0 * middle)
    covariance = np.linalg.inv(-curved)
    return covariance @ slope, covariance


# Whether Gamma(shape, rate) is the law whose log density is `log_density` up to a constant.
def check_gamma(log_density: Any, shape: float, rate: float) -> None:
    at = np.array([0.2, 0.5, 1.0, 2.0, 4.0])
    gap = stats.gamma(shape, scale=1.0 / rate).logpdf(at) - [log_density(x) for x in at]
    np.testing.assert_allclose(gap, gap[0], rtol=FLOAT32)


def with_side(state: Bare, which: str, name: str, c: int, value: float) -> Bare:
    side = getattr(state.small, which)
    array = getattr(side, name).copy()
    array[c] = value
    return state._replace(small=state.small._replace(**{which: side._replace(**{name: array})}))


def with_row(state: Bare, which: str, row: int, c: int, value: float) -> Bare:
    rows = getattr(state, which)
    new = type(rows)(rows.factors.astype(np.float64), rows.bias.astype(np.float64))
    if c:
        new.factors[row, c - 1] = value
    else:
        new.bias[row] = value
    return state._replace(**{which: new})


# --- the sweep ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", SIDES)
def test_prior_precisions_have_their_conditional(walk, which):
    number = SIDES.index(which)
    new = getattr(walk.after.small, which)
    for c in range(0 if walk.model.biases else 1, walk.model.n_factors + 1):

        def density(x, c=c):
            return log_joint(walk.model, walk.values, with_side(walk.before, which, "precision", c, x))

        shape = walk.shapes[number]
        check_gamma(density, shape, 1.2 * shape / new.precision[c])


@pytest.mark.parametrize("which", SIDES)
def test_prior_means_have_their_conditional(walk, which):
    new = getattr(walk.after.small, which)
    for c in range(0 if walk.model.biases else 1, walk.model.n_factors + 1):
        start = with_side(walk.before, which, "precision", c, new.precision[c])

        def density(x, c=c, start=start):
            return log_joint(walk.model, walk.values, with_side(start, which, "mean", c, x))

        mean, sd = gaussian(density)
        assert new.mean[c] == pytest.approx(mean + 0.7 * sd, rel=FLOAT32)


def test_the_noise_precision_has_its_conditional(walk):
    def density(x):
        small = walk.before.small._replace(noise_precision=x)
        return log_joint(walk.model, walk.values, walk.before._replace(small=small))

    shape = walk.shapes[2]
    check_gamma(density, shape, 1.2 * shape / walk.after.small.noise_precision)


def test_the_offset_has_its_conditional(walk):
    start = walk.before._replace(small=walk.after.small)

    def density(x):
        return log_joint(walk.model, walk.values, start._replace(small=start.small._replace(offset=x)))

    mean, sd = gaussian(density)
    assert walk.after.small.offset == pytest.approx(mean + 0.7 * sd, rel=FLOAT32)


# Users move first, then items; a row moves its bias, then its factors, each given those before it.
@pytest.mark.parametrize("which", SIDES)
def test_rows_have_their_conditionals(walk, which):
    site = Site.SBMF_USER if which == "user" else Site.SBMF_ITEM
    new, now = getattr(walk.after, which), walk.before._replace(small=walk.after.small)
    if which == "item":
        now = now._replace(user=walk.after.user)
    z = normal(AT, site, np.arange(len(new.bias)), walk.model.n_factors + 1)
    for row in range(len(new.bias)):
        for c in range(0 if walk.model.biases else 1, walk.model.n_factors + 1):
            value = new.factors[row, c - 1] if c else new.bias[row]

            def density(x, row=row, c=c, now=now):
                return log_joint(walk.model, walk.values, with_row(now, which, row, c, x))

            mean, sd = gaussian(density)
            assert value == pytest.approx(mean + sd * z[row, c], rel=1e-4, abs=1e-5)  # float32
            now = with_row(now, which, row, c, value)
    assert walk.model.biases or not new.bias.any()


def test_the_sums_left_behind_are_those_of_the_new_state(walk):
    small, after = walk.after.small, walk.after
    user, item = ((side.bias.astype(np.float64), side.factors.astype(np.float64)) for side in (after.user, after.item))
    i, j = walk.values.rows(), walk.values.columns()
    e = walk.values.values() - (small.offset + user[0][i] + item[0][j] + (user[1][i] * item[1][j]).sum(axis=1))
    assert small.error == pytest.approx(e.sum(), rel=1e-4)
    assert small.error2 == pytest.approx(e @ e, rel=1e-4)
    for side, (bias, factors) in ((small.user, user), (small.item, item)):
        x = np.column_stack([bias, factors])
        np.testing.assert_allclose(side.first, x.sum(axis=0), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(side.second, (x * x).sum(axis=0), rtol=1e-4, atol=1e-6)


def test_the_objective_is_the_log_joint(walk):
    engine = Local(1)
    for state in (walk.before, walk.after):
        placed = walk.model.place(walk.values, engine, state)
        found = walk.model.objective(placed, engine, AT)
        assert found.std_error == 0.0
        assert found.value == pytest.approx(log_joint(walk.model, walk.values, state), rel=1e-5)


# A new row's Gaussian is exact: the log joint is a parabola in all of its numbers together.
@pytest.mark.parametrize("which", SIDES)
def test_a_row_placed_in_a_fitted_model_has_its_joint_conditional(walk, which):
    model, k = walk.model, walk.model.n_factors
    posterior = model.read_out(model.place(walk.values, Local(1), walk.after), Local(1))
    block = walk.values.by_user if which == "user" else walk.values.by_item
    found = model.fold_in(block, which, posterior, AT, cov=True)
    live = range(0 if model.biases else 1, k + 1)
    columns = [c - 1 if c else k + (which == "item") for c in live]  # of the posterior: factors, then biases and ones
    for row in range(block.n_rows):
        start = walk.after
        for c in live:
            start = with_row(start, which, row, c, 0.0)

        def density(x, row=row, start=start):
            for c, value in zip(live, x, strict=True):
                start = with_row(start, which, row, c, value)
            return log_joint(model, walk.values, start)

        mean, covariance = gaussians(density, len(live))
        np.testing.assert_allclose(found.mean[0, row, columns], mean, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found.cov[0, row][np.ix_(columns, columns)], covariance, rtol=1e-6, atol=1e-8)


# Kolmogorov and Smirnov's distance; two tests, p below 1e-4 in one of 5000 runs of other seeds.
def test_draws_of_the_prior_have_its_law():
    prior = NormalGamma(0.5, 3.0, 2.5, 1.7)
    mean, precision = from_prior(np.random.default_rng(1), prior, 20_000)
    assert stats.kstest(precision, stats.gamma(2.5, scale=1 / 1.7).cdf).pvalue > 1e-4
    assert stats.kstest((mean - 0.5) * np.sqrt(3.0 * precision), stats.norm.cdf).pvalue > 1e-4
