"""Model files: saved whole, opened without running anything in them, their arrays mapped rather than read.

A file holds the method's name, its parameters, and what a fit leaves behind. Opening checks that all of it fits
together, so that a stranger's file can at worst hold other numbers.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from dyads import arrayfile, parameters, soundness
from dyads.errors import ConfigError, DataError, ModelFileError, not_fitted
from dyads.model import Model
from dyads.models import METHODS, method
from dyads.pairs import Csr, Pairs
from dyads.posterior import Posterior
from dyads.state import Bare, Fitted
from dyads.trace import Columns, pack, unpack
from dyads.trees import PlanError, by_name, flatten, rebuild
from dyads.vocabulary import Vocabulary

__all__ = ["load", "save_model"]


class Ids(NamedTuple):
    """A vocabulary as a file holds it."""

    kind: str
    arrays: dict[str, Any]


class Saved(NamedTuple):
    """A fitted model as a file holds it."""

    parameters: dict[str, Any]
    users: Ids
    items: Ids
    by_user: Csr | None  # None: saved without pairs
    hidden: Csr | None
    states: tuple[Bare, ...]  # without arrays where it was saved without pairs, for then no fit goes on from them
    posterior: Posterior
    trace: Columns
    seed: int
    fingerprint: str
    stopped: str


def save_model(model: Model, path: str | os.PathLike[str], *, pairs: bool = True) -> None:
    """Write a fitted model to a file, which takes the place of an older one when it is whole.

    `pairs=False` leaves out the pairs it was fitted on and the state that `partial_fit` goes on from. A
    `random_state` that is a NumPy generator is saved as the seed that was drawn from it.
    """
    fitted: Fitted | None = model.__dict__.get("fitted_")
    if fitted is None:
        raise not_fitted(type(model).__name__)
    parameters.check(model)
    arrays: arrayfile.Arrays = {}
    try:
        plan = flatten(_saved(model, fitted, pairs), "model", arrays)
    except PlanError as error:
        raise ConfigError(f"this {type(model).__name__} cannot be saved: {error}") from None
    arrayfile.write(path, "model", {"method": model.name, "fitted": plan}, arrays)


def _saved(model: Model, fitted: Fitted, pairs: bool) -> Saved:
    given = model.get_params(deep=False)
    if isinstance(given.get("random_state"), (np.random.Generator, np.random.RandomState)):
        given["random_state"] = fitted.seed
    kept = fitted.pairs if pairs else None
    states = fitted.states if kept is not None else tuple(Bare(None, None, None, s.tick) for s in fitted.states)
    return Saved(
        given,
        Ids(fitted.users.kind, fitted.users.arrays()),
        Ids(fitted.items.kind, fitted.items.arrays()),
        None if kept is None else kept.by_user,
        None if kept is None else kept.hidden,
        states,
        fitted.posterior,
        pack(fitted.trace),
        fitted.seed,
        fitted.fingerprint,
        fitted.stopped,
    )


def load(path: str | os.PathLike[str], *, verify: bool | None = None) -> Model:
    """Open a saved model. Its arrays are mapped from the file, which may be larger than memory.

    `verify` compares all data with the digest they were saved with, as is always done with small files.
    """
    payload, arrays = arrayfile.read(path, "model", verify)
    name = payload.get("method")
    if name not in METHODS:
        raise ModelFileError(f"{os.fspath(path)} holds a model {name!r}, which this dyads does not know: update dyads")
    cls = method(name)
    classes = by_name(*cls.parts, Bare, Columns, Csr, Ids, Posterior, Saved)
    try:
        saved = rebuild(payload.get("fitted"), arrays, classes)
        if not isinstance(saved, Saved):
            raise PlanError("it holds no fitted model")
        return _opened(cls, saved)
    except (ConfigError, DataError, PlanError) as error:
        raise ModelFileError(f"{os.fspath(path)} cannot be used ({error}): save the model again") from None


def _opened(cls: type[Model], saved: Saved) -> Model:
    unknown = sorted(set(saved.parameters) - set(parameters.names(cls)))
    if unknown:
        raise PlanError(f"{cls.__name__} has no parameter {unknown[0]!r}")
    model = cls(**saved.parameters)
    parameters.check(model)
    model.fitted_ = _fitted(saved)
    soundness.as_made(model, saved.posterior, () if saved.by_user is None else saved.states)
    return model


def _fitted(saved: Saved) -> Fitted:
    users = soundness.vocabulary(*saved.users, "user")
    items = soundness.vocabulary(*saved.items, "item")
    shape = len(users), len(items)
    for block, what in ((saved.by_user, "pairs"), (saved.hidden, "hidden cells")):
        if block is not None:
            soundness.rows(block, *shape, what)
    soundness.posterior(saved.posterior, *shape)
    soundness.states(saved.states, *shape, empty=saved.by_user is None)
    if not 0 <= saved.seed < 2**64:
        raise DataError(f"its seed is {saved.seed}")
    return Fitted(
        _pairs(users, items, saved),
        users,
        items,
        saved.states,
        saved.posterior,
        unpack(saved.trace),
        saved.seed,
        saved.fingerprint,
        saved.stopped,
    )


def _pairs(users: Vocabulary, items: Vocabulary, saved: Saved) -> Pairs | None:
    return None if saved.by_user is None else Pairs(users, items, saved.by_user, saved.hidden)
