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
        return _places(self.words, self.low)

    def high(self, keys: U64) -> U64:
        """What words have of these keys."""
        return keys & np.uint64((1 << 64) - (1 << self.low))


class Groups(NamedTuple):
    """Which ids are equal."""

    first: Whole  # the place of the first of each group, ascending
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
    _set_low(words, low, np.arange(words.size, dtype=_kind(words.size)))
    words.sort()
    return Packed(words, low)


def _set_low(words: U64, low: int, numbers: Whole) -> None:
    """Put numbers into the low bits of words."""
    for at in range(0, words.size, BLOCK):
        some = words[at : at + BLOCK]
        some &= np.uint64((1 << 64) - (1 << low))
        some |= numbers[at : at + BLOCK].astype(np.uint64)


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
    """Equal ids brought together; groups come in the order in which they appear.

    Beside the ids it needs some 20 bytes for each: what would take more is done in blocks.
    """
    words, low = _packed(keys(content))
    new, ranks = _heads(words, low)
    seen = _ranked(ranks, words.size)
    numbers: Whole = np.empty(words.size, dtype=ranks.dtype)
    group, kept = -1, 0
    for at in range(0, words.size, BLOCK):
        some, begins = words[at : at + BLOCK], new[at : at + BLOCK]
        steps = np.cumsum(begins) + group
        numbers[_places(some, low)] = ranks[steps]
        heads = some[begins]
        words[kept : kept + heads.size] = heads  # a word a group stays, in the same memory
        group, kept = int(steps[-1]), kept + heads.size
    words.resize(kept, refcheck=False)
    _set_low(words, low, ranks)
    del ranks, new
    first = _true(seen)
    odd = _odd(content, first, numbers)
    if not odd.size:
        return Groups(first, numbers, Packed(words, low))
    del words, seen
    return _parted(content, first, numbers, odd)


def _heads(words: U64, low: int) -> tuple[npt.NDArray[np.bool_], Whole]:
    """Where another key begins in ascending words, and the places these words name."""
    new, heads = np.ones(words.size, dtype=bool), [np.empty(0, dtype=_kind(words.size))]
    for at in range(0, words.size, BLOCK):
        high = words[max(at - 1, 0) : at + BLOCK] >> np.uint64(low)
        new[max(at, 1) : at + BLOCK] = high[1:] != high[:-1]
        heads.append(_places(words[at : at + BLOCK][new[at : at + BLOCK]], low).astype(heads[0].dtype))
    return new, np.concatenate(heads)


def _places(words: U64, low: int) -> I64:
    return (words & np.uint64((1 << low) - 1)).astype(np.int64)


def _ranked(places: Whole, n: int) -> npt.NDArray[np.bool_]:
    """Which of 0 to n - 1 is one of these places; each place gives way to its rank among them."""
    seen = np.zeros(n, dtype=bool)
    seen[places] = True
    ranks = np.cumsum(seen, dtype=places.dtype)
    for at in range(0, places.size, BLOCK):
        places[at : at + BLOCK] = ranks[places[at : at + BLOCK]] - 1
    return seen


def _true(which: npt.NDArray[np.bool_]) -> Whole:
    """The places of what is true."""
    kind = _kind(which.size)
    parts = [(np.flatnonzero(which[at : at + BLOCK]) + at).astype(kind) for at in range(0, which.size, BLOCK)]
    out: Whole = np.concatenate([np.empty(0, dtype=kind), *parts])
    return out


def _kind(n: int) -> type[np.signedinteger[Any]]:
    """The type of whole numbers below n."""
    return np.int32 if n < 2**31 else np.int64


def _odd(content: I64 | Strings, first: Whole, numbers: Whole) -> I64:
    """The ids that are not the first of their group over again: an accident of the keys."""
    out = [np.empty(0, dtype=np.int64)]
    for at in range(0, numbers.size, BLOCK):
        theirs = first[numbers[at : at + BLOCK]]
        mine = np.arange(at, at + theirs.size)
        again = theirs != mine
        mine, theirs = mine[again], theirs[again]
        out.append(mine[~_equal(content, mine, content, theirs)])
    return np.concatenate(out)


def _parted(content: I64 | Strings, first: Whole, numbers: Whole, odd: I64) -> Groups:
    """Groups of their own for the odd ids."""
    seen: dict[Any, int] = {}
    ids = [content.one(s) for s in odd] if isinstance(content, Strings) else content[odd].tolist()
    own = np.array([seen.setdefault(one, len(seen)) for one in ids])
    extra = odd[np.unique(own, return_index=True)[1]].astype(first.dtype)  # ascending, as the odd ids are
    for at in range(0, numbers.size, BLOCK):  # a group moves by the new ones that appear before it
        some = numbers[at : at + BLOCK]
        some += np.searchsorted(extra, first[some]).astype(some.dtype)
    before = np.searchsorted(first, extra)
    numbers[odd] = (before + np.arange(extra.size))[own]
    return Groups(np.insert(first, before, extra), numbers, None)


def _equal(a: I64 | Strings, in_a: I64, b: I64 | Strings, in_b: I64) -> npt.NDArray[np.bool_]:
    if isinstance(a, Strings) and isinstance(b, Strings):
        return text.equal(a, in_a, b, in_b)
    assert isinstance(a, np.ndarray)
    assert isinstance(b, np.ndarray)
    return np.asarray(a[in_a] == b[in_b])
