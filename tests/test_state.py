from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from dyads.engines.local import Local
from dyads.pairs import Pairs
from dyads.state import Bare, State, arrays_equal, bare


class Rows(NamedTuple):
    x: np.ndarray
    y: np.ndarray | None = None


class Others(NamedTuple):
    x: np.ndarray
    y: np.ndarray | None = None


ROWS = Rows(np.arange(4.0), np.ones((4, 2)))


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (ROWS, Rows(np.arange(4.0), np.ones((4, 2))), True),
        (ROWS, Rows(np.arange(4.0), np.ones((4, 3))), False),
        (ROWS, Rows(np.nextafter(np.arange(4.0), 9.0), np.ones((4, 2))), False),
        (ROWS, Others(np.arange(4.0), np.ones((4, 2))), False),
        (ROWS, Rows(np.arange(4.0)), False),
        (Rows(np.arange(2.0)), Rows(np.arange(2.0)), True),
        ((ROWS, 3), (ROWS, 3), True),
        ((ROWS, 3), (ROWS, 4), False),
        (None, None, True),
        (None, 0.0, False),
    ],
)
def test_trees_are_equal_when_their_bits_are(a, b, equal):
    assert arrays_equal(a, b) is equal
    assert arrays_equal(b, a) is equal


def test_a_state_comes_back_from_its_engine_as_it_was_placed():
    pairs, engine = Pairs.from_matrix(np.eye(4)), Local(1)
    user, item = engine.place("user", ROWS, pairs.by_user), engine.place("item", ROWS, pairs.by_item)
    assert (user.n_rows, user.n_entries, item.n_rows) == (4, 4, 4)
    assert arrays_equal(bare(State(user, item, Rows(np.zeros(1)), 7), engine), Bare(ROWS, ROWS, Rows(np.zeros(1)), 7))
