"""Equal ids found by sorting: the high bits of an id's key and the id's number share one 64-bit word.

Keys are hashes of strings, or integers spread over all 64 bits. Ids whose keys agree in the high bits are compared, so
that an accident of the keys costs time and never the answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dyads import strings as text
from dyads.strings import I64, U64, Strings

Whole = npt.NDArray[np.signedinteger[Any]]  # int32 where that is enough, else int64

BLOCK = 1 << 18  # ids compared or looked up at a time
_A, _B = np.uint64(0x9FB21C651E98DF25), np.uint64(0xD6E8FEB86659FD93)


class Packed(NamedTuple):
    """Words in ascending order: high bits of a key, then the number of its id in the `low` lowest bits."""

    words: U64
    low: int

    @property
    def numbers(self) -> I64:
        """The number of the id of every word."""
        return (self.words & np.uint64((1 << self.low) - 1)).astype(np.int64)

    def high(self, keys: U64) -> U64:
        """What words have of these keys."""
        return keys & np.uint64((1 << 64) - (1 << self.low))


class Groups(NamedTuple):
    """Which ids are equal."""

    first: I64  # the place of the first of each group, ascending
    numbers: Whole  # the group of every id
    packed: Packed | None  # the groups, ready for `find`; None if it must be made anew


def keys(content: I64 | Strings) -> U64:
    """64-bit words, equal for equal ids, whose high bits differ for nearly all others."""
    if isinstance(content, Strings):
        return text.hashes(content)
    words = content.astype(np.uint64)
    words *= _A
    words ^= words >> np.uint64(32)
    words *= _B
    return words


def packed(content: I64 | Strings) -> Packed:
    """Ids that differ, ready for `find`."""
    return _packed(keys(content))


def _packed(words: U64) -> Packed:
    """The keys with their places, sorted in the same memory."""
    low = max(words.size - 1, 1).bit_length()
    words &= np.uint64((1 << 64) - (1 << low))
    words |= np.arange(words.size, dtype=np.uint64)
    words.sort()
    return Packed(words, low)


def find(content: I64 | Strings, index: Packed, asked: I64 | Strings) -> I64:
    """The number of every asked id in `content`, -1 where it is not there."""
    out = np.full(asked.size, -1, dtype=np.int64)
    for at in range(0, asked.size, BLOCK):
        some = asked.slice(at, at + BLOCK) if isinstance(asked, Strings) else asked[at : at + BLOCK]
        _find_block(content, index, some, out[at : at + BLOCK])
    return out


def _find_block(content: I64 | Strings, index: Packed, asked: I64 | Strings, out: I64) -> None:
    wanted = index.high(keys(asked))
    pending = np.argsort(wanted)  # asked in the order of the words, neighbours share cache lines
    at = index.words.searchsorted(wanted[pending])
    while pending.size:
        inside = at < index.words.size
        inside[inside] = index.high(index.words[at[inside]]) == wanted[pending[inside]]
        pending, at = pending[inside], at[inside]
        found = index._replace(words=index.words[at]).numbers
        same = _equal(content, found, asked, pending)
        out[pending[same]] = found[same]
        pending, at = pending[~same], at[~same] + 1


def groups(content: I64 | Strings) -> Groups:
    """Equal ids brought together; groups come in the order in which they appear."""
    words = _packed(keys(content))
    starts = _starts(words.high(words.words))
    places = words.numbers
    numbers: Whole = np.empty(places.size, dtype=np.int32 if places.size < 2**31 else np.int64)
    first, ranks = _by_appearance(places[starts], numbers)  # within a group places ascend
    numbers[places] = np.repeat(ranks, np.diff(starts, append=places.size))
    del places
    grouped = words.high(words.words[starts]) | ranks.astype(np.uint64)
    odd = _odd(content, first, numbers)
    if odd.size:
        return _parted(content, first, numbers, odd)
    return Groups(first, numbers, Packed(grouped, words.low))


def _by_appearance(first: I64, like: Whole) -> tuple[I64, Whole]:
    """The first places of groups in ascending order, and where in it each of them is."""
    seen = np.zeros(like.size, dtype=bool)
    seen[first] = True
    return np.flatnonzero(seen), (np.cumsum(seen, dtype=like.dtype) - 1)[first]


def _starts(ascending: npt.NDArray[Any]) -> I64:
    """Where a new value begins."""
    new = np.ones(ascending.size, dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    return np.flatnonzero(new)


def _odd(content: I64 | Strings, first: I64, numbers: Whole) -> I64:
    """The ids that are not the first of their group over again: an accident of the keys."""
    out = [np.empty(0, dtype=np.int64)]
    for at in range(0, numbers.size, BLOCK):
        theirs = first[numbers[at : at + BLOCK]]
        mine = np.arange(at, at + theirs.size)
        again = theirs != mine
        mine, theirs = mine[again], theirs[again]
        out.append(mine[~_equal(content, mine, content, theirs)])
    return np.concatenate(out)


def _parted(content: I64 | Strings, first: I64, numbers: Whole, odd: I64) -> Groups:
    """Groups of their own for the odd ids."""
    seen: dict[Any, int] = {}
    ids = [content.one(s) for s in odd] if isinstance(content, Strings) else content[odd].tolist()
    own = np.array([seen.setdefault(one, len(seen)) for one in ids])
    numbers[odd] = first.size + own
    first, ranks = _by_appearance(np.concatenate([first, odd[np.unique(own, return_index=True)[1]]]), numbers)
    return Groups(first, ranks[numbers], None)


def _equal(a: I64 | Strings, in_a: I64, b: I64 | Strings, in_b: I64) -> npt.NDArray[np.bool_]:
    if isinstance(a, Strings) and isinstance(b, Strings):
        return text.equal(a, in_a, b, in_b)
    assert isinstance(a, np.ndarray)
    assert isinstance(b, np.ndarray)
    return np.asarray(a[in_a] == b[in_b])
