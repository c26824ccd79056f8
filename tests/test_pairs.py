from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from dyads.errors import DataError, NotNumbersError
from dyads.pairs import DUPLICATES, Csr, Pairs, csr
from dyads.vocabulary import Vocabulary

FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9))
GRIDS = SHAPES.flatmap(lambda shape: hnp.arrays(np.float32, shape, elements=st.sampled_from([0, 0, 0, 1, 2, -3])))


# The cells that are true in `given`, with their values; zeros among them stay.
def block_of(grid, given=None):
    rows, columns = np.nonzero(grid if given is None else given)
    return csr(rows, columns, grid[rows, columns], *grid.shape)


def dense(block, n_columns):
    return block.to_scipy(n_columns).toarray()


def test_ids_are_numbered_as_they_appear_and_come_back():
    pairs = Pairs.of(["bob", "ann", "bob"], [30, 10, 20], [1.5, 2, 3])
    assert pairs.users.ids().tolist() == ["bob", "ann"]
    assert pairs.items.ids().tolist() == [30, 10, 20]
    assert list(pairs) == [("bob", 30, 1.5), ("bob", 20, 3.0), ("ann", 10, 2.0)]
    assert (pairs.shape, pairs.n_pairs, len(pairs)) == ((2, 3), 3, 3)
    assert repr(pairs) == "Pairs(2 users x 3 items, 3 pairs)"
    assert repr(pairs.with_hidden(block_of(np.eye(2, 3)))).endswith("3 pairs, 2 cells hidden)")


def test_pairs_are_counted_and_ratings_are_added_averaged_or_refused():
    users, items, ratings = ["a", "a", "b"], ["x", "x", "x"], [1, 4, 2]
    assert list(Pairs.of(users, items)) == [("a", "x", 2.0), ("b", "x", 1.0)]
    assert list(Pairs.of(users, items, ratings)) == [("a", "x", 5.0), ("b", "x", 2.0)]
    assert list(Pairs.of(users, items, ratings, duplicates="mean")) == [("a", "x", 2.5), ("b", "x", 2.0)]
    with pytest.raises(DataError, match="user 'a' and item 'x' come together more than once: give duplicates='mean'"):
        Pairs.of(users, items, ratings, duplicates="refuse")
    assert Pairs.of(["a", "b"], ["x", "x"], [1, 4], duplicates="refuse").n_pairs == 2
    with pytest.raises(DataError, match=f"duplicates='first' is unknown: .*{', '.join(map(repr, DUPLICATES))}"):
        Pairs.of(users, items, duplicates="first")


@given(GRIDS)
def test_both_faces_hold_the_same_cells(grid):
    pairs = Pairs.from_matrix(grid).with_hidden(block_of(np.ones(grid.shape), grid == 2))
    assert np.array_equal(dense(pairs.by_item, grid.shape[0]), grid.T)
    assert np.array_equal(dense(pairs.hidden_by_item, grid.shape[0]), (grid == 2).T)
    assert pairs.by_item is pairs.by_item
    assert Pairs.from_matrix(grid).hidden_by_item is None


def test_selected_pairs_keep_ids_and_hidden_cells():
    pairs = Pairs.of(["a", "a", "b"], ["x", "y", "y"]).with_hidden(block_of(np.eye(2)))
    one = pairs.select(pairs.columns() == 1)
    assert list(one) == [("a", "y", 1.0), ("b", "y", 1.0)]
    assert one.users is pairs.users and one.items is pairs.items and one.hidden is pairs.hidden


def test_lengths_that_differ_are_refused():
    with pytest.raises(DataError, match="2 users and 1 items were given"):
        Pairs.of(["a", "b"], ["x"])
    with pytest.raises(DataError, match="3 values were given for 2 pairs"):
        Pairs.of(["a", "b"], ["x", "y"], [1, 2, 3])
    with pytest.raises(DataError, match="1 user ids were given for a matrix with 2 users"):
        Pairs.from_matrix(np.eye(2), users=["a"])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e39])
