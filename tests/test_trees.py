from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dyads.pairs import F32, F64
from dyads.state import arrays_equal
from dyads.trees import PlanError, by_name, fits, flatten, rebuild


class Leaf(NamedTuple):
    weight: F32
    scale: F64 | None
    n: int
    rate: float = 1.0


class Tree(NamedTuple):
    left: Leaf
    right: Any
    names: tuple[str, ...]


CLASSES = by_name(Leaf, Tree)
DTYPES = st.sampled_from(
    ["?", "<i1", "<u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", ">f4", ">i8"]
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
FLOATS = st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | FLOATS | st.text()
LEAVES = st.builds(
    Leaf,
    hnp.arrays(np.float32, SHAPES, elements=st.floats(width=32)),
    st.none() | hnp.arrays(np.float64, SHAPES),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False),
)
PARTS = st.recursive(
    SCALARS | ARRAYS | LEAVES | ARRAYS.filter(lambda a: a.size).map(lambda a: a.ravel()[0]),
    lambda parts: (
        st.lists(parts, max_size=3) | st.lists(parts, max_size=3).map(tuple) | st.dictionaries(st.text(), parts)
    ),
    max_leaves=6,
)
TREES = st.builds(Tree, LEAVES, PARTS, st.lists(st.text(), max_size=2).map(tuple))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (np.ndarray, np.generic)):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and a == b


@given(TREES)
def test_a_tree_comes_back_from_its_plan_and_arrays(tree):
    import json

    arrays: dict[str, Any] = {}
    plan = flatten(tree, "tree", arrays)
    assert same(rebuild(json.loads(json.dumps(plan, allow_nan=False)), arrays, CLASSES), tree)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), -0.0, 1e-320, 0.1])
def test_every_float_keeps_its_bits(value):
    assert np.float64(rebuild(flatten(value, "x", {}), {}, {})).tobytes() == np.float64(value).tobytes()


def test_nan_comes_back():
    assert np.isnan(rebuild(flatten(float("nan"), "x", {}), {}, {}))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (object(), "object"),
        (np.array(["a"]), "<U1"),
        (np.array([1j]), "complex128"),
        ({1: 2}, "dict"),
        (10**30, "int"),
        (b"x", "bytes"),
        (np.random.default_rng(0), "Generator"),
    ],
)
def test_what_no_file_can_hold_is_named(value, named):
    with pytest.raises(PlanError, match=rf"tree\.1.*{named}"):
        flatten([0, value], "tree", {})


def test_a_field_of_the_wrong_type_is_refused_when_it_is_written():
    with pytest.raises(PlanError, match=r"Leaf\.weight is an array of type float64"):
        flatten(Leaf(np.zeros(3), None, 1), "tree", {})  # type: ignore[arg-type]


WEIGHT = {"array": "w"}


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        ({"Popen": {"args": "ls"}}, "'Popen' names no class"),
        ({"Leaf": []}, "'Leaf'"),
        ({"array": "missing"}, "missing"),
        ({"array": 3}, "array 3"),
        ({"array": ["w"]}, "array"),
        ({"number": "w"}, "number 'w'"),
        ({"float": "1.5"}, "float '1.5'"),
        ({"tuple": {}}, "tuple"),
        ({"dict": [["a"]]}, "dict"),
        ({"dict": [["a", 1], ["a", 2]]}, "dict"),
        ({"dict": [[1, 2]]}, "dict"),
        ({}, "0 keys"),
        ({"array": "w", "tuple": []}, "2 keys"),
        ({"Leaf": {"weight": WEIGHT, "scale": None}}, "no 'n'"),
        ({"Leaf": {"weight": WEIGHT, "scale": None, "n": 1, "more": 2}}, "'more' too much"),
        ({"Leaf": {"weight": WEIGHT, "scale": None, "n": "1"}}, r"Leaf\.n is '1'"),
        ({"Leaf": {"weight": WEIGHT, "scale": WEIGHT, "n": 1}}, r"Leaf\.scale is an array of type float32"),
        ({"Leaf": {"weight": WEIGHT, "scale": None, "n": True}}, r"Leaf\.n is True"),
    ],
)
def test_a_plan_that_means_nothing_is_refused(plan, named):
    with pytest.raises(PlanError, match=named):
        rebuild(plan, {"w": np.zeros(2, np.float32)}, CLASSES)


def test_a_field_with_a_default_may_be_missing_from_an_older_file():
    assert (
        rebuild({"Leaf": {"weight": WEIGHT, "scale": None, "n": 1}}, {"w": np.zeros(2, np.float32)}, CLASSES).rate
        == 1.0
    )


def test_a_plan_nested_beyond_reason_is_refused():
    plan: Any = []
    for _ in range(100_000):
        plan = [plan]
    with pytest.raises(PlanError, match="nested"):
        rebuild(plan, {}, {})


@pytest.mark.parametrize(
    ("value", "hint", "right"),
    [
        (1, float, True),
        (True, float, False),
        (np.float32(1), float, True),
        (np.int64(1), int, True),
        (np.float64(1), int, False),
        ((1, 2), tuple[int, ...], True),
        ((1, "a"), tuple[int, ...], False),
        ((1, 2), tuple[int, int], True),
        ((1,), tuple[int, int], False),
        (1, tuple[int, ...], False),
        (None, F32 | None, True),
        (np.zeros(1, np.float32), F32 | None, True),
        (0.0, F32, False),
        ({"a": 1.0}, dict[str, float], True),
    ],
)
def test_values_are_held_against_annotations(value, hint, right):
    assert fits(value, hint) is right


def test_trees_of_arrays_are_compared_to_the_bit():
    tree = Tree(Leaf(np.arange(3, dtype=np.float32), None, 1), None, ("a",))
    arrays: dict[str, Any] = {}
    assert arrays_equal(rebuild(flatten(tree, "t", arrays), arrays, CLASSES), tree)
