from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyads.errors import DataError, UnknownIdError
from dyads.vocabulary import Vocabulary

WORDS = st.lists(st.text(max_size=6), max_size=20)
NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20)
LISTS = WORDS | NUMBERS
THREE = (Vocabulary.range(3), Vocabulary.of([30, 10, 20]), Vocabulary.of(["c", "a", "b"]))


@given(LISTS)
def test_ids_map_to_numbers_and_back(ids):
    made, numbers = Vocabulary.factorize(ids)
    order = list(dict.fromkeys(ids))
    assert made.ids().tolist() == order
    assert numbers.tolist() == [order.index(one) for one in ids]
    assert made.ids(numbers).tolist() == ids
    fresh = Vocabulary(made.content())  # one that has to build its index
    for vocabulary in (made, fresh):
        assert vocabulary.numbers(ids).tolist() == numbers.tolist()
        assert [vocabulary.number(one) for one in ids] == numbers.tolist()
        assert all(one in vocabulary for one in ids)
    assert (len(made), made == fresh, made.kind) == (
        len(order),
        True,
        "strings" if ids and isinstance(ids[0], str) else "integers",
    )


@given(LISTS, st.data())
def test_taken_ids_are_those_of_a_list(ids, data):
    made = Vocabulary.factorize(ids)[0]
    order = made.ids().tolist()
    which = data.draw(st.lists(st.integers(0, len(order) - 1), unique=True)) if order else []
    taken = made.take(which)
    assert taken.ids().tolist() == [order[n] for n in which]
    assert taken.kind == made.kind


@given(st.tuples(WORDS, WORDS) | st.tuples(NUMBERS, NUMBERS))
def test_a_union_has_the_old_ids_first_and_then_the_new(lists):
    a, b = (Vocabulary.factorize(ids)[0] for ids in lists)
    union, numbers = a.union(b)
    assert union.ids().tolist() == list(dict.fromkeys([*lists[0], *lists[1]]))
    assert union.ids(numbers).tolist() == b.ids().tolist()


def test_a_union_of_ranges_is_the_longer_and_of_numbers_a_list():
    short, long, named = Vocabulary.range(2), Vocabulary.range(3), Vocabulary.of([1, 7])
    assert short.union(long)[0] is long and long.union(short)[0] is long
    assert long.union(short)[1].tolist() == [0, 1]
    union, numbers = short.union(named)
    assert (union.kind, union.ids().tolist(), numbers.tolist()) == ("integers", [0, 1, 7], [1, 2])
    with pytest.raises(DataError, match="ids such as 1 and 'a' do not mix: make all of them strings or all numbers"):
        named.union(Vocabulary.of(["a"]))


@given(LISTS)
def test_arrays_make_the_same_vocabulary_again(ids):
    made = Vocabulary.factorize(ids)[0]
    again = Vocabulary.from_arrays(made.kind, made.arrays())
    assert again == made
    assert again.numbers(ids).tolist() == made.numbers(ids).tolist()


def test_arrays_of_a_range_make_a_range():
    assert Vocabulary.from_arrays("range", Vocabulary.range(5).arrays()) == Vocabulary.range(5)


@pytest.mark.parametrize("offsets", [[], [1, 3], [0, 2], [0, 4], [0, 2, 1, 3]])
def test_offsets_that_do_not_cut_the_bytes_are_refused(offsets):
    arrays = {"bytes": np.frombuffer(b"abc", np.uint8), "offsets": np.array(offsets, dtype=np.int64)}
    with pytest.raises(DataError, match="the offsets of a vocabulary do not cut its bytes"):
        Vocabulary.from_arrays("strings", arrays)
    with pytest.raises(DataError, match="vocabulary kind 'tree' is unknown"):
        Vocabulary.from_arrays("tree", arrays)


def test_a_range_is_the_numbers_themselves():
    rows = Vocabulary.range(3)
    assert rows.ids().tolist() == [0, 1, 2]
    assert rows.numbers([2, 0]).tolist() == [2, 0]
    assert rows.take([0, 1, 2]) is rows
    assert (rows.take([2, 0]).kind, rows.take([2, 0]).ids().tolist()) == ("integers", [2, 0])
    assert 3 not in rows and -1 not in rows and "1" not in rows and 1.0 not in rows and True not in rows
    assert np.int8(2) in rows


@pytest.mark.parametrize("vocabulary", THREE, ids=lambda v: v.kind)
def test_minus_one_is_nobody(vocabulary):
    ids = vocabulary.ids([[0, -1]])
    assert ids.shape == (1, 2)
    assert ids[0, 1] == (None if vocabulary.kind == "strings" else -1)
    for outside in (3, -2):
        with pytest.raises(IndexError, match="outside a vocabulary of 3 ids"):
            vocabulary.ids([0, outside])


def test_ids_that_stand_twice_are_named_with_their_places():
    with pytest.raises(DataError, match="user 'b' stands at places 1 and 3: give it once"):
        Vocabulary.of(["a", "b", "c", "b"], "user")
    with pytest.raises(DataError, match="id 5 stands at places 0 and 1"):
        Vocabulary.of([5, 5])


