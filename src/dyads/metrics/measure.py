"""A model, or popularity, held against held-out pairs: every metric's terms, added up per user."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dyads.metrics import Metric, Outcomes
from dyads.metrics.bootstrap import Sums
from dyads.metrics.standing import stand
from dyads.pairs import F64, I64, Csr, Pairs
from dyads.posterior import Posterior, answer, scores, side

CHUNK = 1 << 15  # held-out values answered together


class Exam(NamedTuple):
    """What everyone is judged on; all three under the same numbers of users and items."""

    train: Pairs
    test: Pairs
    hits: Csr  # the held-out pairs that a ranking should bring up


class Judged(NamedTuple):
    """What is asked of whoever is judged."""

    score: Callable[[I64], F64]  # rows of scores over all items, for these users
    outcomes: Callable[[Pairs], Outcomes]  # what it says of every held-out pair


def judged_posterior(posterior: Posterior) -> Judged:
    """A model, by its posterior."""

    def score(users: I64) -> F64:
        return scores(posterior, side(posterior, "user", users))

    def outcomes(test: Pairs) -> Outcomes:
        rows, columns = test.rows(), test.columns().astype(np.int64)
        said, spread = np.empty(len(rows)), np.empty(len(rows))
        for first in range(0, len(rows), CHUNK):
            part = slice(first, first + CHUNK)
            users, which = np.unique(rows[part], return_inverse=True)
            told = answer(posterior, side(posterior, "user", users), which, columns[part])
            said[part], spread[part] = told.value, np.hypot(told.spread, told.noise)
        return Outcomes(test.values().astype(float), said, spread)

    return Judged(score, outcomes)


def judged_popularity(posterior: Posterior, train: Pairs, kind: str) -> Judged:
    """Popularity in the form that the metric asks for.

    Rankings: the popularity model. Ratings: the item's mean rating. Probabilities of cells: the share of users that
    have the item. The last two lean on one pseudo-observation at the overall value, so that no item is without.
    """
    n_users, n_items = train.shape
    told = train.values() if kind == "rating" else train.values() != 0
    totals = np.bincount(train.columns(), weights=told, minlength=n_items)
    closed = np.zeros(n_items) if train.hidden is None else np.bincount(train.hidden.idx, minlength=n_items)
    counts = np.bincount(train.columns(), minlength=n_items) if kind == "rating" else n_users - closed
    usual = totals.sum() / max(counts.sum(), 1)
    means = (totals + usual) / (counts + 1.0)

    def outcomes(test: Pairs) -> Outcomes:
        nothing = np.full(test.n_pairs, np.nan)
        return Outcomes(test.values().astype(float), means[test.columns()], nothing)

    return Judged(judged_posterior(posterior).score, outcomes)


def measure(judged: Judged, asked: list[Metric], exam: Exam) -> list[Sums]:
    """The terms of every metric per test user; they are in the order of the users' numbers."""
    rows, n_users = exam.test.rows(), exam.test.shape[0]
    live = np.flatnonzero(exam.test.by_user.counts())
    kinds = {one.kind for one in asked}
    if "ranking" in kinds:
        standing = stand(judged.score, exam.hits, exam.train.by_user, exam.test.shape[1])
    if kinds - {"ranking"}:
        outcomes = judged.outcomes(exam.test)
    sums = []
    for one in asked:
        where = standing.users if one.kind == "ranking" else rows
        terms = one.terms(standing if one.kind == "ranking" else outcomes)
        known = ~np.isnan(terms)
        weights = np.bincount(where[known], minlength=n_users)[live].astype(float)
        sums.append(Sums(one, np.bincount(where[known], terms[known], n_users)[live].astype(float), weights))
    return sums
