"""The compiled kernels: one module per CPU level, the highest that both the build and this CPU have.

`DYADS_LEVEL` forces one. Levels differ in the last bits of a result, never in the random words behind it.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from dyads.errors import ConfigError
from dyads.kernels import entries
from dyads.kernels.shapes import SbmfRows, SbmfShared, SbmfSums
from dyads.pairs import F32, I64, U32, Csr
from dyads.streams import At

LEVELS = {"v1": "any CPU of its architecture", "v3": "AVX2 and FMA", "v4": "AVX-512"}

_log = logging.getLogger("dyads")


@cache
def built() -> tuple[str, ...]:
    """The levels this installation was compiled for; none where nothing could be compiled."""
    return tuple(level for level in LEVELS if importlib.util.find_spec(f"dyads.kernels._core_{level}") is not None)


@cache
def supported() -> tuple[str, ...]:
    """The levels this CPU and its operating system can run; none where that cannot be asked."""
    try:
        module: Any = importlib.import_module("dyads.kernels._level")
    except ImportError:
        return ()
    return tuple(module.supported())


def level() -> str:
    """The level in use: `DYADS_LEVEL` if given, else the highest that is both built and supported."""
    asked, usable = os.environ.get("DYADS_LEVEL"), [name for name in built() if name in supported()]
    if asked is not None and asked not in LEVELS:
        raise ConfigError(f"DYADS_LEVEL={asked!r} is unknown: set it to {', '.join(LEVELS)}, or unset it")
    if asked is not None and asked not in usable:
        lacks = (
            "this CPU cannot run it"
            if asked in built()
            else f"this installation was built for {_listed(list(built()))}"
        )
        raise ConfigError(f"DYADS_LEVEL={asked!r} cannot be, for {lacks}: set it to {_listed(usable)}, or unset it")
    if not usable:
        raise ConfigError(f"the compiled kernels cannot be used: {why_not()}")
    return asked or usable[-1]


def _listed(names: list[str]) -> str:
    return " or ".join(names) or "nothing"


@cache
def _load(name: str) -> Any:
    return importlib.import_module(f"dyads.kernels._core_{name}")


def core() -> Any:
    """The compiled module of the level in use."""
    return _load(level())


@cache
def why_not() -> str | None:
    """Why the compiled kernels cannot be used here; None where they can."""
    if not built():
        return "this installation has no compiled core (its build had no C++20 compiler, or DYADS_PURE was set)"
    if not supported():
        return "the module that asks the CPU for its level does not load"
    try:
        _load([name for name in built() if name in supported()][-1])
    except ImportError as error:
        return f"the compiled core does not load ({error})"
    return None


@cache
def available() -> bool:
    """Whether the compiled kernels can be used; the first time they cannot, the log says why."""
    reason = why_not()
    if reason is not None:
        _log.warning("dyads computes with NumPy instead of its compiled kernels, which is slower: %s", reason)
    return reason is None


def copied(array: np.ndarray[Any, Any], threads: int) -> np.ndarray[Any, Any]:
    """A copy of an array, made by several threads where it is large."""
    out = np.empty(array.shape, array.dtype)
    source = np.ascontiguousarray(array)
    core().copy_bytes(out.reshape(-1).view(np.uint8), source.reshape(-1).view(np.uint8), threads)
    return out


# --- random words ----------------------------------------------------------------------------------------------


def fill_words(at: At, site: int, first_row: int, n_rows: int, n: int, threads: int = 1) -> U32:
    """`streams.words` of consecutive rows, to the bit."""
    out = np.empty((n_rows, n), dtype=np.uint32)
    core().fill_words(out, *at, int(site), first_row, threads)
    return out


def fill_uniform(at: At, site: int, first_row: int, n_rows: int, n: int, threads: int = 1) -> F32:
    """`streams.uniform` of consecutive rows; exact in float32."""
    out = np.empty((n_rows, n), dtype=np.float32)
    core().fill_uniform(out, *at, int(site), first_row, threads)
    return out


def fill_normal(at: At, site: int, first_row: int, n_rows: int, n: int, threads: int = 1) -> F32:
    """`streams.normal` of consecutive rows, to a few units in the last place of float32."""
    out = np.empty((n_rows, n), dtype=np.float32)
    core().fill_normal(out, *at, int(site), first_row, threads)
    return out


# --- kernels ---------------------------------------------------------------------------------------------------


def sbmf(csr: Csr, cuts: I64, own: SbmfRows, shared: SbmfShared, at: At, threads: int) -> SbmfSums:
    """A draw of every row of one side; heavy rows by their Gram matrix, all others by the tile of their neighbours."""
    return SbmfSums(*core().sbmf_float(csr, cuts, own, shared, at, threads))


def _on_core(kernel: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: kernel(core(), *given)


# Row and entry kernels by name; those missing run as their twins.
KERNELS: dict[str, Callable[..., Any]] = {
    "bpr": _on_core(entries.bpr),
    "bpr_check": _on_core(entries.bpr_check),
    "row_products": _on_core(entries.row_products),
    "sbmf": sbmf,
    "top_n": _on_core(entries.top_n),
}
