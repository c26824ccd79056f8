"""What kernels are given and give back: NamedTuples of arrays and numbers, one group per kernel family."""

from __future__ import annotations

from typing import Any, NamedTuple

from dyads.pairs import F32, F64, I32, I64, Csr


class Totals(NamedTuple):
    total: float


# --- sparse times block ------------------------------------------------------------------------------------------


class ProductRows(NamedTuple):
    out: F32  # (n, K)


class ProductShared(NamedTuple):
    block: F32  # (J, K)


class NoSums(NamedTuple):
    pass


# --- top-N -------------------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """Variances behind a score: a mean m of variance s is ranked by m / sqrt(1 + weight s)."""

    user: F64 | None  # (n, K)
    item: F32 | None  # (J, K)
    offset: float
    weight: float


class TopN(NamedTuple):
    """Which items are best for each row, by the mean over C components of rate_j (offset + u · v_j)."""

    user: F64  # (C, n, K) the rows asked
    item: F32  # (C, J, K)
    offset: F64  # (C,)
    rate: F64 | None  # (C, J); None: one
    spread: Spread | None  # C = 1 and no rates; None: ranked by the mean alone
    link: str  # what scores are shown as; rising, so that it moves nothing but ties
    exclude: Csr | None  # items that are none, one row for each row asked
    candidates: I64 | None  # the only ones that are, ascending
    n: int


# --- Bayesian personalised ranking ----------------------------------------------------------------------------


class BprUsers(NamedTuple):
    factors: F32  # (I, K)


class BprItems(NamedTuple):
    factors: F32  # (J, K)
    bias: F32  # (J,)
    weight: I64  # (J,) as negatives


class Negatives(NamedTuple):
    """Zeros of every row, drawn exactly and without rejection.

    Items have whole weights; `upto[j]` is the weight of the items before j. A row's closed items (its ones and its
    hidden cells) are `ptr`, `idx`; `gap` is the open weight of the row before each of them and `shut` the closed
    weight before it, so that the item at open weight r is found by two searches.
    """

    ptr: I64  # (I + 1,)
    idx: I32
    gap: I64
    shut: I64
    upto: I64  # (J + 1,)
    room: I64  # (I,) open weight of every row


class BprData(NamedTuple):
    """What is rebuilt from the pairs: the ones in row order, and the zeros' tables."""

    rows: I32
    items: I32
    negatives: Negatives


class BprShared(NamedTuple):
    n_minibatches: int
    minibatch: int
    learning_rate: float
    decay: float  # the rate of entry e is learning_rate / (1 + decay e / ones)
    regularization: float


class BprCheck(NamedTuple):
    n_triples: int


class BprCheckSums(NamedTuple):
    n: int
    first: float  # Σ log σ(x)
    second: float  # Σ log² σ(x)


class BprSums(NamedTuple):
    log_sigma: float  # Σ log σ(x) over the triples, each at the parameters that its minibatch started from
    correct: int  # triples with x > 0
    skipped: int  # rows without a zero


# --- sampled entries of a binary matrix -------------------------------------------------------------------------


class EntrySides(NamedTuple):
    """Natural parameters m / s and 1 / s of what n entries touch, one row an entry; the last of a side is its bias."""

    u_first: F64  # (n, D + 1)
    u_second: F64
    v_first: F64
    v_second: F64
    z_first: F64  # (n,)
    z_second: F64


class Motion(NamedTuple):
    """How parameters of one kind move, for each entry."""

    rate: F64  # (n,) ρ
    weight: F64  # (n,) 1 / p(j|i), 1 / p(i|j) or 1 / p(i, j)
    prior_first: F64  # (n,) m0 / s0
    prior_second: F64  # (n,) 1 / s0


# --- SBMF -----------------------------------------------------------------------------------------------------


class SbmfRows(NamedTuple):
    factors: F32  # (n, K)
    bias: F32  # (n,)


class SbmfShared(NamedTuple):
    other: Any  # SbmfRows of the other side (Placed, until an engine resolves it)
    offset: float  # μ
    noise_precision: float  # τ
    mean: F64  # (K + 1,) prior means: bias, then factors
    precision: F64  # (K + 1,) prior precisions
    site: int
    biased: bool
    draw: bool  # False: change nothing, give the sums


class SbmfSums(NamedTuple):
    first: F64  # (K + 1,) Σ of bias and factors over the rows
    second: F64  # (K + 1,) Σ of their squares
    error: float  # Σ e, e the residuals after the rows have moved
    error2: float  # Σ e²
