"""Ids and their numbers: row 0 is the first id, row 1 the second, without a Python object per id.

Three kinds: `"range"` (a bare matrix: the ids are the numbers), `"integers"` (an int64 array) and `"strings"` (UTF-8
bytes and offsets). An id is found in a sorted list (`groups.py`), which is built at the first look-up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyads import strings as text
from dyads.errors import DataError, UnknownIdError
from dyads.groups import Packed, Whole, find, groups, packed
from dyads.ids import typed
from dyads.strings import I64, Strings

__all__ = ["Vocabulary"]


class Vocabulary:
    """The ids of one side, in the order of their numbers; immutable."""

    __slots__ = ("_index", "_integers", "_size", "_strings", "kind")
    __hash__ = None  # type: ignore[assignment]

    kind: str
    _size: int
    _integers: I64 | None
    _strings: Strings | None
    _index: Packed | None

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
        made, numbers = Vocabulary.factorize(ids, side)
        if len(made) < numbers.size:
            again = int(np.argmin(np.diff(numbers) == 1)) + 1  # the first that is not new
            (name,), place = made.ids(numbers[[again]]).tolist(), int(np.argmax(numbers == numbers[again]))
            raise DataError(f"{side} {name!r} stands at places {place} and {again}: give it once")
        return made

    @staticmethod
    def factorize(ids: Any, side: str = "id") -> tuple[Vocabulary, Whole]:
        """The vocabulary of ids that may repeat, in order of first appearance, and the number of every one."""
        content = typed(ids, side)
        first, numbers, index = groups(content)
        if isinstance(content, Strings):
            made = Vocabulary(content if first.size == content.size else content.take(first))
        else:
            made = Vocabulary(content[first])
        made._index = index
        return made, numbers

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
        if asked.size and not (asked.min() >= -1 and asked.max() < self._size):
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
            (mine,), (new,) = self.ids([0]).tolist(), other.ids([0]).tolist()
            raise DataError(f"ids such as {mine!r} and {new!r} do not mix: make all of them strings or all numbers")
        theirs = other.content()
        found = self._find(theirs)
        fresh = np.flatnonzero(found < 0)
        if fresh.size == 0:
            return self, found
        found[fresh] = len(self) + np.arange(fresh.size)
        if isinstance(theirs, Strings):
            assert self._strings is not None
            return Vocabulary(text.concatenate([self._strings, theirs.take(fresh)])), found
        return Vocabulary(np.concatenate([self.ids(), theirs[fresh]])), found

    def content(self) -> I64 | Strings:
        """The ids in the order of their numbers, as they are kept."""
        if self._strings is not None:
            return self._strings
        return self._integers if self._integers is not None else np.arange(self._size)

    def _number(self, one: Any) -> int:
        if isinstance(one, bool) or not isinstance(one, (str, bytes, int, np.integer)):
            return -1
        try:
            return int(self._find(typed([one], "id"))[0])
        except DataError:  # more than 64 bits, or no UTF-8: nowhere an id
            return -1

    def _find(self, asked: I64 | Strings) -> I64:
        if isinstance(asked, Strings) != (self.kind == "strings"):
            return np.full(asked.size, -1, dtype=np.int64)
        if self.kind == "range" and not isinstance(asked, Strings):
            return np.where((asked >= 0) & (asked < self._size), asked, -1)
        content = self.content()
        index = self._index
        if index is None:  # two threads may both build it; they build the same
            index = self._index = packed(content)
        return find(content, index, asked)

    def _unknown(self, one: Any, side: str, others: int = 0) -> UnknownIdError:
        name = one.decode("utf-8", "replace") if isinstance(one, bytes) else one
        name = name.item() if isinstance(name, np.generic) else name
        more = f" (nor are {others} others of those asked)" if others else ""
        if self.kind == "strings" and not isinstance(name, str):
            hint = (
                f', did you mean "{name}"?'
                if str(name) in self
                else f", such as {self.ids([0])[0]!r}" * bool(self._size)
            )
            return UnknownIdError(f"{side} {name!r} is not known{more}: ids here are strings{hint}")
        if self.kind != "strings" and not isinstance(name, (int, np.integer)):
            number = int(name) if isinstance(name, str) and name.isdecimal() else None
            hint = f", did you mean {number}?" if number is not None and number in self else ""
            return UnknownIdError(f"{side} {name!r} is not known{more}: ids here are whole numbers{hint}")
        if self.kind == "range":
            return UnknownIdError(
                f"{side} {name!r} is not known{more}: {side}s here are the numbers 0 to {self._size - 1}"
            )
        some = ", ".join(repr(known) for known in self.ids(np.arange(min(self._size, 2))).tolist())
        return UnknownIdError(
            f"{side} {name!r} is not known{more}: there are {self._size} {side}s here, such as {some}"
        )


def _nth(content: I64 | Strings, place: int) -> str | int:
    return content.decode(np.array([place]))[0] if isinstance(content, Strings) else int(content[place])


def _sealed(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view
