from __future__ import annotations

from collections import UserList

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dyads import read
from dyads.pairs import Pairs

WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False)
TABLES = st.dictionaries(st.tuples(WORDS, WORDS), VALUES, min_size=1, max_size=12)
NUMBERED = st.dictionaries(st.tuples(NUMBERS, NUMBERS), VALUES, min_size=1, max_size=12)


def found(pairs):
    return {(user, item): value for user, item, value in pairs}


# --- data frames ---------------------------------------------------------------------------------------------------


# An object that speaks Arrow's protocol and nothing else.
class Stream:
    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Block:
    def __init__(self, table):
        (self._block,) = table.combine_chunks().to_batches()

    def __arrow_c_array__(self, requested_schema=None):
        return self._block.__arrow_c_array__(requested_schema)


def in_chunks(columns):
    table = pa.table(columns)
    return pa.concat_tables([table.slice(0, 1), table.slice(1, 3), table.slice(4)])


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas of objects": lambda columns: pd.DataFrame(columns, dtype=object).astype({"n": float}),
    "pandas of categories": lambda columns: pd.DataFrame(columns).astype({"a": "category", "b": "category"}),
    "pandas on Arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas with another index": lambda columns: pd.DataFrame(columns, index=[7] * len(columns["a"])),
    "polars": pl.DataFrame,
    "polars in chunks": lambda columns: pl.concat(
        [pl.DataFrame(columns)[:1], pl.DataFrame(columns)[1:]], rechunk=False
    ),
    "Arrow": pa.table,
    "Arrow in chunks": in_chunks,
    "Arrow of categories": lambda columns: pa.table(
        {"a": pa.array(columns["a"]).dictionary_encode(), "b": columns["b"], "n": columns["n"]}
    ),
    "an Arrow block": lambda columns: pa.table(columns).combine_chunks().to_batches()[0],
    "an Arrow reader": lambda columns: in_chunks(columns).to_reader(),
    "a stream": lambda columns: Stream(in_chunks(columns)),
    "a block": lambda columns: Block(pa.table(columns)),
}


@pytest.mark.parametrize("kind", FRAMES)
@given(table=TABLES | NUMBERED)
@settings(max_examples=20)
def test_frames_of_every_kind_are_read(kind, table):
    users, items = (list(side) for side in zip(*table, strict=True))
    columns = {"a": users, "b": items, "n": list(table.values())}
    assert found(read(FRAMES[kind](columns), "a", "b", "n")) == table
    pairs = read(FRAMES[kind](columns), 1, 0)
    assert found(pairs) == {(item, user): 1 for user, item in table}
    assert pairs.by_user.val is None


def test_columns_of_polars_categories_are_strings():
    frame = pl.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 2]}).with_columns(pl.col("a").cast(pl.Categorical))
    assert found(read(frame)) == {("x", 1): 1, ("y", 2): 1, ("x", 2): 1}
    frame = frame.with_columns(pl.col("a").cast(pl.Enum(["y", "x"])))
    assert found(read(frame)) == {("x", 1): 1, ("y", 2): 1, ("x", 2): 1}


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "Int64", "int64[pyarrow]"])
@pytest.mark.parametrize("make", [pd.Series, lambda values, dtype: pd.Series(values, dtype=dtype).astype(dtype)])
def test_whole_numbers_of_any_width_are_ids_and_values(dtype, make):
    frame = pd.DataFrame(
        {"a": make([3, 1], dtype=dtype), "b": make([5, 5], dtype=dtype), "n": make([2, 4], dtype=dtype)}
    )
    assert found(read(frame, value="n")) == {(3, 5): 2, (1, 5): 4}


def test_values_of_frames_are_numbers_of_any_kind():
    for values in (pa.array([True, False]), pa.array([1, 0], pa.int8()), pa.array([1, 0], pa.decimal128(5, 2))):
        assert found(read(pa.table({"a": [1, 2], "b": [1, 2], "n": values}), value="n")) == {(1, 1): 1, (2, 2): 0}


def test_frames_count_refuse_average_and_add_as_files_do():
    frame = pd.DataFrame({"user": ["ann", "ann"], "item": ["tea", "tea"], "stars": [4, 1]})
    assert found(read(frame)) == {("ann", "tea"): 2}
    assert found(read(frame, value="stars", duplicates="mean")) == {("ann", "tea"): 2.5}
    assert found(read(frame, value="stars", duplicates="sum")) == {("ann", "tea"): 5}


# --- matrices ------------------------------------------------------------------------------------------------------

GRID = np.array([[0, 2.5, 0, 0], [1, 0, 0, -3], [0, 0, 0, 0]])


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_matrices_of_every_format_are_read(form, kind):
    pairs = read(kind(GRID).asformat(form))
    assert np.array_equal(pairs.to_scipy().toarray(), GRID)
    assert pairs.users.kind == pairs.items.kind == "range"


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_indices_of_64_bits_are_read(form):
    matrix = sparse.csr_array(GRID).asformat(form)
    if form == "coo":
        matrix.coords = tuple(part.astype(np.int64) for part in matrix.coords)
    else:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    pairs = read(matrix)
    assert pairs.by_user.idx.dtype == np.int32
    assert np.array_equal(pairs.to_scipy().toarray(), GRID)


@pytest.mark.parametrize(
    "dense",
    [GRID, np.asfortranarray(GRID), GRID.astype(np.float16), GRID.view(np.matrix), GRID.astype(object)[:, :]],
    ids=["C", "Fortran", "half", "matrix", "objects"],
)
def test_dense_arrays_are_read_as_matrices(dense):
    if dense.dtype == object:
        pairs = Pairs.from_matrix(dense)  # by `read`, rows of objects are pairs or triples
    else:
        pairs = read(dense)
    assert np.array_equal(pairs.to_scipy().toarray(), GRID)


def test_the_source_is_not_changed():
    matrix = sparse.csr_array((np.array([1.0, 2]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    read(matrix)
    assert matrix.indices.tolist() == [2, 0]


# --- plain Python --------------------------------------------------------------------------------------------------


@given(TABLES | NUMBERED, st.sampled_from([list, tuple, iter, UserList, lambda rows: (row for row in rows)]))
def test_triples_of_any_iterable_are_read(table, container):
    assert found(read(container([(*pair, value) for pair, value in table.items()]))) == table
    pairs = read(container([list(pair) for pair in table]))
    assert found(pairs) == dict.fromkeys(table, 1)
    assert pairs.users.ids().tolist() == list(dict.fromkeys(user for user, _ in table))


def test_pairs_are_counted_and_triples_refused_averaged_or_added():
    assert found(read([("a", 1), ("b", 1), ("a", 1)])) == {("a", 1): 2, ("b", 1): 1}
    assert found(read([("a", 1, 4), ("a", 1, 1)], duplicates="mean")) == {("a", 1): 2.5}
    assert found(read([("a", 1, 4), ("a", 1, 1)], duplicates="sum")) == {("a", 1): 5}
    assert found(read([("a", 1, -4)])) == {("a", 1): -4}


def test_arrays_of_words_are_pairs():
    assert found(read(np.array([["a", "x"], ["b", "x"]]))) == {("a", "x"): 1, ("b", "x"): 1}
    assert found(read(np.array([["a", 1, 2.5]], dtype=object))) == {("a", 1): 2.5}


def test_pairs_are_pairs_already():
    pairs = read([("a", 1)])
    assert read(pairs) is pairs
