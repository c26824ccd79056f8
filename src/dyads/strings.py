"""Many strings in two arrays, UTF-8 bytes and offsets, hashed and compared without a Python object per string.

The 64-bit hash reads eight bytes at a time, `h = (h ^ word) * A; h ^= h >> 29`, starts from the length and ends in a
finishing step that spreads every bit; it depends on the bytes alone, never on the process. Strings longer than `LONG`
bytes take BLAKE2b instead, so that one very long id does not slow the others down. Equal hashes are settled by
comparing the bytes.
"""

from __future__ import annotations

import itertools
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

LONG = 256
BLOCK = 1 << 16  # strings hashed at a time: the work arrays stay in the cache
_A, _B, _MASK = 0x9FB21C651E98DF25, 0xD6E8FEB86659FD93, (1 << 64) - 1
_KEEP = np.array([(1 << (8 * k)) - 1 for k in range(9)], dtype=np.uint64)  # the low k bytes of a word


class Strings(NamedTuple):
    """String s is `data[offsets[s]:offsets[s + 1]]`, in UTF-8."""

    data: U8
    offsets: I64

    @property
    def size(self) -> int:
        return self.offsets.size - 1

    def one(self, s: int) -> bytes:
        """The bytes of one string."""
        return self.data[self.offsets[s] : self.offsets[s + 1]].tobytes()

    def slice(self, first: int, last: int) -> Strings:
        """The strings from `first` to before `last`, without a copy of their bytes."""
        return Strings(self.data, self.offsets[first : last + 1])

    def take(self, which: npt.NDArray[np.integer]) -> Strings:
        """The strings of these numbers, in this order."""
        lengths = self.offsets[which + 1] - self.offsets[which]
        offsets = running(lengths)
        data = np.empty(int(offsets[-1]), dtype=np.uint8)
        for first in range(0, which.size, BLOCK):
            last = min(first + BLOCK, which.size)
            shift = np.repeat(self.offsets[which[first:last]] - offsets[first:last], lengths[first:last])
            data[offsets[first] : offsets[last]] = self.data[np.arange(offsets[first], offsets[last]) + shift]
        return Strings(data, offsets)

    def decode(self, which: I64) -> list[str]:
        """Python strings of these numbers; a UnicodeDecodeError where the bytes are not UTF-8."""
        out: list[str] = []
        for first in range(0, which.size, BLOCK):
            part = self.take(which[first : first + BLOCK])
            raw, cuts = part.data.tobytes(), part.offsets.tolist()
            if raw.isascii():
                text = raw.decode("ascii")
                out += [text[a:b] for a, b in itertools.pairwise(cuts)]
            else:
                out += [raw[a:b].decode("utf-8") for a, b in itertools.pairwise(cuts)]
        return out


def running(lengths: npt.NDArray[np.integer]) -> I64:
    """Offsets of consecutive pieces: 0, then the running sum of their lengths."""
    offsets = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def encode(values: list[str]) -> Strings:
    """Strings from Python's; a UnicodeEncodeError where one cannot be written in UTF-8."""
    text = "".join(values)
    if text.isascii():
        data, sizes = text.encode("ascii"), map(len, values)
    else:
        pieces = [value.encode("utf-8") for value in values]
        data, sizes = b"".join(pieces), map(len, pieces)
    lengths = np.fromiter(sizes, dtype=np.int64, count=len(values))
    return Strings(np.frombuffer(data, dtype=np.uint8), running(lengths))


def concatenate(parts: list[Strings]) -> Strings:
    """One after the other."""
    lengths = [np.diff(part.offsets) for part in parts]
    return Strings(
        np.concatenate([np.empty(0, np.uint8), *[part.data[part.offsets[0] : part.offsets[-1]] for part in parts]]),
        running(np.concatenate([np.empty(0, np.int64), *lengths])),
    )


def hash_one(raw: bytes) -> int:
    """The hash of one string."""
    if len(raw) > LONG:
        return int.from_bytes(blake2b(raw, digest_size=8).digest(), "little")
    h = len(raw) * _B & _MASK
    for at in range(0, len(raw), 8):
        h = (h ^ int.from_bytes(raw[at : at + 8], "little")) * _A & _MASK
        h ^= h >> 29
    h = h * _B & _MASK
    return h ^ h >> 32


def hashes(strings: Strings) -> U64:
    """`hash_one` of every string."""
    out = np.empty(strings.size, dtype=np.uint64)
    words = _words(strings.data)
    for first in range(0, strings.size, BLOCK):
        cuts = strings.offsets[first : first + BLOCK + 1]
        out[first : first + BLOCK] = _hash_block(words, strings.data.size, cuts)
        for s in first + np.flatnonzero(np.diff(cuts) > LONG):
            out[s] = hash_one(strings.one(int(s)))
    return out


def _hash_block(words: U64, total: int, cuts: I64) -> U64:
    starts, lengths = cuts[:-1], np.diff(cuts)
    h = lengths.astype(np.uint64) * np.uint64(_B)
    lengths = np.where(lengths > LONG, 0, lengths)
    for done in range(0, int(lengths.max(initial=0)), 8):
        live = np.flatnonzero(lengths > done)
        mixed = h[live] ^ _load(words, total, starts[live] + done, lengths[live] - done)
        mixed *= np.uint64(_A)
        h[live] = mixed ^ mixed >> np.uint64(29)
    h *= np.uint64(_B)
    return h ^ h >> np.uint64(32)


def equal(a: Strings, in_a: I64, b: Strings, in_b: I64) -> npt.NDArray[np.bool_]:
    """Whether string `in_a[s]` of `a` is string `in_b[s]` of `b`, for every s."""
    at_a, at_b = a.offsets[in_a], b.offsets[in_b]
    lengths = a.offsets[in_a + 1] - at_a
    same: npt.NDArray[np.bool_] = lengths == b.offsets[in_b + 1] - at_b
    for s in np.flatnonzero(same & (lengths > LONG)):
        same[s] = a.one(int(in_a[s])) == b.one(int(in_b[s]))
    short = np.where(lengths > LONG, 0, lengths)
    words_a, words_b = _words(a.data), _words(b.data)
    for done in range(0, int(short.max(initial=0)), 8):
        live = np.flatnonzero(same & (short > done))
        left = short[live] - done
        same[live] = _load(words_a, a.data.size, at_a[live] + done, left) == _load(
            words_b, b.data.size, at_b[live] + done, left
        )
    return same


def _words(data: U8) -> U64:
    """Eight bytes starting at every byte, as overlapping little-endian words."""
    padded = data if data.size >= 8 else np.concatenate([data, np.zeros(8, np.uint8)])
    padded = np.ascontiguousarray(padded)
    return np.ndarray((padded.size - 7,), dtype="<u8", buffer=padded, strides=(1,))


def _load(words: U64, total: int, first: I64, left: I64) -> U64:
    """The word at byte `first`, of which `left` bytes count; the last words of the data are read from further back."""
    at = np.minimum(first, max(total - 8, 0))
    back = (first - at).astype(np.uint64) * np.uint64(8) if total >= 8 else np.zeros(first.size, np.uint64)
    if total < 8:
        at = first
    return words[at] >> back & _KEEP[np.minimum(left, 8)]
