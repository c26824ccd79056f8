"""What a fitted model is asked: recommendations, neighbours, predictions, factors, a score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dyads import border, rank
from dyads.errors import ConfigError, DataError
from dyads.pairs import F32, F64, I64, Csr, Pairs
from dyads.posterior import Posterior, answer, last, side
from dyads.state import RowPosterior
from dyads.streams import At
from dyads.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dyads.model import Model

RANKS = ("answer", "mean")
HELD = 1 << 23  # numbers of a posterior taken up at once for the rows that are asked: 64 MB


class Question(NamedTuple):
    """What is asked for besides whom."""

    n: int
    without_liked: bool
    without: Any  # ids that are no candidates
    among: Any  # the only candidates
    rank_by: str
    return_std: bool


def recommend(model: Model, userid: Any, user_items: Any, recalculate: bool, question: Question) -> tuple[Any, ...]:
    """Ids and scores for one user or several."""
    n = border.check_n(question.n, len(model.items_))
    if question.rank_by not in RANKS:
        raise ConfigError(f"rank_by={question.rank_by!r} is unknown: give one of {', '.join(map(repr, RANKS))}")
    asked = border.as_list(userid, "user")
    users, liked = _asked(model, asked, user_items, recalculate, question.without_liked)
    exclude = _without(liked if question.without_liked else None, question.without, model.items_, len(asked), "item")
    among, posterior, parts = _among(question.among, model.items_, "item"), model.posterior_, []
    n_jobs: int | None = model.n_jobs  # type: ignore[attr-defined]
    for rows in _blocks(posterior, len(asked), square=recalculate and question.return_std):
        placed = _placed(model, users, rows, question.return_std)
        shut = None if exclude is None else exclude.slice(rows.start, rows.stop)
        numbers, scores = rank.recommend(posterior, placed, (n, shut, among), question.rank_by, n_jobs)
        spread = (_spread(posterior, placed, numbers),) if question.return_std else ()
        parts.append((numbers, scores, *spread))
    every, *rest = (np.concatenate(column) for column in zip(*parts, strict=True))
    found = (model.items_.ids(every), *rest)
    return tuple(part[0] for part in found) if border.is_one(userid) else found


def _asked(
    model: Model, asked: list[Any], given: Any, recalculate: bool, without_liked: bool
) -> tuple[I64 | Csr, Csr | None]:
    """The asked users, by number or by the pairs that are to place them, and their pairs where those are needed."""
    if recalculate:
        if given is None:
            raise ConfigError("recalculate_user=True places users by their pairs: give user_items")
        rows = border.histories(model, given, asked)
        return rows, rows
    numbers = model.users_.numbers(asked, side="user") if asked else np.empty(0, dtype=np.int64)
    if not without_liked:
        return numbers, None
    return numbers, liked_rows(model, numbers) if given is None else border.histories(model, given, asked)


def _blocks(posterior: Posterior, n: int, square: bool) -> list[slice]:
    """Slices of rows whose posterior, with covariances if it is `square`, fits a block; at least one."""
    components, _, columns = posterior.user.shape
    height = max(1, HELD // (components * columns * (columns if square else 1) or 1))
    return [slice(first, min(first + height, n)) for first in range(0, max(n, 1), height)]


def _placed(model: Model, users: I64 | Csr, rows: slice, cov: bool) -> RowPosterior:
    """The posterior of some of the asked users, folded in or learned."""
    if isinstance(users, Csr):
        return fold_in(model, users.slice(rows.start, rows.stop), "user", cov=cov)
    return side(model.posterior_, "user", users[rows])


def _pairs_name(which: str) -> str:
    return "user_items" if which == "user" else "item_users"


def liked_rows(model: Model, users: I64) -> Csr:
    """The fitted pairs of these users."""
    return model.pairs_.by_user.take(users)


def fold_in(model: Model, rows: Csr, which: str, posterior: Posterior | None = None, cov: bool = False) -> RowPosterior:
    """Rows placed by their pairs; every row has the same random words, so that its place among them cannot matter."""
    return model.fold_in(rows, which, posterior or model.posterior_, At(model.seed_, 0, 0), cov)


def _without(liked: Csr | None, ids: Any, vocabulary: Vocabulary, n_rows: int, side_name: str) -> Csr | None:
    """One row of shut numbers per asked row."""
    if ids is None:
        return liked
    shut = vocabulary.numbers(border.as_list(ids, side_name), side=side_name)
    every = np.tile(shut, n_rows)
    rows = np.repeat(np.arange(n_rows), len(shut))
    if liked is not None:
        rows, every = np.concatenate([liked.rows(), rows]), np.concatenate([liked.idx.astype(np.int64), every])
    order = np.argsort(rows, kind="stable")
    ptr = np.searchsorted(rows[order], np.arange(n_rows + 1)).astype(np.int64)
    return Csr(ptr, every[order].astype(np.int32), None)


def _among(ids: Any, vocabulary: Vocabulary, side_name: str) -> I64 | None:
    return None if ids is None else vocabulary.numbers(border.as_list(ids, side_name), side=side_name)


def _spread(posterior: Posterior, users: RowPosterior, numbers: I64) -> F64:
    rows, columns = numbers.shape
    which = np.repeat(np.arange(rows), columns)
    spread = answer(posterior, users, which, np.maximum(numbers.ravel(), 0)).spread.reshape(rows, columns)
    return np.where(numbers < 0, np.nan, spread)


# --- neighbours ----------------------------------------------------------------------------------------------------


def asked_rows(model: Model, ids: Any, given: Any, recalculate: bool, which: str) -> F64:
    """Factors of the asked rows, learned or folded in."""
    if recalculate:
        return factors(model, _histories(model, ids, given, which), which)[0]
    own, learned = (model.users_, model.user_factors_) if which == "user" else (model.items_, model.item_factors_)
    return learned[own.numbers(border.as_list(ids, which), side=which)].astype(np.float64)


def similar(model: Model, ids: Any, rows: F64, N: int, limits: tuple[Any, Any], which: str) -> tuple[Any, F64]:
    """The rows of one side nearest to the asked ones by cosine."""
    own, learned = (model.users_, model.user_factors_) if which == "user" else (model.items_, model.item_factors_)
    n = border.check_n(N, len(own))
    if learned.shape[1] == 0:
        raise ConfigError(
            f"{type(model).__name__} has no factors here, so nothing is near: use a model with n_factors > 0"
        )
    without, among = _without(None, limits[0], own, len(rows), which), _among(limits[1], own, which)
    numbers, cosines = rank.nearest(rows, learned.astype(np.float64), n, without, among)
    found = own.ids(numbers), cosines
    return (found[0][0], found[1][0]) if border.is_one(ids) else found


# --- factors of rows by their pairs ----------------------------------------------------------------------------------


def _histories(model: Model, ids: Any, given: Any, which: str) -> Csr:
    if given is None:
        raise ConfigError(f"{which}s are placed by their pairs: give {_pairs_name(which)}")
    return border.histories(model, given, border.as_list(ids, which), which)


def factors(model: Model, rows: Csr, which: str, cov: bool = False) -> tuple[F64, F64 | None]:
    """Fold-in means (n, n_factors) given the last component, and on request their covariances."""
    posterior = last(model.posterior_)
    placed, k = fold_in(model, rows, which, posterior, cov), posterior.n_factors
    return placed.mean[-1, :, :k], None if placed.cov is None else placed.cov[-1, :, :k, :k]


def recalculate(model: Model, ids: Any, given: Any, which: str, return_cov: bool) -> Any:
    """Factors of the asked rows, and their covariance on request."""
    mean, cov = factors(model, _histories(model, ids, given, which), which, return_cov)
    if return_cov and cov is None:
        raise ConfigError(f"{type(model).__name__} is a point estimate and has no covariance: leave return_cov out")
    parts = (mean, cov) if return_cov else (mean,)
    parts = tuple(part[0] for part in parts) if border.is_one(ids) else parts  # type: ignore[index]
    return parts if return_cov else parts[0]


def bias(posterior: Posterior, which: str) -> F32:
    """The biases of one side: columns n_factors (users) and n_factors + 1 (items), where there are any."""
    rows = posterior.user if which == "user" else posterior.item
    column = posterior.n_factors + (which == "item")
    if rows.shape[2] <= column:
        return np.zeros(rows.shape[1], dtype=np.float32)
    return rows[-1, :, column]


# --- predictions -----------------------------------------------------------------------------------------------------


def predict(model: Model, users: I64, items: I64, return_std: bool, with_noise: bool) -> Any:
    """The answers of pairs by number, and their standard deviations."""
    value, std = np.empty(len(users)), np.empty(len(users))
    for part in _blocks(model.posterior_, len(users), square=False):
        rows, which = np.unique(users[part], return_inverse=True)
        said = answer(model.posterior_, side(model.posterior_, "user", rows), which, items[part])
        value[part], std[part] = said.value, np.hypot(said.spread, said.noise) if with_noise else said.spread
    return (value, std) if return_std else value


def score(model: Model, X: Any) -> float:
    """Held-out mean log probability, minus the RMSE, or recall@10, by the answer."""
    users, items, values = _held_out(model, X)
    if model.answer == "relevance":
        return _recall(model, users, items)
    said = predict(model, users, items, return_std=False, with_noise=False)
    if model.answer == "rating":
        return -float(np.sqrt(np.mean((said - values) ** 2)))
    return float(np.average(np.log(said), weights=values))


def _held_out(model: Model, X: Any) -> tuple[I64, I64, F64]:
    """Row and column numbers of held-out pairs, and their values."""
    given = border.as_pairs(X)
    if not isinstance(X, Pairs):
        if given.shape != (len(model.users_), len(model.items_)):
            raise DataError(
                f"a matrix of shape {given.shape} cannot be scored by a model of {len(model.users_)} users and "
                f"{len(model.items_)} items: its rows are the fitted users; X has {given.shape[1]} features, but "
                f"{type(model).__name__} is expecting {len(model.items_)} features as input"
            )
        given = Pairs(model.users_, model.items_, given.by_user)
    block = border.as_taken(model, given.by_user, given)
    if block.nnz == 0:
        raise DataError(f"the data hold no pairs (shape={given.shape}): a score needs at least one")
    users, items = border.pair_numbers(model, Pairs(given.users, given.items, block))
    return users, items, block.values().astype(np.float64)


def _recall(model: Model, users: I64, items: I64) -> float:
    """The mean over users of the share of their held-out items among the first 10 that were not in the fit."""
    rows, which = np.unique(users, return_inverse=True)
    exclude = liked_rows(model, rows)
    placed, n_jobs = side(model.posterior_, "user", rows), model.n_jobs  # type: ignore[attr-defined]
    numbers, _ = rank.recommend(model.posterior_, placed, (10, exclude, None), "answer", n_jobs)
    hit = (numbers[which] == items[:, None]).any(axis=1)
    return float(np.mean(np.bincount(which, hit) / np.bincount(which)))
