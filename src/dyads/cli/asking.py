"""Whom a question is about: ids as a command line has them, which is as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from dyads.errors import ConfigError

if TYPE_CHECKING:
    from dyads.vocabulary import Vocabulary

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def typed(texts: list[str], known: Vocabulary) -> list[Any]:
    """Texts as ids of the kind that is known; one that is no whole number stays, so that the error can name it."""
    if known.kind == "strings":
        return list(texts)
    return [int(text) if _WHOLE.fullmatch(text) else text for text in texts]


def asked(users: tuple[str, ...], listed: str | None, everyone: bool) -> list[str] | None:
    """The texts of the asked ids; None asks for all."""
    ways = [bool(users), listed is not None, everyone]
    if sum(ways) > 1:
        raise ConfigError("--user, --users-from and --all are three ways to say for whom: give one of them")
    if everyone or not any(ways):
        return None
    return list(users) if users else lines(str(listed))


def lines(path: str) -> list[str]:
    """The ids in a file, one a line; `-` is the standard input."""
    try:
        with click.open_file(path, encoding="utf-8-sig") as file:
            found = [line for line in file.read().splitlines() if line]
    except UnicodeDecodeError as error:
        raise ConfigError(f"--users-from {path} is not UTF-8 ({error}): write it as UTF-8") from None
    if not found:
        raise ConfigError(f"--users-from {path} holds no ids: give one a line")
    return found
