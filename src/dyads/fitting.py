"""From data to a fitted model: the border, the engine, the seed, the keeper, the loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dyads import border, loop, parameters, progress
from dyads.engines import engine_for
from dyads.errors import ConfigError, DataError
from dyads.keeper import keeper
from dyads.pairs import Csr, Pairs, csr
from dyads.state import Fitted, Record

if TYPE_CHECKING:
    from dyads.model import Model


def fit(
    model: Model,
    X: Any,
    before: Fitted | None,
    show_progress: bool | None,
    callback: Callable[[Record], Any] | None,
    keeping: tuple[Any, int | None, bool],
) -> Fitted:
    """Fit, or with `before` go on from there."""
    parameters.check(model)
    _check_keeping(*keeping)
    if callback is not None and not callable(callback):
        raise ConfigError(f"callback={callback!r} cannot be called: give a function of a Record")
    engine = engine_for(model.device, model.n_jobs)  # type: ignore[attr-defined]
    pairs = border.training(model, X)
    if before is not None:
        pairs = merged(model, before, pairs)
    directory, every, resume = keeping
    with (
        keeper(model, pairs, directory, resume, _seed(model, before)) as kept,
        progress.reporter(show_progress, type(model).__name__, model.chains()) as tell,
    ):
        watch = loop.Watch(tell, callback, kept, every)
        run = loop.run(model, pairs, engine, kept.seed, watch, None if before is None else before.states)
    return Fitted(
        pairs, pairs.users, pairs.items, run.states, run.posterior, run.trace, kept.seed, pairs.fingerprint, run.stopped
    )


def _seed(model: Model, before: Fitted | None) -> int:
    return parameters.seed_of(model.random_state) if before is None else before.seed  # type: ignore[attr-defined]


def _check_keeping(directory: Any, every: int | None, resume: bool) -> None:
    if directory is not None and (not isinstance(directory, (str, os.PathLike)) or not os.fspath(directory)):
        raise ConfigError(f"checkpoint={directory!r} is no folder: give its path")
    if directory is None and (every is not None or resume):
        raise ConfigError(f"every={every!r} and resume={resume!r} need a folder: give checkpoint=DIR")
    if every is not None and (not parameters.is_whole(every) or every < 1):
        raise ConfigError(f"every={every!r} is no number of ticks between checkpoints: give 1 or more")


# --- more pairs for a fitted model -----------------------------------------------------------------------------------


def merged(model: Model, before: Fitted, new: Pairs) -> Pairs:
    """The pairs of the fit and the new ones: counts add, newer ratings replace older, hidden cells stay hidden."""
    old = before.pairs
    if old is None:
        raise ConfigError("this model was saved with pairs=False and cannot go on: fit it again, or save its pairs too")
    if new.items.kind == old.items.kind == "range" and len(new.items) < len(old.items):
        raise DataError(
            f"X has {len(new.items)} features, but {type(model).__name__} is expecting {len(old.items)} features as "
            "input"
        )
    users, user_number = old.users.union(new.users)
    items, item_number = old.items.union(new.items)
    shape = (len(users), len(items))
    cells = _joined(old.by_user, new.by_user, user_number, item_number)
    if model.data == "counts":
        block = csr(*cells, *shape, "sum")
    else:
        block = csr(*_newest(*cells, shape[1]), *shape)
    hidden = None
    if old.hidden is not None or new.hidden is not None:
        none = Csr(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32), None)
        hidden = csr(*_joined(old.hidden or none, new.hidden or none, user_number, item_number), *shape, "mean")
    all_ones = block.val is None or bool((block.val == 1).all())
    result = Pairs(users, items, block._replace(val=None) if all_ones else block, hidden)
    if hidden is None:
        return result
    return result.select(~hidden.contains(result.rows(), result.columns().astype(np.int64), shape[1]))


def _joined(old: Csr, new: Csr, user_number: Any, item_number: Any) -> tuple[Any, Any, Any]:
    rows = np.concatenate([old.rows(), user_number[new.rows()]])
    columns = np.concatenate([old.idx.astype(np.int64), item_number[new.idx]])
    return rows, columns, np.concatenate([old.values(), new.values()])


def _newest(rows: Any, columns: Any, values: Any, n_columns: int) -> tuple[Any, Any, Any]:
    """Of cells that come twice the later one."""
    keys = rows * n_columns + columns
    order = np.argsort(keys, kind="stable")
    keep = order[np.append(keys[order][1:] != keys[order][:-1], True)] if order.size else order
    return rows[keep], columns[keep], values[keep]
