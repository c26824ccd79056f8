"""Bayesian models of who goes with what."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dyads import errors, split, synthetic
    from dyads.evaluate import evaluate
    from dyads.models.bpr import BPR
    from dyads.models.popularity import Popularity
    from dyads.models.sbmf import SBMF
    from dyads.pairs import Pairs
    from dyads.read import read
    from dyads.save import load
    from dyads.vocabulary import Vocabulary

    __version__: str

__all__ = [
    "BPR",
    "SBMF",
    "Pairs",
    "Popularity",
    "Vocabulary",
    "__version__",
    "errors",
    "evaluate",
    "load",
    "read",
    "split",
    "synthetic",
]

_HOMES = {  # of the names that are not modules themselves
    "BPR": "dyads.models.bpr",
    "SBMF": "dyads.models.sbmf",
    "Pairs": "dyads.pairs",
    "Popularity": "dyads.models.popularity",
    "Vocabulary": "dyads.vocabulary",
    "evaluate": "dyads.evaluate",
    "load": "dyads.save",
    "read": "dyads.read",
}


class _Package(ModuleType):
    """Python binds a submodule to its name in the package at import; here `read` and `evaluate` stay what is called."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """Public names are imported when first asked for."""
    if name == "__version__":
        value: Any = import_module("importlib.metadata").version("dyads")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in __all__:
        return import_module(f"dyads.{name}")
    else:
        raise AttributeError(f"module 'dyads' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
