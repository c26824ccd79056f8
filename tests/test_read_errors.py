from __future__ import annotations

import gzip
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from dyads import read
from dyads.errors import ConfigError, DataError


# One sentence that holds each of these texts.
def said(error, kind, *texts):
    message = str(error.value)
    assert type(error.value) is kind
    assert "\n" not in message and len(message) < 500
    for text in texts:
        assert text in message, message


# --- text: the file, the line, the column, the value and the remedy ------------------------------------------------

TABLES = {
    "NaN": ("u,i,r\n1,2,3\n3,4,NaN\n", {"value": "r"}, "line 3: value 'NaN' (column 'r') is not a finite number: drop"),
    "nan of a sum": ("u,i,r\n1,2,nan\n", {"value": "r", "duplicates": "sum"}, "line 2: value 'nan'"),
    "infinite": ("u,i,r\n1,2,-inf\n", {"value": 2}, "line 2: value '-inf' (column 'r') is not a finite number: drop"),
    "too large": (
        "u,i,r\n1,2,1e39\n",
        {"value": 2},
        "line 2: value '1e39' (column 'r') does not fit in 32 bits: scale",
    ),
    "a word": ("u,i,r\n1,2,3\n1,3,good\n", {"value": "r"}, "line 3: value 'good' (column 'r') is not a number: write"),
    "a decimal comma": (
        'u;i;r\n1;2;"3,5"\n',
        {"value": "r"},
        "value '3,5' (column 'r') is not a number: write it as one, with a point",
    ),
    "a missing value": ("u,i,r\n1,2,\n", {"value": "r"}, "line 2: the value is missing (column 'r'): fill it or drop"),
    "a blank value": ("u,i,r\n1,2,  \n", {"value": "r"}, "line 2: the value is missing (column 'r')"),
    "a negative count": (
        "u,i,n\n1,2,3\n5,6,-1\n",
        {"value": "n", "duplicates": "sum"},
        "line 3: value '-1' (column 'n') is a negative count: drop the line, or give duplicates='mean'",
    ),
    "a missing user": ("u,i\n1,2\n,4\n", {}, "line 3: the user is missing (column 'u'): fill it or drop the line"),
    "a missing item": ("u,i\n1,2\n5,\n", {}, "line 3: the item is missing (column 'i'): fill it or drop the line"),
    "a longer line": (
        "u,i\n1,2\n3,4,5\n",
        {},
        "line 3: 3 columns where line 1 has 2, cut at ',': make them alike, or give delimiter=",
    ),
    "a shorter line": ("u,i\n1,2\n3\n", {}, "line 3: 1 column where line 1 has 2, cut at ','"),
    "a shorter line after empty ones": ("\n\nu,i\n\n1,2\n\n3\n", {}, "line 7: 1 column where line 3 has 2"),
    "a longer line of a long delimiter": ("1::2\n3::4::5\n", {}, "line 2: 3 columns where line 1 has 2, cut at '::'"),
    "no UTF-8": (b"u,i\n1,2\n1,caf\xe9\n", {}, "line 3: item b'caf\\xe9' is not UTF-8 text: save the file as UTF-8"),
    "no UTF-8 after a quoted line end": (b'u,i\n1,"a\nb"\n\xff,2\n', {}, "line 4: user b'\\xff' is not UTF-8"),
    "an unclosed quote": (
        'u,i\n1,"2\n5,6\n',
        {},
        'line 2: a quote (") that opens in it is never closed: close it, or double',
    ),
    "an unclosed quote of a long file": (
        'u,i\n1,2\n1,"2\n' + "5,6\n" * 50_000,
        {},
        'line 3: a cell has more than 131072 characters: close its quote (")',
    ),
    "one column": (
        "1\n2\n",
        {},
        "has one column (its first line is '1'), and pairs need two: give delimiter=, or format='fimi'",
    ),
    "one column as cut": ("1,2\n3,4\n", {"delimiter": ";"}, "has one column when cut at ';' (its first line is '1,2')"),
    "nothing": ("", {}, "is empty: give a file with one pair or more"),
    "blank lines": ("\n \n\r\n", {}, "is empty: give a file"),
    "a header alone": ("user,item\n", {}, "has a header and no rows below it: give one pair or more, or header=False"),
    "UTF-16": ("u,i\n1,2\n".encode("utf-16"), {}, "is UTF-16 text: save it as UTF-8"),
    "a zero byte": (b"u,i\n1,2\n3,\0\n", {}, "holds a zero byte in line 3, so it is no text: give CSV"),
    "ratings that come again": (
        "1,2,3\n4,5,6\n1,2,4\n",
        {"value": 2},
        "user 1 and item 2 come together more than once: give duplicates='mean' to average their values or",
    ),
    "pairs that come again": (
        "a,x\nb,y\na,x\n",
        {"duplicates": "refuse"},
        "user 'a' and item 'x' come together more than once",
    ),
}


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_wrong_with_a_table_is_said_with_its_place(tmp_path, case, packed):
    content, how, text = TABLES[case]
    raw = content if isinstance(content, bytes) else content.encode()
    path = tmp_path / "file.csv"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    with pytest.raises(DataError) as error:
        read(path, **how)
    said(error, DataError, str(path), text)


