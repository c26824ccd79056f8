"""Baskets in text: one a line, its items separated by blanks (FIMI)."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyads.errors import DataError
from dyads.pairs import I32
from dyads.sources.columns import IdColumn, Numbered
from dyads.sources.opening import opened
from dyads.vocabulary import Vocabulary

BLOCK = 1 << 20  # bytes read at a time


def baskets(path: str) -> Numbered:
    """The users are the numbers of the lines, from 0; a line without items is a user without pairs."""
    import pyarrow as pa

    items, rows, n_lines = IdColumn("item", "item", textual=True), [np.empty(0, np.int32)], 0
    try:
        with opened(path) as file:
            for lines in _lines(file):
                sizes, words = _words(lines)
                rows.append(np.repeat(np.arange(n_lines, n_lines + len(lines), dtype=np.int32), sizes))
                items.add(words)
                n_lines += len(lines)
    except pa.ArrowInvalid as error:
        raise _culprit(path, str(error)) from None
    vocabulary, columns = items.finish()
    return Numbered(Vocabulary.range(n_lines), vocabulary, np.concatenate(rows), columns, None)


def _lines(file: Any) -> Any:
    """Blocks of lines, as Arrow strings."""
    import pyarrow as pa
    from pyarrow import csv

    reader = csv.open_csv(
        pa.PythonFile(file, mode="r"),
        read_options=csv.ReadOptions(column_names=["line"], block_size=BLOCK),
        parse_options=csv.ParseOptions(delimiter="\x1f", quote_char=False, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(column_types={"line": pa.string()}, strings_can_be_null=False),
    )
    return (block.column(0) for block in reader)


def _words(lines: Any) -> tuple[I32, Any]:
    """How many words each line has, and the words."""
    import pyarrow.compute as pc

    cut = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(lines))
    empty = pc.equal(pc.binary_length(pc.ascii_trim_whitespace(lines)), 0)
    sizes = pc.if_else(empty, 0, pc.list_value_length(cut)).to_numpy(zero_copy_only=False)
    words = cut.flatten()
    return sizes, words.filter(pc.not_equal(pc.binary_length(words), 0))


def _culprit(path: str, why: str) -> DataError:
    with opened(path) as file:
        for line, raw in enumerate(file, 1):
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError:
                return DataError(f"{path}, line {line}: {raw[:60]!r} is not UTF-8 text: save the file as UTF-8")
    return DataError(f"{path} cannot be read as baskets ({why}): write one basket of items a line")
