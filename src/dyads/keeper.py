"""What holds a fit on its way: memory, or a folder of checkpoints with the kept draws in a file beside them.

A checkpoint counts the draws that belong to it, and these are safe on the disk before it takes its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dyads import kernels, parameters
from dyads.arrayfile import Arrays
from dyads.checkpoint import Checkpoints, Found
from dyads.draws import DrawFile, DrawMemory, Draws
from dyads.errors import ConfigError, DataError, ModelFileError
from dyads.loop import Kept
from dyads.pairs import Pairs
from dyads.posterior import Posterior
from dyads.state import Bare
from dyads.trace import Columns, pack, unpack
from dyads.trees import PlanError, by_name, flatten, rebuild


class _Stand(NamedTuple):
    """A `Kept` as a file holds it."""

    finished: tuple[Bare, ...]
    current: Bare | None
    first: int
    n_draws: int
    trace: Columns
    stopped: str
    seed: int


class Keeper:
    """Kept draws, and the checkpoints of a fit that has a folder."""

    def __init__(self, seed: int, draws: Draws, checkpoints: Checkpoints | None, kept: Kept | None) -> None:
        self.seed, self._draws, self._checkpoints, self._kept = seed, draws, checkpoints, kept

    @property
    def n_draws(self) -> int:
        """How many draws are held."""
        return self._draws.count

    def resumed(self) -> Kept | None:
        """What the fit goes on from; None for a fresh one."""
        return self._kept

    def append(self, draw: Posterior) -> None:
        """Hold one more draw."""
        self._draws.append(draw)

    def posterior(self) -> Posterior:
        """All draws as one mixture."""
        if self._draws.count == 0:
            raise ConfigError("the fit was stopped before the first draw was kept: let it run beyond its burn_in")
        found: Posterior = self._draws.stacked()
        return found

    def write(self, kept: Kept, final: bool) -> None:  # noqa: ARG002 (a fit that is done is kept like any other)
        """Write a checkpoint, if the fit has a folder: first the draws, then the state that counts them."""
        if self._checkpoints is not None:
            self._draws.flush()
            arrays: Arrays = {}
            stand = _Stand(**{**kept._asdict(), "trace": pack(kept.trace)}, seed=self.seed)
            self._checkpoints.write(flatten(stand, "fit", arrays), arrays)


@contextmanager
def keeper(model: Any, pairs: Pairs, directory: Any, resume: bool, seed: int) -> Iterator[Keeper]:
    """What holds a fit of this model on its way: memory, or a folder that it may go on from."""
    classes = by_name(*model.parts, Posterior, Bare, Columns, _Stand)
    if directory is None:
        yield Keeper(seed, DrawMemory(classes), None, None)
        return
    checkpoints = Checkpoints(directory, _key(model, pairs), {"kernels": kernels.chosen()})
    draws = DrawFile(checkpoints.folder / "draws", classes)
    try:
        found, kept = checkpoints.start(resume), None
        if found is not None:
            kept, seed = _stand(found, classes, checkpoints.folder)
        draws.cut(0 if kept is None else kept.n_draws)
        yield Keeper(seed, draws, checkpoints, kept)
    finally:
        draws.close()
        checkpoints.close()


def _stand(found: Found, classes: Mapping[str, type], folder: Path) -> tuple[Kept, int]:
    try:
        stand = rebuild(found.content, found.arrays, classes)
        if not isinstance(stand, _Stand):
            raise PlanError("it holds no fit")
        fields = {**stand._asdict(), "trace": unpack(stand.trace)}
    except (DataError, PlanError) as error:
        raise ModelFileError(
            f"the checkpoint in {folder} is damaged ({error}): remove the folder and fit again"
        ) from None
    seed = fields.pop("seed")
    return Kept(**fields), seed


def _key(model: Any, pairs: Pairs) -> dict[str, Any]:
    given = {name: getattr(model, name) for name in parameters.names(model, machine=False)}
    return {"dyads": version(), "method": model.name, "data": pairs.fingerprint, **given}


def version() -> str:
    """The version of dyads that is installed."""
    from importlib import metadata  # here, for it takes time to import

    try:
        return metadata.version("dyads")
    except metadata.PackageNotFoundError:
        return "not installed"
