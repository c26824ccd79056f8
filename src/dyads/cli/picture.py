"""Tables as text on the screen: every id whole, on a narrow terminal on several lines."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

GAP = "   "


def drawn(table: Mapping[str, Any]) -> str:
    """A table as text: as wide as it needs, or folded to a terminal that is narrower."""
    cells = {name: [cell(value) for value in values] for name, values in table.items()}
    right = {name for name, values in table.items() if all(isinstance(value, Real) for value in values)}
    widths = {name: max(map(_width, (name, *column))) for name, column in cells.items()}
    whole, terminal = sum(widths.values()) + len(GAP) * (len(widths) - 1), _terminal()
    if terminal is not None and whole > terminal:
        return _folded(cells, right, terminal)
    columns = [_padded([name, *column], widths[name], name in right) for name, column in cells.items()]
    head, *rows = (GAP.join(row).rstrip() for row in zip(*columns, strict=True))
    return "\n".join([head, "─" * whole, *rows])


def cell(value: Any) -> str:
    """A value in few characters; what a terminal could take for a command is spelled out."""
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return ""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{value:.4g}"
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _terminal() -> int | None:
    """The columns of the terminal that is printed to; None for a file or pipe."""
    at_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if at_terminal else None


def _width(text: str) -> int:
    """The columns that a text takes on the screen."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _padded(texts: list[str], width: int, right: bool) -> list[str]:
    return [" " * (width - _width(text)) + text if right else text + " " * (width - _width(text)) for text in texts]


def _folded(cells: dict[str, list[str]], right: set[str], width: int) -> str:
    """The table in so many columns, ids on several lines where they must be."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in cells:
        grid.add_column(Text(name), justify="right" if name in right else "left", overflow="fold")
    for row in zip(*cells.values(), strict=True):
        grid.add_row(*map(Text, row))
    console = Console(width=width, color_system=None)
    with console.capture() as out:
        console.print(grid)
    return "\n".join(line.rstrip() for line in out.get().splitlines())