def test_the_line_is_found_far_below(tmp_path):
    lines = [f"u{n},{n % 7},1\n" for n in range(200_000)]
    for place, line in ((150_000, "u1,,1\n"), (199_999, "u1,2,x\n"), (123_456, "u1,2\n")):
        changed = lines.copy()
        changed[place] = line
        (tmp_path / "file.csv").write_text("".join(changed))
        with pytest.raises(DataError) as error:
            read(tmp_path / "file.csv", value=2, header=False)
        said(error, DataError, f"line {place + 1}: ")


def test_a_line_too_long_for_a_table_is_said(tmp_path):
    (tmp_path / "file.csv").write_text("a::b\n" + "x" * 3_000_000 + "::b\n")
    with pytest.raises(DataError, match="has a line of more than 1048576 bytes: leave out the columns"):
        read(tmp_path / "file.csv", header=False)


# --- columns and options -------------------------------------------------------------------------------------------

OPTIONS = [
    ({"user": "visitor"}, "user='visitor' is not a column: ", "has the columns 'user', 'item', 'n'"),
    ({"item": 5}, "item=5 is not a column: ", "has 3, with the numbers 0 to 2"),
    ({"value": -1}, "value=-1 is not a column: ", "has 3, with the numbers 0 to 2"),
    ({"user": 1}, "user= and item= both mean column 'item' of ", "give two columns"),
    ({"value": "user"}, "user= and value= both mean column 'user' of ", "give two columns"),
    ({"user": True}, "user=True is neither the name nor the number of a column"),
    ({"user": 1.0}, "user=1.0 is neither the name nor the number of a column"),
    (
        {"user": "user", "header": False},
        "user='user' is not a column: ",
        "has no header, so its columns are the numbers",
    ),
    ({"delimiter": ""}, "delimiter='' cannot be: give the characters between two cells"),
    ({"delimiter": '"'}, "delimiter='\"' cannot be"),
    ({"delimiter": "é"}, "delimiter='é' is not ASCII: replace it in the file"),
    ({"format": "xls"}, "format='xls' is unknown: give one of 'csv', 'tsv', 'fimi', 'mtx', 'npz', 'parquet'"),
    ({"duplicates": "max"}, "duplicates='max' is unknown: give one of 'sum', 'mean', 'refuse'"),
    ({"format": "fimi", "user": "user"}, "user='user' is for tables, and ", "has no columns to choose: leave it out"),
    ({"format": "fimi", "header": True}, "header=True is for tables in text, and ", "is fimi: leave it out"),
]


@pytest.mark.parametrize("case", OPTIONS, ids=lambda case: str(case[0]))
def test_an_option_that_cannot_be_is_named(tmp_path, case):
    how, *texts = case
    (tmp_path / "file.csv").write_text("user,item,n\n1,2,3\n")
    with pytest.raises(ConfigError) as error:
        read(tmp_path / "file.csv", **how)
    said(error, ConfigError, *texts)


def test_a_column_name_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "file.csv").write_text("a,a,b\n1,2,3\n")
    with pytest.raises(ConfigError, match=r"user='a' is not a column: .*has 2 columns of that name: give a number"):
        read(tmp_path / "file.csv", user="a", item="b")


# --- files that are something else ---------------------------------------------------------------------------------

