"""The command line: one file per command, each parses, calls and prints.

Whatever a user does wrong ends in one sentence on the standard error and exit code 2; Ctrl-C ends with 130, and a
reader who leaves (`| head`) with 141, as for every other program, without a word.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the answer is the exit code."""
    try:
        from dyads.cli.program import run  # inside, so that Ctrl-C may come as early as it likes

        return run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        exec("")  # CPython remembers an interrupt that fell into an import, and ends by the signal, until it runs code
        if sys.stderr is not None:
            print("dyads: interrupted", file=sys.stderr)
        return INTERRUPTED
