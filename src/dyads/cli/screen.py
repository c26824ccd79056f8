"""The standard output for what was asked for, the standard error for everything else."""

from __future__ import annotations

import sys
from contextlib import suppress

from dyads.errors import ConfigError


def say(text: str) -> None:
    """A line, or several, that were asked for."""
    write((text + "\n").encode(errors="backslashreplace"))


def write(content: bytes) -> None:
    """Bytes of the answer: UTF-8, whatever the locale, so that a redirected table is the same everywhere."""
    if sys.stdout is None:
        raise ConfigError("the standard output is closed, so there is nowhere to print to: leave it open")
    sys.stdout.flush()
    left = memoryview(content)
    while left:  # Python's unbuffered output takes a part at a time
        left = left[sys.stdout.buffer.write(left) :]


def flush() -> None:
    """Hand over what is printed, while an error can still be told."""
    if sys.stdout is not None:
        sys.stdout.flush()


def tell(text: str) -> None:
    """A remark; lost where nobody can read the standard error."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(text, file=sys.stderr, flush=True)
