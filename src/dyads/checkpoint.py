"""Checkpoints in a folder: whole files of arrays with running numbers, of which the newest two are kept.

A checkpoint says what it was made of; what differs is refused by name. One that is damaged gives way to the one before.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from dyads import arrayfile
from dyads.errors import ConfigError, ModelFileError

try:
    import fcntl
except ImportError:  # no locks on this system
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("dyads")

_NAME = re.compile(r"checkpoint-([0-9]{9})\.dyads")


class Found(NamedTuple):
    """The checkpoint that a fit goes on from."""

    content: dict[str, Any]
    arrays: arrayfile.Arrays


class Checkpoints:
    """The checkpoints of one fit in one folder, which is locked against others until `close`.

    `key`: what must be the same for a fit to go on, by name. `machine`: what should be, for the same bits.
    """

    def __init__(self, folder: str | os.PathLike[str], key: Mapping[str, Any], machine: Mapping[str, Any]) -> None:
        self.folder, self._last = Path(folder), 0  # the number of the checkpoint that the fit stands on
        self._key = {name: written(value) for name, value in key.items()}
        self._machine = {name: written(value) for name, value in machine.items()}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock: BinaryIO | None = _locked(self.folder)
        except OSError as error:
            raise ConfigError(
                f"checkpoint={os.fspath(folder)!r} cannot be used ({error.strerror or error}): give a folder that can "
                "be made and written"
            ) from None
        for stale in self.folder.glob(f".*{arrayfile.STALE}"):
            stale.unlink()

    def numbers(self) -> list[int]:
        """The running numbers of the checkpoints that are there, newest first."""
        found = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted((int(match[1]) for match in found if match), reverse=True)

    def path(self, number: int) -> Path:
        """Where the checkpoint of this running number stands."""
        return self.folder / f"checkpoint-{number:09}.dyads"

    def start(self, resume: bool) -> Found | None:
        """What to go on from; None where the fit starts afresh."""
        numbers = self.numbers()
        if not resume and numbers:
            raise ConfigError(
                f"checkpoint={str(self.folder)!r} already holds a fit: give resume=True to go on with it, or another "
                "folder for a new one"
            )
        if not resume:
            return None
        if not numbers:
            log.warning("nothing to resume in %s: the fit starts afresh", self.folder)
            return None
        return self._newest(numbers)

    def _newest(self, numbers: list[int]) -> Found:
        damaged: list[str] = []
        for number in numbers:
            try:
                payload, arrays = arrayfile.read(self.path(number), "checkpoint", verify=True)
            except ModelFileError as error:
                damaged.append(str(error))
                log.warning("%s; an older checkpoint is looked for", error)
                continue
            self._check(payload, number)
            self._last = number
            return Found(payload["content"], arrays)
        raise ModelFileError(
            f"no checkpoint in {self.folder} can be read ({'; '.join(damaged)}): remove the folder and fit again"
        )

    def _check(self, payload: dict[str, Any], number: int) -> None:
        """Refuse what was made of something else; say where bits may differ."""
        key, machine = payload.get("key"), payload.get("machine")
        if not isinstance(key, dict) or not isinstance(machine, dict) or "content" not in payload:
            raise ModelFileError(f"{self.path(number)} holds no fit: remove the folder {self.folder} and fit again")
        for name in {**self._key, **key}:
            before, now = key.get(name, "not there"), self._key.get(name, "not there")
            if before != now:
                raise ModelFileError(
                    f"{self.folder} holds another fit: {name} was {before} there and is {now} now; give the same "
                    f"{name}, or another folder"
                )
        for name in {**self._machine, **machine}:
            before, now = machine.get(name, "not there"), self._machine.get(name, "not there")
            if before != now:
                log.warning(
                    "the fit in %s was begun with %s %s and goes on with %s: its result is as good, but not the same "
                    "to the bit",
                    self.folder,
                    name,
                    before,
                    now,
                )

    def write(self, content: Any, arrays: arrayfile.Arrays) -> None:
        """One more checkpoint; it and the one before it stay."""
        numbers = self.numbers()
        new = numbers[0] + 1 if numbers else 1
        payload = {"key": self._key, "machine": self._machine, "content": content}
        arrayfile.write(self.path(new), "checkpoint", payload, arrays)
        for old in numbers:
            if old != self._last:
                self.path(old).unlink(missing_ok=True)
        self._last = new

    def close(self) -> None:
        """Let others use the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def written(value: Any) -> str:
    """A value as a checkpoint remembers it: equal values give equal texts."""
    if isinstance(value, np.ndarray):
        return f"an array {value.shape} of {value.dtype} ({sha256(value.tobytes()).hexdigest()[:16]})"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, (str, int, float)) or value is None:
        return repr(value)
    return f"a {type(value).__name__}"


def _locked(folder: Path) -> BinaryIO:
    handle = open(folder / "lock", "ab")  # noqa: SIM115 (held until the fit ends)
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.close()
            raise ConfigError(
                f"checkpoint={str(folder)!r} is in use by another fit: wait until it ends, or give another folder"
            ) from None
    return handle