def test_a_value_that_is_no_number_of_32_bits_is_named_with_its_ids(bad):
    said = "user 'b' and item 'y' is not a finite number .* drop or replace"
    with pytest.raises(DataError, match=said) as error:
        Pairs.of(["a", "b"], ["x", "y"], [1.0, bad])
    assert repr(bad) in str(error.value)
    with pytest.raises(DataError, match=said):
        Pairs.from_matrix(np.diag([1.0, bad]), ["a", "b"], ["x", "y"])


def test_values_that_are_no_numbers_are_refused():
    with pytest.raises(DataError, match="values are of type <U1"):
        Pairs.of(["a"], ["x"], ["1"])


# --- matrices ------------------------------------------------------------------------------------------------------


@given(GRIDS, st.sampled_from(FORMATS), st.sampled_from([sparse.csr_array, sparse.csr_matrix]))
def test_every_format_gives_the_same_pairs(grid, form, kind):
    pairs = Pairs.from_matrix(kind(grid).asformat(form))
    kept = np.nonzero(pairs.values())
    assert np.array_equal(pairs.to_scipy().toarray(), grid)
    assert np.array_equal(pairs.columns()[kept], np.nonzero(grid)[1])
    assert pairs.users == Vocabulary.range(grid.shape[0])


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8", "g"])
def test_every_type_of_real_number_is_taken(dtype):
    grid = np.array([[0, 1, 0], [1, 0, 1]]).astype(dtype)
    for matrix in (grid, sparse.csr_array(grid), sparse.coo_array(grid)):
        pairs = Pairs.from_matrix(matrix)
        assert pairs.by_user.val is None
        assert np.array_equal(pairs.to_scipy().toarray(), grid)
    assert list(Pairs.of([5], [6], np.array([1]).astype(dtype))) == [(5, 6, 1.0)]


@pytest.mark.parametrize("dtype", ["<f2", ">f2", ">f4", ">f8", ">i4"])
def test_types_that_scipy_does_not_hold_are_taken_too(dtype):
    grid = np.array([[0, 2], [3, 0]]).astype(dtype)
    assert np.array_equal(Pairs.from_matrix(grid).to_scipy().toarray(), grid)
    assert list(Pairs.of([5, 5], [6, 6], np.array([1, 2]).astype(dtype))) == [(5, 6, 3.0)]


@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_indices_of_any_width_are_taken(width):
    matrix = sparse.csr_array(np.float32([[0, 2], [3, 0]]))
    matrix.indptr, matrix.indices = matrix.indptr.astype(width), matrix.indices.astype(width)
    block = Pairs.from_matrix(matrix).by_user
    assert (block.ptr.dtype, block.idx.dtype) == (np.int64, np.int32)
    assert np.array_equal(dense(block, 2), [[0, 2], [3, 0]])


def test_a_matrix_in_disorder_is_ordered_and_stays_as_it_was():
    data, columns, ptr = np.array([1, 2, 4, 8], np.int64), np.array([2, 0, 2, 1]), np.array([0, 3, 4])
    matrix = sparse.csr_array((data, columns, ptr), shape=(2, 3))
    pairs = Pairs.from_matrix(matrix)
    assert list(pairs) == [(0, 0, 2.0), (0, 2, 5.0), (1, 1, 8.0)]
    assert (matrix.data.tolist(), matrix.indices.tolist()) == ([1, 2, 4, 8], [2, 0, 2, 1])


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
def test_small_integers_that_come_again_do_not_wrap(form):
    ones, zeros = np.ones(200, np.int8), np.zeros(200, np.int32)
    if form == "coo":
        matrix = sparse.coo_array((ones, (zeros, zeros)), shape=(1, 1))
    else:
        matrix = getattr(sparse, f"{form}_array")((ones, zeros, np.array([0, 200])), shape=(1, 1))
    assert list(Pairs.from_matrix(matrix)) == [(0, 0, 200.0)]


