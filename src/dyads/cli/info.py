"""`dyads info`: what a model file holds, or what a method may be told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from dyads.cli.screen import say
from dyads.cli.table import put

if TYPE_CHECKING:
    from dyads.model import Model

EXAMPLE = """\b
Examples:
  dyads info model.dyads
  dyads info sbmf
"""


@click.command("info", epilog=EXAMPLE)
@click.argument("model")
@click.option("--as", "shown_as", type=click.Choice(("table", "json")), default="table", help="How to print.")
def command(model: str, shown_as: str) -> None:
    """Describe a saved MODEL, or the parameters of a method, such as bpr."""
    from dyads.models import METHODS

    if model in (*METHODS, *METHODS.values()) and not os.path.exists(model):
        put(_parameters(model), None, shown_as)
        return
    import dyads

    told = described(dyads.load(model, verify=True)) | {"size": os.path.getsize(model)}
    if shown_as == "json":
        import json

        say(json.dumps(told, ensure_ascii=False))
    else:
        say(listed(_flat(told)))


def _parameters(name: str) -> dict[str, Any]:
    """A row for each parameter of a method: its default and what it may be."""
    from dataclasses import fields

    from dyads.models import method

    found = fields(method(name))
    return {
        "parameter": [one.name for one in found],
        "default": ["none" if one.default is None else str(one.default) for one in found],
        "may be": [one.metadata["check"](object()) for one in found],
    }


def described(model: Model) -> dict[str, Any]:
    """What a fitted model is, in plain values."""
    fitted = model.fitted_
    pairs, end = fitted.pairs, fitted.trace[-1] if fitted.trace else None
    return {
        "model": type(model).__name__,
        "answer": f"{model.answer}: {model.event}",
        "users": _side(fitted.users),
        "items": _side(fitted.items),
        "pairs": "not saved" if pairs is None else pairs.n_pairs,
        "hidden cells": 0 if pairs is None or pairs.hidden is None else pairs.hidden.nnz,
        "posterior": _posterior(model),
        "parameters": {name: _plain(value) for name, value in model.get_params().items()},
        "seed": fitted.seed,
        "ticks": model.n_iter_,
        "stopped by": fitted.stopped,
        "objective": None if end is None or end.objective is None else end.objective.value,
        "seconds": None if end is None else round(end.seconds, 3),
        "data fingerprint": fitted.fingerprint,
    }


def _flat(told: dict[str, Any]) -> dict[str, Any]:
    """The parameters among the rest, as lines have no depth."""
    flat: dict[str, Any] = {}
    for name, value in told.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat | {"size": f"{told['size']:,} bytes"}


def _side(ids: Any) -> str:
    kind = {"range": "numbers from 0", "integers": "whole numbers", "strings": "strings"}[ids.kind]
    some = f", such as {ids.ids([0])[0]!r}" if ids.kind != "range" and len(ids) else ""
    return f"{len(ids)} {kind}{some}"


def _posterior(model: Model) -> str:
    from dyads.cli.recommend import is_point

    found = model.posterior_
    if is_point(model):
        return "a point, without spread"
    if found.n_factors == 0 and found.item_alpha is not None:
        return "Dirichlet over the items"
    return f"{len(found.offset)} draws" if found.user_var is None else "Gaussian"


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def listed(told: dict[str, Any]) -> str:
    """Names and values, one a line; what is not there is left out."""
    from dyads.cli.picture import cell

    width = max(map(len, told))
    return "\n".join(f"{name:<{width}}  {cell(value)}" for name, value in told.items() if value is not None)
