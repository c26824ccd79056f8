"""The trace of a fit as columns, one row per record, as files keep it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dyads.errors import DataError
from dyads.pairs import F64, I64
from dyads.state import Objective, Record

Flags = npt.NDArray[np.bool_]


class Columns(NamedTuple):
    """Records as arrays; what a record does not hold is not `given`."""

    counts: I64  # (n, 4) chain, tick, done, ticks
    seconds: F64  # (n,)
    objective: F64  # (n, 2) value, standard error
    objective_given: Flags  # (n,)
    names: tuple[str, ...]  # of the numbers in info
    info: F64  # (n, names)
    info_given: Flags  # (n, names)


def pack(records: Sequence[Record]) -> Columns:
    """Records as columns."""
    names = tuple(dict.fromkeys(name for record in records for name in record.info))
    shape = (len(records), len(names))
    return Columns(
        np.array([record[:4] for record in records], dtype=np.int64).reshape(-1, 4),
        np.array([record.seconds for record in records], dtype=np.float64),
        np.array([record.objective or (0.0, 0.0) for record in records], dtype=np.float64).reshape(-1, 2),
        np.array([record.objective is not None for record in records], dtype=bool),
        names,
        np.array([[r.info.get(name, 0.0) for name in names] for r in records], dtype=np.float64).reshape(shape),
        np.array([[name in r.info for name in names] for r in records], dtype=bool).reshape(shape),
    )


def unpack(columns: Columns) -> tuple[Record, ...]:
    """The records of `pack`; a DataError for columns that are not of one length."""
    n, m = len(columns.seconds), len(columns.names)
    due = ((n, 4), (n,), (n, 2), (n,), (n, m), (n, m))
    arrays = [array for array in columns if isinstance(array, np.ndarray)]
    if tuple(array.shape for array in arrays) != due:
        raise DataError(f"the columns of the trace are of shapes {[array.shape for array in arrays]}")
    parts = (part.tolist() for part in (columns.counts, columns.seconds, columns.objective, columns.objective_given))
    infos = (
        {name: value for name, value, given in zip(columns.names, *row, strict=True) if given}
        for row in zip(columns.info.tolist(), columns.info_given.tolist(), strict=True)
    )
    return tuple(
        Record(chain, tick, done, ticks, seconds, Objective(*objective) if given else None, info)
        for (chain, tick, done, ticks), seconds, objective, given, info in zip(*parts, infos, strict=True)
    )
