"""Top-N of rows of scores: exact, ties by item order, memory bounded by a block of rows."""

from __future__ import annotations

import numpy as np

from dyads import kernels
from dyads.engines.local import thread_count
from dyads.kernels.ranking import best_rows
from dyads.kernels.shapes import Spread, TopN
from dyads.pairs import F64, I64, Csr
from dyads.posterior import Posterior, clipped, popularity, scores
from dyads.state import RowPosterior

WEIGHTS = {"logistic": np.pi / 8.0, "probit": 1.0}  # of the variance, in the links that bend


def take_rows(users: RowPosterior, rows: slice) -> RowPosterior:
    """Some of the rows."""
    var, cov, alpha = (None if part is None else part[:, rows] for part in users[1:])
    return RowPosterior(users.mean[:, rows], var, cov, alpha)


def recommend(
    posterior: Posterior,
    users: RowPosterior,
    limits: tuple[int, Csr | None, I64 | None],
    by: str,
    n_jobs: int | None = None,
) -> tuple[I64, F64]:
    """The best items of each row: item numbers and what they are ranked by.

    `limits`: how many; one row of excluded item numbers for each row of `users`; the only candidates. Where the
    posterior has no columns every latent value is the same, and `by="mean"` is the answer too.
    """
    n, exclude, items = limits
    by = by if posterior.item.shape[2] else "answer"
    candidates = None if items is None else np.unique(items)
    ask = question(posterior, users, by)
    if ask is None:

        def block(rows: slice) -> F64:
            return scores(posterior, take_rows(users, rows), candidates, by)

        n_rows, n_items = users.mean.shape[1], posterior.item.shape[1]
        numbers, best = best_rows(n_rows, n_items, block, (n, exclude, candidates))
    else:
        ask, compiled = ask._replace(exclude=exclude, candidates=candidates, n=n), kernels.compiled("top_n")
        numbers, best = kernels.twin("top_n")(ask) if compiled is None else compiled(ask, thread_count(n_jobs))
    return numbers, (np.where(numbers < 0, best, clipped(posterior, best)) if by == "answer" else best)


def question(posterior: Posterior, users: RowPosterior, by: str) -> TopN | None:
    """What a kernel is asked for; None where a score does not rise with one latent value.

    That is so where a bent link is averaged over components, or multiplied by an item's rate.
    """
    bends = by == "answer" and posterior.link in WEIGHTS
    rates = popularity(posterior) if by == "answer" else None
    rate, spread = None if rates is None else rates[0], None
    if bends:
        if len(posterior.offset) > 1 or rate is not None:
            return None
        us, vs = users.var, posterior.item_var
        parts = (None if us is None else us[0], None if vs is None else vs[0])
        spread = Spread(*parts, float(posterior.offset_var[0]), WEIGHTS[posterior.link])
    link = posterior.link if bends else "none"
    return TopN(users.mean, posterior.item, posterior.offset, rate, spread, link, None, None, 0)


def nearest(rows: F64, table: F64, n: int, exclude: Csr | None, among: I64 | None) -> tuple[I64, F64]:
    """The `n` rows of `table` with the largest cosine to each given row; a row of zeros is near to none."""
    candidates = None if among is None else np.unique(among)
    table = _unit_rows(table if candidates is None else table[candidates])

    def cosines(part: slice) -> F64:
        values: F64 = _unit_rows(rows[part]) @ table.T
        return values

    return best_rows(len(rows), len(table), cosines, (n, exclude, candidates))


def _unit_rows(rows: F64) -> F64:
    length = np.sqrt(np.einsum("nk,nk->n", rows, rows))[:, None]
    out: F64 = rows / np.where(length > 0, length, 1.0)
    return out
