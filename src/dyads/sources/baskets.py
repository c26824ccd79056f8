"""Baskets in text: one a line, its items separated by blanks (FIMI)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from dyads.errors import DataError
from dyads.ids import as_numpy
from dyads.pairs import I64
from dyads.sources.columns import IdColumn, Numbered
from dyads.sources.opening import BOM, opened
from dyads.vocabulary import Vocabulary

BLOCK = 1 << 20  # bytes read at a time


def baskets(path: str) -> Numbered:
    """The users are the numbers of the lines, from 0; a line without items is a user without pairs."""
    import pyarrow as pa

    items, rows, n_lines = IdColumn("item", "item", textual=True), [np.empty(0, np.int32)], 0
    try:
        with opened(path) as file:
            for block in _blocks(file):
                lines = _lines(block)
                sizes, words = _words(lines)
                rows.append(np.repeat(np.arange(n_lines, n_lines + len(lines), dtype=np.int32), sizes))
                items.add(words)
                n_lines += len(lines)
    except pa.ArrowInvalid as error:
        raise _culprit(path, str(error)) from None
    vocabulary, columns = items.finish()
    return Numbered(Vocabulary.range(n_lines), vocabulary, np.concatenate(rows), columns, None)


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    """The file in pieces of whole lines, however long these are."""
    rest = file.read(len(BOM)).removeprefix(BOM)
    while got := file.read(max(BLOCK, len(rest))):
        cut = got.rfind(b"\n") + 1
        if cut:
            yield rest + got[:cut]
            rest = b""
        rest += got[cut:]
    if rest:
        yield rest


def _lines(block: bytes) -> Any:
    """The lines as Arrow strings, with their ends; an ArrowInvalid where they are not UTF-8."""
    import pyarrow as pa

    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1
    offsets = np.concatenate([[0], ends, [] if block.endswith(b"\n") else [len(block)]]).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    lines = pa.Array.from_buffers(pa.large_string(), offsets.size - 1, buffers)
    lines.validate(full=True)
    return lines


def _words(lines: Any) -> tuple[I64, Any]:
    """How many words each line has, and the words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.ascii_trim_whitespace(lines)
    cut = pc.ascii_split_whitespace(trimmed)
    sizes = np.where(as_numpy(pc.binary_length(trimmed)) == 0, 0, as_numpy(pc.list_value_length(cut)))
    words = cut.flatten()
    return sizes, words.filter(pc.binary_length(words).cast(pa.bool_()))  # an empty line is cut into an empty word


def _culprit(path: str, why: str) -> DataError:
    with opened(path) as file:
        for line, raw in enumerate(file, 1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError:
                return DataError(f"{path}, line {line}: {raw[:60]!r} is not UTF-8 text: save the file as UTF-8")
    return DataError(f"{path} cannot be read as baskets ({why}): write one basket of items a line")
