"""Entry kernels, sparse products and top-N as the compiled module of a level takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyads.kernels import ranking
from dyads.kernels.shapes import (
    BprCheck,
    BprCheckSums,
    BprData,
    BprItems,
    BprShared,
    BprSums,
    BprUsers,
    NoSums,
    ProductRows,
    ProductShared,
    Spread,
    TopN,
)
from dyads.pairs import F64, I64, Csr
from dyads.streams import At, Site, checked


def bpr(core: Any, data: BprData, user: BprUsers, item: BprItems, shared: BprShared, at: At, threads: int) -> BprSums:
    """`reference.bpr`, in the precision of the factors."""
    if shared.n_minibatches == 0:
        return BprSums(0.0, 0, 0)
    checked(at._replace(tick=at.tick + shared.n_minibatches - 1))
    run = getattr(core, f"bpr_{user.factors.dtype}")
    return BprSums(*run(data, user, item, shared, at, int(Site.BPR_TRIPLE), threads))


def bpr_check(
    core: Any, data: BprData, user: BprUsers, item: BprItems, shared: BprCheck, at: At, threads: int
) -> BprCheckSums:
    """`reference.bpr_check`, summed in float64."""
    run = getattr(core, f"bpr_check_{user.factors.dtype}")
    return BprCheckSums(*run(data, user, item, shared.n_triples, at, int(Site.BPR_CHECK), threads))


def row_products(
    core: Any, csr: Csr, cuts: I64, own: ProductRows, shared: ProductShared, at: At, threads: int
) -> NoSums:
    """`reference.row_products` of a whole side, in the precision of the block."""
    getattr(core, f"row_products_{own.out.dtype}")(*csr, cuts, shared.block, own.out, threads)
    return NoSums()


# --- top-N -------------------------------------------------------------------------------------------------------


def top_n(core: Any, ask: TopN, threads: int) -> tuple[I64, F64]:
    """`reference.top_n`: the same items wherever their scores differ, ties and near ties of float32 with it.

    Some more than `n` are searched in float32 and scored again in float64. A row goes to the twin where an item that
    was left out could stand among the best, as far as the bound on float32's error tells.
    """
    n_rows, n_items = ask.user.shape[1], ask.item.shape[1]
    m = min(ask.n + max(4, ask.n // 8), n_items if ask.candidates is None else len(ask.candidates))
    if m > MOST or min(m, n_rows, ask.item.shape[2]) == 0:
        return ranking.top_n(ask)
    ask = ask._replace(exclude=_ascending(ask.exclude, n_items))
    numbers, latent, reach = _search(core, ask, m, threads)
    scores = np.where(numbers < 0, -np.inf, ranking.squashed(ask.link, latent))
    order = np.lexsort((numbers, -scores), axis=1)[:, : ask.n]
    numbers, scores = np.take_along_axis(numbers, order, 1), np.take_along_axis(scores, order, 1)
    if m < ask.n:
        padding = ((0, 0), (0, ask.n - m))
        numbers, scores = np.pad(numbers, padding, constant_values=-1), np.pad(scores, padding, constant_values=-np.inf)
    sure = np.isneginf(reach) | (scores[:, -1] > ranking.squashed(ask.link, reach))
    doubtful = np.flatnonzero(~sure)
    if doubtful.size:
        numbers[doubtful], scores[doubtful] = ranking.top_n(_rows(ask, doubtful))
    return numbers, scores


MOST = 1024  # items kept for a row; beyond it sorting in sorted order costs more than partitioning


def _search(core: Any, ask: TopN, m: int, threads: int) -> tuple[I64, F64, F64]:
    """m items of each row with their latent scores, and what the others can reach."""
    n_rows = ask.user.shape[1]
    numbers, scores, reach = np.empty((n_rows, m), np.int64), np.empty((n_rows, m)), np.empty(n_rows)
    spread = ask.spread if ask.spread is not None else Spread(None, None, 0.0, 0.0)
    core.top_n(
        _dense(ask.user, np.float64),
        _dense(ask.item, np.float32),
        _dense(ask.offset, np.float64),
        _dense(ask.rate, np.float64),
        _dense(spread.user, np.float64),
        _dense(spread.item, np.float32),
        np.array([spread.offset, spread.weight]),
        None if ask.exclude is None else ask.exclude.ptr,
        None if ask.exclude is None else ask.exclude.idx,
        _dense(ask.candidates, np.int64),
        numbers,
        scores,
        reach,
        threads,
    )
    return numbers, scores, reach


def _dense(array: Any, dtype: Any) -> Any:
    return None if array is None else np.ascontiguousarray(array, dtype=dtype)


def _ascending(rows: Csr | None, n_columns: int) -> Csr | None:
    """The same rows with their columns in order."""
    if rows is None:
        return None
    keys = rows.keys(n_columns)
    if (keys[1:] >= keys[:-1]).all():
        return rows
    return Csr(rows.ptr, (np.sort(keys) % n_columns).astype(np.int32), None)


def _rows(ask: TopN, rows: I64) -> TopN:
    """The same question for some of the rows."""
    spread = ask.spread
    if spread is not None and spread.user is not None:
        spread = spread._replace(user=spread.user[rows])
    exclude = None if ask.exclude is None else ask.exclude.take(rows)
    return ask._replace(user=ask.user[:, rows], spread=spread, exclude=exclude)
