"""Leanings: a rating is what all share, what its user adds and what its item adds. The smallest whole method.

A rating is r_ij = μ + a_i + b_j + ε_ij with ε ~ N(0, 1/τ), a_i and b_j ~ N(0, 1/σ) and μ the mean of the data. With
q(a_i) = N(m_i, s_i), and the mirror image for b_j, the bound is greatest, all else fixed, at

    s_i = 1 / (σ + τ n_i),      m_i = s_i τ Σ_j (r_ij − μ − m_j).                                            (1)

| symbol | here |
|---|---|
| m, s | `LeaningRows.mean`, `LeaningRows.var` |
| μ | `LeaningSmall.offset` |
| σ, τ | `prior_precision`, `noise_precision` |

Departures: none, there is no paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dyads.kernels.reference import row_sums
from dyads.model import Model
from dyads.pairs import F32, F64, Csr, Pairs
from dyads.parameters import device_field, jobs_field, number, seed_field, whole
from dyads.posterior import Posterior
from dyads.state import Bare, Info, Objective, Plan, RowPosterior, State
from dyads.streams import At, Site, generator

# --- kernels/shapes.py: what the kernel is given and gives back -------------------------------------------------------


class LeaningRows(NamedTuple):
    mean: F32  # (n,)
    var: F32  # (n,)


class LeaningShared(NamedTuple):
    other: Any  # LeaningRows of the other side (Placed, until an engine resolves it)
    offset: float
    noise_precision: float
    prior_precision: float


class LeaningSums(NamedTuple):
    n_ratings: int
    error2: float  # Σ E[ε²] over the ratings
    divergence: float  # Σ KL(q ‖ prior) over the rows


# --- kernels/reference.py: one side given the other, in the order of the equations ------------------------------------


def leanings(block: Csr, first_row: int, own: LeaningRows, shared: LeaningShared, at: At) -> LeaningSums:
    """Every row of a shard at its optimum given the other side; writes `own` and nothing else."""
    tau, sigma, other = shared.noise_precision, shared.prior_precision, shared.other
    rest = block.values() - shared.offset - other.mean[block.idx].astype(np.float64)
    own.var[:] = 1.0 / (sigma + tau * block.counts())  # eq. 1
    own.mean[:] = own.var * tau * row_sums(rest, block.ptr)  # eq. 1
    mean, var, rows = own.mean.astype(np.float64), own.var.astype(np.float64), block.rows()
    error2 = (rest - mean[rows]) ** 2 + var[rows] + other.var[block.idx]
    divergence = 0.5 * (sigma * (mean**2 + var) - 1.0 - np.log(sigma * var))
    return LeaningSums(block.nnz, float(error2.sum()), float(divergence.sum()))


# --- models/leanings.py ----------------------------------------------------------------------------------------------


class LeaningSmall(NamedTuple):
    offset: float  # μ
    n_ratings: int
    error2: float  # Σ E[ε²] after the last half-sweep
    divergence: float  # Σ KL(q ‖ prior) over users and items


class LeaningPast(NamedTuple):
    """What placing a new row needs, with the posterior's leading axis."""

    precisions: F64  # (C, 2) of the prior and of the noise


