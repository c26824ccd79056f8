"""Pairs and triples of plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dyads.errors import DataError
from dyads.pairs import F32
from dyads.sources.columns import Numbered
from dyads.vocabulary import Vocabulary


def triples(source: Iterable[Any]) -> Numbered:
    """(user, item) or (user, item, value), all of one length."""
    rows = list(source)
    sizes = {_size(row) for row in rows}
    if sizes - {2, 3} or len(sizes) > 1:
        wanted = _size(rows[0]) if _size(rows[0]) in (2, 3) else 2
        place = next(place for place, row in enumerate(rows) if _size(row) != wanted)
        shape = "(user, item)" if wanted == 2 else "(user, item, value)"
        if place == 0 or _size(rows[place]) not in (2, 3):
            shape = "(user, item) or (user, item, value)"
        raise DataError(f"place {place} (from 0) holds {_short(rows[place])}, not {shape}: make all places alike")
    columns = list(zip(*rows, strict=True)) if rows else [(), ()]
    users, numbers = Vocabulary.factorize(columns[0], "user")
    items, others = Vocabulary.factorize(columns[1], "item")
    values = _values(columns[2]) if len(columns) == 3 else None
    return Numbered(users, items, numbers.astype(np.int32), others.astype(np.int32), values)


def _size(row: Any) -> int:
    return len(row) if isinstance(row, (tuple, list, np.ndarray)) else 0


def _short(row: Any) -> str:
    text = repr(row)
    return text if len(text) <= 80 else text[:80] + "…"


def _values(column: tuple[Any, ...]) -> F32:
    """The values in 32 bits; a DataError that names the first that is no finite number."""
    try:
        values = np.array(column, dtype=np.float64)
        if values.ndim == 1 and not any(isinstance(value, (str, bytes)) for value in column):
            with np.errstate(over="ignore"):
                short = values.astype(np.float32)
            if np.isfinite(short).all():
                return short
    except (TypeError, ValueError, OverflowError):
        pass
    place = next(place for place, value in enumerate(column) if not _is_number(value))
    raise DataError(
        f"value {column[place]!r} at place {place} (from 0) is not a finite number that fits in 32 bits: drop or "
        "replace it"
    )


def _is_number(value: Any) -> bool:
    try:
        with np.errstate(over="ignore"):
            return not isinstance(value, (str, bytes)) and bool(np.isfinite(np.float32(float(value))))
    except (TypeError, ValueError, OverflowError):
        return False
