from __future__ import annotations

import numpy as np
import pytest
from core.rows import SETS, assert_near, largest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyads.kernels import reference

SHAPES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 50]
LARGE = [64, 65, 127]


# Positive definite systems with eigenvalues of 1 and a little more.
def systems(m, k, seed, dtype):
    rng = np.random.default_rng(seed)
    half = rng.normal(0, 1, (m, k, k + 2)) / np.sqrt(k + 2)
    matrix = (half @ np.swapaxes(half, 1, 2) + np.eye(k)).astype(dtype)
    matrix = np.ascontiguousarray((matrix + np.swapaxes(matrix, 1, 2)) / 2)
    return matrix, rng.normal(0, 1, (m, k)).astype(dtype), rng.normal(0, 1, (m, k)).astype(dtype)


def solved(core, name, given_system, in_lanes, threads=1):
    matrix, vector, z = given_system
    x = z.copy()
    getattr(core, f"solve_{name}")(matrix, vector, x, in_lanes, threads)
    return x


def compare(core, kind, m, k, in_lanes, seed=0):
    name, dtype, tolerance = kind
    given_system = systems(m, k, seed, dtype)
    expected = reference.solve(*given_system)
    assert_near(solved(core, name, given_system, in_lanes), expected, largest(expected), tolerance)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
@pytest.mark.parametrize("in_lanes", [True, False], ids=["lanes", "blocks"])
def test_draws_are_those_of_the_twin(each_level, kind, in_lanes):
    lanes = each_level.lanes
    for k in SHAPES:
        for m in {1, lanes - 1, lanes + 1}:
            compare(each_level, kind, m, k, in_lanes)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
def test_large_systems(each_level, kind):
    for k in LARGE:
        compare(each_level, kind, 2, k, in_lanes=False)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
def test_a_system_of_1024(each_level, kind):
    compare(each_level, kind, 1, 1024, in_lanes=False)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(m=st.integers(1, 40), k=st.integers(1, 60), seed=st.integers(0, 99), in_lanes=st.booleans())
def test_any_shape_of_system(each_level, m, k, seed, in_lanes):
    for kind in SETS:
        compare(each_level, kind, m, k, in_lanes, seed)


def test_without_noise_the_system_is_solved(each_level):
    matrix, vector, z = systems(5, 37, 1, np.float64)
    for in_lanes in (True, False):
        x = solved(each_level, "double", (matrix, vector, np.zeros_like(z)), in_lanes)
        assert np.allclose(np.einsum("nij,nj->ni", matrix, x), vector, rtol=0, atol=1e-12)


# Noise e_s gives column s of the root of the covariance: together they must be the inverse of the matrix.
@pytest.mark.parametrize("in_lanes", [True, False], ids=["lanes", "blocks"])
def test_the_noise_has_the_inverse_for_its_covariance(each_level, in_lanes):
    k = 19
    matrix, _, _ = systems(1, k, 2, np.float64)
    many = np.repeat(matrix, k, axis=0), np.zeros((k, k)), np.eye(k)
    root = solved(each_level, "double", many, in_lanes).T
    assert np.allclose(root @ root.T, np.linalg.inv(matrix[0]), rtol=0, atol=1e-12)


def test_only_the_lower_triangle_is_read(each_level):
    matrix, vector, z = systems(3, 21, 4, np.float32)
    spoilt = matrix.copy()
    above = np.triu(np.ones((21, 21), dtype=bool), 1)
    spoilt[:, above] = np.nan
    for in_lanes in (True, False):
        whole = solved(each_level, "float", (matrix, vector, z), in_lanes)
        assert np.array_equal(solved(each_level, "float", (spoilt, vector, z), in_lanes), whole)


def test_a_matrix_that_is_not_positive_definite_gives_nan(each_level):
    matrix = np.diag([1.0, -1.0, 1.0])[None]
    for in_lanes in (True, False):
        assert np.isnan(solved(each_level, "double", (matrix, np.ones((1, 3)), np.zeros((1, 3))), in_lanes)).any()


def test_a_lane_does_not_depend_on_its_neighbours(each_level):
    matrix, vector, z = systems(each_level.lanes, 23, 5, np.float32)
    together = solved(each_level, "float", (matrix, vector, z), True)
    for r in range(each_level.lanes):
        alone = solved(each_level, "float", (matrix[r : r + 1], vector[r : r + 1], z[r : r + 1]), True)
        assert np.array_equal(alone[0], together[r])


@pytest.mark.parametrize("in_lanes", [True, False], ids=["lanes", "blocks"])
def test_the_bits_do_not_depend_on_threads(each_level, in_lanes):
    given_system = systems(50, 20, 6, np.float32)
    alone = solved(each_level, "float", given_system, in_lanes)
    assert np.array_equal(solved(each_level, "float", given_system, in_lanes, threads=3), alone)


# --- the chain of coordinates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
@pytest.mark.parametrize("k", [1, 2, 5, 16, 33])
def test_a_chain_is_that_of_the_twin(each_level, kind, k):
    name, dtype, tolerance = kind
    rng = np.random.default_rng(k)
    matrix, vector, z = systems(4, k, 7, dtype)
    precision, pull = rng.uniform(0.5, 2, k).astype(dtype), rng.normal(0, 1, k).astype(dtype)
    x = rng.normal(0, 1, (4, k)).astype(dtype)
    expected = reference.chain(matrix, vector, (precision, pull, 1.7), z, x)
    getattr(each_level, f"chain_{name}")(matrix, vector, precision, pull, 1.7, z, x)
    assert_near(x, expected, largest(expected), tolerance)


# Many passes without noise end at the mean of all coordinates together.
def test_a_chain_without_noise_ends_at_the_joint_mean(each_level):
    matrix, vector, z = systems(3, 6, 8, np.float64)
    precision, tau, x = np.full(6, 0.5), 1.3, np.zeros((3, 6))
    for _ in range(300):
        each_level.chain_double(matrix, vector, precision, np.zeros(6), tau, np.zeros_like(z), x)
    expected = reference.solve(tau * matrix + np.diag(precision), tau * vector, np.zeros_like(z))
    assert np.allclose(x, expected, rtol=0, atol=1e-10)
