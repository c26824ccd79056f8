"""Ids and their numbers: row 0 is the first id, row 1 the second, without a Python object per id.

Three kinds: `"range"` (a bare matrix: the ids are the numbers), `"integers"` (an int64 array) and `"strings"` (UTF-8
bytes and offsets). An id is found in a sorted list, of the integers or of 64-bit hashes, which is built at the first
look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dyads import strings as text
from dyads.errors import DataError, UnknownIdError
from dyads.ids import typed
from dyads.strings import I64, Strings

__all__ = ["Vocabulary"]


class _Index(NamedTuple):
    keys: np.ndarray[Any, Any]  # integers, or hashes of strings, ascending
    order: np.ndarray[Any, Any] | None  # the number of each key; None where the keys already stand in that order


class Vocabulary:
    """The ids of one side, in the order of their numbers; immutable."""

    __slots__ = ("_index", "_integers", "_size", "_strings", "kind")
    __hash__ = None  # type: ignore[assignment]

    kind: str
    _size: int
    _integers: I64 | None
    _strings: Strings | None
    _index: _Index | None

    def __init__(self, content: int | I64 | Strings) -> None:
        self._index = self._integers = self._strings = None
        if isinstance(content, Strings):
            self._strings = Strings(_sealed(content.data), _sealed(content.offsets))
            self.kind, self._size = "strings", content.size
        elif isinstance(content, int):
            self.kind, self._size = "range", content
        else:
            self._integers = _sealed(content)
            self.kind, self._size = "integers", content.size

    @staticmethod
    def range(n: int) -> Vocabulary:
        """The n numbers of a bare matrix's rows or columns."""
        return Vocabulary(int(n))

    @staticmethod
    def of(ids: Any, side: str = "id") -> Vocabulary:
        """A vocabulary of these ids (list, NumPy or Arrow array of strings or whole numbers), which must differ."""
        content = typed(ids, side)
        made = Vocabulary(content if isinstance(content, Strings) else content.copy())
        numbers = made._find(content)
        again = np.flatnonzero(numbers != np.arange(len(made)))
        if again.size:
            name = made.ids(numbers[again[:1]])[0]
            raise DataError(f"{side} id {name!r} stands at places {numbers[again[0]]} and {again[0]}: give it once")
        return made

    @staticmethod
    def factorize(ids: Any, side: str = "id") -> tuple[Vocabulary, I64]:
        """The vocabulary of ids that may repeat, in order of first appearance, and the number of every one."""
        content = typed(ids, side)
        if isinstance(content, Strings):
            first, numbers = _groups_of_strings(content)
            return Vocabulary(content.take(first)), numbers
        _, first, group = np.unique(content, return_index=True, return_inverse=True)
        first, numbers = _by_appearance(first, group)
        return Vocabulary(content[first]), numbers

    @staticmethod
    def from_arrays(kind: str, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Vocabulary:
        """The vocabulary that `arrays()` wrote; memory-mapped arrays stay where they are."""
        if kind == "range":
            return Vocabulary(int(arrays["size"][0]))
        if kind == "integers":
            return Vocabulary(arrays["ids"])
        if kind != "strings":
            raise DataError(f"vocabulary kind {kind!r} is unknown: it is one of range, integers, strings")
        data, offsets = arrays["bytes"], arrays["offsets"]
        if offsets.size == 0 or offsets[0] != 0 or offsets[-1] != data.size or (offsets[1:] < offsets[:-1]).any():
            raise DataError("the offsets of a vocabulary do not cut its bytes from start to end: the file is damaged")
        return Vocabulary(Strings(data, offsets))

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """What `from_arrays` needs."""
        if self._strings is not None:
            return {"bytes": self._strings.data, "offsets": self._strings.offsets}
        if self._integers is not None:
            return {"ids": self._integers}
        return {"size": np.array([self._size], dtype=np.int64)}

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"Vocabulary({self.kind}, {self._size} ids)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary) or (self.kind, self._size) != (other.kind, other._size):
            return NotImplemented if not isinstance(other, Vocabulary) else False
        theirs = other.arrays()
        return all(np.array_equal(mine, theirs[name]) for name, mine in self.arrays().items())

    def __contains__(self, one: object) -> bool:
        return self._number(one) >= 0

    def number(self, one: Any, side: str = "id") -> int:
        """The number of one id; an UnknownIdError that names it when there is none."""
        found = self._number(one)
        if found < 0:
            raise self._unknown(one, side)
        return found

    def numbers(self, ids: Any, missing: str = "error", side: str = "id") -> I64:
        """The number of every id; an unknown one is an UnknownIdError, or -1 with `missing="negative"`."""
        content = typed(ids, side)
        found = self._find(content)
        unknown = np.flatnonzero(found < 0)
        if unknown.size and missing == "error":
            raise self._unknown(_nth(content, int(unknown[0])), side, unknown.size - 1)
        return found

    def ids(self, numbers: Any = None) -> np.ndarray[Any, Any]:
        """The ids of these numbers (all without): int64, or Python strings in an object array; -1 gives -1 or None."""
        asked = np.arange(self._size) if numbers is None else np.asarray(numbers, dtype=np.int64)
        if asked.size and not (-1 <= asked.min() and asked.max() < self._size):
            raise IndexError(f"number {int(asked.max())} lies outside a vocabulary of {self._size} ids")
        if self._integers is not None:
            return np.where(asked < 0, -1, self._integers[asked] if self._size else -1)
        if self._strings is None:
            return asked.copy()
        flat, out = asked.ravel(), np.full(asked.size, None, dtype=object)
        known = np.flatnonzero(flat >= 0)
        out[known] = self._strings.decode(flat[known])
        return out.reshape(asked.shape)

    def take(self, numbers: Any) -> Vocabulary:
        """The vocabulary of these numbers, in this order; of a range, the ids become integers."""
        asked = np.asarray(numbers, dtype=np.int64)
        if self.kind == "range" and np.array_equal(asked, np.arange(self._size)):
            return self
        return Vocabulary(self._strings.take(asked) if self._strings is not None else self.ids(asked))

    def union(self, other: Vocabulary) -> tuple[Vocabulary, I64]:
        """This vocabulary with the other's new ids after it, and the number of each of the other's ids there.

        Two ranges give the longer range: the same number is the same row.
        """
        if len(other) == 0 or self is other:
            return self, np.arange(len(other))
        if len(self) == 0:
            return other, np.arange(len(other))
        if self.kind == other.kind == "range":
            return (self if len(self) >= len(other) else other), np.arange(len(other))
        if "strings" in (self.kind, other.kind) and self.kind != other.kind:
            mine, new = self.ids([0])[0], other.ids([0])[0]
            raise DataError(f"ids such as {mine!r} and {new!r} do not mix: make all of them strings or all numbers")
        theirs = other._content()
        found = self._find(theirs)
        fresh = np.flatnonzero(found < 0)
        if fresh.size == 0:
            return self, found
        found[fresh] = len(self) + np.arange(fresh.size)
        if isinstance(theirs, Strings):
            assert self._strings is not None
            return Vocabulary(text.concatenate([self._strings, theirs.take(fresh)])), found
        return Vocabulary(np.concatenate([self.ids(), theirs[fresh]])), found

    def _content(self) -> I64 | Strings:
        return self._strings if self._strings is not None else self.ids()

    def _number(self, one: Any) -> int:
        if isinstance(one, str) and self._strings is not None:
            return self._find_string(one)
        if isinstance(one, (int, np.integer)) and not isinstance(one, bool) and self._strings is None:
            if self._integers is None:
                return int(one) if 0 <= one < self._size else -1
            return self._find_integer(int(one))
        if isinstance(one, (str, bytes, int, np.integer)) and not isinstance(one, bool):
            return int(self._find(typed([one], "id"))[0])
        return -1

    def _find_string(self, one: str) -> int:
        assert self._strings is not None
        index, raw = self._built(), one.encode("utf-8", "surrogatepass")
        h = np.uint64(text.hash_one(raw))
        at = int(index.keys.searchsorted(h))
        while at < self._size and index.keys[at] == h:
            found = at if index.order is None else int(index.order[at])
            if self._strings.one(found) == raw:
                return found
            at += 1
        return -1

    def _find_integer(self, one: int) -> int:
        if not -(2**63) <= one < 2**63:
            return -1
        index = self._built()
        at = int(index.keys.searchsorted(one))
        if at == self._size or index.keys[at] != one:
            return -1
        return at if index.order is None else int(index.order[at])

    def _find(self, asked: I64 | Strings) -> I64:
        if isinstance(asked, Strings) != (self.kind == "strings"):
            return np.full(asked.size, -1, dtype=np.int64)
        if isinstance(asked, Strings):
            return self._find_strings(asked)
        if self.kind == "range":
            return np.where((asked >= 0) & (asked < self._size), asked, -1)
        index = self._built()
        at = index.keys.searchsorted(asked)
        hit = at < self._size
        hit[hit] = index.keys[at[hit]] == asked[hit]
        out = np.full(asked.size, -1, dtype=np.int64)
        out[hit] = at[hit] if index.order is None else index.order[at[hit]]
        return out

    def _find_strings(self, asked: Strings) -> I64:
        assert self._strings is not None
        index, h = self._built(), text.hashes(asked)
        pending = np.argsort(h)  # asked in the order of the keys, neighbours share cache lines
        at = index.keys.searchsorted(h[pending])
        out = np.full(asked.size, -1, dtype=np.int64)
        while pending.size:
            inside = at < self._size
            inside[inside] = index.keys[at[inside]] == h[pending[inside]]
            pending, at = pending[inside], at[inside]
            found = (at if index.order is None else index.order[at]).astype(np.int64)
            same = text.equal(self._strings, found, asked, pending)
            out[pending[same]] = found[same]
            pending, at = pending[~same], at[~same] + 1
        return out

    def _built(self) -> _Index:
        index = self._index
        if index is None:  # two threads may both build it; they build the same
            keys = text.hashes(self._strings) if self._strings is not None else self._integers
            assert keys is not None
            if self._strings is None and (keys[1:] > keys[:-1]).all():
                index = _Index(keys, None)
            else:
                order = np.argsort(keys, kind="stable" if self._strings is None else None)
                order = order.astype(np.int32 if self._size < 2**31 else np.int64)
                index = _Index(keys[order], order)
            self._index = index
        return index

    def _unknown(self, one: Any, side: str, others: int = 0) -> UnknownIdError:
        name = one.decode("utf-8", "replace") if isinstance(one, bytes) else one
        name = name.item() if isinstance(name, np.generic) else name
        more = f" (nor are {others} others of those asked)" if others else ""
        if self.kind == "strings" and not isinstance(name, str):
            hint = f', did you mean "{name}"?' if str(name) in self else f", such as {self.ids([0])[0]!r}" * bool(self._size)
            return UnknownIdError(f"{side} {name!r} is not known{more}: ids here are strings{hint}")
        if self.kind != "strings" and not isinstance(name, (int, np.integer)):
            number = int(name) if isinstance(name, str) and name.isdecimal() else None
            hint = f", did you mean {number}?" if number is not None and number in self else ""
            return UnknownIdError(f"{side} {name!r} is not known{more}: ids here are whole numbers{hint}")
        if self.kind == "range":
            return UnknownIdError(f"{side} {name!r} is not known{more}: {side}s here are the numbers 0 to {self._size - 1}")
        some = ", ".join(repr(known) for known in self.ids(np.arange(min(self._size, 2))).tolist())
        return UnknownIdError(f"{side} {name!r} is not known{more}: there are {self._size} {side}s here, such as {some}")


def _by_appearance(first: I64, group: I64) -> tuple[I64, I64]:
    """Groups renumbered so that the one that appears first comes first."""
    order = np.argsort(first)
    rank = np.empty(order.size, dtype=np.int64)
    rank[order] = np.arange(order.size)
    return first[order].astype(np.int64), rank[group]


def _groups_of_strings(content: Strings) -> tuple[I64, I64]:
    """The place of the first of each distinct string, by appearance, and the group of every string."""
    h = text.hashes(content)
    order = np.argsort(h, kind="stable")
    new = np.ones(order.size, dtype=bool)
    new[1:] = h[order[1:]] != h[order[:-1]]
    group = np.empty(order.size, dtype=np.int64)
    group[order] = np.cumsum(new) - 1
    first = order[new]
    if not text.equal(content, first[group], content, np.arange(order.size)).all():
        seen: dict[bytes, int] = {}  # two strings share a hash: one look-up per string settles it
        group = np.array([seen.setdefault(content.one(s), len(seen)) for s in range(content.size)], dtype=np.int64)
        first = np.unique(group, return_index=True)[1]
    return _by_appearance(first.astype(np.int64), group)


def _nth(content: I64 | Strings, place: int) -> str | int:
    return content.decode(np.array([place]))[0] if isinstance(content, Strings) else int(content[place])


def _sealed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view
