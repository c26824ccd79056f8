"""Where outside data and ids come in: checked once, turned into rows and numbers, trusted from there on."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from dyads.errors import ConfigError, DataError
from dyads.pairs import I64, Csr, Pairs, csr
from dyads.parameters import is_whole
from dyads.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dyads.model import Model


MOST_PADDED = 1_000_000  # answers for one row, where fewer can be given


class UnknownIdWarning(UserWarning):
    """Ids of a history that the model does not know were left out."""


def training(model: Model, X: Any) -> Pairs:
    """The pairs to fit on, with values that the method takes."""
    pairs = as_pairs(X)
    rows, columns = pairs.shape
    if rows == 0 or columns == 0:
        what = "sample(s)" if rows == 0 else "feature(s)"
        raise DataError(f"the data hold 0 {what} (shape=({rows}, {columns})) while a minimum of 1 is required.")
    pairs = Pairs(pairs.users, pairs.items, as_taken(model, pairs.by_user, pairs), pairs.hidden)
    if pairs.hidden is not None:
        shown = ~pairs.hidden.contains(pairs.rows(), pairs.columns().astype(np.int64), columns)
        pairs = pairs if shown.all() else pairs.select(shown)
    if pairs.n_pairs == 0:
        raise DataError(
            f"the data hold no pairs (shape=({rows}, {columns})): {type(model).__name__} needs at least one"
        )
    return pairs


def as_pairs(X: Any) -> Pairs:
    """Pairs as they are, or those of a matrix."""
    refuse_frame(X)
    return X if isinstance(X, Pairs) else Pairs.from_matrix(X)


def refuse_frame(X: Any) -> None:
    """A DataError for a data frame: long or wide cannot be told from its looks."""
    if not isinstance(X, (Pairs, np.ndarray)) and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "iloc")):
        raise DataError(
            f"a {type(X).__name__} may hold one pair per row or one user per row: "
            "give dyads.read(frame, user=..., item=...), or a matrix such as frame.to_numpy()"
        )


def as_taken(model: Model, block: Csr, pairs: Pairs | None = None) -> Csr:
    """The rows with the values that the method takes; other values are a DataError that names the first."""
    if model.data in ("ratings", "matrix") or block.val is None:
        return block
    threshold = getattr(model, "binarize", None)
    if threshold is not None:
        return block.select(block.val > threshold)._replace(val=None)
    block = block.select(block.val != 0) if (block.val == 0).any() else block
    val = block.values()
    bad = val != 1 if model.data == "binary" else (val < 0) | (val != np.floor(val))
    if bad.any():
        raise _untaken(model, block, int(np.argmax(bad)), pairs)
    return block._replace(val=None if (val == 1).all() else val)


def _untaken(model: Model, block: Csr, at: int, pairs: Pairs | None) -> DataError:
    row, column = int(np.searchsorted(block.ptr, at, side="right") - 1), int(block.idx[at])
    place = f"row {row}, column {column}"
    if pairs is not None:
        place = f"user {pairs.users.ids([row]).tolist()[0]!r}, item {pairs.items.ids([column]).tolist()[0]!r}"
    kind, cure = ("ones", "0.") if model.data == "binary" else ("whole counts", "0.")
    return DataError(
        f"value {float(block.values()[at])!r} ({place}) is not what {type(model).__name__} takes, which is {kind}: "
        f"give binarize={cure} to read every value above 0 as a one, or another threshold"
    )


# --- rows of the other kind: histories that came with a question -------------------------------------------------


def histories(model: Model, given: Any, asked: list[Any] | None, side: str = "user") -> Csr:
    """One row for each asked user (or item) from a matrix, Pairs or a mapping; `None` asked: every row given.

    A matrix holds one row per asked id, in their order; Pairs and mappings are looked up by id, and an id that is not
    in them has an empty row.
    """
    refuse_frame(given)
    other = model.items_ if side == "user" else model.users_
    if isinstance(given, Pairs):
        block = _from_pairs(given, other, asked, side)
    elif isinstance(given, Mapping) and not sparse.issparse(given):  # scipy's DOK is a dict
        block = _from_mapping(given, other, list(given) if asked is None else asked, side)
    else:
        block = _from_matrix(model, given, len(other), None if asked is None else len(asked), side)
    return as_taken(model, block)


def _other(side: str) -> str:
    return "item" if side == "user" else "user"


def _from_pairs(pairs: Pairs, other: Vocabulary, asked: list[Any] | None, side: str) -> Csr:
    block, own, theirs = (
        (pairs.by_user, pairs.users, pairs.items) if side == "user" else (pairs.by_item, pairs.items, pairs.users)
    )
    if asked is not None:
        numbers = np.array([own.number(one, side) if one in own else -1 for one in asked], dtype=np.int64)
        block = block.grown(block.n_rows + 1).take(np.where(numbers < 0, block.n_rows, numbers))
    if theirs is other or theirs == other:
        return block
    names = theirs.ids(block.idx)
    return _known(block.rows(), names, block.values(), other, block.n_rows, side)


def _from_mapping(given: Mapping[Any, Any], other: Vocabulary, asked: list[Any], side: str) -> Csr:
    rows: list[int] = []
    names: list[Any] = []
    values: list[float] = []
    for row, one in enumerate(asked):
        history = given.get(one, ())
        if isinstance(history, (str, bytes)) or not hasattr(history, "__iter__"):
            raise DataError(
                f"the history {history!r} of {side} {one!r} is no list of {_other(side)}s: put it in a list"
            )
        for entry in history.items() if isinstance(history, Mapping) else history:
            name, value = _entry(entry, one, side)
            rows.append(row)
            names.append(name)
            values.append(value)
    return _known(np.array(rows, dtype=np.int64), names, np.array(values), other, len(asked), side)


def _entry(entry: Any, one: Any, side: str) -> tuple[Any, float]:
    """An id of a history and its value, which is one where only the id stands there."""
    if not isinstance(entry, tuple):
        return entry, 1.0
    other = _other(side)
    if len(entry) != 2:
        raise DataError(f"{entry!r} of {side} {one!r} is no {other}: give an id or (id, value)")
    name, value = entry
    if not isinstance(value, (int, float, np.number, np.bool_)):
        raise DataError(
            f"value {value!r} of {other} {name!r} is no number: give a whole or decimal number, or leave it out"
        )
    return name, float(value)


def _known(rows: Any, names: Any, values: Any, other: Vocabulary, n_rows: int, side: str) -> Csr:
    """Rows over the model's ids; ids that it does not know are left out, with a warning that names one."""
    if len(names) == 0:
        return Csr(np.zeros(n_rows + 1, dtype=np.int64), np.empty(0, dtype=np.int32), None)
    numbers = other.numbers(names, missing="negative", side=_other(side))
    unknown = np.flatnonzero(numbers < 0)
    if unknown.size:
        warnings.warn(
            f"{unknown.size} of {numbers.size} {_other(side)}s of the given histories, such as "
            f"{names[int(unknown[0])]!r}, are not known to the model and were left out",
            UnknownIdWarning,
            stacklevel=_outside(),
        )
    if not np.isfinite(values).all():
        bad = int(np.argmax(~np.isfinite(values)))
        raise DataError(
            f"value {float(values[bad])!r} of {_other(side)} {names[bad]!r} is not a finite number: replace it"
        )
    keep = numbers >= 0
    block = csr(rows[keep], numbers[keep], np.asarray(values)[keep], n_rows, len(other), "mean")
    return block._replace(val=None) if (block.values() == 1).all() else block


