from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dyads.csr import DuplicateCellError, csr

SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9))
# whole, so that sums in any order and width are equal
WHOLE = st.integers(-50, 50).map(float)
GRIDS = SHAPES.flatmap(lambda shape: hnp.arrays(np.float32, shape, elements=st.sampled_from([0, 0, 0, 1, 2, -3])))


# The cells that are true in `given`, with their values; zeros among them stay.
def block_of(grid, given=None):
    rows, columns = np.nonzero(grid if given is None else given)
    return csr(rows, columns, grid[rows, columns], *grid.shape)


def dense(block, n_columns):
    return block.to_scipy(n_columns).toarray()


def are_in_order(block, n_columns):
    assert (block.ptr.dtype, block.idx.dtype) == (np.int64, np.int32)
    assert block.val is None or (block.val.dtype == np.float32 and block.val.size == block.idx.size)
    assert block.ptr[0] == 0 and block.ptr[-1] == block.idx.size
    assert all((np.diff(block.row(r)) > 0).all() for r in range(block.n_rows))
    return block.idx.size == 0 or (block.idx.min() >= 0 and block.idx.max() < n_columns)


@st.composite
def cells(draw):
    shape = draw(SHAPES)
    places = st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1), WHOLE)
    return shape, draw(st.lists(places, max_size=40))


@given(cells(), st.sampled_from(["sum", "mean"]), st.booleans())
@settings(max_examples=150)
def test_cells_in_any_order_are_what_a_dict_makes_of_them(drawn, rule, valued):
    shape, listed = drawn
    rows, columns, values = (list(part) for part in zip(*listed, strict=True)) if listed else ([], [], [])
    oracle = defaultdict(list)
    for row, column, value in listed:
        oracle[row, column].append(value if valued else 1.0)
    block = csr(rows, columns, values if valued else None, *shape, rule)
    assert are_in_order(block, shape[1])
    found = dict(zip(zip(block.rows().tolist(), block.idx.tolist(), strict=True), block.values(), strict=True))
    expected = {at: np.sum(many) / (len(many) if rule == "mean" else 1) for at, many in oracle.items()}
    assert found == {at: np.float32(value) for at, value in expected.items()}
    assert valued or rule == "sum" or block.val is None


@given(cells())
def test_cells_are_refused_just_where_one_comes_again(drawn):
    shape, listed = drawn
    rows, columns, values = (list(part) for part in zip(*listed, strict=True)) if listed else ([], [], [])
    places = list(zip(rows, columns, strict=True))
    if len(set(places)) == len(places):
        assert csr(rows, columns, values, *shape, "refuse").nnz == len(places)
        return
    with pytest.raises(DuplicateCellError) as error:
        csr(rows, columns, values, *shape, "refuse")
    assert (error.value.row, error.value.column) == min(p for p in places if places.count(p) > 1)


def test_cells_without_repeats_and_values_hold_no_values():
    assert csr([1, 0], [0, 1], None, 2, 2).val is None
    assert csr([1, 1], [0, 0], None, 2, 2).val.tolist() == [2.0]


def test_values_that_come_again_are_added_in_64_bits():
    # 2^24 + 1 + 1 in 32 bits stays 2^24
    assert csr([0] * 3, [0] * 3, np.float32([2**24, 1, 1]), 1, 1).val.tolist() == [2**24 + 2]
    assert csr([0] * 200, [0] * 200, np.ones(200, np.int8), 1, 1).val.tolist() == [200]


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (3, 2)])
def test_nothing_is_rows_without_entries(shape):
    block = csr([], [], None, *shape)
    assert (block.n_rows, block.nnz) == (shape[0], 0)
    assert block.transpose(shape[1]).n_rows == shape[1]


def test_products_of_sizes_beyond_32_bits_are_no_matter():
    n = 2**31 - 1
    block = csr([0, 2], [n - 1, n - 2], None, 3, n)
    assert block.idx.tolist() == [n - 1, n - 2]
    assert block.keys(n).tolist() == [n - 1, 2 * n + n - 2]
    assert block.contains([2, 2, 0], np.array([n - 2, n - 1, 0]), n).tolist() == [True, False, False]


# --- rows beside scipy's -------------------------------------------------------------------------------------------


@given(GRIDS)
def test_rows_are_those_of_scipy(grid):
    block, theirs = block_of(grid), sparse.csr_array(grid)
    assert are_in_order(block, grid.shape[1])
    assert np.array_equal(dense(block, grid.shape[1]), grid)
    assert np.array_equal(block.ptr, theirs.indptr)
    assert np.array_equal(block.counts(), np.diff(theirs.indptr))
    assert np.array_equal(block.rows(), theirs.tocoo().coords[0])
    assert np.array_equal(block.keys(grid.shape[1]), np.flatnonzero(grid))


@given(GRIDS, st.booleans())
def test_the_transpose_is_scipys_and_twice_is_the_same(grid, ones):
    block = block_of(grid)._replace(val=None) if ones else block_of(grid)
    turned = block.transpose(grid.shape[1])
    assert are_in_order(turned, grid.shape[0])
    assert (turned.val is None) == ones
    assert np.array_equal(dense(turned, grid.shape[0]), (grid != 0).T if ones else grid.T)
    again = turned.transpose(grid.shape[0])
    assert all(np.array_equal(a, b) for a, b in zip(again[:2], block[:2], strict=True))


@given(GRIDS, st.data())
def test_taken_sliced_selected_and_grown_rows_are_those_of_an_array(grid, data):
    block, (n, m) = block_of(grid), grid.shape
    order = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=12)), dtype=np.int64)
    assert np.array_equal(dense(block.take(order), m), grid[order])
    first, last = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    part = block.slice(first, last)
    assert np.array_equal(dense(part, m), grid[first:last])
    assert np.shares_memory(part.idx, block.idx) or part.nnz == 0
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=block.nnz, max_size=block.nnz)), dtype=bool)
    left = grid.copy()
    left[block.rows()[~keep], block.idx[~keep]] = 0
    assert np.array_equal(dense(block.select(keep), m), left)
    assert np.array_equal(dense(block.grown(n + 3), m), np.vstack([grid, np.zeros((3, m))]))


@given(GRIDS)
def test_the_cells_that_are_contained_are_the_entries(grid):
    rows, columns = (part.ravel() for part in np.indices(grid.shape))
    assert np.array_equal(block_of(grid).contains(rows, columns, grid.shape[1]), grid.ravel() != 0)


def test_stored_zeros_are_entries():
    block = block_of(np.zeros((2, 2)), np.eye(2))
    assert block.nnz == 2 and block.val.tolist() == [0, 0]
    assert block.transpose(2).nnz == 2
    assert block.contains([0, 0], [0, 1], 2).tolist() == [True, False]
