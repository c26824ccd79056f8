"""Top-N of rows of scores: exact, ties by item order, memory bounded by a block of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dyads.errors import DataError
from dyads.pairs import F64, I64, Csr
from dyads.posterior import Posterior, clipped, scores
from dyads.state import RowPosterior

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


def take_rows(users: RowPosterior, rows: slice) -> RowPosterior:
    """Some of the rows."""
    var, cov, alpha = (None if part is None else part[:, rows] for part in users[1:])
    return RowPosterior(users.mean[:, rows], var, cov, alpha)


def recommend(
    posterior: Posterior, users: RowPosterior, n: int, exclude: Csr | None, items: I64 | None, by: str
) -> tuple[I64, F64]:
    """The best `n` items of each row: item numbers and what they are ranked by.

    `exclude` holds one row of item numbers for each row of `users`; `items` restricts the candidates.
    """
    n_rows, n_items = users.mean.shape[1], posterior.item.shape[1]
    candidates = None if items is None else np.unique(items)
    parts = []
    for rows in blocks(n_rows, n_items):
        values = scores(posterior, take_rows(users, rows), candidates, by)
        if exclude is not None:
            _shut(values, exclude.slice(rows.start, rows.stop), candidates)
        parts.append(top(values, n))
    numbers = np.concatenate([p[0] for p in parts]) if parts else np.empty((0, n), dtype=np.int64)
    best = np.concatenate([p[1] for p in parts]) if parts else np.empty((0, n))
    if candidates is not None:
        numbers = np.where(numbers < 0, -1, np.append(candidates, -1)[numbers])
    return numbers, (np.where(numbers < 0, best, clipped(posterior, best)) if by == "answer" else best)


def nearest(rows: F64, table: F64, n: int, exclude: Csr | None, among: I64 | None) -> tuple[I64, F64]:
    """The `n` rows of `table` with the largest cosine to each given row; a row of zeros is near to none."""
    candidates = None if among is None else np.unique(among)
    table = _unit_rows(table if candidates is None else table[candidates])
    numbers, best = np.full((len(rows), n), -1, dtype=np.int64), np.full((len(rows), n), -np.inf)
    for part in blocks(len(rows), len(table)):
        values = _unit_rows(rows[part]) @ table.T
        if exclude is not None:
            _shut(values, exclude.slice(part.start, part.stop), candidates)
        numbers[part], best[part] = top(values, n)
    if candidates is not None:
        numbers = np.where(numbers < 0, -1, np.append(candidates, -1)[numbers])
    return numbers, best


def _unit_rows(rows: F64) -> F64:
    length = np.sqrt(np.einsum("nk,nk->n", rows, rows))[:, None]
    out: F64 = rows / np.where(length > 0, length, 1.0)
    return out


def _shut(values: F64, exclude: Csr, candidates: I64 | None) -> None:
    rows, columns = exclude.rows(), exclude.idx.astype(np.int64)
    if candidates is not None and len(candidates):
        place = np.minimum(np.searchsorted(candidates, columns), len(candidates) - 1)
        keep = candidates[place] == columns
        rows, columns = rows[keep], place[keep]
    if candidates is None or len(candidates):
        values[rows, columns] = -np.inf
