"""How a text table is laid out: its delimiter, whether its first line names the columns, and which columns are meant.

What is not said is taken from the first lines. The delimiter is the first of tab, `;`, `|`, `,`, `::` and space that
cuts each of them into the same number of cells, two or more. The first line is a header if a column is numeric in
every line but the first, or if its user and item cells are words that people use as column names.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from typing import NamedTuple

from dyads.errors import ConfigError, DataError

DELIMITERS = ("\t", ";", "|", ",", "::", " ")
SNIFFED = 200  # lines
_COLUMNS = """
user u visitor customer client buyer account member session device reader viewer listener player person people student
author basket order cart transaction purchase query item i product page article movie film song track artist book game
app course paper document doc word term tag category url sku isbn asin key name id ids uid iid index idx no number
code title rating score value count counts quantity amount weight stars time timestamp date shopper household patient
donor owner employee recipe ingredient venue place location restaurant hotel job skill gene drug disease friend
follower followee source target src dst node feature plays clicks views visits purchases ratings products items users
pages movies songs books
"""
_WORDS = frozenset(_COLUMNS.split())  # of which the names of columns are made


class Layout(NamedTuple):
    """How the lines of a text table are cut."""

    delimiter: str
    header: bool
    names: list[str]  # one a column; without a header their numbers

    @property
    def quoted(self) -> bool:
        """Whether cells may stand in quotes; not where the delimiter is longer than one character."""
        return len(self.delimiter) == 1

    def cells(self, lines: list[str]) -> list[list[str]]:
        """The lines cut into cells."""
        return _cut(lines, self.delimiter)


class Wanted(NamedTuple):
    """The columns that are asked for, by name or number."""

    user: str | int
    item: str | int
    value: str | int | None

    def names(self) -> list[str]:
        """Those given by name."""
        return [one for one in self if isinstance(one, str)]


class Places(NamedTuple):
    """The numbers of the columns that are asked for."""

    user: int
    item: int
    value: int | None


def layout(path: str, lines: list[str], wanted: Wanted, delimiter: str | None, header: bool | None) -> Layout:
    """The layout of a file whose first lines are given, where the parameters do not say it."""
    lines = lines[:SNIFFED]
    delimiter = _checked(delimiter) if delimiter is not None else sniffed(lines)
    if delimiter is None or len(_cut(lines[:1], delimiter)[0]) < 2:
        cut = "" if delimiter is None else f" when cut at {delimiter!r}"
        raise DataError(
            f"{path} has one column{cut} (its first line is {_short(lines[0])}), and pairs need two: give delimiter=, "
            "or format='fimi' if each line is a basket of items"
        )
    cells = _cut(lines, delimiter)
    if header is None:
        header = bool(wanted.names()) or _is_header(cells, wanted)
    first = [name.strip() for name in cells[0]]
    return Layout(delimiter, header, first if header else [str(n) for n in range(len(first))])


def sniffed(lines: list[str]) -> str | None:
    """The delimiter that cuts all lines alike; else the one that cuts most of them alike; None if none cuts any."""
    best, share = None, 0
    for delimiter in DELIMITERS:
        sizes = Counter(len(cells) for cells in _cut(lines[:SNIFFED], delimiter))
        alike = max((many for size, many in sizes.items() if size > 1), default=0)
        if alike > share:
            best, share = delimiter, alike
        if share == len(lines[:SNIFFED]):
            break
    return best


def places(where: str, names: list[str], wanted: Wanted, header: bool = True) -> Places:
    """The numbers of the wanted columns; a ConfigError that lists the columns where one is not there."""
    if len(names) < 2:
        have = f"one column ({names[0]!r})" if names else "no columns"
        raise DataError(f"{where} has {have}, and pairs need two: give one of users and one of items")
    found = [None if one is None else _place(where, names, key, one, header) for key, one in wanted._asdict().items()]
    for key, other in (("user", "item"), ("user", "value"), ("item", "value")):
        a, b = found[Wanted._fields.index(key)], found[Wanted._fields.index(other)]
        if a == b:
            raise ConfigError(f"{key}= and {other}= both mean column {names[a or 0]!r} of {where}: give two columns")
    user, item, value = found
    assert user is not None
    assert item is not None
    return Places(user, item, value)


def _place(where: str, names: list[str], key: str, one: str | int, header: bool) -> int:
    if isinstance(one, str):
        if header and names.count(one) == 1:
            return names.index(one)
        if not header:
            why = f"has no header, so its columns are the numbers 0 to {len(names) - 1}"
        elif one in names:
            why = f"has {names.count(one)} columns of that name: give a number"
        else:
            why = f"has the columns {', '.join(map(repr, names[:20]))}{', …' if len(names) > 20 else ''}"
        raise ConfigError(f"{key}={one!r} is not a column: {where} {why}")
    if isinstance(one, bool) or not isinstance(one, int):
        raise ConfigError(f"{key}={one!r} is neither the name nor the number of a column")
    if not 0 <= one < len(names):
        raise ConfigError(
            f"{key}={one} is not a column: {where} has {len(names)}, with the numbers 0 to {len(names) - 1}"
        )
    return one


def _checked(delimiter: str) -> str:
    if not isinstance(delimiter, str) or not delimiter or set(delimiter) & set('"\r\n\0'):
        raise ConfigError(
            f"delimiter={delimiter!r} cannot be: give the characters between two cells, such as ',' or '::'"
        )
    if len(delimiter) == 1 and not delimiter.isascii():
        raise ConfigError(f"delimiter={delimiter!r} is not ASCII: replace it in the file, by a tab for example")
    return delimiter


def _cut(lines: list[str], delimiter: str) -> list[list[str]]:
    if len(delimiter) > 1:
        return [line.rstrip("\r\n").split(delimiter) for line in lines]
    try:
        return [cells for cells in csv.reader(lines, delimiter=delimiter) if cells] or [[""]]
    except csv.Error:  # a cell longer than 131072 characters, or a lone carriage return
        return [line.rstrip("\r\n").split(delimiter) for line in lines]


def _is_header(cells: list[list[str]], wanted: Wanted) -> bool:
    first, below = cells[0], [row for row in cells[1:] if len(row) == len(cells[0])]
    if any(not cell.strip() or _is_number(cell) for cell in first) or len(set(first)) < len(first):
        return False
    if below and any(all(map(_is_number, column)) for column in zip(*below, strict=True)):
        return True
    return all(isinstance(n, int) and n < len(first) and _is_name(first[n]) for n in (wanted.user, wanted.item))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_name(cell: str) -> bool:
    """Whether a cell is made of the words of column names, as in userId, "Item name", product_id."""
    tokens = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z\s_.-]+", cell)
    return bool(tokens) and all(token.lower() in _WORDS for token in tokens)


def _short(line: str) -> str:
    text = line.rstrip("\r\n")
    return repr(text if len(text) <= 60 else text[:60] + "…")
