"""The options that say how a file of pairs is laid out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from dyads.errors import ConfigError

if TYPE_CHECKING:
    from dyads.model import Model
    from dyads.pairs import Pairs

_NAMES = ("user", "item", "value", "delimiter", "header", "format", "duplicates")
_OPTIONS = (
    click.option("--user", default="0", metavar="COLUMN", help="Column of the users: its name, or its number from 0."),
    click.option("--item", default="1", metavar="COLUMN", help="Column of the items."),
    click.option(
        "--value", metavar="COLUMN", help="Column of the values: ratings or counts. Without, a line is a one."
    ),
    click.option("--delimiter", metavar="TEXT", help="What stands between columns; found out where not given."),
    click.option("--header/--no-header", default=None, help="Whether the first line names the columns."),
    click.option("--format", metavar="NAME", help="csv, tsv, fimi, mtx, npz or parquet; found out where not given."),
    click.option("--duplicates", metavar="RULE", help="Pairs that come again: sum, mean or refuse."),
)


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that reads pairs; they arrive together as `layout`."""

    @wraps(function)
    def command(**given: Any) -> Any:
        return function(layout={name: given.pop(name) for name in _NAMES}, **given)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read(path: str, layout: dict[str, Any]) -> Pairs:
    """The pairs of a file."""
    import dyads

    columns = {name: column(layout[name]) for name in ("user", "item", "value")}
    cut = {"\\t": "\t", "tab": "\t"}.get(layout["delimiter"], layout["delimiter"])
    return dyads.read(path, **{**layout, **columns, "delimiter": cut})


def has_no_values(path: str, layout: dict[str, Any]) -> bool:
    """Whether a line of the file is a one; files of matrices have no columns, and hold values."""
    end = layout["format"] or path.lower().removesuffix(".gz").rpartition(".")[2]
    return layout["value"] is None and end not in ("mtx", "npz")


def check_values(model: Model, path: str, layout: dict[str, Any]) -> None:
    """Refuse ratings without a column of ratings."""
    if model.data == "ratings" and has_no_values(path, layout):
        raise ConfigError(f"{type(model).__name__} learns from ratings: name their column in {path} with --value")


def count_once(model: Any, pairs: Pairs, path: str, layout: dict[str, Any]) -> bool:
    """Let a model of ones take lines that come again as ones; whether there are such lines."""
    again = model.data == "binary" and pairs.by_user.val is not None and has_no_values(path, layout)
    if again and model.binarize is None:
        model.binarize = 0.0
    return again


def column(text: str | None) -> str | int | None:
    """A column's name or, of a whole number, its place."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text
