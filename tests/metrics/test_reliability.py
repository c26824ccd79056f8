from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyads import metrics
from dyads.metrics.reliability import POINTS, recalibrated


def pooled(ones, counts):
    # the max-min formula of isotonic regression: max over starts of min over ends of the mean between
    n = len(ones)
    mean = lambda a, b: sum(ones[a : b + 1]) / sum(counts[a : b + 1])  # noqa: E731
    return [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


@given(cells=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=10))
@settings(max_examples=80, deadline=None)
def test_recalibration_is_the_max_min_of_means(cells):
    ones = np.array([min(a, b + 1) for a, b in cells], dtype=float)
    counts = np.array([b + 1 for _, b in cells], dtype=float)
    np.testing.assert_allclose(recalibrated(ones, counts), pooled(ones, counts), atol=1e-12)


@given(seed=st.integers(0, 1000), n=st.integers(1, 60), levels=st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_the_parts_add_up_to_the_brier_score(seed, n, levels):
    rng = np.random.default_rng(seed)
    p = rng.integers(levels, size=n) / levels
    x = (rng.random(n) < 0.4).astype(float)
    curve = metrics.reliability(x, p, n_resamples=5)
    total = curve.miscalibration - curve.discrimination + curve.uncertainty
    assert total == pytest.approx(metrics.brier(x, p), abs=1e-12)
    assert curve.miscalibration >= -1e-12
    assert curve.discrimination >= -1e-12
    assert (np.diff(curve.observed) >= 0).all()
    assert (np.diff(curve.answer) > 0).all()


def test_a_calibrated_model_stays_in_its_band():
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 6.0, 20_000)
    curve = metrics.reliability((rng.random(20_000) < p).astype(float), p, level=0.9, rng=rng)
    inside = (curve.low <= curve.observed) & (curve.observed <= curve.high)
    assert inside.mean() > 0.75
    assert curve.p_value > 0.01
    assert len(curve.answer) <= 2 * POINTS


def test_an_overconfident_model_leaves_its_band():
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 6.0, 20_000)
    x = (rng.random(20_000) < 0.5 * p + 0.5 * p.mean()).astype(float)
    curve = metrics.reliability(x, p, rng=rng)
    outside = (curve.low > curve.observed) | (curve.observed > curve.high)
    assert outside.mean() > 0.5
    assert curve.p_value == pytest.approx(1 / 201)


def test_the_same_seed_gives_the_same_band():
    p, x = np.linspace(0.1, 0.9, 50), np.arange(50) % 2.0
    a, b = (metrics.reliability(x, p, rng=np.random.default_rng(3)) for _ in range(2))
    assert all(np.array_equal(u, v) for u, v in zip(a, b, strict=True))
