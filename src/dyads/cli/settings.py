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


def fit_options(seed: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of a command that fits models; without `seed` every run has a fresh one."""
    fresh = "Without: a fresh one." if seed is None else f"Without: {seed}."
    options = (
        click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter; may come often."),
        click.option("--seed", type=int, default=seed, help=f"The same seed gives the same result. {fresh}"),
        click.option("--jobs", type=int, help="Threads; never changes a result. Without: every core."),
        click.option("--quiet", "-q", is_flag=True, help="No progress, no remarks."),
    )

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


def shared_out(settings: tuple[str, ...], names: list[str]) -> dict[str, tuple[str, ...]]:
    """What is set of each model: `bpr.n_factors=20` of one, `n_factors=20` of all that have it."""
    from dyads.models import method

    known = {name: {one.name for one in fields(method(name))} for name in names}
    shares: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    for setting in settings:
        which, dot, _ = setting.partition("=")[0].partition(".")
        takers = [name for name in names if (name == which if dot else which in known[name])]
        if not takers:
            what = f"model {which!r}" if dot else f"parameter {which!r}"
            raise ConfigError(f"--set {setting} is for no model here: there is no {what} in {', '.join(names)}")
        for name in takers:
            shares[name] += (setting.removeprefix(f"{which}.") if dot else setting,)
    return shares


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
