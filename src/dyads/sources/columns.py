"""Columns that arrive block by block: ids become numbers at once, so that a row costs four bytes a column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyads.errors import DataError
from dyads.ids import as_numpy, decoded, typed
from dyads.pairs import F32, I32, I64
from dyads.strings import Strings, concatenate
from dyads.vocabulary import Vocabulary

FOLD = 1 << 18  # ids that wait, at least, before they are numbered


class Numbered(NamedTuple):
    """Pairs by number, as they came."""

    users: Vocabulary
    items: Vocabulary
    rows: I32
    columns: I32
    values: F32 | None


class IdColumn:
    """Ids of one side in Arrow blocks. They end as a vocabulary in order of first appearance, and each row's number.

    In text, a column is one of whole numbers if each of its cells is written as Python writes one: no leading zero,
    sign or space; else it is one of strings, all of it.
    """

    def __init__(self, side: str, title: str, textual: bool = False) -> None:
        self.title, self._side, self._textual = title, side, textual
        self._known: I64 | Strings | None = None  # numbered ids
        self._fresh: list[I64 | Strings] = []  # distinct within their block
        self._codes: list[Any] = []  # each row's place among the ids of its block
        self._done: list[I32] = []  # each row's number
        self._rows = self._waiting = 0

    def add(self, block: Any) -> None:
        """The next block, an Arrow array of strings or whole numbers."""
        if not len(block):
            return  # of whatever type an empty column is
        block = decoded(block)
        self._check(block)
        block = block.dictionary_encode()
        content = self._content(block.dictionary)
        self._fresh.append(content)
        self._codes.append(as_numpy(block.indices))
        self._rows += len(block)
        self._waiting += content.size
        if self._waiting > max(FOLD, 0 if self._known is None else self._known.size):
            self._fold()

    def finish(self) -> tuple[Vocabulary, I32]:
        """The vocabulary and the number of every row."""
        self._fold()
        numbers = np.concatenate([np.empty(0, np.int32), *self._done])
        assert self._known is not None
        return Vocabulary(self._known), numbers

    def _check(self, block: Any) -> None:
        import pyarrow as pa

        if block.null_count:
            row = self._rows + block.is_null().index(True).as_py()
            raise DataError(f"{self.title} is missing in row {row} (from 0): drop the row or fill it")
        if not (pa.types.is_integer(block.type) or _is_text(block.type)):
            raise DataError(
                f"{self.title} is of type {block.type} (such as {block[0].as_py()!r}): ids are strings or whole "
                "numbers, so convert the column first"
            )

    def _content(self, dictionary: Any) -> I64 | Strings:
        if not self._textual:
            return typed(dictionary, self._side)
        numbers = _whole(dictionary)
        if numbers is not None:
            return numbers
        self._textual = False  # from now on the column is one of strings, what came before as well
        self._fresh = [_written(part) for part in self._fresh]
        self._known = None if self._known is None else _written(self._known)
        return typed(dictionary, self._side)

    def _fold(self) -> None:
        """Number the ids that wait."""
        parts = [*([] if self._known is None else [self._known]), *self._fresh]
        at = 0 if self._known is None else self._known.size
        sizes = [part.size for part in self._fresh]
        self._known, self._fresh, self._waiting = None, [], 0
        vocabulary, numbers = Vocabulary.factorize(_joined(parts), self._side)
        self._known = vocabulary.content()
        for codes, size in zip(self._codes, sizes, strict=True):
            self._done.append(numbers[at : at + size].astype(np.int32)[codes])
            at += size
        self._codes = []


class ValueColumn:
    """Values in Arrow blocks: finite numbers."""

    def __init__(self, title: str) -> None:
        self.title, self._parts, self._rows = title, [np.empty(0, np.float32)], 0

    def add(self, block: Any) -> None:
        """The next block, an Arrow array of numbers."""
        import pyarrow as pa

        if not len(block):
            return
        if block.null_count:
            row = self._rows + block.is_null().index(True).as_py()
            raise DataError(f"{self.title} is missing in row {row} (from 0): drop the row or fill it")
        try:
            if _is_text(block.type) or pa.types.is_temporal(block.type):
                raise TypeError
            values = as_numpy(block.cast(pa.float64()))
        except (TypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise DataError(
                f"{self.title} is of type {block.type} (such as {block[0].as_py()!r}): values are numbers, so convert "
                "the column first"
            ) from None
        with np.errstate(over="ignore"):
            short = values.astype(np.float32)
        bad = np.flatnonzero(~np.isfinite(short))
        if bad.size:
            raise DataError(
                f"{self.title} is {values[bad[0]]} in row {self._rows + bad[0]} (from 0), not a finite number that "
                "fits in 32 bits: drop the row or replace it"
            )
        self._parts.append(short)
        self._rows += len(block)

    def finish(self) -> F32:
        """All of them."""
        return np.concatenate(self._parts)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _whole(text: Any) -> I64 | None:
    """The numbers that these strings write, if each is written in the one plain way."""
    import pyarrow as pa

    try:
        numbers = text.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    if not numbers.cast(text.type).equals(text):
        return None
    return as_numpy(numbers)


def _written(content: I64 | Strings) -> Strings:
    """Whole numbers as text."""
    import pyarrow as pa

    if isinstance(content, Strings):
        return content
    numbers = pa.Array.from_buffers(pa.int64(), content.size, [None, pa.py_buffer(content)])
    out = typed(numbers.cast(pa.large_string()), "id")
    return out if isinstance(out, Strings) else concatenate([])


def _joined(parts: list[I64 | Strings]) -> I64 | Strings:
    text = [part for part in parts if isinstance(part, Strings)]
    if text:
        return concatenate(text)
    return np.concatenate([np.empty(0, np.int64), *[part for part in parts if not isinstance(part, Strings)]])