STRANGERS = [
    ("file.parquet", b"1,2\n3,4\n", {}, r"is not parquet, for its first bytes are b'1,2\\n3,4\\n': rename it, or give"),
    ("file.npz", b"1,2\n3,4\n", {}, "is not npz, for its first bytes are"),
    ("file.mtx", b"1,2\n3,4\n", {}, "is not mtx, for its first bytes are"),
    ("file.csv", b"1,2\n3,4\n", {"format": "parquet"}, "is not parquet, for its first bytes are .*: leave format= out"),
    ("file.csv", b"%%MatrixMarket matrix", {"format": "csv"}, "is not csv, for its first bytes are"),
    (
        "file.npz",
        b"PK\x03\x04garbage",
        {},
        r"holds no sparse matrix of scipy.sparse.save_npz \(.*\): save one, or unpack",
    ),
    ("file.parquet", b"PAR1garbage", {}, r"cannot be read as Parquet \(.*\): write it again"),
    ("file.parquet.gz", gzip.compress(b"PAR1garbage"), {}, "is Parquet inside gzip: unpack it"),
    ("file.mtx", b"%%MatrixMarket junk\n", {}, r"cannot be read as Matrix Market \(.*junk\): correct it or write"),
    ("file.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", {}, "as Matrix Market .*Truncated"),
    ("file.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", {}, "as Matrix Market .*Line 3"),
    (
        "file.mtx",
        b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 nan\n",
        {},
        "value nan of user 1 and item 0",
    ),
    ("file.mtx", b"%%MatrixMarket matrix coordinate complex general\n2 2 1\n2 1 1 1\n", {}, "complex128"),
    (
        "file.csv.gz",
        gzip.compress(b"1,2\n3,4\n" * 1000)[:-20],
        {},
        "is a damaged or truncated gzip file .*: pack it again",
    ),
    ("file.csv.gz", gzip.compress(b"1,2\n3,4\n" * 1000)[:30] + b"\xff" * 20, {}, "is a damaged or truncated gzip file"),
    ("file.dat", b"1 2\n3 \xff4\n", {}, r"line 2: b'3 \\xff4\\n' is not UTF-8 text: save the file as UTF-8"),
    ("file.dat", b" \n\t\n", {}, "is empty"),
]


@pytest.mark.parametrize(("name", "content", "how", "text"), STRANGERS)
def test_a_file_of_another_kind_is_called_what_it_is(tmp_path, name, content, how, text):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=text) as error:
        read(tmp_path / name, **how)
    said(error, DataError, str(tmp_path / name))


def test_every_damaged_byte_of_a_packed_file_is_noticed(tmp_path):
    rng = np.random.default_rng(0)
    whole = gzip.compress("".join(f"{n},{n % 7}\n" for n in range(3000)).encode())
    path = tmp_path / "file.csv.gz"
    for place in rng.choice(np.arange(10, len(whole) - 4), 60, replace=False):  # the header is not checked by gzip
        changed = bytearray(whole)
        changed[place] ^= 0x10
        path.write_bytes(changed)
        with pytest.raises(DataError):
            read(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(DataError, match=rf"there is no file {tmp_path}/none.csv: check the path \(from "):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match=rf"{tmp_path} is a folder: give one file"):
        read(tmp_path)
    (tmp_path / "flat").touch()
    with pytest.raises(DataError, match=r"flat/file cannot be read \(Not a directory\): check the file"):
        read(tmp_path / "flat" / "file")


@pytest.mark.parametrize("matrix", ["savez", "pickle"])
def test_an_archive_of_other_arrays_is_refused_and_nothing_in_it_is_run(tmp_path, matrix):
    path = tmp_path / "file.npz"
    if matrix == "savez":
        np.savez(path, a=np.eye(3))
    else:
        np.savez(path, format=np.array([Trap(str(tmp_path / "run"))], dtype=object))
    with pytest.raises(DataError, match=r"holds no sparse matrix of scipy.sparse.save_npz"):
        read(path)
    assert not (tmp_path / "run").exists()


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_columns_of_parquet_files_are_checked(tmp_path):
    path = tmp_path / "file.parquet"
    parquet.write_table(pa.table({"u": ["a", None], "i": [1, 2], "n": [1.0, float("inf")]}), path)
    with pytest.raises(DataError, match=f"{path}: user .column 'u'. is missing in row 1 .from 0.: drop the row"):
        read(path)
    with pytest.raises(ConfigError, match=f"user='v' is not a column: {path} has the columns 'u', 'i', 'n'"):
        read(path, "v")
    parquet.write_table(pa.table({"u": ["a", "b"], "i": [1, 2], "n": [1.0, float("inf")]}), path)
    with pytest.raises(DataError, match=r"value .column 'n'. is inf in row 1"):
        read(path, value="n")
    parquet.write_table(pa.table({"u": ["a"]}), path)
    with pytest.raises(DataError, match=r"has one column .'u'., and pairs need two"):
        read(path)
    parquet.write_table(pa.table({"u": pa.array([], pa.string()), "i": pa.array([], pa.string())}), path)
    with pytest.raises(DataError, match=f"{path} has no rows: give one pair or more"):
        read(path)