@dataclass(kw_only=True, eq=False, repr=False)
class Leanings(Model):
    """What users add, and what items add."""

    name: ClassVar[str] = "leanings"
    data: ClassVar[str] = "ratings"
    event: ClassVar[str] = "the rating that the user gives the item"
    parts: ClassVar[tuple[type, ...]] = (LeaningRows, LeaningSmall, LeaningPast)

    n_sweeps: int = whole(100, 1)
    tol: float | None = number(1e-6, 0.0, none=True)
    prior_precision: float = number(1.0, 0.0, open_low=True)
    noise_precision: float = number(1.0, 0.0, open_low=True)
    random_state: Any = seed_field()
    n_jobs: int | None = jobs_field()
    device: str = device_field()

    @property
    def answer(self) -> str:
        return "rating"

    def plan(self, pairs: Pairs, previous: tuple[Bare, ...] | None) -> Plan:
        return Plan(self.n_sweeps, tol=self.tol)

    def init(self, pairs: Pairs, engine: Any, at: At, previous: Bare | None = None) -> State:
        user, item = (
            self._rows(n, old) for n, old in zip(pairs.shape, previous[:2] if previous else (None, None), strict=True)
        )
        small = LeaningSmall(float(pairs.values().mean(dtype=np.float64)), pairs.n_pairs, 0.0, 0.0)
        return self.place(pairs, engine, Bare(user, item, small, at.tick))

    def _rows(self, n: int, old: LeaningRows | None) -> LeaningRows:
        new = n - (len(old.mean) if old else 0)
        fresh = LeaningRows(np.zeros(new, np.float32), np.full(new, 1.0 / self.prior_precision, np.float32))
        return fresh if old is None else LeaningRows(*(np.concatenate(both) for both in zip(old, fresh, strict=True)))

    def place(self, pairs: Pairs, engine: Any, bare: Bare) -> State:
        user = engine.place("user", bare.user, pairs.by_user)
        return State(user, engine.place("item", bare.item, pairs.by_item), bare.small, bare.tick)

    def _shared(self, other: Any, offset: float) -> LeaningShared:
        return LeaningShared(other, offset, self.noise_precision, self.prior_precision)

    def step(self, state: State, engine: Any, at: At, n: int) -> State:
        for _ in range(n):
            mu = state.small.offset
            user, mine = engine.each("leanings", state.user, self._shared(state.item, mu), at)
            item, theirs = engine.each("leanings", state.item, self._shared(user, mu), at)
            small = LeaningSmall(mu, theirs.n_ratings, theirs.error2, mine.divergence + theirs.divergence)
            state = State(user, item, small, state.tick + 1)
        return state

    def objective(self, state: State, engine: Any, at: At) -> Objective | None:
        """The lower bound on the log probability of the ratings."""
        small, tau = state.small, self.noise_precision
        value = 0.5 * small.n_ratings * np.log(tau / (2.0 * np.pi)) - 0.5 * tau * small.error2
        return Objective(float(value - small.divergence), 0.0)

    def info(self, state: State) -> Info:
        return {"rmse": float(np.sqrt(state.small.error2 / state.small.n_ratings))}

    def read_out(self, state: State, engine: Any) -> Posterior:
        user, item = engine.collect(state.user), engine.collect(state.item)
        return Posterior(
            user=np.stack([user.mean, np.ones_like(user.mean)], axis=1)[None],
            user_var=np.stack([user.var, np.zeros_like(user.var)], axis=1)[None],
            item=np.stack([np.ones_like(item.mean), item.mean], axis=1)[None],
            item_var=np.stack([np.zeros_like(item.var), item.var], axis=1)[None],
            offset=np.array([state.small.offset]),
            offset_var=np.zeros(1),
            noise=np.array([1.0 / self.noise_precision]),
            user_alpha=None,
            item_alpha=None,
            clip=None,
            n_factors=0,
            link="identity",
            small=LeaningPast(np.array([[self.prior_precision, self.noise_precision]])),
        )

    def fold_in(self, rows: Csr, which: str, posterior: Posterior, at: At, cov: bool = False) -> RowPosterior:
        mine, theirs, table = (0, 1, posterior.item) if which == "user" else (1, 0, posterior.user)
        sigma, tau = posterior.small.precisions[0]
        rest = rows.values() - posterior.offset[0] - table[0, rows.idx, theirs]
        mean, var = np.zeros((1, rows.n_rows, 2)), np.zeros((1, rows.n_rows, 2))
        var[0, :, mine] = 1.0 / (sigma + tau * rows.counts())  # eq. 1
        mean[0, :, mine] = var[0, :, mine] * tau * row_sums(rest, rows.ptr)  # eq. 1
        mean[0, :, theirs] = 1.0
        return RowPosterior(mean, var, var[:, :, :, None] * np.eye(2) if cov else None)

    def simulate(self, cells: Pairs, at: At, state: State | None = None) -> tuple[Bare, Pairs] | None:
        draw = generator(at, Site.SIMULATE_VALUE)
        if state is None:
            user, item = (self._from_prior(n, draw) for n in cells.shape)
            bare = Bare(user, item, LeaningSmall(0.0, cells.n_pairs, 0.0, 0.0), 0)
        else:
            bare = Bare(state.user.arrays, state.item.arrays, state.small, 0)
        mean = bare.small.offset + bare.user.mean[cells.rows()] + bare.item.mean[cells.columns()]
        values = mean + draw.standard_normal(cells.n_pairs) / np.sqrt(self.noise_precision)
        block = cells.by_user._replace(val=values.astype(np.float32))
        return bare, Pairs(cells.users, cells.items, block, cells.hidden)

    def _from_prior(self, n: int, draw: np.random.Generator) -> LeaningRows:
        mean = draw.standard_normal(n) / np.sqrt(self.prior_precision)
        return LeaningRows(mean.astype(np.float32), np.zeros(n, np.float32))
