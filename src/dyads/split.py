"""Cuts of the data into a part to learn from and a part to be judged by; ids keep their numbers in both.

| cut | held out | good for |
|---|---|---|
| `leave_one_out` | one pair of every user with two or more | rankings |
| `fraction` | a share of all pairs | ratings; rankings |
| `cells` | cells of the matrix, ones and zeros alike, hidden from the model | calibration of probabilities |

A held-out pair of the first two is a zero to a model for which zeros are data, so that its probabilities must come out
too low there; only `cells` measures them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dyads.border import as_pairs
from dyads.errors import ConfigError, DataError
from dyads.pairs import F32, I64, Pairs, csr
from dyads.parameters import is_whole, seed_field, seed_of

__all__ = ["cells", "fraction", "leave_one_out", "prepare"]

MOST_CELLS = 1_000_000
FEWEST_CELLS = 100


def leave_one_out(pairs: Any, random_state: Any = None) -> tuple[Pairs, Pairs]:
    """(train, test): one pair, drawn evenly, of every user that has at least two."""
    pairs = as_pairs(pairs)
    counts = pairs.by_user.counts()
    several = np.flatnonzero(counts >= 2)
    if not several.size:
        raise DataError("no user has two pairs, so none can be left out: give more pairs per user, or split.fraction")
    drawn = draws(random_state).integers(counts[several])
    return _parted(pairs, pairs.by_user.ptr[several] + drawn)


def fraction(pairs: Any, share: float = 0.1, random_state: Any = None) -> tuple[Pairs, Pairs]:
    """(train, test): this share of all pairs, drawn evenly, wherever they stand."""
    pairs = as_pairs(pairs)
    n_test = round(share * pairs.n_pairs) if isinstance(share, (int, float, np.floating)) and 0 < share < 1 else 0
    if not 0 < n_test < pairs.n_pairs:
        raise ConfigError(
            f"share={share!r} of {pairs.n_pairs} pairs leaves one part empty: give a number between 0 and 1 that "
            "leaves at least one pair in each"
        )
    return _parted(pairs, draws(random_state).choice(pairs.n_pairs, n_test, replace=False, shuffle=False))


def cells(pairs: Any, n_cells: int | None = None, random_state: Any = None) -> tuple[Pairs, Pairs]:
    """(train, test): cells of the matrix drawn evenly, zeros and ones alike.

    They are hidden in `train` (data for no model), and all of them, zeros stored, are the pairs of `test`. By default
    a hundredth of the matrix, at most 10⁶ cells.
    """
    pairs = as_pairs(pairs)
    n_users, n_items = pairs.shape
    already = np.empty(0, dtype=np.int64) if pairs.hidden is None else pairs.hidden.keys(n_items)
    free = n_users * n_items - already.size
    wanted = min(max(free // 100, FEWEST_CELLS), MOST_CELLS, free // 2) if n_cells is None else n_cells
    if free < 2:
        raise DataError(
            f"cells of a matrix of shape {pairs.shape} cannot be hidden, for {free} are free: give more data"
        )
    if not is_whole(wanted) or not 0 < wanted < free:
        raise ConfigError(
            f"n_cells={n_cells!r} cells of a matrix that has {free} cannot be hidden: give 1 to {free - 1}"
        )
    keys = _free_cells(np.sort(draws(random_state).choice(free, wanted, replace=False, shuffle=False)), already)
    rows, columns = np.divmod(keys, n_items)
    test = csr(rows, columns, _looked_up(pairs, keys), n_users, n_items)
    hidden = csr(*np.divmod(np.union1d(keys, already), n_items), None, n_users, n_items)
    held = hidden.contains(pairs.rows(), pairs.columns().astype(np.int64), n_items)
    return pairs.select(~held).with_hidden(hidden), Pairs(pairs.users, pairs.items, test)


def prepare(
    pairs: Any, n_items: int = 1000, min_pairs: int = 10, n_users: int | None = None, random_state: Any = None
) -> Pairs:
    """The data as Hernández-Lobato et al. (2014, section 4) prepare theirs.

    The `n_items` items with most ones are kept (ties by item order), then the users with at least `min_pairs` ones
    among them, then `n_users` of these drawn evenly (None: all). The paper has 2000 users in its small sets, in the
    large ones 40 000, or 10 000 (retail) and 5000 (WebView), which it calls nearly all; a count of the public files
    gives 16 393 and 6354. Users and items keep their order and ids.
    """
    pairs = as_pairs(pairs)
    for name, given in (("n_items", n_items), ("min_pairs", min_pairs)):
        if not is_whole(given) or given < 1:
            raise ConfigError(f"{name}={given!r} cannot be: give a whole number of at least 1")
    if pairs.hidden is not None:
        raise DataError(f"{pairs.hidden.nnz} cells of these pairs are hidden: prepare first, then split")
    ones = pairs.select(pairs.values() != 0) if pairs.by_user.val is not None else pairs
    counts = np.bincount(ones.columns(), minlength=len(pairs.items))
    columns = np.sort(np.argsort(-counts, kind="stable")[:n_items])
    kept = np.zeros(len(pairs.items), dtype=bool)
    kept[columns] = True
    ones = ones.select(kept[ones.columns()])
    rows = np.flatnonzero(ones.by_user.counts() >= min_pairs)
    if not rows.size:
        raise DataError(f"no user has {min_pairs} ones among the {len(columns)} items: lower min_pairs")
    if n_users is not None:
        if not is_whole(n_users) or not 0 < n_users <= rows.size:
            raise ConfigError(
                f"n_users={n_users!r} cannot be drawn from the {rows.size} users that have {min_pairs} ones: give 1 to "
                f"{rows.size}, or None for all"
            )
        rows = np.sort(draws(random_state).choice(rows, n_users, replace=False))
    number = np.cumsum(kept) - 1
    block = ones.by_user.take(rows)
    renumbered = block._replace(idx=number[block.idx].astype(np.int32))
    return Pairs(pairs.users.take(rows), pairs.items.take(columns), renumbered)


def draws(random_state: Any) -> np.random.Generator:
    """NumPy's generator behind a `random_state`: None (fresh), a whole number, a Generator or a RandomState."""
    wanted = seed_field().metadata["check"](random_state)
    if wanted is not None:
        raise ConfigError(f"random_state={random_state!r} cannot be: give {wanted}")
    return np.random.default_rng(seed_of(random_state))


def _parted(pairs: Pairs, held: I64) -> tuple[Pairs, Pairs]:
    keep = np.ones(pairs.n_pairs, dtype=bool)
    keep[held] = False
    return pairs.select(keep), pairs.select(~keep).with_hidden(None)


def _free_cells(numbers: I64, taken: I64) -> I64:
    """Cell number n among those that are not taken, for ascending n; `taken` ascends."""
    # taken[k] − k free cells stand before the k-th taken one, so that a free cell n has moved by all k with that ≤ n
    return numbers + np.searchsorted(taken - np.arange(taken.size), numbers, side="right")


def _looked_up(pairs: Pairs, keys: I64) -> F32:
    """The value of each cell, 0 where there is no pair."""
    mine = pairs.by_user.keys(len(pairs.items))
    at = np.searchsorted(mine, keys)
    found = at < mine.size
    found[found] = mine[at[found]] == keys[found]
    values = np.zeros(keys.size, dtype=np.float32)
    values[found] = pairs.by_user.values()[at[found]]
    return values
