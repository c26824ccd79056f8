"""The methods, one file each, by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dyads.errors import ConfigError

if TYPE_CHECKING:
    from dyads.model import Model

METHODS = {
    "popularity": "Popularity",
    "bpr": "BPR",
    "sbmf": "SBMF",
}


def method(name: str) -> type[Model]:
    """The class of a method by its short name ("sbmf") or its class name ("SBMF")."""
    for short, long in METHODS.items():
        if name in (short, long):
            found: type[Model] = getattr(import_module(f"dyads.models.{short}"), long)
            return found
    raise ConfigError(f"model {name!r} is unknown: it is one of {', '.join(METHODS)}")


def __getattr__(name: str) -> Any:
    if name in METHODS.values():
        return method(name)
    raise AttributeError(f"module 'dyads.models' has no attribute {name!r}")
