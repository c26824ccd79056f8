from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyads.errors import ConfigError
from dyads.kernels import native, reference
from dyads.kernels.shapes import BprCheck, BprData, BprItems, BprShared, BprSums, BprUsers
from dyads.models.bpr import negatives
from dyads.pairs import csr
from dyads.streams import At, Site

pytestmark = pytest.mark.skipif(not native.available(), reason="no compiled core here")

AT = At(5, 1, 7)
CLOSE = {np.float64: 1e-10, np.float32: 1e-4}
FACTORS = [0, 1, 2, 3, 4, 5, 15, 16, 17, 33]
MINIBATCHES = [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 128, 129, 2048, 2049, 4097]
by_level = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


# Ones and hidden cells at random; user 0 has every item, so that no zero is left, and user 1 all but the last.
def tables(seed, n_users, n_items, weights="uniform", hide=True):
    rng = np.random.default_rng(seed)
    kind = rng.choice([0, 1, 2], size=(n_users, n_items), p=[0.6, 0.3, 0.1])
    kind[0] = 1
    if n_users > 1:
        kind[1] = 1
        kind[1, -1] = 0
    ones = np.nonzero(kind == 1)
    hidden = csr(*np.nonzero(kind == 2), None, n_users, n_items) if hide else None
    weight = {
        "uniform": np.ones(n_items),
        "popularity": np.bincount(ones[1], minlength=n_items),
        "huge": rng.integers(0, 2, n_items) * rng.integers(1, 1 << 50, n_items) + (np.arange(n_items) == 0),
    }[weights].astype(np.int64)
    table = negatives(csr(*ones, None, n_users, n_items), hidden, weight)
    return BprData(ones[0].astype(np.int32), ones[1].astype(np.int32), table)


def sides(seed, data, k, dtype):
    rng = np.random.default_rng(seed)
    n_users, n_items = len(data.negatives.room), len(data.negatives.upto) - 1
    user, item, bias = (rng.normal(size=shape).astype(dtype) for shape in ((n_users, k), (n_items, k), n_items))
    return BprUsers(user), BprItems(item, bias, np.diff(data.negatives.upto))


def copied(pair):
    return tuple(type(side)(*(array.copy() for array in side)) for side in pair)


def moved(kernel, data, pair, shared, at=AT, *threads):
    pair = copied(pair)
    return kernel(data, *pair, shared, at, *threads), pair


def compiled(name):
    return native.KERNELS[name]


