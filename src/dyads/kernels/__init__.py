"""The inner steps: plain NumPy twins in `reference`, compiled ones in `native`, one name each.

A row kernel's twin is `kernel(block, first_row, own, shared, at) -> sums`: it gets one shard of rows, writes only them,
and draws only through `at`. Compiled, it gets a whole side with the borders of its shards, which its own threads share:
`kernel(csr, cuts, own, shared, at, threads) -> sums`, the sums added in shard order.

An entry kernel is `kernel(data, user, item, shared, at) -> sums`, compiled with `threads` behind: it moves both sides.
`top_n(ask) -> (numbers, scores)`, compiled with `threads` behind too, is asked by `rank` and by no engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from dyads.errors import ConfigError
from dyads.kernels import reference

Kernel = Callable[..., Any]
SETS = ("native", "reference")


def chosen() -> str:
    """The kernel set in use: `DYADS_KERNELS` if given, else the compiled one where it is there."""
    from dyads.kernels import native

    asked = os.environ.get("DYADS_KERNELS")
    if asked is None:
        return "native" if native.available() else "reference"
    if asked not in SETS:
        raise ConfigError(f"DYADS_KERNELS={asked!r} is unknown: set it to native or reference, or unset it")
    if asked == "native" and not native.available():
        raise ConfigError(f"DYADS_KERNELS='native' cannot be: {native.why_not()}; unset it to run on the NumPy twins")
    return asked


def twin(name: str) -> Kernel:
    """The kernel of this name in plain NumPy."""
    kernel: Kernel = getattr(reference, name)
    return kernel


def copied(array: Any, threads: int) -> Any:
    """A copy of an array in NumPy memory."""
    from dyads.kernels import native

    return native.copied(array, threads) if chosen() == "native" else array.copy()


def compiled(name: str) -> Kernel | None:
    """The compiled kernel of this name; None where the twins are in use, or it has no compiled form."""
    from dyads.kernels import native

    return native.KERNELS.get(name) if chosen() == "native" else None
