"""Tables: on the screen, or whole files of CSV, Parquet or JSON that read back equal.

A number that is not there is NaN here, an empty cell in CSV, and null in JSON and Parquet; so is a None among strings.
In CSV strings are quoted and numbers are not, so that an id such as "007" stays one.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from io import BytesIO
from pathlib import PurePath
from typing import Any, BinaryIO

from dyads.cli import screen
from dyads.errors import ConfigError, DataError

Table = Mapping[str, Any]  # a column by name: whole numbers, decimal ones, or strings; all of one length

FORMATS = ("csv", "json", "parquet")
SCREEN = (*FORMATS[:2], "table")  # what can be printed


def check_output(path: str | None, *inputs: str | None) -> None:
    """Refuse a table that could not be written, before any work is done for it."""
    if path is not None:
        _format(path)
        check_folder(path, *inputs)


def check_folder(path: str, *inputs: str | None) -> None:
    """Refuse a file that is a folder or one of the inputs, or has no folder that takes it."""
    if any(given is not None and os.path.realpath(given) == os.path.realpath(path) for given in inputs):
        raise ConfigError(f"--output {path} is what is read from: give another name")
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise ConfigError(f"--output {path} is a folder: give the name of a file")
    if os.path.exists(path):
        from dyads.arrayfile import refuse_special

        refuse_special(path)
    if not os.path.isdir(folder):
        raise ConfigError(f"--output {path} cannot be written, for {folder} is no folder: make it first")
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"--output {path} cannot be written, for {folder} takes no files from you: choose another")


def put(table: Table, output: str | None, shown_as: str) -> None:
    """Write a table to a file, or to the screen in one of its forms."""
    if output is not None:
        from dyads.arrayfile import replacing

        with replacing(output) as out:
            write(table, out, _format(output))
    elif shown_as == "table":
        from dyads.cli.picture import drawn

        screen.say(drawn(table))
    else:
        content = BytesIO()
        write(table, content, shown_as)
        screen.write(content.getvalue())


def write(table: Table, out: BinaryIO, form: str) -> None:
    """A table as CSV, JSON (a list of objects) or Parquet."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    found = pa.table({name: pa.array(values, from_pandas=True) for name, values in table.items()})  # NaN is no value
    if form == "csv":
        csv.write_csv(found, out)
    elif form == "parquet":
        parquet.write_table(found, out)
    else:
        out.write(_objects(found.to_pylist()))


def _objects(rows: list[dict[str, Any]]) -> bytes:
    """The rows as JSON, one a line."""
    try:
        lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
        return ("[" + ",\n ".join(lines) + "]\n").encode()
    except ValueError:
        bad = next(name for row in rows for name, value in row.items() if value in (math.inf, -math.inf))
        raise DataError(f"column {bad!r} holds an infinite number, which JSON cannot: write CSV or Parquet") from None


def _format(path: str) -> str:
    end = PurePath(path).suffix.lower().removeprefix(".")
    if end not in FORMATS:
        raise ConfigError(f"--output {path} has no ending that names a table: give .csv, .json or .parquet")
    return end
