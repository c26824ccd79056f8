"""Tables as text on the screen: every id whole, on a narrow terminal on several lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

ENDLESS = 1 << 16  # columns of a pipe


def drawn(table: Mapping[str, Any]) -> str:
    """A table as text, as wide as the terminal allows or, in a pipe, as it needs."""
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, values in table.items():
        grid.add_column(Text(name), justify="right" if _is_number(values) else "left", overflow="fold")
    for row in zip(*table.values(), strict=True):
        grid.add_row(*(Text(cell(value)) for value in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=ENDLESS)
    with console.capture() as out:
        console.print(grid)
    return "\n".join(line.rstrip() for line in out.get().splitlines())


def cell(value: Any) -> str:
    """A value in few characters; what a terminal could take for a command is spelled out."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _is_number(values: Any) -> bool:
    return np.asarray(values).dtype.kind in "iuf"
