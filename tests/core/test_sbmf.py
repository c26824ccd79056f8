from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from core.rows import SETS, assert_near, block, counts_around, largest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyads import kernels
from dyads.engines.local import Local
from dyads.kernels import native, reference
from dyads.kernels.shapes import SbmfRows, SbmfShared, SbmfSums
from dyads.pairs import Csr
from dyads.streams import At

AT = At(5, 1, 9)
SHAPES = [0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 50]


def problem(rows, n_columns, n_factors, dtype, seed, biased=True, draw=True):
    rng = np.random.default_rng(seed)
    own, other = (
        SbmfRows(rng.normal(0, 0.5, (n, n_factors)).astype(dtype), (rng.normal(0, 0.5, n) * biased).astype(dtype))
        for n in (rows.n_rows, n_columns)
    )
    mean, precision = rng.normal(0, 0.3, n_factors + 1), rng.uniform(0.5, 2, n_factors + 1)
    return own, SbmfShared(other, 3.1, 1.7, mean, precision, 20, biased, draw)


def run(core, name, rows, own, shared, threads=2, largest_tile=0):
    moved = SbmfRows(*(array.copy() for array in own))
    cuts = np.unique([0, rows.n_rows // 3, rows.n_rows]).astype(np.int64)
    core.sbmf_tiles(largest_tile)
    try:
        return moved, SbmfSums(*getattr(core, f"sbmf_{name}")(rows, cuts, moved, shared, AT, threads))
    finally:
        core.sbmf_tiles(0)


def compare(core, kind, rows, n_columns, given_problem, **how):
    name, _, tolerance = kind
    own, shared = given_problem
    moved, sums = run(core, name, rows, own, shared, **how)
    twin = SbmfRows(*(array.copy() for array in own))
    expected = reference.sbmf(rows, 0, twin, shared, AT)
    for found, wanted in zip(moved, twin, strict=True):
        assert_near(found, wanted, largest(wanted), tolerance)
    for found, wanted in zip(sums[:2], expected[:2], strict=True):
        assert_near(found, wanted, len(own.bias) * max(largest(a) for a in twin) ** 2 + largest(wanted), tolerance)
    assert_near(sums.error, expected.error, np.sqrt(rows.nnz * expected.error2) + 1e-30, tolerance)
    assert_near(sums.error2, expected.error2, expected.error2 + 1e-30, tolerance)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
@pytest.mark.parametrize("largest_tile", [0, 1], ids=["tile", "gram"])
def test_rows_are_those_of_the_twin(each_level, kind, largest_tile):
    counts = counts_around(each_level.lanes)
    for n_factors in SHAPES:
        rows = block(counts, 150, np.random.default_rng(n_factors), values=n_factors % 3 != 0)
        given_problem = problem(rows, 150, n_factors, kind[1], n_factors, biased=n_factors % 4 != 1)
        compare(each_level, kind, rows, 150, given_problem, largest_tile=largest_tile)


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    counts=st.lists(st.integers(0, 90), min_size=1, max_size=9),
    n_factors=st.integers(0, 70),
    seed=st.integers(0, 1000),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    largest_tile=st.sampled_from([0, 1, 300]),
)
def test_any_shape_of_rows(each_level, kind, counts, n_factors, seed, flags, largest_tile):
    values, biased, draw = flags
    rows = block(counts, 90, np.random.default_rng(seed), values)
    compare(
        each_level,
        kind,
        rows,
        90,
        problem(rows, 90, n_factors, kind[1], seed, biased, draw),
        largest_tile=largest_tile,
    )


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind[0])
@pytest.mark.parametrize("largest_tile", [0, 1], ids=["tile", "gram"])
def test_one_row_with_everything(each_level, kind, largest_tile):
    rows = block([0, 30_000, 0], 30_000, np.random.default_rng(0))
    compare(each_level, kind, rows, 30_000, problem(rows, 30_000, 5, kind[1], 0), largest_tile=largest_tile)


def test_a_row_beyond_the_largest_tile_goes_by_its_gram_matrix(each_level):
    rows = block([60_000], 60_000, np.random.default_rng(1))
    given_problem = problem(rows, 60_000, 18, np.float32, 1)
    by_rule = run(each_level, "float", rows, *given_problem)
    by_gram = run(each_level, "float", rows, *given_problem, largest_tile=1)
    by_tile = run(each_level, "float", rows, *given_problem, largest_tile=1 << 40)
    assert np.array_equal(by_rule[0].factors, by_gram[0].factors)
    assert not np.array_equal(by_rule[0].factors, by_tile[0].factors)
    assert_near(by_rule[0].factors, by_tile[0].factors, largest(given_problem[0].factors), 1e-4)


