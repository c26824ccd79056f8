from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pyarrow import parquet
from scipy import io, sparse

from dyads import read
from dyads.sources import baskets, frames

ANY = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES = st.floats(width=32, allow_nan=False, allow_infinity=False)
GRIDS = st.tuples(st.integers(1, 8), st.integers(1, 8)).flatmap(
    lambda shape: hnp.arrays(np.float32, shape, elements=st.sampled_from([0, 0, 1, 2.5, -3]))
)


def found(pairs):
    return {(user, item): value for user, item, value in pairs}


def put(path, content, packed=False):
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


# --- baskets -------------------------------------------------------------------------------------------------------

# letters that no basket cuts at
ITEMS = st.text(st.characters(codec="utf-8", exclude_characters="\0 \t\n\r\v\f"), min_size=1, max_size=5)


@given(
    st.lists(st.lists(ITEMS.map("i{}".format), max_size=5), min_size=1, max_size=12).filter(any),
    st.sampled_from([" ", "\t", "  "]),
    st.sampled_from(["\n", "\r\n", " \n"]),
    st.integers(1, 30),
    st.booleans(),
)
@settings(parent=ANY, max_examples=80)
def test_baskets_are_read_back(tmp_path, monkeypatch, lists, blank, end, block, packed):
    monkeypatch.setattr(baskets, "BLOCK", block)
    text = "".join(blank.join(items) + end for items in lists)
    path = put(tmp_path / "file.dat", text.encode(), packed)
    pairs = read(path, format="fimi")
    expected = {}
    for user, items in enumerate(lists):
        for item in items:
            expected[user, item] = expected.get((user, item), 0) + 1
    assert found(pairs) == expected
    assert pairs.users.kind == "range" and len(pairs.users) == len(lists)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_items_of_baskets_are_whole_numbers_where_all_are(tmp_path, end):
    path = put(tmp_path / "retail.dat", b"\xef\xbb\xbf" + end.join([b"30 31 32 ", b"", b"33  30", b" 31"]))
    pairs = read(path)
    assert pairs.shape == (4, 4)
    assert pairs.items.ids().tolist() == [30, 31, 32, 33]
    assert pairs.by_user.counts().tolist() == [3, 0, 2, 1]
    assert read(put(path, b"30 031\n5 5\n")).items.ids().tolist() == ["30", "031", "5"]


def test_a_basket_of_any_length_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(baskets, "BLOCK", 100)
    long = range(1000, 5000)
    pairs = read(put(tmp_path / "file.dat", b"1 2\n" + " ".join(map(str, long)).encode() + b"\n3\n"))
    assert pairs.by_user.counts().tolist() == [2, len(long), 1]
    assert pairs.items.ids().tolist() == [1, 2, *long, 3]


def test_a_dat_file_of_another_layout_is_a_table(tmp_path):
    assert found(read(put(tmp_path / "ratings.dat", b"1::10::5\n2::11::3\n"), value=2)) == {(1, 10): 5, (2, 11): 3}
    assert found(read(put(tmp_path / "ratings.dat", b"1\t10\n2\t11\n"))) == {(1, 10): 1, (2, 11): 1}


# --- matrices ------------------------------------------------------------------------------------------------------


@given(GRIDS, st.booleans(), st.booleans())
@ANY
def test_matrix_market_files_are_read_back(tmp_path, grid, packed, plain):
    path = tmp_path / "file.mtx"
    io.mmwrite(path, sparse.coo_array(grid) if not plain else grid.astype(np.float64))
    put(path, path.read_bytes(), packed)
    pairs = read(path)
    assert pairs.shape == grid.shape
    assert np.array_equal(pairs.to_scipy().toarray(), grid)


MARKET = "%%MatrixMarket matrix coordinate {} {}\n% a comment\n3 3 {}\n"


@pytest.mark.parametrize("name", ["file.mtx", "file", "file.csv"])  # known by its first bytes
@pytest.mark.parametrize(
    ("kind", "symmetry", "cells", "expected"),
    [
        ("pattern", "general", "1 2\n3 1\n", [[0, 1, 0], [0, 0, 0], [1, 0, 0]]),
        ("integer", "general", "1 2 7\n3 1 -2\n", [[0, 7, 0], [0, 0, 0], [-2, 0, 0]]),
        ("real", "symmetric", "2 1 2.5\n3 3 4\n", [[0, 2.5, 0], [2.5, 0, 0], [0, 0, 4]]),
        ("real", "general", "1 2 2\n1 2 3\n", [[0, 5, 0], [0, 0, 0], [0, 0, 0]]),
    ],
)
def test_every_kind_of_matrix_market_file_is_read(tmp_path, name, kind, symmetry, cells, expected):
    text = MARKET.format(kind, symmetry, cells.count("\n")) + cells
    pairs = read(put(tmp_path / name, text.encode()))
    assert pairs.to_scipy().toarray().tolist() == expected


@given(GRIDS, st.sampled_from(["bsr", "coo", "csc", "csr", "dia"]), st.booleans(), st.booleans())
@ANY
def test_matrices_that_scipy_saved_are_read_back(tmp_path, grid, form, packed, small):
    path = tmp_path / "file.npz"
    sparse.save_npz(path, sparse.csr_array(grid).asformat(form), compressed=small)
    put(path, path.read_bytes(), packed)
    assert np.array_equal(read(path).to_scipy().toarray(), grid)


# --- Parquet -------------------------------------------------------------------------------------------------------


@given(
    st.dictionaries(st.tuples(WORDS, WORDS), VALUES, min_size=1, max_size=20)
    | st.dictionaries(st.tuples(NUMBERS, WORDS), VALUES, min_size=1, max_size=20),
    st.integers(1, 7),
    st.booleans(),
)
@ANY
def test_parquet_files_are_read_back(tmp_path, monkeypatch, table, rows, categories):
    monkeypatch.setattr(frames, "ROWS", rows)
    users, items = (list(side) for side in zip(*table, strict=True))
    made = pa.table({"when": users, "stars": list(table.values()), "what": items, "who": users})
    parquet.write_table(made, tmp_path / "file.parquet", row_group_size=5, use_dictionary=categories)
    pairs = read(tmp_path / "file.parquet", "who", "what", "stars")
    assert found(pairs) == table
    assert pairs.users.ids().tolist() == list(dict.fromkeys(users))
    assert found(read(tmp_path / "file.parquet", 3, 2, 1)) == table


def test_parquet_files_of_pandas_and_polars_are_read(tmp_path):
    columns = {"user": ["b", "a", "b"], "item": [3, 1, 1], "n": [2, 1, 4]}
    pl.DataFrame(columns).write_parquet(tmp_path / "polars.pq")
    frame = pd.DataFrame(columns).astype({"user": "category"})
    frame.to_parquet(tmp_path / "pandas.parquet", index=False)
    frame.to_parquet(tmp_path / "file", index=False)
    for name in ("polars.pq", "pandas.parquet", "file"):
        assert found(read(tmp_path / name, "user", "item", "n")) == {("b", 3): 2, ("b", 1): 4, ("a", 1): 1}


def test_paths_are_strings_or_path_objects(tmp_path):
    path = put(tmp_path / "file.csv", b"1,2\n3,4\n")
    assert read(str(path)).fingerprint == read(path).fingerprint
