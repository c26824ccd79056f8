from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dyads import parameters
from dyads.errors import ConfigError
from dyads.models import METHODS, method
from dyads.parameters import (
    binarize_field,
    choice,
    device_field,
    either,
    jobs_field,
    number,
    seed_field,
    seed_of,
    whole,
)

NAN, INF = math.nan, math.inf


@dataclass(kw_only=True)
class Some:
    least: int = whole(3, 1)
    most: int | None = whole(None, 1, none=True)
    share: float = number(0.5, 0.0, 1.0)
    positive: float = number(1.0, 0.0, open_low=True)
    perhaps: float | None = number(None, 0.0, none=True)
    any_number: float = number(0.0, -INF)
    word: str = choice("a", "a", "b", 1)
    even: int = either(2, "an even number", lambda value: value % 2 == 0)
    binarize: float | None = binarize_field()
    random_state: Any = seed_field()
    n_jobs: int | None = jobs_field()
    device: str = device_field()


FINE = {
    "least": [1, 10**12, np.int64(4), np.uint8(1)],
    "most": [None, 1, np.int32(7)],
    "share": [0, 1, 0.0, 1.0, 0.3, np.float32(0.5), np.int64(1)],
    "positive": [1e-300, 5, np.float64(2.5)],
    "perhaps": [None, 0, 0.0, 3],
    "any_number": [-1e300, 0, -3],
    "word": ["a", "b", 1],
    "even": [0, -2],
    "binarize": [None, 0, 0.0, -1.5],
    "random_state": [None, 0, 2**64 - 1, np.uint64(2**63), np.random.default_rng(0), np.random.RandomState(0)],
    "n_jobs": [None, -1, 1, 64, np.int64(2)],
    "device": ["cpu", "cuda:1"],
}

WRONG = {
    "least": ("a whole number of at least 1", [0, -3, 1.0, True, "1", None, NAN, np.bool_(True)]),
    "most": ("a whole number of at least 1 or None", [0, 2.5, False, "", []]),
    "share": ("a finite number of at least 0.0 and at most 1.0", [-1e-9, 1.0000001, NAN, INF, True, "0.5", None]),
    "positive": ("a finite number above 0.0", [0, 0.0, -1, NAN, INF, None, np.bool_(True)]),
    "perhaps": ("a finite number of at least 0.0 or None", [-1, NAN, "none"]),
    "any_number": ("a finite number", [NAN, INF, -INF, None, "0", 1j]),
    "word": ("one of 'a', 'b', 1", ["c", "A", 1.0, True, None, 2]),
    "even": ("an even number", [1, -3]),
    "binarize": ("a finite number or None", [NAN, INF, "0", True]),
    "random_state": ("a whole number from 0 to 2^64 - 1, None, or a NumPy Generator", [-1, 2**64, 0.5, True, "7", []]),
    "n_jobs": ("a number of threads of at least 1, or None for all cores", [0, -2, 1.0, True, "all"]),
    "device": ("the name of a device, such as 'cpu'", [None, 0, b"cpu"]),
}


def pairs_of(table):
    return [(name, value) for name, values in table.items() for value in values]


@pytest.mark.parametrize(("name", "value"), pairs_of(FINE))
def test_what_may_be_passes(name, value):
    parameters.check(Some(**{name: value}))


@pytest.mark.parametrize(("name", "value"), pairs_of({name: values for name, (_, values) in WRONG.items()}))
def test_what_may_not_be_is_named_with_what_may(name, value):
    with pytest.raises(ConfigError) as error:
        parameters.check(Some(**{name: value}))
    assert str(error.value) == f"Some({name}={value!r}) cannot be: give {WRONG[name][0]}"


def test_the_defaults_pass():
    parameters.check(Some())


@pytest.mark.parametrize("name", METHODS)
def test_every_method_passes_with_its_defaults(name):
    parameters.check(method(name)())


@pytest.mark.parametrize("name", METHODS)
def test_no_hyper_parameter_takes_just_anything(name):
    cls = method(name)
    for parameter in parameters.names(cls):
        with pytest.raises(ConfigError, match=rf"{cls.__name__}\({parameter}=\["):
            parameters.check(cls(**{parameter: [None]}))


def test_those_of_the_machine_are_told_apart():
    every, own = parameters.names(Some), parameters.names(Some(), machine=False)
    assert [name for name in every if name not in own] == ["n_jobs", "device"]
    assert every[:3] == ["least", "most", "share"]


# --- SBMF's own ---


@pytest.mark.parametrize("clip", [None, "data", (1, 5), (-0.5, 0.5)])
def test_clips_that_may_be(clip):
    parameters.check(method("sbmf")(clip=clip))


@pytest.mark.parametrize("clip", ["range", (5, 1), (1, 1), (1,), (1, 2, 3), [1, 5], (1, INF), (NAN, 2), ("a", "b"), 3])
def test_clips_that_may_not_be_are_named(clip):
    with pytest.raises(ConfigError, match=r"SBMF\(clip=.*\) cannot be: give None, 'data' or \(lowest, highest\)"):
        parameters.check(method("sbmf")(clip=clip))


# --- seeds ---


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1, np.int64(7), np.uint64(2**64 - 1)])
def test_a_number_is_its_own_seed(seed):
    assert seed_of(seed) == int(seed)
    assert type(seed_of(seed)) is int


def test_none_takes_a_fresh_seed_of_64_bits():
    seeds = [seed_of(None) for _ in range(100)]
    assert len(set(seeds)) == 100
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert max(seeds) >= 2**62  # fails by chance once in 4^100


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_gives_its_next_word(make):
    first, second = make(3), make(3)
    assert [seed_of(first) for _ in range(3)] == [seed_of(second) for _ in range(3)]
    assert seed_of(first) != seed_of(make(4))
