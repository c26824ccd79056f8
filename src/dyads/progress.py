"""What a long fit shows: a bar on a terminal or in a notebook, plain lines in a pipe, nothing when told so."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dyads.state import Record

LINE_SECONDS = 5.0  # between two plain lines; a shorter fit prints none


@contextmanager
def reporter(show: bool | None, title: str) -> Iterator[Callable[[Record], None]]:
    """A function to be told of every mark. `show` None: a bar if someone watches, lines in a pipe; False: nothing."""
    if show is False:
        yield lambda _: None
        return
    yield _Lines(title, patient=show is None)


class _Lines:
    """Plain lines on the standard error."""

    def __init__(self, title: str, patient: bool) -> None:
        self.title, self.patient, self.last = title, patient, time.monotonic()

    def __call__(self, record: Record) -> None:
        now = time.monotonic()
        if now - self.last >= LINE_SECONDS:
            self.last = now
            value = "" if record.objective is None else f"  objective {record.objective.value:.6g}"
            print(f"{self.title}  {record.done}/{record.ticks}{value}", file=sys.stderr, flush=True)