# --- frames: the column and the row --------------------------------------------------------------------------------

WHERE = "the DataFrame: "
FRAMES = [
    (
        pd.DataFrame({"a": np.array(["x", None], object), "b": [1, 2]}, dtype=object),
        {},
        WHERE + "user (column 'a'): user None at place 1 is missing",
    ),
    (
        pd.DataFrame({"a": pd.array(["x", None], "string"), "b": [1, 2]}),
        {},
        WHERE + "user (column 'a') is missing in row 1 (from 0): drop",
    ),
    (pd.DataFrame({"a": [1, None], "b": [1, 2]}), {}, WHERE + "user (column 'a') is missing in row 1"),
    (
        pd.DataFrame({"a": ["x", 1], "b": [1, 2]}),
        {},
        WHERE + "user (column 'a'): users are of mixed types, such as 'x' and 1",
    ),
    (
        pd.DataFrame({"a": ["x", ""], "b": [1, 2]}),
        {},
        WHERE + "user is the empty string in row 1 (from 0): drop the row",
    ),
    (
        pd.DataFrame({"a": [1], "b": [1.5]}),
        {},
        WHERE + "item (column 'b') is of type double (such as 1.5): ids are strings",
    ),
    (
        pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, np.nan]}),
        {"value": "c"},
        WHERE + "value (column 'c') is missing in row 1",
    ),
    (
        pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, np.inf]}),
        {"value": 2},
        WHERE + "value (column 'c') is inf in row 1 (from 0), not a finite number",
    ),
    (
        pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": ["1", "2"]}),
        {"value": 2},
        "(such as '1'): values are numbers, so convert the column first",
    ),
    (
        pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, "2"]}),
        {"value": 2},
        WHERE + "value (column 'c') cannot be read",
    ),
    (
        pd.DataFrame({"a": [1, 1], "b": [1, 1], "c": [1, 2]}),
        {"value": 2},
        WHERE + "user 1 and item 1 come together more than once",
    ),
    (
        pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, -2]}),
        {"value": 2, "duplicates": "sum"},
        WHERE + "-2.0 for user 2 and item 2 is a negative count: drop the row, or give duplicates='mean'",
    ),
    (pd.DataFrame({"a": [], "b": []}), {}, "the DataFrame has no pairs: give one or more"),
    (pd.DataFrame({"a": [1]}), {}, "the DataFrame has one column ('a'), and pairs need two"),
    (pl.DataFrame(), {}, "the DataFrame has no columns, and pairs need two"),
    (pl.DataFrame({"a": ["x", None], "b": [1, 2]}), {}, WHERE + "user (column 'a') is missing in row 1"),
    (
        pl.DataFrame({"a": [[1], [2]], "b": [1, 2]}),
        {},
        WHERE + "user (column 'a') is of type large_list<item: int64> (such as [1])",
    ),
    (
        pl.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1.0, float("nan")]}),
        {"value": "c"},
        WHERE + "value (column 'c') is nan in row 1",
    ),
    (
        pl.DataFrame({"a": [2**63], "b": [1]}, schema={"a": pl.UInt64, "b": pl.Int64}),
        {},
        "user 9223372036854775808 needs more than 63 bits: give such ids as strings",
    ),
    (
        pa.table({"a": pa.DictionaryArray.from_arrays([0, 1], pa.array(["x", None])), "b": [1, 2]}),
        {},
        "the Table: user (column 'a') is missing in row 1",
    ),
    (pa.table({"a": [b"x"], "b": [1]}), {}, "the Table: user (column 'a') is of type binary (such as b'x')"),
    (
        pa.concat_tables([pa.table({"a": ["x"] * 5, "b": [1] * 5}), pa.table({"a": ["x", None], "b": [1, 2]})]),
        {},
        "the Table: user (column 'a') is missing in row 6",
    ),
    (pl.Series(["a"]), {}, "the Series is no table"),
    (
        pl.DataFrame({"a": [1], "b": [1]}).lazy(),
        {},
        "an object of type LazyFrame; call its collect() first: give a path",
    ),
]


