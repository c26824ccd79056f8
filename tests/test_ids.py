from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyads import ids as module
from dyads.errors import DataError
from dyads.ids import typed
from dyads.strings import Strings

WORDS = st.lists(st.text(max_size=8), min_size=1, max_size=20)
NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20)


def plain(content):
    return content.decode(np.arange(content.size)) if isinstance(content, Strings) else content.tolist()


ARROWS = (
    lambda words: pa.array(words, pa.string()),
    lambda words: pa.array(words, pa.large_string()),
    lambda words: pa.array(words, pa.string_view()),
    lambda words: pa.array(words).dictionary_encode(),
    lambda words: pa.DictionaryArray.from_arrays(range(len(words)), pa.array(words, pa.string_view())),
    lambda words: pa.chunked_array([pa.array(words[:1]), pa.array(words[1:], pa.string())]),
    lambda words: pa.array(["zz", *words, "é"]).slice(1, len(words)),
)


@given(WORDS, st.sampled_from([list, tuple, iter, lambda w: np.array(w, dtype=object), *ARROWS]))
def test_strings_of_any_container_are_strings(words, container):
    content = typed(container(words), "user")
    assert isinstance(content, Strings)
    assert plain(content) == words


@given(WORDS)
def test_strings_of_numpy_pandas_and_polars_are_strings(words):
    words = [word.rstrip("\0") for word in words]  # NumPy cuts these off
    for container in (np.array(words), pd.Series(words), pl.Series(words), pd.Series(words, dtype="category")):
        assert plain(typed(container, "user")) == words
    assert plain(typed([word.encode() for word in words], "user")) == words
    assert plain(typed(np.array([word.encode() for word in words]), "user")) == words


@given(NUMBERS, st.sampled_from([list, tuple, np.array, pa.array, pd.Series, pl.Series, lambda n: np.array(n, object)]))
def test_whole_numbers_of_any_container_are_int64(numbers, container):
    content = typed(container(numbers), "user")
    assert content.dtype == np.int64
    assert content.tolist() == numbers


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"])
def test_whole_numbers_of_any_width_are_int64(dtype):
    assert typed(np.array([3, 1, 2]).astype(dtype), "user").tolist() == [3, 1, 2]
    assert typed(np.array([3, 1, 2]).astype(dtype).tolist(), "user").dtype == np.int64


def test_nothing_is_no_numbers():
    for empty in ([], np.array([]), np.array([], object), pa.array([]), pa.array([], pa.string())):
        assert typed(empty, "user").size == 0


REFUSED = [
    ("ann", r"'ann' is one user, not several: give a list"),
    (7, r"7 is one user, not several"),
    (np.array([["a"]]), r"users come in one dimension, not as an array of shape \(1, 1\)"),
    ([1, "a"], r"users are of mixed types, such as 'a' and 1: make all of them strings or all numbers"),
    (np.array(["a", 2], object), r"mixed types, such as 'a' and 2"),
    ([1, True], r"user True at place 1 is of type bool: ids are strings or whole numbers"),
    ([1, 2.0], r"user 2.0 at place 1 is of type float"),
    (["a", None], r"user None at place 1 is missing: .*drop or convert"),
    (["a", float("nan")], r"user nan at place 1 is missing"),
    (np.array(["a", np.nan], object), r"user nan at place 1 is missing"),
    (np.array([1.5, 2]), r"user 1.5 is of type float64: .*convert the users first"),
    (np.array([True]), r"user True is of type bool"),
    (np.array(["2020-01-01"], "M8[D]"), r"is of type datetime64"),
    ([2**63], r"user 9223372036854775808 needs more than 64 bits: give such ids as strings"),
    ([-(2**63) - 1, 0], r"user -9223372036854775809 needs more than 64 bits"),
    (np.array([2**63], np.uint64), r"user 9223372036854775808 needs more than 63 bits"),
    (["a", "\ud800"], r"user '\\ud800' at place 1 is not UTF-8 text: re-encode it"),
    ([b"a", b"\xff"], r"user b'\\xff' at place 1 is not UTF-8 text"),
    (pa.array(["a", None]), r"user at place 1 is missing \(null\): drop or fill it"),
    (pa.array([None, 3]), r"user at place 0 is missing \(null\)"),
    (pa.array([1.5]), r"user 1.5 is of type double: .*convert the users first"),
    (pd.Series(["a", None], dtype=object), r"user None at place 1 is missing"),
    ([("a",)], r"user \('a',\) at place 0 is of type tuple"),
]


@pytest.mark.parametrize(("ids", "said"), REFUSED)
def test_what_is_no_list_of_ids_is_named(ids, said):
    with pytest.raises(DataError, match=said) as error:
        typed(ids, "user")
    assert "\n" not in str(error.value)


def test_the_place_of_a_culprit_counts_from_the_start_of_a_long_list(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 4)
    for make in (list, lambda ids: np.array(ids, object)):
        with pytest.raises(DataError, match="user None at place 9 is missing"):
            typed(make([*"abcdefghi", None, "k"]), "user")
        with pytest.raises(DataError, match="mixed types, such as 'a' and 1"):
            typed(make([*"aaaa", 1]), "user")
        assert plain(typed(make([*"abcdefghi"]), "user")) == [*"abcdefghi"]
