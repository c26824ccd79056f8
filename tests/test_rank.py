# The best of every row beside a full sort of it.

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dyads import rank
from dyads.errors import DataError
from dyads.kernels import ranking
from dyads.pairs import Csr, csr
from dyads.posterior import Posterior, side

FEW = st.sampled_from([-np.inf, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0])  # so that many are equal
TABLES = st.tuples(st.integers(0, 6), st.integers(0, 9)).flatmap(lambda shape: arrays(np.float64, shape, elements=FEW))


# (number, value) of the n best columns of a row, without those of -inf, padded.
def by_sort(row, n, columns=None):
    columns = np.arange(len(row)) if columns is None else columns
    order = np.argsort(-row, kind="stable")
    found = [(int(columns[j]), row[j]) for j in order[:n] if row[j] > -np.inf]
    return found + [(-1, -np.inf)] * (n - len(found))


def listed(numbers, values):
    return [list(zip(*row, strict=True)) for row in zip(numbers.tolist(), values.tolist(), strict=True)]


@given(TABLES, st.integers(1, 12))
def test_the_best_are_those_of_a_full_sort(values, n):
    before = values.copy()
    numbers, best = ranking.top(values, n)
    assert numbers.shape == best.shape == (len(values), n)
    assert listed(numbers, best) == [by_sort(row, n) for row in values]
    np.testing.assert_array_equal(values, before)


def test_scores_that_are_no_numbers_are_said():
    values = np.zeros((3, 5))
    values[1, 2] = np.nan
    for n in (1, 4, 5):
        with pytest.raises(DataError, match=r"some scores are no numbers \(NaN\)"):
            ranking.top(values, n)


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (7, 3), (100, 10**6), (5, 10**8), (5, 0)])
def test_blocks_cover_the_rows_in_order_and_are_small(shape, monkeypatch):
    for cells in (1, 10, ranking.BLOCK_CELLS):
        monkeypatch.setattr(ranking, "BLOCK_CELLS", cells)
        parts = list(ranking.blocks(*shape))
        covered = [row for part in parts for row in range(part.start, part.stop)]
        assert covered == [*range(shape[0])]
        assert all((p.stop - p.start) * shape[1] <= cells or p.stop - p.start == 1 for p in parts)


# A posterior without factors of its own whose answers are these numbers, rounded so that many are equal.
def posterior_of(values, clip=None):
    n_users, _n_items = values.shape
    return Posterior(
        user=np.eye(n_users, dtype=np.float32)[None],
        user_var=None,
        item=values.T[None].astype(np.float32),
        item_var=None,
        offset=np.zeros(1),
        offset_var=np.zeros(1),
        noise=None,
        user_alpha=None,
        item_alpha=None,
        clip=clip,
        n_factors=n_users,
        link="identity",
        small=None,
    )


FINITE = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
QUESTIONS = st.tuples(st.integers(1, 6), st.integers(1, 8)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, shape, elements=FINITE),
        st.none() | arrays(np.bool_, shape),
        st.none() | st.lists(st.integers(0, shape[1] - 1), max_size=10),
        st.integers(1, 10),
        st.sampled_from([1, 3, 10, 1 << 22]),
    )
)


@given(QUESTIONS)
def test_recommendations_are_those_of_a_full_sort(question):
    values, shut, among, n, cells = question
    exclude = None if shut is None else csr(*np.nonzero(shut), None, *values.shape)
    items = None if among is None else np.array(among, dtype=np.int64)
    posterior = posterior_of(values)
    users = side(posterior, "user", np.arange(len(values)))
    before = ranking.BLOCK_CELLS
    try:
        ranking.BLOCK_CELLS = cells
        numbers, best = rank.recommend(posterior, users, (n, exclude, items), "answer")
    finally:
        ranking.BLOCK_CELLS = before
    open_values = np.where(shut, -np.inf, values) if shut is not None else values
    columns = np.arange(values.shape[1]) if among is None else np.unique(among).astype(np.int64)
    assert listed(numbers, best) == [by_sort(row[columns], n, columns) for row in open_values]


def test_no_rows_are_no_recommendations():
    posterior = posterior_of(np.ones((2, 3)))
    numbers, best = rank.recommend(posterior, side(posterior, "user", np.empty(0, np.int64)), (4, None, None), "answer")
    assert numbers.shape == best.shape == (0, 4)


def test_the_same_row_may_be_asked_twice():
    posterior = posterior_of(np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 5.0]]))
    users = side(posterior, "user", np.array([1, 0, 1]))
    exclude = Csr(np.array([0, 1, 1, 1]), np.array([2], dtype=np.int32), None)
    numbers, _ = rank.recommend(posterior, users, (2, exclude, None), "answer")
    assert numbers.tolist() == [[0, 1], [1, 2], [2, 0]]


# Ranking is by what was not cut off, so that the range hides no order.
def test_the_range_of_answers_cuts_what_is_shown_and_not_the_order():
    posterior = posterior_of(np.array([[7.0, 9.0, 8.0, -1.0]]), clip=np.array([1.0, 5.0]))
    users = side(posterior, "user", np.array([0]))
    shut = Csr(np.array([0, 1]), np.array([2], dtype=np.int32), None)
    numbers, best = rank.recommend(posterior, users, (4, shut, None), "answer")
    assert numbers.tolist() == [[1, 0, 3, -1]]
    assert best.tolist() == [[5.0, 5.0, 1.0, -np.inf]]
    assert rank.recommend(posterior, users, (2, None, None), "mean")[1].tolist() == [[9.0, 8.0]]


# --- neighbours ---

POINTS = arrays(np.float64, (6, 2), elements=st.integers(-2, 2).map(float))


@given(POINTS, st.none() | st.lists(st.integers(0, 5), max_size=6), st.integers(1, 8), st.sampled_from([1, 7, 1 << 22]))
def test_neighbours_are_those_of_a_full_sort(table, among, n, cells):
    length = np.linalg.norm(table, axis=1)
    unit = table / np.where(length > 0, length, 1.0)[:, None]
    cosine = np.einsum("ak,bk->ab", unit, unit)  # of zeros 0
    columns = np.arange(6) if among is None else np.unique(among).astype(np.int64)
    before = ranking.BLOCK_CELLS
    try:
        ranking.BLOCK_CELLS = cells
        numbers, best = rank.nearest(table, table, n, None, None if among is None else np.array(among, np.int64))
    finally:
        ranking.BLOCK_CELLS = before
    for row in range(6):
        m = min(n, len(columns))
        np.testing.assert_allclose(best[row, :m], np.sort(cosine[row, columns])[::-1][:m], atol=1e-12)
        np.testing.assert_allclose(cosine[row, numbers[row, :m]], best[row, :m], atol=1e-12)
        assert len(set(numbers[row, :m].tolist())) == m
        assert (numbers[row, m:] == -1).all() and np.isneginf(best[row, m:]).all()