def _outside() -> int:
    """How many frames above the caller of this function whoever asked the library stands, as `stacklevel` counts."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "dyads":
        frame, level = frame.f_back, level + 1
    return level


def _from_matrix(model: Model, given: Any, width: int, n_asked: int | None, side: str) -> Csr:
    if not sparse.issparse(given) and not hasattr(given, "__array__") and not isinstance(given, (list, tuple)):
        raise DataError(
            f"an object of type {type(given).__name__} is no history: give a matrix, Pairs, or a mapping from ids to "
            "lists"
        )
    rows = Pairs.from_matrix(given)
    n, columns = rows.shape
    if columns != width:
        raise DataError(
            f"X has {columns} features, but {type(model).__name__} is expecting {width} features as input, "
            f"one for each {_other(side)} it was fitted on"
        )
    if n == 0:
        raise DataError(f"the data hold 0 sample(s) (shape=(0, {columns})) while a minimum of 1 is required.")
    if n_asked is not None and n != n_asked:
        raise DataError(
            f"the matrix has {n} rows for {n_asked} asked {side}s: give one row per asked {side}, in their order "
            f"(such as matrix[{side}_numbers]), or Pairs, which are looked up by id"
        )
    return rows.by_user


# --- ids -----------------------------------------------------------------------------------------------------------


def is_one(ids: Any) -> bool:
    """Whether this is a single id rather than several."""
    return isinstance(ids, (str, bytes, int, np.integer)) or (isinstance(ids, np.ndarray) and ids.ndim == 0)


def as_list(ids: Any, side: str) -> list[Any]:
    """The asked ids as a list."""
    if is_one(ids):
        return [ids.item() if isinstance(ids, np.generic | np.ndarray) else ids]
    if not hasattr(ids, "__iter__"):
        raise DataError(f"{side} {ids!r} is no id: give a string, a whole number, or a list of them")
    return list(ids.tolist() if hasattr(ids, "tolist") else ids)


def pair_numbers(model: Model, pairs: Any) -> tuple[I64, I64]:
    """Row and column numbers of pairs by id: Pairs, a list of (user, item), or an array of two columns."""
    if isinstance(pairs, Pairs):
        users = _numbers(model.users_, pairs.users, pairs.rows(), "user")
        items = _numbers(model.items_, pairs.items, pairs.columns().astype(np.int64), "item")
        return users, items
    refuse_frame(pairs)
    flat = isinstance(pairs, np.ndarray) and pairs.ndim == 0
    if flat or not hasattr(pairs, "__iter__") or isinstance(pairs, (str, bytes)) or sparse.issparse(pairs):
        told = f"a {type(pairs).__name__}" if sparse.issparse(pairs) else repr(pairs)
        raise DataError(f"{told} is no list of pairs: give a list of (user, item), an array of two columns, or Pairs")
    listed = pairs.tolist() if hasattr(pairs, "tolist") else list(pairs)
    for place, pair in enumerate(listed):
        if isinstance(pair, (str, bytes)) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise DataError(f"pair {pair!r} at place {place} is not (user, item): give two ids each")
    if not listed:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    users = model.users_.numbers([pair[0] for pair in listed], side="user")
    return users, model.items_.numbers([pair[1] for pair in listed], side="item")


def _numbers(own: Vocabulary, theirs: Vocabulary, used: I64, side: str) -> I64:
    """The model's numbers of the used ids of another vocabulary."""
    if theirs is own or theirs == own:
        return used
    found = own.numbers(theirs.ids(), missing="negative", side=side)[used]
    if (found < 0).any():
        own.numbers(theirs.ids(used[found < 0]), side=side)  # raises the error that names the first
    return found


def check_n(N: Any, there: int) -> int:
    """The number of answers asked for, of so many that there are."""
    if not is_whole(N) or N < 1:
        raise ConfigError(f"N={N!r} is no number of answers: give a whole number of at least 1")
    if max(there, MOST_PADDED) < N:
        raise ConfigError(f"N={N!r} asks for more than the {there} that there are: give at most {there}")
    return int(N)
