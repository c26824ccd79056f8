"""Models from the words of a command line: `--set n_factors=20`, checked by the parameters themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any

import click

from dyads.errors import ConfigError

if TYPE_CHECKING:
    from dyads.model import Model

_OPTIONS = (
    click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A hyper-parameter; may come often."),
    click.option("--seed", type=int, help="The seed; the same one gives the same result. Without: a fresh one."),
    click.option("--jobs", type=int, help="Threads; never changes a result. Without: every core."),
    click.option("--quiet", "-q", is_flag=True, help="No progress."),
)


def fit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that fits models."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def built(name: str, settings: tuple[str, ...], seed: int | None, jobs: int | None) -> Model:
    """The model of this name with what was set."""
    from dyads.models import method

    cls = method(name)
    values: dict[str, Any] = {}
    for key, text in _parts(settings):
        if key in values:
            raise ConfigError(f"--set {key}={text} comes after another {key}: give it once")
        values[key] = _value(cls, key, text)
    for key, option, given in (("random_state", "seed", seed), ("n_jobs", "jobs", jobs)):
        if given is not None:
            if key in values:
                raise ConfigError(f"--{option} {given} and --set {key} say the same thing: give one of them")
            values[key] = _value(cls, key, str(given))
    return cls(**values)


def _parts(settings: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise ConfigError(f"--set {setting!r} is not NAME=VALUE: give for example --set n_factors=20")
        yield key.strip(), text.strip()


def _value(cls: type[Model], key: str, text: str) -> Any:
    """The first meaning of a text that the parameter takes."""
    field: Field[Any] | None = next((one for one in fields(cls) if one.name == key), None)
    if field is None:
        known = ", ".join(one.name for one in fields(cls))
        raise ConfigError(f"{cls.__name__} has no parameter {key!r}: it has {known}")
    check = field.metadata["check"]
    for meaning in meanings(text):
        if check(meaning) is None:
            return meaning
    raise ConfigError(f"{cls.__name__}({key}={text}) cannot be: give {check(text)}")


def meanings(text: str) -> Iterator[Any]:
    """What a text may stand for: nothing, yes or no, a number, some numbers, and at last itself."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        yield words[text.lower()]
    for number in (int, float):
        with suppress(ValueError):
            yield number(text)
    with suppress(ValueError):
        yield tuple(float(part) for part in text.strip("()").split(","))
    yield text
