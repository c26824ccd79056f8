"""Tables in text: CSV, TSV and their like, read a block at a time by Arrow's reader.

A block that cannot be read, or holds what is no id or no number, says so without its line; `lines.culprit` then takes
a second, slow look at the file and names it.
"""

from __future__ import annotations

from typing import Any

from dyads.errors import DataError
from dyads.sources.columns import IdColumn, Numbered, ValueColumn
from dyads.sources.layout import Layout, Places, Wanted, layout, places
from dyads.sources.lines import culprit
from dyads.sources.opening import SHORT, Head, Tap, opened

BLOCK = 1 << 20  # bytes read at a time


def table(path: str, head: Head, wanted: Wanted, said: tuple[str | None, bool | None], counts: bool) -> Numbered:
    """The wanted columns of a text table.

    `said`: delimiter and header as far as they are known; with `counts`, negative values are refused.
    """
    how = layout(path, head.lines(), wanted, *said)
    where = places(path, how.names, wanted, how.header)
    if how.header and head.whole and len(head.lines()) == 1:
        raise DataError(f"{path} has a header and no rows below it: give one pair or more, or header=False")
    import pyarrow as pa

    try:
        found, multiline = _read(path, how, where, counts)
    except (DataError, pa.ArrowInvalid) as error:
        raise culprit(path, how, where, counts) or _unread(path, str(error)) from None
    wrong = culprit(path, how, where, counts) if multiline else None
    if wrong is not None:
        raise wrong
    return found


def _unread(path: str, why: str) -> DataError:
    if "straddling" in why:
        return DataError(f"{path} has a line of more than {BLOCK} bytes: leave out the columns that are not needed")
    return DataError(f"{path} cannot be read as text ({why}): write it again, as UTF-8 with one pair a line")


def _read(path: str, how: Layout, at: Places, counts: bool) -> tuple[Numbered, bool]:
    """The columns, and whether cells hold line ends: meant so, or a quote that was never closed."""
    users, items = IdColumn("user", "user", textual=True), IdColumn("item", "item", textual=True)
    values = None if at.value is None else ValueColumn("value")
    with opened(path) as file:
        tap = Tap(file, how.delimiter)
        n_rows = 0
        for block in _blocks(tap, how, at):
            n_rows += len(block)
            for column, part in ((users, block.column("user")), (items, block.column("item"))):
                _refuse_empty(part)
                column.add(part)
            if values is not None:
                values.add(block.column("value"))
    (who, rows), (what, columns) = users.finish(), items.finish()
    numbers = None if values is None else values.finish()
    if counts and numbers is not None and (numbers < 0).any():
        raise DataError("a count is negative")
    return Numbered(who, what, rows, columns, numbers), tap.quotes > 0 and n_rows + how.header < tap.lines


def _blocks(tap: Tap, how: Layout, at: Places) -> Any:
    """The wanted columns, block by block, under the names user, item and value."""
    import pyarrow as pa
    from pyarrow import csv

    names = [f"other {n}" for n in range(len(how.names))]
    names[at.user], names[at.item] = "user", "item"
    types = {"user": pa.string(), "item": pa.string()}
    if at.value is not None:
        names[at.value], types["value"] = "value", pa.float64()
    return csv.open_csv(
        pa.PythonFile(tap, mode="r"),
        read_options=csv.ReadOptions(column_names=names, skip_rows_after_names=int(how.header), block_size=BLOCK),
        parse_options=csv.ParseOptions(
            delimiter=how.delimiter if how.quoted else SHORT.decode(),
            quote_char='"' if how.quoted else False,
            newlines_in_values=how.quoted,
        ),
        convert_options=csv.ConvertOptions(
            include_columns=list(types), column_types=types, null_values=[], strings_can_be_null=False
        ),
    )


def _refuse_empty(block: Any) -> None:
    import pyarrow.compute as pc

    if pc.min(pc.binary_length(block)).as_py() == 0:
        raise DataError("an id is missing")
