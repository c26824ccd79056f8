"""The standard output for what was asked for, the standard error for everything else."""

from __future__ import annotations

import sys

from dyads.errors import ConfigError


def say(text: str) -> None:
    """A line, or several, that were asked for."""
    write((text + "\n").encode(errors="backslashreplace"))


def write(content: bytes) -> None:
    """Bytes of the answer: UTF-8, whatever the locale, so that a redirected table is the same everywhere."""
    if sys.stdout is None:
        raise ConfigError("the standard output is closed, so there is nowhere to print to: leave it open")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)


def flush() -> None:
    """Hand over what is printed, while an error can still be told."""
    if sys.stdout is not None:
        sys.stdout.flush()


def tell(text: str) -> None:
    """A remark; lost where the standard error is closed."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)
