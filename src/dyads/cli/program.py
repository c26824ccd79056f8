"""The commands, and how whatever comes of one becomes an exit code."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import click

from dyads.cli.screen import flush, tell
from dyads.errors import DyadsError

WRONG, UNREAD = 2, 141
COMMANDS = ("demo", "fit", "recommend", "evaluate", "info", "doctor")
EXAMPLE = """\b
Example:
  dyads fit clicks.csv --user visitor --item page --model bpr -o model.dyads
  dyads recommend model.dyads --user ann -n 10
"""


class Program(click.Group):
    """The commands, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        found: click.Command = import_module(f"dyads.cli.{name}").command
        return found


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from dyads import __version__

        click.echo(f"dyads {__version__}")
        ctx.exit()


@click.command(cls=Program, epilog=EXAMPLE, invoke_without_command=True)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
@click.pass_context
def program(ctx: click.Context) -> None:
    """Bayesian models of who goes with what: fit, recommend, evaluate."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: list[str]) -> int:
    """Run a command line; the answer is the exit code."""
    try:
        with _remarks(), program.make_context("dyads", arguments) as ctx:
            program.invoke(ctx)
            flush()
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        _leave_stdout()
        return UNREAD
    except (click.ClickException, DyadsError, OSError, MemoryError) as error:
        tell(f"dyads: {_sentence(error)}")
        return WRONG
    return 0


def _sentence(error: BaseException) -> str:
    """What is wrong, in one line."""
    if isinstance(error, click.ClickException):
        text = error.format_message()
        if isinstance(error, click.UsageError) and error.ctx is not None:
            text = f"{text.rstrip('.')}; see {error.ctx.command_path} --help"
    elif isinstance(error, OSError) and not isinstance(error, DyadsError):
        text = f"{error.filename or 'the output'} cannot be used: {error.strerror or error}"
    elif isinstance(error, MemoryError):
        text = f"memory ran out ({error}): take a machine with more, or less data"
    else:
        text = str(error)
    return " ".join(text.split())


class _Log(logging.Handler):
    """What the library has to say, one line each."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(f"dyads: {record.getMessage()}")


@contextmanager
def _remarks() -> Iterator[None]:
    """Warnings and the log as lines among the other remarks; no warning is an error here."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        tell(f"dyads: {message}")

    log, handler = logging.getLogger("dyads"), _Log(logging.WARNING)
    log.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            warnings.simplefilter("always", UserWarning)
            yield
    finally:
        log.removeHandler(handler)


def _leave_stdout() -> None:
    """Nobody reads it any more, so that nothing may be written there when Python ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
