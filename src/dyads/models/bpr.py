"""BPR: Bayesian personalised ranking (Rendle, Freudenthaler, Gantner, Schmidt-Thieme, UAI 2009).

Triples (u, i, j), i a one and j a zero of row u; the score is x̂_ui = b_i + u·v_i, and x = x̂_ui − x̂_uj. Maximised is

    Σ log σ(x) − λ/2 ‖Θ‖²                                                                                    (1)

by θ ← θ + η (σ(−x) ∂x/∂θ − λ θ) over sampled triples.                                                        (2)

| symbol | here |
|---|---|
| u, v | `BprUsers.factors`, `BprItems.factors` |
| b | `BprItems.bias` |
| η, λ | `learning_rate`, `regularization` |

Departures: triples come in minibatches, whose steps all start from the same parameters and are then added in triple
order, so that threads cannot change the result; (u, i) is uniform over the ones; j is uniform over the zeros of the
row (`negatives="uniform"`, BPR-uniform) or falls on them in proportion to their number of ones
(`negatives="popularity"`, BPR-pop), drawn exactly and without rejection; hidden cells are never drawn; η shrinks as
η / (1 + decay · passes over the ones). A new row is placed at the optimum of (1) over its own triples, by Newton steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dyads.errors import ConfigError
from dyads.kernels.shapes import BprCheck, BprData, BprItems, BprShared, BprUsers, Negatives
from dyads.model import Model
from dyads.models._fold_in import ranking_rows
from dyads.pairs import F32, I64, Csr, Pairs
from dyads.parameters import binarize_field, choice, device_field, jobs_field, number, seed_field, whole
from dyads.posterior import Posterior
from dyads.state import Bare, Objective, Plan, RowPosterior, State
from dyads.streams import At, Site, normal

PASSES = 100  # sampled triples per one, where `n_entries` does not say
MORE_PASSES = 20  # the same for `partial_fit`
CHUNK = 50_000  # triples of a step, at least
ROW_TRIPLES = 32  # and for every row, so that copying the rows into a step and out of it costs little
CHECKED = 8192  # triples behind the objective
SPREAD = 0.1  # of the first factors


class BprSmall(NamedTuple):
    minibatch: int  # fixed at the first fit, so that ticks keep their meaning


class BprPast(NamedTuple):
    """What placing a new row needs."""

    weight: I64  # (C, J) of the items as negatives


@dataclass(kw_only=True, eq=False, repr=False)
class BPR(Model):
    """Factors that put the items of a row before the others."""

    name: ClassVar[str] = "bpr"
    data: ClassVar[str] = "binary"
    event: ClassVar[str] = "the user takes the item rather than another"
    parts: ClassVar[tuple[type, ...]] = (BprUsers, BprItems, BprSmall, BprPast)

    n_factors: int = whole(10, 0)
    negatives: str = choice("uniform", "uniform", "popularity")
    learning_rate: float = number(0.15, 0.0, open_low=True)
    decay: float = number(0.1, 0.0)
    regularization: float = number(0.03, 0.0)
    n_entries: int | None = whole(None, 1, none=True)
    minibatch: int | None = whole(None, 1, none=True)
    tol: float | None = number(1e-3, 0.0, none=True)
    binarize: float | None = binarize_field()
    random_state: Any = seed_field()
    n_jobs: int | None = jobs_field()
    device: str = device_field()

    @property
    def answer(self) -> str:
        return "relevance"

    def plan(self, pairs: Pairs, previous: tuple[Bare, ...] | None) -> Plan:
        passes = MORE_PASSES if previous else PASSES
        minibatch = previous[0].small.minibatch if previous else self._minibatch(pairs)
        ticks = -(-self._entries(pairs, passes) // minibatch)
        chunk = max(CHUNK, ROW_TRIPLES * (len(pairs.users) + len(pairs.items))) // minibatch
        return Plan(ticks, mark=max(1, -(-pairs.n_pairs // minibatch)), chunk=max(1, chunk), tol=self.tol)

    def _entries(self, pairs: Pairs, passes: int) -> int:
        return passes * pairs.n_pairs if self.n_entries is None else self.n_entries

    def _minibatch(self, pairs: Pairs) -> int:
        """1024, but few enough that a minibatch is a small part of the ones; never more than the whole fit."""
        if self.minibatch is None:
            return int(np.clip(pairs.n_pairs // 64, 1, 1024))
        return min(self.minibatch, self._entries(pairs, PASSES))

    def init(self, pairs: Pairs, engine: Any, at: At, previous: Bare | None = None) -> State:
        if previous is not None and previous.user.factors.shape[1] != self.n_factors:
            held = previous.user.factors.shape[1]
            raise ConfigError(f"n_factors={self.n_factors} cannot go on from a fit with {held}: fit again")
        user = self._factors(at, Site.INIT_USER, len(pairs.users), previous.user.factors if previous else None)
        item = self._factors(at, Site.INIT_ITEM, len(pairs.items), previous.item.factors if previous else None)
        bias = np.zeros(len(item), dtype=np.float32)
        if previous is not None:
            bias[: len(previous.item.bias)] = previous.item.bias
        small = previous.small if previous else BprSmall(self._minibatch(pairs))
        items = BprItems(item, bias, self._weights(pairs))
        return self.place(pairs, engine, Bare(BprUsers(user), items, small, at.tick))

    def _factors(self, at: At, site: Site, n: int, old: F32 | None) -> F32:
        """First factors of n rows; those of old rows stay."""
        first = 0 if old is None else len(old)
        fresh = SPREAD * normal(at._replace(tick=0), site, np.arange(first, n), self.n_factors).astype(np.float32)
        return fresh if old is None else np.concatenate([old, fresh])

    def place(self, pairs: Pairs, engine: Any, bare: Bare) -> State:
        table = negatives(pairs.by_user, pairs.hidden, bare.item.weight)
        data = BprData(pairs.rows().astype(np.int32), pairs.columns(), table)
        user = engine.place("user", bare.user, pairs.by_user, data)
        return State(user, engine.place("item", bare.item, None), bare.small, bare.tick)

    def _weights(self, pairs: Pairs) -> I64:
        if self.negatives == "uniform":
            return np.ones(len(pairs.items), dtype=np.int64)
        return np.bincount(pairs.columns(), minlength=len(pairs.items)).astype(np.int64)

    def step(self, state: State, engine: Any, at: At, n: int) -> State:
        shared = BprShared(n, state.small.minibatch, self.learning_rate, self.decay, self.regularization)
        with np.errstate(over="ignore", invalid="ignore"):  # said in words below
            moved, sums = engine.entries("bpr", state, shared, at)
        self._check_finite(sums.log_sigma, state.tick + n)
        return moved._replace(tick=state.tick + n)  # type: ignore[no-any-return]

    def _check_finite(self, value: float, tick: int) -> None:
        if not np.isfinite(value):
            raise ConfigError(
                f"BPR(learning_rate={self.learning_rate}, regularization={self.regularization}) left the numbers of 32 "
                f"bits within {tick} minibatches: lower one of the two"
            )

    def objective(self, state: State, engine: Any, at: At) -> Objective | None:
        """Mean of log σ(x) over triples that are the same at every mark."""
        with np.errstate(over="ignore", invalid="ignore"):
            _, sums = engine.entries("bpr_check", state, BprCheck(CHECKED), at)
        if sums.n == 0:
            return None
        self._check_finite(sums.first, state.tick)
        mean = sums.first / sums.n
        return Objective(mean, float(np.sqrt(max(sums.second / sums.n - mean**2, 0.0) / sums.n)))

    def read_out(self, state: State, engine: Any) -> Posterior:
        user, item = engine.collect(state.user), engine.collect(state.item)
        n, j = len(user.factors), len(item.factors)
        none, ones = np.zeros((n, 1), dtype=np.float32), np.ones((n, 1), dtype=np.float32)
        return Posterior(
            user=np.concatenate([user.factors, none, ones], axis=1)[None],
            user_var=None,
            item=np.concatenate([item.factors, np.ones((j, 1), np.float32), item.bias[:, None]], axis=1)[None],
            item_var=None,
            offset=np.zeros(1),
            offset_var=np.zeros(1),
            noise=None,
            user_alpha=None,
            item_alpha=None,
            clip=None,
            n_factors=self.n_factors,
            link="none",
            small=BprPast(item.weight[None]),
        )

    def fold_in(self, rows: Csr, which: str, posterior: Posterior, at: At, cov: bool = False) -> RowPosterior:
        """New users by their items, or new items by their users, at the optimum of (1) over sampled triples."""
        return ranking_rows(rows, which, posterior, self.regularization, at)


def negatives(ones: Csr, hidden: Csr | None, weight: I64) -> Negatives:
    """The tables from which a row's zeros are drawn."""
    closed = ones
    if hidden is not None and hidden.nnz:
        keys = np.unique(np.concatenate([ones.keys(len(weight)), hidden.keys(len(weight))]))
        ptr = np.searchsorted(keys, np.arange(ones.n_rows + 1) * len(weight)).astype(np.int64)
        closed = Csr(ptr, (keys % len(weight)).astype(np.int32), None)
    upto = np.concatenate([[0], np.cumsum(weight)]).astype(np.int64)
    taken = np.concatenate([[0], np.cumsum(weight[closed.idx])]).astype(np.int64)
    shut = taken[:-1] - np.repeat(taken[closed.ptr[:-1]], closed.counts())
    room = upto[-1] - (taken[closed.ptr[1:]] - taken[closed.ptr[:-1]])
    return Negatives(closed.ptr, closed.idx, upto[closed.idx] - shut, shut, upto, room)
