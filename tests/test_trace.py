from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyads.errors import DataError
from dyads.state import Objective, Record
from dyads.trace import Columns, pack, unpack

FLOATS = st.floats(allow_nan=False)
WHOLE = st.integers(0, 2**62)
RECORDS = st.lists(
    st.builds(
        Record,
        chain=WHOLE,
        tick=WHOLE,
        done=WHOLE,
        ticks=WHOLE,
        seconds=FLOATS,
        objective=st.none() | st.builds(Objective, FLOATS, FLOATS),
        info=st.dictionaries(st.sampled_from(["rmse", "offset", "größe"]), FLOATS),
    ),
    max_size=6,
)


@given(RECORDS)
def test_records_come_back_from_their_columns(records):
    assert unpack(pack(records)) == tuple(records)


def test_what_is_no_number_comes_back_too():
    record = Record(0, 1, 1, 2, 0.5, Objective(math.nan, math.inf), {"rmse": math.nan})
    (found,) = unpack(pack([record]))
    assert math.isnan(found.objective.value) and found.objective.std_error == math.inf
    assert math.isnan(found.info["rmse"])


def test_columns_are_as_long_as_there_are_records():
    records = [Record(0, t, t, 9, 0.0, None, {"a": 1.0} if t else {"b": 2.0}) for t in range(3)]
    columns = pack(records)
    assert columns.names == ("b", "a")
    assert columns.counts.tolist() == [[0, 0, 0, 9], [0, 1, 1, 9], [0, 2, 2, 9]]
    assert columns.info_given.tolist() == [[True, False], [False, True], [False, True]]
    assert pack([]).counts.shape == (0, 4)


@pytest.mark.parametrize("name", [name for name in Columns._fields if name != "names"])
def test_columns_of_another_length_are_refused(name):
    columns = pack([Record(0, t, t, 9, 0.0, None, {"a": 1.0}) for t in range(3)])
    with pytest.raises(DataError, match=r"the columns of the trace are of shapes"):
        unpack(columns._replace(**{name: getattr(columns, name)[:-1]}))
    with pytest.raises(DataError, match=r"the columns of the trace are of shapes"):
        unpack(columns._replace(names=("a", "b")))
    assert isinstance(getattr(columns, name), np.ndarray)
