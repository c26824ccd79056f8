from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dyads import metrics
from dyads.errors import ConfigError

finite = st.floats(-100, 100)
some = st.integers(1, 12)


@given(data=st.data(), n=some)
@settings(max_examples=60, deadline=None)
def test_errors_of_ratings_are_their_definitions(data, n):
    y, said, spread = (data.draw(arrays(float, n, elements=st.floats(0.01, 100))) for _ in range(3))
    assert metrics.rmse(y, said) == pytest.approx(
        math.sqrt(sum((a - b) ** 2 for a, b in zip(y, said, strict=True)) / n)
    )
    assert metrics.mae(y, said) == pytest.approx(sum(abs(a - b) for a, b in zip(y, said, strict=True)) / n)
    inside = [abs(NormalDist(b, s).cdf(a) - 0.5) <= 0.4 + 1e-12 for a, b, s in zip(y, said, spread, strict=True)]
    assert metrics.coverage(y, said, spread, 0.8) == pytest.approx(sum(inside) / n)


@given(data=st.data(), n=some)
@settings(max_examples=60, deadline=None)
def test_losses_of_probabilities_are_their_definitions(data, n):
    x = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 1.0, 3.0])))
    p = data.draw(arrays(float, n, elements=st.floats(0.001, 0.999)))
    likelihood = [q if a else 1 - q for a, q in zip(x, p, strict=True)]
    assert metrics.log_loss(x, p) == pytest.approx(-sum(map(math.log, likelihood)) / n)
    assert metrics.brier(x, p) == pytest.approx(sum(((a != 0) - q) ** 2 for a, q in zip(x, p, strict=True)) / n)


def test_a_wrong_certainty_costs_much_but_not_everything():
    assert 36 < metrics.log_loss(np.array([1.0]), np.array([0.0])) < 37
    assert metrics.log_loss(np.array([1.0]), np.array([1.0])) < 1e-15


def test_the_borders_of_an_interval_are_inside():
    assert metrics.coverage(np.array([1.0]), np.array([1.0]), np.array([0.0]), 0.5) == 1.0


def test_a_normal_model_covers_what_it_aims_at():
    rng = np.random.default_rng(0)
    spread = rng.uniform(0.1, 3.0, 40_000)
    truth = rng.normal(size=40_000) * spread
    for level in (0.5, 0.9):
        tolerance = 4 * math.sqrt(level * (1 - level) / 40_000)  # four standard errors of a share
        assert abs(metrics.coverage(truth, np.zeros(40_000), spread, level) - level) < tolerance


@pytest.mark.parametrize("name", ["recal", "recall@0", "recall@x", "coverage@100", "auc@5", "rmse@1", "recall@"])
def test_an_unknown_metric_is_named(name):
    with pytest.raises(ConfigError, match=name):
        metrics.metric(name)


def test_numbers_in_names_win_over_the_given_length():
    assert metrics.metric("recall@5", 20).name == "recall@5"
    assert metrics.metric("recall", 20).name == "recall@20"
    assert metrics.metric("coverage", 20).name == "coverage@90"
