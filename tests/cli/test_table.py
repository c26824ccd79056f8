from __future__ import annotations

import json
from io import BytesIO

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyads.cli import table as tables
from dyads.cli.picture import cell, drawn
from dyads.errors import DataError

TEXT = (
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["1", "null", '"', ""])
)
WHOLE = st.integers(-(2**63), 2**63 - 1)
FINITE = st.floats(allow_nan=False, allow_infinity=False) | st.just(float("nan"))


@st.composite
def columns(draw, numbers=FINITE):
    n = draw(st.integers(0, 6))
    made = {"user": draw(st.lists(TEXT, min_size=n, max_size=n))}
    made["place"] = np.array(draw(st.lists(WHOLE, min_size=n, max_size=n)), dtype=np.int64)
    made["a, b"] = np.array(draw(st.lists(numbers, min_size=n, max_size=n)), dtype=np.float64)
    return made


def written(table, form):
    out = BytesIO()
    tables.write(table, out, form)
    return out.getvalue()


def listed(table):
    numbers = [None if np.isnan(x) else x for x in table["a, b"].tolist()]
    return {"user": list(table["user"]), "place": table["place"].tolist(), "a, b": numbers}


SCHEMA = {"user": polars.String, "place": polars.Int64, "a, b": polars.Float64}


@given(columns(st.floats()))
def test_csv_and_parquet_read_back_equal(table):
    csv = polars.read_csv(BytesIO(written(table, "csv")), schema=SCHEMA)
    parquet = polars.read_parquet(BytesIO(written(table, "parquet")))
    assert csv.to_dict(as_series=False) == listed(table)
    assert parquet.to_dict(as_series=False) == listed(table)
    assert dict(parquet.schema) == SCHEMA or not len(table["user"]) or set(table["user"]) == {None}


@given(columns())
def test_json_reads_back_equal(table):
    read = json.loads(written(table, "json"))
    wanted = listed(table)
    assert read == [dict(zip(wanted, row, strict=True)) for row in zip(*wanted.values(), strict=True)]


def test_json_refuses_what_it_cannot_hold():
    with pytest.raises(DataError, match="column 'score' holds an infinite number"):
        written({"score": np.array([1.0, np.inf])}, "json")


def test_a_file_that_could_not_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    tables.put({"a": [1]}, str(path), "table")

    def broken(table, out, form):
        out.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tables, "write", broken)
    with pytest.raises(Exception, match="No space left on device"):
        tables.put({"a": [2]}, str(path), "table")
    assert path.read_text() == '"a"\n1\n'
    assert list(tmp_path.iterdir()) == [path]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_id_can_steer_the_terminal(text):
    assert cell(text).isprintable()


@pytest.mark.parametrize("text", ["[bold]x[/bold]", ":smile:", "a" * 200, "ünï 中文"])
def test_an_id_stands_on_the_screen_as_it_is(text):
    assert text in drawn({"item": [text], "score": [0.5]})


def test_numbers_are_short_and_what_is_not_there_is_empty():
    assert [cell(x) for x in (0.123456, np.float32(2.0), 7, None, float("nan"))] == ["0.1235", "2", "7", "", ""]
