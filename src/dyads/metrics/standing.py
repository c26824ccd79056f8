"""Where held-out items stand among the candidates of their user: counted, never sorted.

A user's candidates are all items but those it has in training. Every ranking metric follows from the counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyads.errors import DataError
from dyads.kernels.ranking import blocks
from dyads.pairs import F64, I64, Csr


class Standing(NamedTuple):
    """Counts for the held-out items of n users; the items of user number u stand at ptr[u]:ptr[u + 1]."""

    users: I64  # (n,) rows that have held-out items; the others are left out
    ptr: I64  # (n + 1,)
    above: I64  # per held-out item: other candidates that score higher
    equal: I64  # other candidates that score the same
    before: I64  # of these, the ones that come first in item order
    above_held: I64  # held-out ones among `above`
    equal_held: I64  # held-out ones among `equal`
    candidates: I64  # (n,)

    def held(self) -> I64:
        """How many held-out items each user has."""
        return np.diff(self.ptr)

    def place(self) -> I64:
        """The place, from 0, in the user's list; ties by item order, as lists are made."""
        return self.above + self.before

    def mean_place(self) -> F64:
        """The place, from 0, averaged over all orders of the ties."""
        return self.above + 0.5 * self.equal

    def per_user(self, values: F64) -> F64:
        """Sums over the held-out items of each user."""
        return np.add.reduceat(values, self.ptr[:-1]) if len(self.users) else np.empty(0)


def stand(score: Callable[[I64], F64], held: Csr, seen: Csr, n_items: int) -> Standing:
    """The standing of every held-out item; `score(users)` gives rows of scores over all items, fresh arrays."""
    users = np.flatnonzero(held.counts())
    held = held.take(users)
    rows, own = held.rows(), np.empty(held.nnz)
    above, equal, before = (np.empty(held.nnz, dtype=np.int64) for _ in range(3))
    for block in blocks(len(users), n_items):
        values = score(users[block])
        part = slice(int(held.ptr[block.start]), int(held.ptr[block.stop]))
        inside, items = rows[part] - block.start, held.idx[part]
        own[part] = values[inside, items]
        shut = seen.take(users[block])
        values[shut.rows(), shut.idx] = -np.inf
        _check(values, own[part])
        above[part], equal[part], before[part] = _counts(values, inside, items.astype(np.int64), own[part])
    above_held, equal_held = _among(rows, own)
    candidates = n_items - seen.counts()[users]
    return Standing(users, held.ptr, above, equal, before, above_held, equal_held, candidates)


def _check(values: F64, own: F64) -> None:
    if not np.isfinite(own).all() or np.isnan(values).any():
        raise DataError(
            "the model's scores hold a value that is not a number: fit it again with a smaller step or range"
        )


def _counts(values: F64, rows: I64, items: I64, own: F64) -> tuple[I64, I64, I64]:
    """Per held-out item: candidates above, others equal, and of these the ones before it."""
    above, equal, before = (np.empty(len(rows), dtype=np.int64) for _ in range(3))
    columns = np.arange(values.shape[1])
    for part in blocks(len(rows), values.shape[1]):
        here, mine = values[rows[part]], own[part, None]
        same = here == mine
        above[part] = np.count_nonzero(here > mine, axis=1)
        equal[part] = np.count_nonzero(same, axis=1) - 1
        before[part] = np.count_nonzero(same & (columns < items[part, None]), axis=1)
    return above, equal, before


def _among(rows: I64, own: F64) -> tuple[I64, I64]:
    """Per held-out item: held-out items of the same user that score higher, and others that score the same."""
    order = np.lexsort((-own, rows))
    new_row = np.diff(rows[order], prepend=-1) != 0
    new_tie = new_row | (np.diff(own[order], prepend=np.nan) != 0)
    places = np.arange(len(order))
    first_of_row = np.maximum.accumulate(np.where(new_row, places, 0))
    first_of_tie = np.maximum.accumulate(np.where(new_tie, places, 0))
    many = np.diff(np.flatnonzero(np.append(new_tie, True)))
    above, equal = np.empty(len(order), dtype=np.int64), np.empty(len(order), dtype=np.int64)
    above[order] = first_of_tie - first_of_row
    equal[order] = np.repeat(many, many) - 1
    return above, equal
