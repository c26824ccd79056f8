from __future__ import annotations

import numpy as np
import pytest
from core.rows import SETS, assert_near, block, counts_around, largest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyads.kernels import reference

SHAPES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 47, 50, 65, 101]


def problem(counts, n_factors, dtype, seed, weighted):
    rng, n = np.random.default_rng(seed), max(*counts, 1) + 3
    rows = block(counts, n, rng)
    factors, y = rng.normal(0, 1, (n, n_factors)).astype(dtype), rng.normal(0, 1, rows.nnz).astype(dtype)
    return rows, factors, y, rng.normal(0, 1, rows.nnz).astype(dtype) if weighted else None


def run(core, name, rows, factors, y, weight, threads=2):
    k = factors.shape[1]
    matrix, vector = np.full((rows.n_rows, k, k), 9, dtype=y.dtype), np.full((rows.n_rows, k), 9, dtype=y.dtype)
    getattr(core, f"gram_{name}")(rows.ptr, rows.idx, factors, y, weight, matrix, vector, threads)
    return matrix, vector


def compared(core, kind, counts, n_factors, seed, weighted):
    name, dtype, tolerance = kind
    rows, factors, y, weight = problem(counts, n_factors, dtype, seed, weighted)
    expected = reference.gram(rows, factors, y, weight)
    scale = largest(expected[0]) + np.sqrt(max(counts))
    for found, wanted in zip(run(core, name, rows, factors, y, weight), expected, strict=True):
        assert_near(found, wanted, scale, tolerance)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
@pytest.mark.parametrize("weighted", [False, True], ids=["bare", "weighted"])
def test_gram_matrices_are_those_of_the_twin(each_level, kind, weighted):
    for n_factors in SHAPES:
        compared(each_level, kind, counts_around(each_level.lanes), n_factors, n_factors, weighted)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    counts=st.lists(st.integers(0, 90), min_size=1, max_size=6),
    n_factors=st.integers(1, 70),
    seed=st.integers(0, 1000),
    weighted=st.booleans(),
)
def test_any_shape_of_rows(each_level, kind, counts, n_factors, seed, weighted):
    compared(each_level, kind, counts, n_factors, seed, weighted)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
def test_a_heavy_row_is_the_sum_of_its_blocks(each_level, kind):
    compared(each_level, kind, [3 * 4096 + 5, 4096, 0, 4097], 6, 3, True)


def test_a_row_of_a_million_keeps_its_digits(each_level):
    n = 1_000_000
    rows = block([n], n, np.random.default_rng(0))
    ones, matrix, vector = np.ones((n, 1), np.float32), np.empty((1, 1, 1), np.float32), np.empty((1, 1), np.float32)
    y = np.full(n, 0.1, np.float32)
    each_level.gram_float(rows.ptr, rows.idx, ones, y, None, matrix, vector, 1)
    assert matrix[0, 0, 0] == n
    assert vector[0, 0] == pytest.approx(0.1 * n, rel=1e-4)  # one running sum in float32 is off by 1e-2


def test_the_bits_do_not_depend_on_threads(each_level):
    given_problem = problem([5000, 0, 17, 200, 1], 33, np.float32, 1, True)
    alone = run(each_level, "float", *given_problem, threads=1)
    for threads in (2, 3, 16):
        again = run(each_level, "float", *given_problem, threads=threads)
        assert all(np.array_equal(a, b) for a, b in zip(alone, again, strict=True))
