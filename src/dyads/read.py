"""`read`: files, frames, matrices and plain Python into `Pairs`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from dyads.errors import ConfigError, DataError
from dyads.pairs import DUPLICATES, Pairs
from dyads.sources.columns import Numbered
from dyads.sources.layout import Wanted, sniffed
from dyads.sources.opening import Head, head
from dyads.strings import Strings

FORMATS = ("csv", "tsv", "fimi", "mtx", "npz", "parquet")
_ANY = Wanted(0, 1, None)  # what a source without columns is asked for


def read(
    source: Any,
    user: str | int = 0,
    item: str | int = 1,
    value: str | int | None = None,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    format: str | None = None,  # noqa: A002
    duplicates: str | None = None,
) -> Pairs:
    """Pairs of users and items from nearly anything that holds them.

    Parameters
    ----------
    source
        The path of a file: CSV, TSV or the like (with any delimiter, MovieLens' `::` too), FIMI baskets, Matrix Market,
        scipy's npz, all of these also gzipped, or Parquet. Or a data frame (pandas, polars, pyarrow, anything with
        `__arrow_c_stream__`), a scipy sparse matrix or a dense array (users are rows), or an iterable of
        (user, item) or (user, item, value).
    user, item, value
        The columns, by name or by number from 0; other columns are ignored. Without `value` each line counts one.
    delimiter, header
        How a text file is laid out; found out from its first lines where not given. Name the columns, or give `header`,
        where a header could be mistaken for data.
    format
        `"csv"`, `"tsv"`, `"fimi"`, `"mtx"`, `"npz"` or `"parquet"`; found out from the file's first bytes where not
        given. Only `.dat` takes the name to tell: blank-separated words are then baskets, one a line, and the
        users are the line numbers from 0.
    duplicates
        What becomes of a pair that comes again: `"sum"` adds (the default without values: pairs are counted, and the
        values of pairs that are added must not be negative), `"mean"` averages, `"refuse"` is an error (the default
        with values).

    Ids of text columns are whole numbers if every cell is written as one, without leading zeros; else strings.
    """
    wanted = Wanted(user, item, value)
    rule = _rule(duplicates, value is not None)
    if isinstance(source, (str, os.PathLike)):
        return _file(os.fspath(source), wanted, (delimiter, header, format), rule)
    for name, given in (("delimiter", delimiter), ("header", header), ("format", format)):
        if given is not None:
            raise ConfigError(f"{name}={given!r} is for files, and {_named(source)} is none: leave it out")
    return _object(source, wanted, rule, duplicates)


def _rule(duplicates: str | None, valued: bool) -> str:
    if duplicates is None:
        return "refuse" if valued else "sum"
    if duplicates not in DUPLICATES:
        raise ConfigError(f"duplicates={duplicates!r} is unknown: give one of {', '.join(map(repr, DUPLICATES))}")
    return duplicates


def _file(path: str, wanted: Wanted, layout: tuple[str | None, bool | None, str | None], rule: str) -> Pairs:
    delimiter, header, asked = layout
    first = head(path)
    kind = _kind(path, first, asked)
    if kind in ("csv", "tsv"):
        from dyads.sources.text import table

        cut = "\t" if kind == "tsv" and delimiter is None else delimiter
        return _pairs(path, table(path, first, wanted, (cut, header), rule == "sum"), rule)
    for name, given in (("delimiter", delimiter), ("header", header)):
        if given is not None:
            raise ConfigError(f"{name}={given!r} is for tables in text, and {path} is {kind}: leave it out")
    if kind == "parquet":
        from dyads.sources.frames import parquet

        return _pairs(path, parquet(path, wanted), rule)
    _has_no_columns(path, wanted)
    if kind == "fimi":
        from dyads.sources.baskets import baskets

        return _pairs(path, baskets(path), rule)
    from dyads.sources import matrices

    _is_added(path, rule)
    return matrices.matrix_market(path) if kind == "mtx" else matrices.npz(path)


def _kind(path: str, first: Head, asked: str | None) -> str:
    """The format of a file: as asked for, by its first bytes, and for text by its name."""
    if asked is not None and asked not in FORMATS:
        raise ConfigError(f"format={asked!r} is unknown: give one of {', '.join(map(repr, FORMATS))}")
    end = os.path.splitext(path.lower().removesuffix(".gz"))[1].removeprefix(".")
    claimed = asked or {"pq": "parquet", "dat": "baskets"}.get(end, end)
    if first.kind == "parquet" and first.gzipped:
        raise DataError(f"{path} is Parquet inside gzip: unpack it, Parquet is compressed already")
    if first.kind != (claimed if claimed in ("parquet", "npz", "mtx") else None) and (asked or first.kind is None):
        raise DataError(
            f"{path} is not {claimed}, for its first bytes are {first.raw[:16]!r}: "
            f"{'leave format= out' if asked else 'rename it, or give format='}"
        )
    if first.kind is not None:
        return first.kind
    if claimed == "baskets":
        return "fimi" if sniffed(first.lines()) in (None, " ") else "csv"
    return claimed if claimed in FORMATS else "csv"


def _object(source: Any, wanted: Wanted, rule: str, duplicates: str | None) -> Pairs:
    from dyads.sources.frames import frame, is_frame

    if isinstance(source, Pairs):
        return source
    name = _named(source)
    if is_frame(source):
        return _pairs(f"the {name}", frame(source, wanted), rule)
    _has_no_columns(f"the {name}", wanted)
    if sparse.issparse(source) or (hasattr(source, "__array__") and np.asarray(source).dtype.kind not in "OSUT"):
        _is_added(f"the {name}", duplicates or "sum")
        return Pairs.from_matrix(source)
    if not isinstance(source, Iterable) or isinstance(source, (Mapping, bytes)):
        lazy = "; call its collect() first" if hasattr(source, "collect") else ""
        raise DataError(
            f"pairs cannot be read from an object of type {name}{lazy}: give a path, a data frame, a matrix, or an "
            "iterable of (user, item)"
        )
    from dyads.sources.triples import triples

    numbered = triples(source)
    return _pairs(f"the {name}", numbered, _rule(duplicates, numbered.values is not None))


def _pairs(where: str, found: Numbered, rule: str) -> Pairs:
    """The pairs, once ids are there and counts are not negative."""
    if not found.rows.size:
        raise DataError(f"{where} has no pairs: give one or more")
    for side, vocabulary, numbers in (("user", found.users, found.rows), ("item", found.items, found.columns)):
        ids = vocabulary.content()
        empty = np.flatnonzero(np.diff(ids.offsets) == 0) if isinstance(ids, Strings) else np.empty(0, np.int64)
        if empty.size:
            row = int(np.argmax(numbers == empty[0]))
            raise DataError(f"{where}: {side} is the empty string in row {row} (from 0): drop the row or fill it")
    if rule == "sum" and found.values is not None and (found.values < 0).any():
        at = int(np.argmax(found.values < 0))
        (user,), (item,) = found.users.ids(found.rows[[at]]).tolist(), found.items.ids(found.columns[[at]]).tolist()
        raise DataError(
            f"{where}: {float(found.values[at])} for user {user!r} and item {item!r} is a negative count: drop the "
            "row, or give duplicates='mean' if values are ratings"
        )
    try:
        return Pairs.numbered(*found, duplicates=rule)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _has_no_columns(where: str, wanted: Wanted) -> None:
    for name, given, default in zip(wanted._fields, wanted, _ANY, strict=True):
        if given != default or type(given) is not type(default):
            raise ConfigError(f"{name}={given!r} is for tables, and {where} has no columns to choose: leave it out")


def _is_added(where: str, rule: str) -> None:
    if rule != "sum":
        raise ConfigError(
            f"duplicates={rule!r} is for pairs, and the cells of a matrix ({where}) are added: leave it out"
        )


def _named(source: Any) -> str:
    return type(source).__name__
