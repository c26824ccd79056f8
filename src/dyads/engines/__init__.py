"""Where the work of a fit runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dyads.errors import ConfigError
from dyads.pairs import Csr
from dyads.state import Placed, State


class Engine(Protocol):
    """Four verbs; methods see no thread, device or machine behind them.

    None of the verbs changes what it is given: a step that is interrupted leaves the state before it whole.
    """

    def place(self, side: str, arrays: Any, csr: Csr | None, data: Any = None) -> Placed:
        """Put one side's arrays where this engine computes."""

    def each(self, kernel: str, own: Placed, shared: Any, at: Any) -> tuple[Placed, Any]:
        """Run a row kernel over every row of one side; sums are added in shard order."""

    def entries(self, kernel: str, state: State, shared: Any, at: Any) -> tuple[State, Any]:
        """Run an entry kernel over a chunk of sampled entries; both sides move."""

    def collect(self, own: Placed) -> Any:
        """The arrays back in NumPy memory."""


def engine_for(device: str, n_jobs: int | None) -> Engine:
    """The engine behind a `device` parameter."""
    from dyads.engines.local import Local

    makers: dict[str, Callable[[], Engine]] = {"cpu": lambda: Local(n_jobs)}
    if device not in makers:
        raise ConfigError(f"device={device!r} is not there; this version computes on device='cpu'")
    return makers[device]()
