"""Popularity: how often each item is taken, with a Dirichlet posterior.

The items of the pairs are draws from one distribution ψ over items, ψ ~ Dirichlet(α0, …, α0), so that given counts

    ψ ~ Dirichlet(α0 + c_1, …, α0 + c_J),      p(j) = E[ψ_j] = (α0 + c_j) / (J α0 + Σ c).                    (1)

| symbol | here |
|---|---|
| c_j | `PopularityItems.taken`: pairs of item j, counted as often as they come |
| α0 | `prior_concentration` |

Departures: none; every user has the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dyads.model import Model
from dyads.pairs import F64, Csr, Pairs
from dyads.parameters import binarize_field, device_field, jobs_field, number, seed_field
from dyads.posterior import Posterior
from dyads.state import Bare, Plan, RowPosterior, State
from dyads.streams import At, Site, generator


class PopularityUsers(NamedTuple):
    taken: F64  # (I,)


class PopularityItems(NamedTuple):
    taken: F64  # (J,)


class PopularitySmall(NamedTuple):
    n_pairs: float


@dataclass(kw_only=True, eq=False, repr=False)
class Popularity(Model):
    """The share of each item among all pairs."""

    name: ClassVar[str] = "popularity"
    data: ClassVar[str] = "counts"
    event: ClassVar[str] = "the next pair is one of this item"
    parts: ClassVar[tuple[type, ...]] = (PopularityUsers, PopularityItems, PopularitySmall)

    prior_concentration: float = number(1.0, 0.0, open_low=True)
    binarize: float | None = binarize_field()
    random_state: Any = seed_field()
    n_jobs: int | None = jobs_field()
    device: str = device_field()

    @property
    def answer(self) -> str:
        return "probability"

    def plan(self, pairs: Pairs, previous: tuple[Bare, ...] | None) -> Plan:
        return Plan(ticks=1)

    def init(self, pairs: Pairs, engine: Any, at: At, previous: Bare | None = None) -> State:
        empty = Bare(
            PopularityUsers(np.zeros(len(pairs.users))),
            PopularityItems(np.zeros(len(pairs.items))),
            PopularitySmall(0.0),
            at.tick,
        )
        return self.place(pairs, engine, empty)

    def place(self, pairs: Pairs, engine: Any, bare: Bare) -> State:
        user = engine.place("user", bare.user, pairs.by_user)
        return State(user, engine.place("item", bare.item, pairs.by_item), bare.small, bare.tick)

    def step(self, state: State, engine: Any, at: At, n: int) -> State:
        user, total = engine.each("row_totals", state.user, None, at)
        item, _ = engine.each("row_totals", state.item, None, at)
        return State(user, item, PopularitySmall(total.total), state.tick + n)

    def read_out(self, state: State, engine: Any) -> Posterior:
        count = engine.collect(state.item).taken
        none = np.zeros((1, len(engine.collect(state.user).taken), 0), dtype=np.float32)
        return Posterior(
            user=none,
            user_var=None,
            item=np.zeros((1, len(count), 0), dtype=np.float32),
            item_var=None,
            offset=np.ones(1),  # the personal part, the same for all
            offset_var=np.zeros(1),
            noise=None,
            user_alpha=None,
            item_alpha=(self.prior_concentration + count)[None],  # eq. 1
            clip=None,
            n_factors=0,
            link="none",
            small=None,
        )

    def fold_in(self, rows: Csr, which: str, posterior: Posterior, at: At, cov: bool = False) -> RowPosterior:
        return RowPosterior(np.zeros((1, rows.n_rows, 0)))

    def simulate(self, cells: Pairs, at: At, state: State | None = None) -> tuple[Bare, Pairs] | None:
        draw = generator(at, Site.SIMULATE_VALUE)
        if state is None:
            rate = draw.dirichlet(np.full(len(cells.items), self.prior_concentration))
        else:
            rate = draw.dirichlet(self.prior_concentration + state.item.arrays.taken)
        taken = draw.choice(len(cells.items), size=cells.n_pairs, p=rate)
        pairs = Pairs.numbered(cells.users, cells.items, cells.rows(), taken)
        return Bare(PopularityUsers(np.zeros(len(cells.users))), PopularityItems(rate), PopularitySmall(0.0), 0), pairs