@pytest.mark.parametrize(("frame", "how", "text"), FRAMES, ids=[text[-40:] for *_, text in FRAMES])
def test_what_is_wrong_with_a_frame_is_said_with_its_place(frame, how, text):
    with pytest.raises(DataError) as error:
        read(frame, **how)
    said(error, DataError, text)


# --- matrices and plain Python -------------------------------------------------------------------------------------

OBJECTS = [
    ([], {}, DataError, "the list has no pairs: give one or more"),
    (
        [("a",)],
        {},
        DataError,
        "place 0 (from 0) holds ('a',), not (user, item) or (user, item, value): make all places alike",
    ),
    (
        [("a", 1), ("b", 2, 3)],
        {},
        DataError,
        "place 1 (from 0) holds ('b', 2, 3), not (user, item): make all places alike",
    ),
    ([("a", 1), "ab"], {}, DataError, "place 1 (from 0) holds 'ab', not (user, item) or (user, item, value)"),
    (
        [("a", 1, float("nan"))],
        {},
        DataError,
        "value nan at place 0 (from 0) is not a finite number that fits in 32 bits",
    ),
    ([("a", 1, 2), ("a", 2, "x")], {}, DataError, "value 'x' at place 1 (from 0) is not a finite number"),
    ([("a", 1, None)], {}, DataError, "value None at place 0 (from 0) is not a finite number"),
    ([("a", 1, 1e60)], {}, DataError, "value 1e+60 at place 0 (from 0) is not a finite number"),
    ([(1, "x"), ("a", "y")], {}, DataError, "users are of mixed types, such as 'a' and 1"),
    ([("a", 1.5)], {}, DataError, "item 1.5 at place 0 is of type float"),
    ([("a", None)], {}, DataError, "item None at place 0 is missing"),
    ([("", 1)], {}, DataError, "the list: user is the empty string in row 0 (from 0)"),
    ([("a", 1, 1), ("a", 1, 2)], {}, DataError, "the list: user 'a' and item 1 come together more than once"),
    ([("a", 1, -1)], {"duplicates": "sum"}, DataError, "the list: -1.0 for user 'a' and item 1 is a negative count"),
    (
        [("a", 1)],
        {"value": 2},
        ConfigError,
        "value=2 is for tables, and the list has no columns to choose: leave it out",
    ),
    ([("a", 1)], {"header": True}, ConfigError, "header=True is for files, and list is none: leave it out"),
    (np.eye(2), {"user": "a"}, ConfigError, "user='a' is for tables, and the ndarray has no columns to choose"),
    (
        np.eye(2),
        {"duplicates": "mean"},
        ConfigError,
        "duplicates='mean' is for pairs, and the cells of a matrix (the ndarray) are added",
    ),
    (np.array([[1, np.nan]]), {}, DataError, "value nan of user 0 and item 1 is not a finite number"),
    (sparse.csr_array(np.array([[1, np.inf]])), {}, DataError, "value inf of user 0 and item 1 is not a finite number"),
    (np.zeros((2, 2, 2)), {}, DataError, "a matrix has two dimensions, not the shape (2, 2, 2)"),
    (
        {"a": [1]},
        {},
        DataError,
        "pairs cannot be read from an object of type dict: give a path, a data frame, a matrix",
    ),
    (b"file.csv", {}, DataError, "pairs cannot be read from an object of type bytes"),
    (5, {}, DataError, "pairs cannot be read from an object of type int"),
    (None, {}, DataError, "pairs cannot be read from an object of type NoneType"),
]


@pytest.mark.parametrize(("source", "how", "kind", "text"), OBJECTS, ids=[text[-40:] for *_, text in OBJECTS])
def test_what_is_wrong_with_an_object_is_said(source, how, kind, text):
    with pytest.raises(kind, match=re.escape(text)) as error:
        read(source, **how)
    said(error, kind)
