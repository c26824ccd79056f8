from __future__ import annotations

import platform

import numpy as np
import pytest

TAU = 2 * np.longdouble("3.14159265358979323846264338327950288")


def points(name, dtype):
    random = np.random.default_rng(7)
    if name == "exp":
        low, high = (-86.9, 88.7) if dtype == np.float32 else (-707.6, 709.7)
        return random.uniform(low, high, 200_003).astype(dtype)
    if name == "log":
        spread = np.exp(random.uniform(-80, 80, 100_000))
        return np.concatenate([spread, random.uniform(0.4, 2.2, 100_003)]).astype(dtype)
    if name == "lambda":
        return np.concatenate([[0.0], random.uniform(0, 1, 100_000), np.exp(random.uniform(-50, 20, 100_002))]).astype(
            dtype
        )
    return random.uniform(0, 1, 200_003).astype(dtype)


def exact(name, x):
    if name in ("exp", "log"):
        return getattr(np, name)(x.astype(np.longdouble))
    if name == "lambda":
        xi = np.sqrt(x.astype(np.longdouble))
        series = 0.125 - x.astype(np.longdouble) / 96 + x.astype(np.longdouble) ** 2 / 960
        return np.where(xi < 1e-4, series, np.tanh(xi / 2) / np.where(xi < 1e-4, 1, 4 * xi))
    quarter = np.rint(4 * x.astype(np.longdouble))
    angle = TAU * (x - quarter / 4)
    turned = (quarter.astype(int) + (name == "cos")) % 4
    return np.select(
        [turned == 0, turned == 1, turned == 2], [np.sin(angle), np.cos(angle), -np.sin(angle)], -np.cos(angle)
    )


def units_in_the_last_place(found, expected):
    return float(np.max(np.abs(found - expected) / np.spacing(np.abs(expected).astype(found.dtype))))


@pytest.mark.parametrize("name", ["exp", "log", "cos", "sin"])
@pytest.mark.parametrize("kind", ["lanes", "float", "double"])
def test_a_formula_is_right_to_the_last_place(each_level, level, kind, name):
    if kind == "double" and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("the reference needs a long double of more than 64 bits")
    x = points(name, np.float64 if kind == "double" else np.float32)
    found = np.empty_like(x)
    getattr(each_level, f"apply_{kind}")(name, x, found)
    fused = level != "v1" or platform.machine() == "aarch64"
    allowed = 1.1 if fused or name in ("exp", "log") else 1.8  # a unit, and the rounding of the reference
    assert units_in_the_last_place(found, exact(name, x)) < allowed


@pytest.mark.parametrize("kind", ["lanes", "float", "double"])
def test_lambda_is_right_to_a_few_places_and_an_eighth_at_zero(each_level, kind):
    if kind == "double" and np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("the reference needs a long double of more than 64 bits")
    x = points("lambda", np.float64 if kind == "double" else np.float32)
    found = np.empty_like(x)
    getattr(each_level, f"apply_{kind}")("lambda", x, found)
    assert found[0] == 0.125
    assert units_in_the_last_place(found, exact("lambda", x)) < 8


@pytest.mark.parametrize("name", ["exp", "log", "cos", "sin", "lambda"])
def test_a_lane_holds_what_a_single_float_holds(each_level, name):
    x = points(name, np.float32)
    lanes, single = np.empty_like(x), np.empty_like(x)
    each_level.apply_lanes(name, x, lanes)
    each_level.apply_float(name, x, single)
    assert np.array_equal(lanes, single)


@pytest.mark.parametrize(("kind", "dtype"), [("lanes", np.float32), ("float", np.float32), ("double", np.float64)])
def test_exp_ends_in_zero_and_in_infinity(each_level, kind, dtype):
    x = np.array([-np.inf, -1e9, -750.0, 0.0, 750.0, np.inf, np.nan], dtype)
    found = np.empty_like(x)
    getattr(each_level, f"apply_{kind}")("exp", x, found)
    assert np.array_equal(found, np.array([0, 0, 0, 1, np.inf, np.inf, np.nan], dtype), equal_nan=True)


@pytest.mark.parametrize("kind", ["lanes", "float", "double"])
def test_quarter_turns_are_exact(each_level, kind):
    x = np.array([0, 0.25, 0.5, 0.75, 1], np.float64 if kind == "double" else np.float32)
    cos, sin = np.empty_like(x), np.empty_like(x)
    getattr(each_level, f"apply_{kind}")("cos", x, cos)
    getattr(each_level, f"apply_{kind}")("sin", x, sin)
    assert cos.tolist() == [1, 0, -1, 0, 1]
    assert sin.tolist() == [0, 1, 0, -1, 0]


def test_a_tile_is_transposed(each_level):
    n = each_level.lanes
    tile = np.arange(n * n, dtype=np.float32).reshape(n, n)
    moved = tile.copy()
    each_level.transpose_tile(moved)
    assert np.array_equal(moved, tile.T)


def test_the_sum_of_the_lanes_is_their_sum(each_level):
    x = 2.0 ** np.arange(each_level.lanes, dtype=np.float32)
    assert each_level.sum_lanes(x) == x.sum()