def test_stored_zeros_of_a_matrix_stay_and_dense_zeros_are_no_cells():
    stored = sparse.coo_array((np.float64([0, 3]), ([0, 1], [1, 0])), shape=(2, 2))
    assert list(Pairs.from_matrix(stored)) == [(0, 1, 0.0), (1, 0, 3.0)]
    assert list(Pairs.from_matrix(stored.toarray())) == [(1, 0, 3.0)]


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (np.eye(2) * 1j, "complex128; Complex data not supported"),
        (sparse.csr_array(np.eye(2) * 1j), "complex128; Complex data not supported"),
        (np.arange(3), r"not the shape \(3,\); Reshape your data"),
        (np.zeros((2, 2, 2)), r"not the shape \(2, 2, 2\)"),
        (sparse.coo_array([1, 2]), r"not the shape \(2,\)"),
        (np.array([["a"]]), "type <U1: give whole or decimal numbers"),
        (np.array([["2020-01-01"]], "M8[D]"), "datetime64"),
    ],
)
def test_what_is_no_matrix_of_real_numbers_is_refused(matrix, said):
    with pytest.raises(DataError, match=said):
        Pairs.from_matrix(matrix)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"indices": [0, 5, 1]}, "the index 5 where there are 2"),
        ({"indices": [0, -3, 1]}, "the index -3 where there are 2"),
        ({"indptr": [0, 9, 3]}, "row starts that do not fit"),
        ({"indptr": [0, 2, 7]}, "row starts that do not fit"),
        ({"indptr": [1, 2, 3]}, "row starts that do not fit"),
        ({"data": np.ones(1)}, "row starts that do not fit"),
    ],
)
def test_index_arrays_that_point_outside_a_matrix_are_refused(form, broken, said):
    matrix = sparse.csr_array(np.array([[1, 1], [0, 1]])).asformat(form)
    for name, values in broken.items():
        setattr(matrix, name, np.asarray(values))
    with pytest.raises(DataError, match=f"the sparse matrix is damaged, with {said}"):
        Pairs.from_matrix(matrix)


def test_objects_in_a_matrix_are_numbers_or_refused():
    assert list(Pairs.from_matrix(np.array([[0, 2.5]], dtype=object))) == [(0, 1, 2.5)]
    with pytest.raises(NotNumbersError, match=r"no number .*'a'"):
        Pairs.from_matrix(np.array([[1, "a"]], dtype=object))


# --- the fingerprint -----------------------------------------------------------------------------------------------


def variants():
    users, items = Vocabulary.of(["a", "b"]), Vocabulary.of([1, 2])
    grid = np.float32([[1, 0], [2, 3]])
    plain = Pairs(users, items, block_of(grid))
    return [
        plain,
        Pairs(Vocabulary.of(["a", "c"]), items, plain.by_user),
        Pairs(Vocabulary.of(["b", "a"]), items, plain.by_user),
        Pairs(users, Vocabulary.of([2, 1]), plain.by_user),
        Pairs(users, Vocabulary.range(2), plain.by_user),
        Pairs(users, items, block_of(grid.T)),
        Pairs(users, items, block_of(grid * 2)),
        Pairs(users, items, plain.by_user._replace(val=None)),
        Pairs(users, items, block_of(grid, grid > 1)),
        plain.with_hidden(block_of(np.eye(2))),
        plain.with_hidden(block_of(np.eye(2), np.eye(2)[::-1])),
    ]


def test_the_fingerprint_tells_data_apart_and_knows_equal_ones():
    prints = [pairs.fingerprint for pairs in variants()]
    assert [pairs.fingerprint for pairs in variants()] == prints
    assert all(a != b for a, b in itertools.combinations(prints, 2))


def test_the_fingerprint_is_the_same_on_every_machine():
    assert variants()[9].fingerprint == "76cb46066732169f5bb85491ab8c19da"


def test_the_fingerprint_does_not_see_where_arrays_lie():
    block = variants()[0].by_user
    wide = np.repeat(block.idx, 2)
    elsewhere = Csr(block.ptr, wide[::2], block.val)
    assert (
        Pairs(*[Vocabulary.range(2)] * 2, elsewhere).fingerprint == Pairs(*[Vocabulary.range(2)] * 2, block).fingerprint
    )