UNKNOWN = [
    (THREE[0], 3, r"user 3 is not known: users here are the numbers 0 to 2"),
    (THREE[1], 11, r"user 11 is not known: there are 3 users here, such as 30, 10"),
    (THREE[2], "zoe", r"user 'zoe' is not known: there are 3 users here, such as 'c', 'a'"),
    (THREE[1], "10", r"user '10' is not known: ids here are whole numbers, did you mean 10\?"),
    (THREE[1], "ten", r"user 'ten' is not known: ids here are whole numbers$"),
    (THREE[2], 7, r"user 7 is not known: ids here are strings, such as 'c'"),
    (Vocabulary.of(["7"]), 7, r'user 7 is not known: ids here are strings, did you mean "7"\?'),
    (THREE[2], b"zoe", r"user 'zoe' is not known"),
    (THREE[2], b"\xff", r"user '.' is not known"),
    (THREE[1], 2**70, r"user 1180591620717411303424 is not known"),
    (THREE[2], None, r"user None is not known: ids here are strings"),
    (THREE[1], 10.0, r"user 10.0 is not known: ids here are whole numbers"),
]


@pytest.mark.parametrize(("vocabulary", "one", "said"), UNKNOWN)
def test_an_unknown_id_is_named_with_what_is_known(vocabulary, one, said):
    assert one not in vocabulary
    with pytest.raises(UnknownIdError, match=said) as error:
        vocabulary.number(one, "user")
    assert isinstance(error.value, KeyError) and isinstance(error.value, IndexError)
    assert not str(error.value).startswith('"')


def test_unknown_ids_among_many_are_counted_or_minus_one():
    with pytest.raises(UnknownIdError, match=r"item 'x' is not known \(nor are 1 others of those asked\)"):
        THREE[2].numbers(["a", "x", "y"], side="item")
    assert THREE[2].numbers(["a", "x", "c"], missing="negative").tolist() == [1, -1, 0]
    assert THREE[2].numbers([1, 2], missing="negative").tolist() == [-1, -1]
    assert THREE[1].numbers(["10"], missing="negative").tolist() == [-1]


def test_bytes_are_the_strings_they_write():
    assert THREE[2].number(b"a") == 1


def test_a_vocabulary_is_sealed_and_has_no_hash():
    for vocabulary in THREE[1:]:
        for array in vocabulary.arrays().values():
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(THREE[0])


def test_vocabularies_are_equal_with_the_same_ids_in_the_same_order():
    assert Vocabulary.of(["a", "b"]) == Vocabulary.of(["a", "b"])
    assert Vocabulary.of(["a", "b"]) != Vocabulary.of(["b", "a"])
    assert Vocabulary.of(["ab", "c"]) != Vocabulary.of(["a", "bc"])
    assert Vocabulary.of([0, 1]) != Vocabulary.range(2)
    assert Vocabulary.range(2) != "range"
    assert repr(THREE[2]) == "Vocabulary(strings, 3 ids)"


def test_several_threads_may_look_up_at_once():
    vocabulary = Vocabulary(Vocabulary.of([f"u{n}" for n in range(5000)]).content())
    found, asked = [None] * 8, [f"u{n}" for n in range(4999, -1, -1)]
    start = threading.Barrier(8)

    def ask(n):
        start.wait(timeout=20)
        found[n] = vocabulary.numbers(asked)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, np.arange(4999, -1, -1)) for one in found)


# 10^7 distinct ids of 16 bytes. Measured: the peak of the process's resident memory (VmHWM), from before the ids exist
# until they have been numbered and a tenth of them looked up and brought back, above what the process holds (VmRSS)
# once NumPy and dyads are imported. The arrays of the ids themselves, 240 MB, are within the 500.
MEMORY = """
import numpy as np
from dyads.strings import Strings
from dyads.vocabulary import Vocabulary

def status(name):
    return next(int(line.split()[1]) / 1e3 for line in open("/proc/self/status") if line.startswith(name))

n, digits = 10_000_000, np.frombuffer(b"0123456789abcdef", np.uint8)
warm = Vocabulary.of(["a", "b"])
before = status("VmRSS")
data = np.empty((n, 16), np.uint8)
for at in range(0, n, 100_000):
    words = np.arange(at, at + 100_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for k in range(16):
        data[at : at + 100_000, k] = digits[(words >> np.uint64(60 - 4 * k)).astype(np.intp) & 15]
made, numbers = Vocabulary.factorize(Strings(data.reshape(-1), np.arange(0, 16 * n + 1, 16)), "user")
assert len(made) == n and np.array_equal(numbers, np.arange(n))
del numbers
asked = np.random.default_rng(0).integers(n, size=n // 10)
for at in range(0, asked.size, 100_000):
    some = asked[at : at + 100_000]
    ids = made.ids(some)
    assert ids[0] == data[some[0]].tobytes().decode()
    assert np.array_equal(made.numbers(ids), some)
print(status("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_ten_million_ids_of_16_bytes_cost_500_megabytes():
    run = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) <= 500
