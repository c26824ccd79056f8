from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyads import strings
from dyads.strings import LONG, Strings, concatenate, encode, equal, hash_one, hashes

# words of 0 to 20 bytes, of several bytes a letter, with zero bytes and with more than a hash reads at once
WORDS = st.text(max_size=20) | st.sampled_from(["", "\0", "\0\0", "a" * LONG, "a" * (LONG + 1), "é" * LONG])
LISTS = st.lists(WORDS, max_size=30)


def decoded(content):
    return content.decode(np.arange(content.size))


@given(LISTS)
def test_what_is_encoded_is_decoded(words):
    content = encode(words)
    assert decoded(content) == words
    assert content.size == len(words)
    assert content.data.tobytes() == "".join(words).encode()
    assert [content.one(s) for s in range(content.size)] == [word.encode() for word in words]


@given(LISTS, st.data())
def test_parts_in_any_order_are_those_of_a_list(words, data):
    content = encode(words)
    which = data.draw(st.lists(st.integers(0, len(words) - 1), max_size=10)) if words else []
    assert decoded(content.take(np.array(which, dtype=np.int64))) == [words[s] for s in which]
    assert content.decode(np.array(which, dtype=np.int64)) == [words[s] for s in which]
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(words))] * 2)))
    part = content.slice(first, last)
    assert decoded(part) == words[first:last]
    assert np.shares_memory(part.data, content.data) or not content.data.size
    assert decoded(concatenate([content, part, encode([])])) == words + words[first:last]


@given(LISTS)
def test_the_hash_of_many_is_the_hash_of_each(words):
    content = encode(words)
    expected = [hash_one(word.encode()) for word in words]
    assert hashes(content).tolist() == expected
    part = content.slice(len(words) // 2, len(words))  # where the bytes do not start at 0
    assert hashes(part).tolist() == expected[len(words) // 2 :]


@given(LISTS, LISTS)
def test_equal_strings_are_those_of_equal_bytes(a, b):
    in_a, in_b = (part.ravel() for part in np.indices((len(a), len(b))))
    same = equal(encode(a), in_a, encode(b), in_b)
    assert same.tolist() == [a[s] == b[t] for s, t in zip(in_a.tolist(), in_b.tolist(), strict=True)]


def test_blocks_meet_without_a_seam(monkeypatch):
    words = [f"{n * n}" * (n % 4) for n in range(100)]
    monkeypatch.setattr(strings, "BLOCK", 7)
    content = encode(words)
    assert decoded(content.take(np.arange(99, -1, -1))) == words[::-1]
    assert hashes(content).tolist() == [hash_one(word.encode()) for word in words]


# 2^24 pairs of 5793 hashes share their high 32 bits with probability 2^-32 each: below 4e-3 that any do
@pytest.mark.parametrize("form", ["{}", "user-{:012d}", "{:040x}", "{0}{0}{0}"])
def test_hashes_of_ids_that_look_alike_differ_in_their_high_bits(form):
    made = hashes(encode([form.format(n) for n in range(5793)]))
    assert np.unique(made >> np.uint64(32)).size == made.size


def test_a_changed_bit_changes_half_of_the_hash():
    rng = np.random.default_rng(0)
    flips = []
    for length in (1, 7, 8, 9, 40):
        raw = rng.integers(256, size=length, dtype=np.uint8)
        for bit in range(8 * length):
            other = raw.copy()
            other[bit // 8] ^= 1 << bit % 8
            flips.append((hash_one(raw.tobytes()) ^ hash_one(other.tobytes())).bit_count())
    # 520 sums of 64 fair bits: their mean has standard deviation 0.18, and six of it are 1.1
    assert abs(np.mean(flips) - 32) < 1.1
    assert min(flips) > 4


def test_the_hash_is_the_same_in_every_process_on_every_machine():
    found = [hash_one(word) for word in (b"", b"a", b"user-1234567", b"x" * 300)]
    assert found == [0, 3520238049057351970, 8045262202237175329, 1533152188014638354]


@pytest.mark.parametrize("form", ["{}", "ü{}", "{0:060}"])
def test_many_strings_come_back(form):
    words = [form.format(n) for n in range(strings.BLOCK + 1000)]
    content = encode(words)
    assert decoded(content) == words
    assert hashes(content)[-3:].tolist() == [hash_one(word.encode()) for word in words[-3:]]


def test_what_cannot_be_written_in_utf8_is_refused():
    with pytest.raises(UnicodeEncodeError):
        encode(["a", "\ud800"])
    with pytest.raises(UnicodeDecodeError):
        Strings(np.array([0xFF], np.uint8), np.array([0, 1])).decode(np.array([0]))
