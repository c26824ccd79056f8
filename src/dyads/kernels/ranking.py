"""The best of rows of scores in float64: exact, ties by item order, memory bounded by a block of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dyads.errors import DataError
from dyads.kernels.shapes import TopN
from dyads.pairs import F64, I64, Csr
from dyads.posterior import expit, probit

BLOCK_CELLS = 1 << 22  # scores held at once: 32 MB


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows whose scores fit a block."""
    height = max(1, BLOCK_CELLS // max(n_columns, 1))
    return (slice(first, min(first + height, n_rows)) for first in range(0, n_rows, height))


def top(values: F64, n: int) -> tuple[I64, F64]:
    """Column numbers and values of the `n` largest of each row, largest first, ties by column; (-1, -inf) pads.

    A column of -inf is no candidate.
    """
    rows, columns = values.shape
    numbers, best = np.full((rows, n), -1, dtype=np.int64), np.full((rows, n), -np.inf)
    m = min(n, columns)
    if m == 0 or rows == 0:
        return numbers, best
    if np.isnan(values).any():
        raise DataError(
            "some scores are no numbers (NaN): the model's file was altered, or its fit diverged; fit again"
        )
    least = np.partition(values, columns - m, axis=1)[:, columns - m, None]
    above, equal = values > least, values == least
    room = m - above.sum(axis=1, keepdims=True)
    chosen = np.nonzero(above | (equal & (np.cumsum(equal, axis=1) <= room)))[1].reshape(rows, m)
    found = np.take_along_axis(values, chosen, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    numbers[:, :m], best[:, :m] = np.take_along_axis(chosen, order, 1), np.take_along_axis(found, order, 1)
    numbers[np.isneginf(best)] = -1
    return numbers, best


def shut(values: F64, exclude: Csr, candidates: I64 | None) -> None:
    """Makes the excluded columns of each row -inf; `candidates` are the items that the columns stand for."""
    rows, columns = exclude.rows(), exclude.idx.astype(np.int64)
    if candidates is not None and len(candidates):
        place = np.minimum(np.searchsorted(candidates, columns), len(candidates) - 1)
        keep = candidates[place] == columns
        rows, columns = rows[keep], place[keep]
    if candidates is None or len(candidates):
        values[rows, columns] = -np.inf


def best_rows(
    n_rows: int, n_columns: int, scores: Callable[[slice], F64], limits: tuple[int, Csr | None, I64 | None]
) -> tuple[I64, F64]:
    """Item numbers and scores of the best of each row; `limits`: how many, the excluded, the candidates."""
    n, exclude, candidates = limits
    numbers, best = np.full((n_rows, n), -1, dtype=np.int64), np.full((n_rows, n), -np.inf)
    for rows in blocks(n_rows, n_columns):
        values = scores(rows)
        if exclude is not None:
            shut(values, exclude.slice(rows.start, rows.stop), candidates)
        numbers[rows], best[rows] = top(values, n)
    if candidates is not None:
        numbers = np.where(numbers < 0, -1, np.append(candidates, -1)[numbers])
    return numbers, best


def squashed(link: str, latent: F64) -> F64:
    """What a latent value is shown as."""
    return expit(latent) if link == "logistic" else probit(latent) if link == "probit" else latent


def top_n(ask: TopN) -> tuple[I64, F64]:
    """The best items of each row: their numbers and scores."""
    item = ask.item if ask.candidates is None else ask.item[:, ask.candidates]
    rate = ask.rate if ask.rate is None or ask.candidates is None else ask.rate[:, ask.candidates]

    def scores(rows: slice) -> F64:
        total = np.zeros((rows.stop - rows.start, item.shape[1]))
        for c in range(len(ask.offset)):
            mean = ask.offset[c] + ask.user[c, rows] @ item[c].astype(np.float64).T
            total += mean if rate is None else mean * rate[c]
        latent = total / len(ask.offset)
        return squashed(ask.link, latent if ask.spread is None else latent / _root(ask, rows))

    return best_rows(ask.user.shape[1], ask.item.shape[1], scores, (ask.n, ask.exclude, ask.candidates))


def _root(ask: TopN, rows: slice) -> F64:
    """sqrt(1 + c Var[a]) of some rows and all candidates."""
    assert ask.spread is not None
    chosen = slice(None) if ask.candidates is None else ask.candidates
    u, v = ask.user[0, rows], ask.item[0, chosen].astype(np.float64)
    us = None if ask.spread.user is None else ask.spread.user[rows]
    var = np.full((len(u), len(v)), ask.spread.offset)
    if us is not None:
        var += us @ (v * v).T
    if ask.spread.item is not None:
        vs = ask.spread.item[chosen].astype(np.float64)
        var += (u * u if us is None else u * u + us) @ vs.T
    root: F64 = np.sqrt(1.0 + ask.spread.weight * var)
    return root
