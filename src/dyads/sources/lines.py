"""The second, slow look at a text table: which line cannot be read, and why."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from itertools import chain
from typing import IO

import numpy as np

from dyads.errors import DataError
from dyads.sources.layout import Layout, Places
from dyads.sources.opening import BOM, opened

_BIGGEST = float(np.finfo(np.float32).max)
_NUMBER = re.compile(r"[ \t]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t]*")
_BYTES = "latin-1"  # every byte is a character, so that nothing fails before it is looked at


def culprit(path: str, how: Layout, at: Places, counts: bool) -> DataError | None:
    """The error that names the first line that breaks a rule; None where none does."""
    with opened(path) as file:
        first: tuple[int, int] | None = None
        for line, cells in _records(file, how):
            if isinstance(cells, str):
                return DataError(f"{path}, line {line}: {cells}")
            is_header = first is None and how.header
            first = first or (line, len(cells))
            problem = None if is_header else _problem(cells, first, how, at, counts)
            if problem:
                return DataError(f"{path}, line {line}: {problem}")
    return None


def _records(file: IO[bytes], how: Layout) -> Iterator[tuple[int, list[str] | str]]:
    """The number and the cells of every line that is not empty, or what is wrong with its quotes."""
    text = io.TextIOWrapper(file, encoding=_BYTES, newline="")
    try:
        start = next(text, "").removeprefix(BOM.decode(_BYTES))
        yield from (_quoted if how.quoted else _plain)(chain([start], text), how.delimiter)
    finally:
        text.detach()  # who opened the file closes it


def _plain(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(lines, 1):
        if text.strip("\r\n"):
            yield line, text.rstrip("\r\n").split(delimiter)


def _quoted(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    reader, line = csv.reader(lines, delimiter=delimiter, strict=True), 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, _quote_problem(str(error))
            return
        if cells:
            yield line, cells
        line = reader.line_num + 1


def _quote_problem(error: str) -> str:
    if "field limit" in error:
        return f'a cell has more than {csv.field_size_limit()} characters: close its quote ("), or shorten it'
    if "end of data" in error:
        return 'a quote (") that opens in it is never closed: close it, or double it where it belongs to the text'
    return f'its quotes (") cannot be read ({error}): double a quote that belongs to the text'


def _problem(cells: list[str], first: tuple[int, int], how: Layout, at: Places, counts: bool) -> str | None:
    if len(cells) != first[1]:
        return (
            f"{len(cells)} {'column' if len(cells) == 1 else 'columns'} where line {first[0]} has {first[1]}, cut at "
            f"{how.delimiter!r}: make them alike, or give delimiter= (or format='fimi' if each line is a basket)"
        )
    for side, place in (("user", at.user), ("item", at.item)):
        raw = cells[place].encode(_BYTES)
        if not raw:
            return f"the {side} is missing (column {how.names[place]!r}): fill it or drop the line"
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError:
            return f"{side} {raw[:60]!r} is not UTF-8 text: save the file as UTF-8"
    return None if at.value is None else _value_problem(cells[at.value], how.names[at.value], counts)


def _value_problem(cell: str, column: str, counts: bool) -> str | None:
    if not cell.strip():
        return f"the value is missing (column {column!r}): fill it or drop the line"
    shown = f"value {cell[:60]!r} (column {column!r})"
    if _NUMBER.fullmatch(cell) is None:
        try:
            named = not math.isfinite(float(cell)) and "_" not in cell
        except ValueError:
            named = False
        if named:
            return f"{shown} is not a finite number: drop the line or replace it"
        comma = ", with a point before the decimals" if "," in cell else ""
        return f"{shown} is not a number: write it as one{comma}, or give another column as value="
    number = float(cell)
    if abs(number) > _BIGGEST:
        return f"{shown} does not fit in 32 bits: scale the values"
    if counts and number < 0:
        return f"{shown} is a negative count: drop the line, or give duplicates='mean' if values are ratings"
    return None
