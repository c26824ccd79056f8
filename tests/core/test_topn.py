from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyads.errors import DataError
from dyads.kernels import native, ranking, reference
from dyads.kernels.shapes import Spread, TopN
from dyads.pairs import Csr

pytestmark = pytest.mark.skipif(not native.available(), reason="no compiled core here")

by_level = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
WIDTHS = [0, 1, 3, 4, 5, 11, 12, 13, 23, 24, 25, 47, 48, 49, 95, 96, 97, 500]


def question(seed, shape, n=5, components=1, lattice=False, **more):
    n_users, n_items, k = shape
    rng = np.random.default_rng(seed)

    def values(*size):
        return rng.integers(-2, 3, size).astype(float) if lattice else rng.normal(size=size)

    return TopN(
        user=values(components, n_users, k),
        item=values(components, n_items, k).astype(np.float32),
        offset=values(components),
        rate=rng.integers(1, 4, (components, n_items)).astype(float) if more.get("rated") else None,
        spread=None,
        link="none",
        exclude=None,
        candidates=None,
        n=n,
    )


def spread(seed, ask, rows=True, columns=True, link="logistic"):
    rng = np.random.default_rng(seed)
    user = rng.gamma(1.0, 0.3, ask.user.shape[1:]) if rows else None
    item = rng.gamma(1.0, 0.3, ask.item.shape[1:]).astype(np.float32) if columns else None
    return ask._replace(spread=Spread(user, item, 0.2, np.pi / 8 if link == "logistic" else 1.0), link=link)


# Some items of each row, in any order and some of them twice.
def excluded(seed, n_users, n_items):
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, n_items, rng.integers(0, n_items + 3)) for _ in range(n_users)]
    ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    return Csr(ptr, np.concatenate([*rows, []]).astype(np.int32), None)


def compiled(ask, threads=1):
    return native.KERNELS["top_n"](ask, threads)


def assert_equal(found, expected):
    assert np.array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-12)


@by_level
@given(st.data())
def test_the_kernel_equals_its_twin(level, data):
    pick = data.draw
    shape = pick(st.integers(0, 40)), pick(st.sampled_from(WIDTHS)), pick(st.sampled_from([0, 1, 2, 5, 17, 300]))
    kind = pick(st.sampled_from(["mean", "rated", "users", "items", "both", "neither"]))
    lattice, seed = pick(st.booleans()), pick(st.integers(0, 999))
    components = pick(st.integers(1, 3)) if kind in ("mean", "rated") else 1
    ask = question(seed, shape, pick(st.integers(1, 60)), components, lattice, rated=kind == "rated")
    if kind not in ("mean", "rated"):
        link = pick(st.sampled_from(["logistic", "probit"]))
        ask = spread(seed, ask, kind in ("users", "both"), kind in ("items", "both"), link)
    if pick(st.booleans()) and shape[1]:
        ask = ask._replace(exclude=excluded(seed, *shape[:2]))
    if pick(st.booleans()):
        some = np.flatnonzero(np.random.default_rng(seed).random(shape[1]) < 0.6)
        ask = ask._replace(candidates=some.astype(np.int64))
    assert_equal(compiled(ask, pick(st.integers(1, 3))), reference.top_n(ask))


# Scores that float32 cannot tell apart: an item's last factor moves them by a few parts in 10⁹.
def test_near_ties_are_ordered_in_float64(level):
    rng = np.random.default_rng(3)
    ask = question(1, (30, 400, 6))
    ask.item[:] = ask.item[:, :1]
    ask.item[0, :, 5] = rng.permutation(400) * 1e-9
    ask.user[:, :, 5] = 1.0
    found, expected = compiled(ask), reference.top_n(ask)
    assert_equal(found, expected)
    assert (np.diff(found[1]) < 0).all()


# σ rounds to 1 from 37 on: there the smaller number comes first, whatever lies behind it.
def test_answers_that_round_to_the_same_number_are_ties(level):
    ask = question(2, (4, 60, 3))._replace(link="logistic", spread=Spread(None, None, 0.0, np.pi / 8))
    ask = ask._replace(user=np.abs(ask.user) * 100 + 100, item=np.abs(ask.item) + 1)
    found = compiled(ask)
    assert_equal(found, reference.top_n(ask))
    assert found[0].tolist() == [[0, 1, 2, 3, 4]] * 4


@pytest.mark.parametrize("spreads", [False, True])
def test_ordinary_scores_are_never_in_doubt(level, monkeypatch, spreads):
    ask = question(4, (150, 5000, 50), n=10)
    ask = spread(4, ask) if spreads else ask
    expected = reference.top_n(ask)
    monkeypatch.setattr(ranking, "top_n", None)  # the twin cannot be asked
    assert_equal(compiled(ask), expected)


# Scores below zero grow with their variance, so that the bounds on it change places.
@pytest.mark.parametrize("offset", [-30.0, 0.0, 30.0])
@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_variances_count_on_both_sides_of_zero(level, offset, link):
    ask = spread(5, question(5, (40, 3000, 10), n=7), link=link)
    ask = ask._replace(offset=np.array([offset]))
    if offset > 0:
        ask = ask._replace(spread=ask.spread._replace(weight=40.0))  # keeps the answers away from 1
    assert_equal(compiled(ask, 2), reference.top_n(ask))


@pytest.mark.parametrize("spreads", [False, True])
def test_threads_and_their_pace_change_no_bit(level, spreads):
    ask = question(6, (300, 700, 20), n=9)
    ask = (spread(6, ask) if spreads else ask)._replace(exclude=excluded(6, 300, 700))
    alone, core = compiled(ask), native.core()
    core.delay_shards(300)
    try:
        for threads in (2, 3, 16):
            assert all(map(np.array_equal, compiled(ask, threads), alone))
    finally:
        core.delay_shards(0)


@pytest.mark.parametrize("where", ["user", "item", "user variance", "item variance"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_none_are_named_as_by_the_twin(level, where, value):
    ask = spread(7, question(7, (5, 200, 4)))
    target = {
        "user": ask.user[0],
        "item": ask.item[0],
        "user variance": ask.spread.user,
        "item variance": ask.spread.item,
    }[where]
    target[3, 2] = value
    try:
        with np.errstate(all="ignore"):
            expected = reference.top_n(ask)
    except DataError:
        with pytest.raises(DataError, match="NaN"), np.errstate(all="ignore"):
            compiled(ask)
    else:
        with np.errstate(all="ignore"):
            assert_equal(compiled(ask), expected)


def test_read_only_and_strided_arrays_are_taken(level):
    ask = question(8, (6, 40, 5))
    wide = np.repeat(ask.item, 2, axis=2)
    wide.flags.writeable = ask.user.flags.writeable = False
    assert_equal(compiled(ask._replace(item=wide[:, :, ::2])), reference.top_n(ask))


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_it_within_a_tenth_of_a_second(threads):
    ask, took = question(9, (40_000, 10_000, 50), n=10), []
    for _ in range(3):
        sent = []

        def interrupt(sent=sent):
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.1, interrupt)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            compiled(ask, threads)
        took.append(time.perf_counter() - sent[0])
        timer.join()
    assert min(took) < 0.1, took  # the shortest: a busy machine may hold up any single one