def assert_close(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@by_level
@given(st.data())
def test_the_kernel_equals_its_twin(level, data):
    pick = data.draw
    n_users, n_items = pick(st.integers(1, 40)), pick(st.integers(1, 40))
    drawn = tables(pick(st.integers(0, 99)), n_users, n_items, pick(st.sampled_from(["uniform", "popularity", "huge"])))
    dtype = pick(st.sampled_from([np.float64, np.float32]))
    pair = sides(1, drawn, pick(st.sampled_from(FACTORS)), dtype)
    shared = BprShared(pick(st.integers(0, 3)), pick(st.sampled_from(MINIBATCHES)), 0.02, 0.1, 0.01)
    expected, there = moved(reference.bpr, drawn, pair, shared)
    found, here = moved(compiled("bpr"), drawn, pair, shared, AT, pick(st.integers(1, 3)))
    assert_close(here, there, CLOSE[dtype] * (1 if dtype is np.float64 else 1 + shared.minibatch / 1000))
    assert found.skipped == expected.skipped
    assert found.correct == expected.correct
    assert found.log_sigma == pytest.approx(expected.log_sigma, rel=CLOSE[dtype], abs=CLOSE[dtype])


@by_level
@given(st.integers(0, 99), st.sampled_from(["uniform", "popularity", "huge"]), st.booleans(), st.integers(1, 200))
def test_triples_are_those_of_the_twin(each_level, seed, weights, hide, n):
    data = tables(seed, 12, 90, weights, hide)
    one, zero = reference.bpr_triples(data, AT, Site.BPR_TRIPLE, n)
    drawn = np.empty((n, 3), dtype=np.uint32)
    each_level.bpr_draw(data, AT, int(Site.BPR_TRIPLE), 0, drawn)
    open_rows = zero >= 0
    expected = np.stack([data.rows[one], 12 + data.items[one], 12 + zero], axis=1)
    assert np.array_equal(drawn[open_rows], expected[open_rows])
    assert (drawn[~open_rows] == 0xFFFFFFFF).all()
    part = np.empty((n // 2, 3), dtype=np.uint32)
    each_level.bpr_draw(data, AT, int(Site.BPR_TRIPLE), n - n // 2, part)
    assert np.array_equal(part, drawn[n - n // 2 :])


@pytest.mark.parametrize("minibatch", [16, 300, 1024, 5000])
def test_threads_and_their_pace_change_no_bit(level, minibatch):
    core, data = native.core(), tables(3, 300, 200, "popularity")
    pair = sides(2, data, 50, np.float32)
    shared = BprShared(3, minibatch, 0.05, 0.0, 0.01)
    alone = moved(compiled("bpr"), data, pair, shared, AT, 1)
    core.delay_shards(200)
    try:
        for threads in (2, 3, 16):
            found, here = moved(compiled("bpr"), data, pair, shared, AT, threads)
            assert found == alone[0]
            assert_same(here, alone[1])
    finally:
        core.delay_shards(0)


@pytest.mark.parametrize("minibatch", [17, 1024, 5000])
def test_minibatches_in_one_call_are_those_of_many(level, minibatch):
    data = tables(4, 50, 60)
    pair = sides(3, data, 5, np.float32)
    _, at_once = moved(compiled("bpr"), data, pair, BprShared(5, minibatch, 0.05, 0.2, 0.01), AT, 2)
    for m in range(5):
        one = BprShared(1, minibatch, 0.05, 0.2, 0.01)
        _, pair = moved(compiled("bpr"), data, pair, one, AT._replace(tick=AT.tick + m), 1)
    assert_same(pair, at_once)


# Draw, contribute and fold as calls of their own, a minibatch in parts of any length.
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("part", [1, 7, 100, 5000])
def test_the_phases_one_by_one_give_the_same_bits(each_level, dtype, part):
    data, minibatch, k = tables(5, 40, 30, "popularity"), 2500, 9
    pair = sides(4, data, k, dtype)
    name = np.dtype(dtype).name
    draw, contribute, fold = (
        each_level.bpr_draw,
        getattr(each_level, f"bpr_contributions_{name}"),
        getattr(each_level, f"bpr_fold_{name}"),
    )
    step = getattr(each_level, f"bpr_stride_{name}")(k)
    table = np.zeros((70, step), dtype=dtype)
    table[:40, 0], table[:40, 1 : k + 1] = 1, pair[0].factors
    table[40:, 0], table[40:, 1 : k + 1] = pair[1].bias, pair[1].factors
    total = 0.0
    for m in range(2):
        start = table.copy()
        for first in range(0, minibatch, part):
            drawn = np.empty((min(part, minibatch - first), 3), dtype=np.uint32)
            draw(data, AT._replace(tick=AT.tick + m), int(Site.BPR_TRIPLE), first, drawn)
            parts = np.empty((*drawn.shape, step), dtype=dtype)
            total += contribute(start, drawn, 0.05, 0.05 * 0.01, parts)[0]
            fold(table, drawn, parts)
    sums, (user, item) = moved(compiled("bpr"), data, pair, BprShared(2, minibatch, 0.05, 0.0, 0.01), AT, 2)
    assert np.array_equal(table[:40, 1 : k + 1], user.factors)
    assert np.array_equal(table[40:, 1 : k + 1], item.factors)
    assert np.array_equal(table[40:, 0], item.bias)
    assert total == pytest.approx(sums.log_sigma, rel=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 100, 2049])
def test_the_check_equals_its_twin_and_moves_nothing(level, dtype, n):
    data = tables(6, 20, 25)
    pair = sides(5, data, 6, dtype)
    expected, _ = moved(reference.bpr_check, data, pair, BprCheck(n))
    for threads in (1, 3):
        found, after = moved(compiled("bpr_check"), data, pair, BprCheck(n), AT, threads)
        assert found.n == expected.n
        assert found == pytest.approx(expected, rel=1e-10)
        assert_same(after, pair)


def test_where_no_user_has_a_zero_nothing_moves(level):
    data = tables(7, 1, 10)
    pair = sides(6, data, 3, np.float32)
    found, after = moved(compiled("bpr"), data, pair, BprShared(2, 50, 0.1, 0.0, 0.1), AT, 2)
    assert found == BprSums(0.0, 0, 100)
    assert_same(after, pair)


def test_far_margins_saturate(level):
    data = tables(8, 6, 9)
    pair = sides(7, data, 2, np.float64)
    pair[1].bias[:] = np.random.default_rng(1).choice([-2000.0, 2000.0], 9)
    shared = BprShared(1, 40, 0.1, 0.0, 0.0)
    expected, there = moved(reference.bpr, data, pair, shared)
    found, here = moved(compiled("bpr"), data, pair, shared, AT, 1)
    assert_close(here, there, 1e-10)
    assert found.log_sigma == pytest.approx(expected.log_sigma, rel=1e-10)


def test_ticks_that_have_no_words_are_refused(level):
    data = tables(9, 5, 5)
    pair = sides(8, data, 2, np.float32)
    with pytest.raises(ConfigError, match="4294967296"):
        moved(compiled("bpr"), data, pair, BprShared(2, 4, 0.1, 0.0, 0.1), At(0, 0, 2**32 - 1), 1)


def test_read_only_data_are_taken(level):
    data = tables(10, 20, 25)
    for array in (data.rows, data.items, *data.negatives):
        array.flags.writeable = False
    pair = sides(9, data, 3, np.float32)
    _, after = moved(compiled("bpr"), data, pair, BprShared(1, 64, 0.1, 0.0, 0.1), AT, 1)
    assert not np.array_equal(after[0].factors, pair[0].factors)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_it_within_a_tenth_of_a_second(threads):
    data = tables(11, 200, 300)
    pair = sides(10, data, 50, np.float32)
    took = []
    for _ in range(3):
        sent = []

        def interrupt(sent=sent):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.1, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            moved(compiled("bpr"), data, pair, BprShared(100_000, 1024, 0.01, 0.0, 0.01), AT, threads)
        took.append(time.perf_counter() - sent[0])
        timer.join()
    assert min(took) < 0.1, took  # the shortest: a busy machine may hold up any single one
