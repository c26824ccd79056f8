"""Columns of data frames, of Arrow tables and streams, and of Parquet files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dyads.errors import DataError
from dyads.pairs import I32
from dyads.sources.columns import IdColumn, Numbered, ValueColumn
from dyads.sources.layout import Places, Wanted, places
from dyads.vocabulary import Vocabulary

ROWS = 1 << 17  # rows of a Parquet file read at a time


def is_frame(source: Any) -> bool:
    """Whether a thing has columns: it speaks Arrow's protocol, or is a pandas frame."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__") or _is_pandas(source)


def frame(source: Any, wanted: Wanted) -> Numbered:
    """The wanted columns of a data frame or a stream of Arrow blocks."""
    where = f"the {type(source).__name__}"
    if _is_pandas(source):
        return _pandas(where, source, wanted)
    import pyarrow as pa

    try:
        if hasattr(source, "__arrow_c_stream__"):
            stream = pa.RecordBatchReader.from_stream(source)
            return _from_blocks(where, stream, places(where, stream.schema.names, wanted))
        block = pa.record_batch(source)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise DataError(f"{where} is no table ({error}): give one with a column of users and one of items") from None
    return _from_blocks(where, [block], places(where, block.schema.names, wanted))


def parquet(path: str, wanted: Wanted) -> Numbered:
    """The wanted columns of a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            at = places(path, names, wanted)
            asked = [names[place] for place in at if place is not None]
            blocks = (batch.select(asked) for batch in file.iter_batches(ROWS, columns=asked))
            return _from_blocks(path, blocks, Places(0, 1, None if at.value is None else 2))
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet ({error}): write it again") from None


def _from_blocks(where: str, blocks: Iterable[Any], at: Places) -> Numbered:
    """Record batches into numbers."""
    columns: list[Any] = []
    for block in blocks:
        if not columns:
            columns = _columns(where, block.schema.names, at)
        for column, place in zip(columns, at, strict=True):
            if column is not None:
                column.add(block.column(place))
    if not columns:
        raise DataError(f"{where} has no rows: give one pair or more")
    users, items, values = columns
    (who, rows), (what, numbers) = users.finish(), items.finish()
    return Numbered(who, what, rows, numbers, None if values is None else values.finish())


def _columns(where: str, names: list[str], at: Places) -> list[Any]:
    users = IdColumn("user", f"{where}: user (column {names[at.user]!r})")
    items = IdColumn("item", f"{where}: item (column {names[at.item]!r})")
    return [users, items, None if at.value is None else ValueColumn(f"{where}: value (column {names[at.value]!r})")]


def _is_pandas(source: Any) -> bool:
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "iloc") and source.ndim == 2


def _pandas(where: str, source: Any, wanted: Wanted) -> Numbered:
    names = [str(name) for name in source.columns]
    at = places(where, names, wanted)
    users, items, values = _columns(where, names, at)
    who, rows = _series(source.iloc[:, at.user], users, "user")
    what, numbers = _series(source.iloc[:, at.item], items, "item")
    if values is not None:
        for part in _arrow(source.iloc[:, at.value], f"{where}: value (column {names[at.value or 0]!r})"):
            values.add(part)
    return Numbered(who, what, rows, numbers, None if values is None else values.finish())


def _series(ids: Any, column: IdColumn, side: str) -> tuple[Vocabulary, I32]:
    """One column of a pandas frame; Python objects in it are looked at one by one."""
    if ids.dtype == object:
        try:
            vocabulary, numbers = Vocabulary.factorize(ids.to_numpy(), side)
        except DataError as error:
            raise DataError(f"{column.title}: {error}") from None
        return vocabulary, numbers.astype(np.int32)
    for part in _arrow(ids, column.title):
        column.add(part)
    return column.finish()


def _arrow(series: Any, title: str) -> list[Any]:
    import pyarrow as pa

    try:
        made = pa.Array.from_pandas(series)
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(f"{title} cannot be read ({error}): convert it to one type of strings or numbers") from None
    return list(made.chunks) if isinstance(made, pa.ChunkedArray) else [made]
