"""Hyper-parameters that know what they may be: a dataclass field with its check beside its default."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, fields
from typing import Any

import numpy as np

from dyads.errors import ConfigError

Check = Callable[[Any], str | None]  # what is asked for, where the value is not it


def _field(default: Any, check: Check, machine: bool = False) -> Any:
    return field(default=default, metadata={"check": check, "machine": machine})


def is_whole(value: Any) -> bool:
    """Whether this is a whole number of Python or NumPy, and no truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole(default: int | None, low: int, *, none: bool = False) -> Any:
    """A whole number of at least `low`, or None where that is allowed."""

    def check(value: Any) -> str | None:
        right = is_whole(value) and value >= low
        return None if right or (none and value is None) else f"a whole number of at least {low}" + " or None" * none

    return _field(default, check)


def number(
    default: float | None, low: float, high: float = math.inf, *, open_low: bool = False, none: bool = False
) -> Any:
    """A finite number from `low` (itself excluded with `open_low`) to `high`."""

    def check(value: Any) -> str | None:
        right = (
            isinstance(value, (int, float, np.integer, np.floating))
            and not isinstance(value, (bool, np.bool_))
            and math.isfinite(value)
        )
        right = right and (value > low if open_low else value >= low) and value <= high
        if right or (none and value is None):
            return None
        bounds = [f"above {low}" if open_low else f"of at least {low}"] if low > -math.inf else []
        bounds += [f"at most {high}"] if high < math.inf else []
        return f"a finite number {' and '.join(bounds)}".rstrip() + " or None" * none

    return _field(default, check)


def choice(default: Any, *options: Any) -> Any:
    """One of a few values."""

    def check(value: Any) -> str | None:
        right = any(type(value) is type(option) and value == option for option in options)
        return None if right else "one of " + ", ".join(map(repr, options))

    return _field(default, check)


def either(default: Any, what: str, right: Callable[[Any], bool]) -> Any:
    """Whatever `right` says yes to; `what` describes it."""
    return _field(default, lambda value: None if right(value) else what)


def seed_field() -> Any:
    """`random_state`: a whole number, None, or a NumPy Generator or RandomState."""

    def check(value: Any) -> str | None:
        known = value is None or isinstance(value, (np.random.Generator, np.random.RandomState))
        whole_number = is_whole(value) and 0 <= value < 2**64
        return None if known or whole_number else "a whole number from 0 to 2^64 - 1, None, or a NumPy Generator"

    return _field(None, check)


def jobs_field() -> Any:
    """`n_jobs`: None or -1 for all cores, else a number of threads; never changes a result."""

    def check(value: Any) -> str | None:
        right = value is None or (is_whole(value) and (value == -1 or value > 0))
        return None if right else "a number of threads of at least 1, or None for all cores"

    return _field(None, check, machine=True)


def device_field() -> Any:
    """`device`: where the fit computes."""
    return _field(
        "cpu", lambda value: None if isinstance(value, str) else "the name of a device, such as 'cpu'", machine=True
    )


def binarize_field() -> Any:
    """`binarize`: values above it are ones; None refuses values other than one."""
    return number(None, -math.inf, none=True)


def check(model: Any) -> None:
    """A ConfigError for the first hyper-parameter that is not what it may be."""
    for one in fields(model):
        wanted = one.metadata["check"](getattr(model, one.name))
        if wanted is not None:
            raise ConfigError(
                f"{type(model).__name__}({one.name}={getattr(model, one.name)!r}) cannot be: give {wanted}"
            )


def names(model: Any, machine: bool = True) -> list[str]:
    """The names of the hyper-parameters, without those of the machine if asked."""
    return [one.name for one in fields(model) if machine or not one.metadata["machine"]]


def seed_of(random_state: Any) -> int:
    """The 64-bit seed behind a `random_state`; None takes a fresh one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**32, dtype=np.uint64))
    return int(random_state)
