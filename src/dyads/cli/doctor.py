"""`dyads doctor`: what this installation is, which kernels it computes with, and why."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

import click

from dyads.cli.info import listed
from dyads.cli.screen import say
from dyads.errors import ConfigError

NEEDED = ("numpy", "scipy", "pyarrow", "click", "rich")
OPTIONAL = ("pandas", "polars", "scikit-learn", "matplotlib")
VARIABLES = ("DYADS_KERNELS", "DYADS_LEVEL", "DYADS_THREADS")
EXAMPLE = """\b
Examples:
  dyads doctor
  DYADS_LEVEL=v1 dyads doctor
"""


@click.command("doctor", epilog=EXAMPLE)
def command() -> None:
    """Say what is installed, which kernels are in use, and why.

    Where a DYADS_ variable cannot be, everything else is printed and the exit code is 2.
    """
    wrong: list[str] = []
    say(listed({**_system(), **_kernels(wrong), **_threads(wrong), **_packages(), **_variables()}))
    if wrong:
        raise ConfigError("; ".join(dict.fromkeys(wrong)))


def _system() -> dict[str, Any]:
    from dyads import __version__

    python = f"{platform.python_version()} ({platform.python_implementation()}) at {sys.executable}"
    return {"dyads": __version__, "python": python, "system": f"{platform.system()} {platform.machine()}"}


def _kernels(wrong: list[str]) -> dict[str, Any]:
    """The kernel set and the CPU level, the reason for each, and what else there is."""
    from dyads import kernels
    from dyads.kernels import native

    told: dict[str, Any] = {"kernels": _tried(wrong, lambda: _reasoned(kernels.chosen()))}
    usable = native.why_not() is None
    if usable:
        told["level"] = _tried(wrong, lambda: _level(native.level()))
    told["levels built"] = ", ".join(native.built()) or "none"
    told["levels of this CPU"] = ", ".join(native.supported()) or "not known"
    if usable and not wrong:
        told["compiler"] = native.core().compiler
    return told


def _reasoned(chosen: str) -> str:
    from dyads.kernels import native

    if os.environ.get("DYADS_KERNELS") is not None:
        return f"{chosen}, as DYADS_KERNELS says"
    return "native, for they are built and load" if chosen == "native" else f"reference, for {native.why_not()}"


def _level(level: str) -> str:
    from dyads.kernels import native

    asked = os.environ.get("DYADS_LEVEL") is not None
    why = "as DYADS_LEVEL says" if asked else "the highest that is both built and of this CPU"
    return f"{level} ({native.LEVELS[level]}), {why}"


def _threads(wrong: list[str]) -> dict[str, Any]:
    from dyads.engines.local import thread_count

    asked = bool(os.environ.get("DYADS_THREADS"))
    why = "as DYADS_THREADS says" if asked else "every core that this process may use"
    return {"threads": _tried(wrong, lambda: f"{thread_count(None)}, {why}")}


def _tried(wrong: list[str], told: Any) -> str:
    """What is so, or what a variable asks for and cannot be."""
    try:
        return str(told())
    except ConfigError as error:
        wrong.append(str(error))
        return "cannot be, see below"


def _packages() -> dict[str, str]:
    return {name: _installed(name) for name in (*NEEDED, *OPTIONAL)}


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not there" if name in NEEDED else "not there (optional)"


def _variables() -> dict[str, str]:
    """The variables that steer dyads, and any other that looks like one."""
    found = {name: os.environ.get(name, "not set") for name in VARIABLES}
    strange = {
        name: f"{value} (not read when dyads runs)" for name, value in os.environ.items() if name[:6] == "DYADS_"
    }
    return {**strange, **found}