def test_levels_agree_to_single_precision(each_level, monkeypatch):
    rows = block(counts_around(16), 150, np.random.default_rng(2))
    given_problem = problem(rows, 150, 33, np.float32, 2)
    found = run(each_level, "float", rows, *given_problem)[0]
    monkeypatch.setenv("DYADS_LEVEL", "v1")
    baseline = run(native.core(), "float", rows, *given_problem)[0]
    assert_near(found.factors, baseline.factors.astype(np.float64), largest(baseline.factors), 1e-4)


@pytest.mark.parametrize("largest_tile", [0, 1], ids=["tile", "gram"])
def test_the_bits_do_not_depend_on_threads_or_their_pace(each_level, largest_tile):
    rows = block([400, 3, 0, 17, 900, 2, 64, 5, 120], 1000, np.random.default_rng(3))
    own, shared = problem(rows, 1000, 17, np.float32, 3)
    alone, sums = run(each_level, "float", rows, own, shared, 1, largest_tile)
    each_level.delay_shards(300)
    try:
        for threads in (2, 3, 16):
            moved, again = run(each_level, "float", rows, own, shared, threads, largest_tile)
            assert all(np.array_equal(a, b) for a, b in zip(moved, alone, strict=True))
            assert all(np.array_equal(a, b) for a, b in zip(again, sums, strict=True))
    finally:
        each_level.delay_shards(0)


def test_looking_changes_nothing(each_level):
    rows = block([5, 0, 40], 50, np.random.default_rng(4))
    own, shared = problem(rows, 50, 6, np.float32, 4, draw=False)
    moved, _ = run(each_level, "float", rows, own, shared)
    assert all(np.array_equal(a, b) for a, b in zip(moved, own, strict=True))


def test_the_bias_stays_where_there_is_none(each_level):
    rows = block([5, 0, 40], 50, np.random.default_rng(5))
    own, shared = problem(rows, 50, 6, np.float32, 5, biased=False)
    moved, sums = run(each_level, "float", rows, own, shared)
    assert not moved.bias.any()
    assert sums.first[0] == 0.0
    assert (moved.factors != own.factors).all()


def test_what_is_only_read_may_be_read_only(each_level):
    rows = block([5, 0, 40], 50, np.random.default_rng(6))
    own, shared = problem(rows, 50, 6, np.float32, 6)
    expected = run(each_level, "float", rows, own, shared)[0]
    for array in (*rows, *shared.other, shared.mean, shared.precision):
        array.flags.writeable = False
    assert np.array_equal(run(each_level, "float", rows, own, shared)[0].factors, expected.factors)


def test_an_array_of_another_type_is_refused_and_not_copied(each_level):
    rows = block([5, 0, 40], 50, np.random.default_rng(7))
    own, shared = problem(rows, 50, 6, np.float64, 7)
    with pytest.raises((TypeError, RuntimeError)):
        run(each_level, "float", rows, own, shared)


def test_the_engine_runs_the_compiled_kernel(each_level, monkeypatch):
    monkeypatch.setenv("DYADS_KERNELS", "native")
    assert kernels.compiled("sbmf") is native.sbmf
    rows = block(counts_around(16), 150, np.random.default_rng(8))
    own, shared = problem(rows, 150, 7, np.float32, 8)
    engine = Local(2)
    placed = engine.place("user", own, rows)
    found, sums = engine.each("sbmf", placed, shared, AT)
    monkeypatch.setenv("DYADS_KERNELS", "reference")
    expected, wanted = engine.each("sbmf", placed, shared, AT)
    assert_near(found.arrays.factors, expected.arrays.factors.astype(np.float64), 1.0, 1e-4)
    assert_near(sums.error2, wanted.error2, wanted.error2, 1e-4)


# One thread and few shards, so that only a look at the flag between rows can end the call in time.
@pytest.mark.parametrize("largest_tile", [1 << 40, 1], ids=["tile", "gram"])
def test_an_interrupt_ends_a_sweep_within_a_tenth_of_a_second(each_level, largest_tile):
    n, k, sent = 400_000, 120, []
    few = np.tile(np.arange(2000, dtype=np.int32), n // 2000)
    rows = Csr(np.arange(0, n + 1, 2000, dtype=np.int64), few, None)
    own, shared = problem(rows, 2000, k, np.float32, 9)

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    def sweeps():
        for _ in range(200):
            run(each_level, "float", rows, own, shared, 1, largest_tile)

    took = []
    for _ in range(3):
        timer = threading.Timer(0.05, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            sweeps()
        took.append(time.perf_counter() - sent[-1])
        timer.join()
    assert min(took) < 0.1, took  # the shortest: a busy machine may hold up any single one
