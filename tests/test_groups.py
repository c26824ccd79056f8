from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyads import groups as module
from dyads.groups import find, groups, keys, packed
from dyads.strings import encode

FEW = st.lists(st.sampled_from(["", "a", "b", "ab", "\0", "ann", "é" * 150]) | st.text(max_size=3), max_size=40)
NUMBERS = st.lists(st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1), max_size=40)
CONTENTS = FEW.map(encode) | NUMBERS.map(lambda numbers: np.array(numbers, dtype=np.int64))


def listed(content):
    if isinstance(content, np.ndarray):
        return content.tolist()
    return [content.one(s) for s in range(content.size)]


# What a dict makes of the ids.
def oracle(ids):
    seen = {}
    numbers = [seen.setdefault(one, len(seen)) for one in ids]
    return [ids.index(one) for one in seen], numbers, seen


def agrees(content):
    ids = listed(content)
    first, numbers, _ = oracle(ids)
    found = groups(content)
    assert found.first.tolist() == first
    assert found.numbers.tolist() == numbers
    distinct = content.take(found.first) if hasattr(content, "take") and ids and isinstance(ids[0], bytes) else None
    distinct = content[found.first] if isinstance(content, np.ndarray) else distinct
    if distinct is not None:
        for index in (packed(distinct), found.packed):
            assert index is None or find(distinct, index, content).tolist() == numbers
    return found


@given(CONTENTS)
def test_groups_are_those_of_a_dict(content):
    agrees(content)


# Keys that hold little or nothing of an id, so that nearly all groups meet by accident.
@pytest.mark.parametrize("mask", [0, 1 << 63, 3 << 62, (1 << 64) - (1 << 55)])
@given(content=CONTENTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_accident_of_the_keys_changes_nothing(monkeypatch, mask, content):
    monkeypatch.setattr(module, "keys", lambda ids: keys(ids) & np.uint64(mask))
    agrees(content)


@given(CONTENTS, st.integers(1, 5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_blocks_meet_without_a_seam(monkeypatch, content, block):
    monkeypatch.setattr(module, "BLOCK", block)
    agrees(content)
    monkeypatch.setattr(module, "keys", lambda ids: keys(ids) & np.uint64(1 << 63))
    agrees(content)


@given(CONTENTS, CONTENTS)
def test_what_is_not_there_is_not_found(content, asked):
    if isinstance(content, np.ndarray) != isinstance(asked, np.ndarray):
        return
    first = groups(content).first
    distinct = content[first] if isinstance(content, np.ndarray) else content.take(first)
    known = {one: n for n, one in enumerate(listed(distinct))}
    found = find(distinct, packed(distinct), asked)
    assert found.tolist() == [known.get(one, -1) for one in listed(asked)]


@pytest.mark.parametrize("step", [1, 2**20, 2**32, 3**30])
def test_whole_numbers_in_a_row_have_keys_that_differ_in_their_high_bits(step):
    made = keys(np.arange(-2000, 3793, dtype=np.int64) * step)
    assert np.unique(made >> np.uint64(32)).size == made.size


def test_many_ids_are_grouped_as_numpy_does():
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 200_000, 600_000) * 1_000_003
    for content in (numbers, encode([f"user-{n}" for n in numbers.tolist()])):
        found = groups(content)
        _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        assert np.array_equal(found.first, np.sort(first))
        assert np.array_equal(found.numbers, np.argsort(np.argsort(first))[inverse])
        distinct = content[found.first] if content is numbers else content.take(found.first)
        assert np.array_equal(find(distinct, found.packed or packed(distinct), content), found.numbers)
