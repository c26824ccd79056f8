"""How good a model is on pairs it has not seen, with popularity beside it and intervals over users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dyads.border import as_pairs
from dyads.errors import ConfigError, DataError, UnknownIdError
from dyads.metrics import Metric, Reliability, metric, reliability
from dyads.metrics.bootstrap import Sums, intervals, values
from dyads.metrics.measure import Exam, Judged, judged_popularity, judged_posterior, measure
from dyads.models import method
from dyads.pairs import F64, I64, Pairs, csr
from dyads.parameters import is_whole
from dyads.search import search
from dyads.split import draws
from dyads.vocabulary import Vocabulary

__all__ = ["Report", "Row", "evaluate"]

LEVEL = 0.95
RESAMPLES = 200  # for the band around the reliability curve
UNHIDDEN = (
    "the held-out ones stood as zeros in the data that the model learnt from, so that its probabilities must come out "
    "too low there; split.cells hides cells, ones and zeros alike, and measures it"
)
DEFAULT = {
    "rating": ("rmse", "mae", "coverage@50", "coverage@90"),
    "ranking": ("recall", "ndcg", "mrr", "auc", "average_rank"),
    "calibration": ("log_loss", "brier"),
}


class Row(NamedTuple):
    """One metric: the model's value with its interval, and popularity's."""

    metric: str
    value: float
    low: float
    high: float
    popularity: float  # NaN where popularity has no answer to the metric, or was not asked
    popularity_low: float
    popularity_high: float
    best: float  # the end that is better: inf, 0, or the aim of a coverage


@dataclass(frozen=True)
class Report:
    """What `evaluate` found. `print` shows it as a table, `report["recall@10"]` is a row."""

    model: str
    rows: tuple[Row, ...]
    n_users: int
    n_pairs: int
    level: float  # of the intervals
    reliability: Reliability | None  # where calibration was measured
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.metric == name:
                return row
        raise KeyError(f"{name!r} was not measured; there are {', '.join(row.metric for row in self.rows)}")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dictionaries, as JSON wants them."""
        curve = self.reliability
        return {
            "model": self.model,
            "n_users": self.n_users,
            "n_pairs": self.n_pairs,
            "level": self.level,
            "rows": [{k: _plain(v) for k, v in row._asdict().items()} for row in self.rows],
            "reliability": None if curve is None else {k: _plain(v) for k, v in curve._asdict().items()},
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        cells = [("metric", self.model, "", "popularity", "")]
        for row in self.rows:
            theirs = ("", "") if np.isnan(row.popularity) else _shown(row[4:7])
            cells.append((row.metric, *_shown(row[1:4]), *theirs))
        used = [column for column in range(5) if any(line[column] for line in cells[1:])]
        widths = [max(len(line[column]) for line in cells) for column in range(5)]
        table = ["  ".join(line[c].ljust(widths[c]) for c in used).rstrip() for line in cells]
        head = f"{self.n_users} users, {self.n_pairs} held-out pairs, {self.level:.0%} intervals over users"
        return "\n".join([head, "", *table, *(f"\n{note}" for note in self._remarks())])

    def _remarks(self) -> list[str]:
        curve = self.reliability
        if curve is None:
            return list(self.notes)
        part = f"{curve.miscalibration:.4f} of the Brier score is miscalibration"
        return [*self.notes, f"{part}; a calibrated model would show as much with probability {curve.p_value:.2f}."]


class Evaluate:
    """`evaluate(model, train, test)` judges a fitted model; `evaluate.search` finds hyper-parameters."""

    def __call__(
        self,
        model: Any,
        train: Pairs,
        test: Pairs,
        metrics: Sequence[str] | str | None = None,
        N: int = 10,
        *,
        n_bootstrap: int = 500,
        random_state: Any = 0,
        baseline: bool = True,
    ) -> Report:
        """Judge a fitted model on held-out pairs.

        Without `metrics`, the usual ones that the model's answer and the split allow: rankings for every model, errors
        and interval coverage for ratings, losses and reliability for probabilities of cells on `split.cells`. Rankings
        are over all items but those the user has in `train`; held-out pairs of value 0 are no hits.
        """
        if isinstance(model, (str, type)):
            raise ConfigError(f"{model!r} is no fitted model: give one, such as dyads.BPR().fit(train)")
        if not is_whole(n_bootstrap) or n_bootstrap < 0:
            raise ConfigError(f"n_bootstrap={n_bootstrap!r} is no number of draws: give 0 for none, or more")
        exam = _exam(model, _onto(model, train, "train"), _onto(model, test, "test"))
        asked = chosen(model, metrics, N, exam.train, exam.test)
        judged, rng = judged_posterior(model.posterior_), draws(random_state)
        sums = measure(judged, asked, exam) + (_popularity(model, asked, exam) if baseline else [])
        found = values(sums)
        low, high = intervals(sums, n_bootstrap, LEVEL, rng)
        return Report(
            model=type(model).__name__,
            rows=tuple(_rows(asked, found, low, high)),
            n_users=int(np.count_nonzero(exam.test.by_user.counts())),
            n_pairs=exam.test.n_pairs,
            level=LEVEL,
            reliability=_reliability(judged, asked, exam.test, min(n_bootstrap, RESAMPLES), rng),
            notes=_notes(model, asked),
        )

    search = staticmethod(search)


evaluate = Evaluate()


def _onto(model: Any, given: Any, part: str) -> Pairs:
    """The pairs (or matrix) under the numbers of the model's ids."""
    pairs = as_pairs(given)
    users, items = model.users_, model.items_
    if pairs.users == users and pairs.items == items:
        return pairs
    try:
        to_user, to_item = _numbers(users, pairs, "user"), _numbers(items, pairs, "item")
    except UnknownIdError as error:
        raise UnknownIdError(f"{part} holds what {type(model).__name__} was not fitted on: {error}") from None
    rows, columns = to_user[pairs.rows()], to_item[pairs.columns()]
    moved = Pairs.numbered(users, items, rows, columns, pairs.by_user.val)
    if pairs.hidden is None:
        return moved
    rows, columns = to_user[pairs.hidden.rows()], to_item[pairs.hidden.idx]
    known = (rows >= 0) & (columns >= 0)
    return moved.with_hidden(csr(rows[known], columns[known], None, len(users), len(items), "mean"))


def _numbers(known: Vocabulary, pairs: Pairs, which: str) -> I64:
    """The model's number of each of the pairs' users or items, -1 for one that no pair has."""
    mine = pairs.users if which == "user" else pairs.items
    present = np.unique(pairs.rows() if which == "user" else pairs.columns())
    numbers = known.numbers(mine.ids(), missing="negative", side=which)
    if (numbers[present] < 0).any():
        known.numbers(mine.ids(present), side=which)  # raises, naming the first
    return numbers


def _exam(model: Any, train: Pairs, test: Pairs) -> Exam:
    """Train and test as the model reads values: with `binarize`, what lies below the threshold is a zero."""
    if not test.n_pairs:
        raise DataError("test holds no pairs, so there is nothing to measure: hold out more")
    both = np.flatnonzero(train.by_user.contains(test.rows(), test.columns().astype(np.int64), test.shape[1]))
    if both.size:
        (user,), (item,) = (
            test.users.ids(test.rows()[both[:1]]).tolist(),
            test.items.ids(test.columns()[both[:1]]).tolist(),
        )
        raise DataError(
            f"user {user!r} and item {item!r} stand in train and in test ({both.size} pairs do): a model must not be "
            "judged on what it was fitted on, so take both from one split"
        )
    threshold = getattr(model, "binarize", None)
    if threshold is not None:
        ones = (test.values() > threshold).astype(np.float32)
        test = replace(test, by_user=test.by_user._replace(val=ones))
        train = replace(train, by_user=train.by_user.select(train.values() > threshold)._replace(val=None))
    hit = np.ones(test.n_pairs, dtype=bool) if model.data == "ratings" else test.values() != 0
    return Exam(train, test, test.by_user.select(hit))


def chosen(model: Any, names: Sequence[str] | str | None, N: int, train: Pairs, test: Pairs) -> list[Metric]:
    """The metrics to measure, once it is known that the model, fitted or not, and the split allow each."""
    barred = _barred(model, train, test)
    if names is not None and not isinstance(names, (str, Sequence)):
        raise ConfigError(f"metrics={names!r} names none: give a name, a list of names, or None for all that fit")
    if names is None:
        names = [name for kind, some in DEFAULT.items() if kind not in barred for name in some]
    asked = [metric(name, N) for name in ([names] if isinstance(names, str) else names)]
    for one in asked:
        if one.kind in barred:
            raise ConfigError(f"metric {one.name!r} cannot be measured here: {barred[one.kind]}")
    if not asked:
        raise ConfigError("metrics=[] asks for nothing: name at least one, or give None for all that fit")
    return asked


def _barred(model: Any, train: Pairs, test: Pairs) -> dict[str, str]:
    """The kinds of metric that do not fit, and why."""
    name, cells = type(model).__name__, _is_cells(train, test)
    if model.answer == "rating":
        if cells:
            raise DataError(
                f"test holds hidden cells, zeros as values, but {name} answers with ratings: split.fraction"
            )
        return {"calibration": f"{name} answers with ratings, not with probabilities of cells"}
    barred = {"rating": f"{name} answers with a {model.answer}, not with a rating"}
    if model.answer != "probability" or model.data != "binary":
        barred["calibration"] = f"{name} does not answer with the probability that a cell of the matrix is one"
    elif not cells:
        barred["calibration"] = UNHIDDEN
    return barred


def _is_cells(train: Pairs, test: Pairs) -> bool:
    """Whether every test cell was hidden from the model, zeros among them."""
    if train.hidden is None or not (test.values() == 0).any():
        return False
    return bool(train.hidden.contains(test.rows(), test.columns().astype(np.int64), test.shape[1]).all())


def _popularity(model: Any, asked: list[Metric], exam: Exam) -> list[Sums]:
    """Popularity, fitted on the same pairs, by the same metrics in the same order."""
    counted = exam.train.by_user if model.data == "counts" else exam.train.by_user._replace(val=None)
    posterior = method("popularity")().fit(replace(exam.train, by_user=counted), show_progress=False).posterior_
    by_kind = {}
    for kind in {one.kind for one in asked}:
        some = [one for one in asked if one.kind == kind]
        by_kind[kind] = iter(measure(judged_popularity(posterior, exam.train, kind), some, exam))
    return [next(by_kind[one.kind]) for one in asked]


def _rows(asked: list[Metric], found: F64, low: F64, high: F64) -> Iterator[Row]:
    n, nothing = len(asked), (np.nan, np.nan, np.nan)
    for m, one in enumerate(asked):
        mine = found[m], low[m], high[m]
        beside = (found[m + n], low[m + n], high[m + n]) if len(found) > n else nothing
        value, bottom, ceiling, *theirs = map(float, (*mine, *beside))
        yield Row(one.name, value, bottom, ceiling, theirs[0], theirs[1], theirs[2], one.best)


def _reliability(
    judged: Judged, asked: list[Metric], test: Pairs, n_resamples: int, rng: np.random.Generator
) -> Reliability | None:
    if not n_resamples or all(one.kind != "calibration" for one in asked):
        return None
    told = judged.outcomes(test)
    return reliability(told.truth, told.answer, n_resamples=n_resamples, rng=rng)


def _notes(model: Any, asked: list[Metric]) -> tuple[str, ...]:
    measured = any(one.kind == "calibration" for one in asked)
    silent = measured or model.answer != "probability" or model.data != "binary"
    return () if silent else (f"Calibration was not measured: {UNHIDDEN}.",)


def _shown(three: Sequence[float]) -> tuple[str, str]:
    """A value and its interval as text."""
    value, low, high = three
    return f"{value:.4f}", "" if np.isnan(low) else f"{low:.4f} to {high:.4f}"


def _plain(value: Any) -> Any:
    """NumPy's arrays as lists; JSON knows neither NaN nor infinity."""
    if isinstance(value, np.ndarray):
        return [_plain(x) for x in value.tolist()]
    return None if isinstance(value, float) and not np.isfinite(value) else value
