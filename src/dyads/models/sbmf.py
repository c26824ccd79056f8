"""SBMF: scalable Bayesian matrix factorisation, a Gibbs sampler linear in the rank (Saha, Misra, Ravindran, 2015).

A rating is r_ij = μ + α_i + β_j + u_i·v_j + ε_ij with ε ~ N(0, 1/τ) (eq. 4); every parameter has a prior of its own,

    μ ~ N(μ_g, 1/σ_g),  τ ~ Gamma(a0, b0),  α_i ~ N(μ_α, 1/σ_α),  u_ik ~ N(μ_uk, 1/σ_uk)         (6)-(11)
    (μ_x, σ_x) ~ Normal-Gamma(μ0, ν0, α0, β0) for x = α, β and every column of U and V,         (12)-(15)

so that all conditionals are univariate and a sweep costs O(ratings · K). A sweep is Algorithm 1, in its order: the
hyper-parameters, τ, μ, every user (bias, then factors), every item. σ are precisions here.

| symbol | here |
|---|---|
| u_i, α_i; v_j, β_j | `SbmfRows.factors`, `SbmfRows.bias` |
| μ, τ | `SbmfSmall.offset`, `SbmfSmall.noise_precision` |
| μ_x, σ_x | `Side.mean`, `Side.precision`: the bias first, then the factors |
| μ_g, σ_g; a0, b0 | `prior_offset_mean`, `prior_offset_precision`; `prior_noise_shape`, `prior_noise_rate` |
| μ0, ν0, α0, β0 | `prior_mean`, `prior_strength`, `prior_shape`, `prior_rate` |
| e_ij | residuals, computed where a row's ratings are gathered |

Departures: lines 3, 5, 8 and 11 of Algorithm 1 lack the squares of x_i − μ_x, and 5 and 11 print β0 for α0; residuals
are never carried from one half-sweep to the next, so that rounding does not pile up and a resumed chain has the same
bits; a new row has the exact Gaussian of (bias, factors) given each kept draw of the other side, rather than draws of
it; predictions (21) come with their variance over draws, and with the noise apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dyads.errors import ConfigError
from dyads.kernels.shapes import SbmfRows, SbmfShared, SbmfSums
from dyads.model import Model
from dyads.models._gaussian_rows import gaussian_rows
from dyads.models._normal_gamma import NormalGamma, drawn, from_prior, gamma_log_density, log_density
from dyads.pairs import F64, Csr, Pairs
from dyads.parameters import device_field, either, jobs_field, number, seed_field, whole
from dyads.posterior import Posterior
from dyads.state import Bare, Info, Objective, Plan, RowPosterior, State
from dyads.streams import At, Site, generator, normal

SPREAD = 0.1  # standard deviation of the first values (section 3.2: variance 0.01)
LOG_2PI = float(np.log(2.0 * np.pi))


class Side(NamedTuple):
    """The hyper-parameters of one side, and the sums that their conditionals need."""

    mean: F64  # (K + 1,)
    precision: F64  # (K + 1,)
    first: F64  # (K + 1,) Σ x
    second: F64  # (K + 1,) Σ x²


class SbmfSmall(NamedTuple):
    user: Side
    item: Side
    offset: float  # μ
    noise_precision: float  # τ
    error: float  # Σ e after the last half-sweep
    error2: float  # Σ e²
    lowest: float  # rating of the data
    highest: float


class SbmfPast(NamedTuple):
    """What placing a new row needs, one row per kept draw."""

    user_mean: F64  # (C, K + 1)
    user_precision: F64
    item_mean: F64
    item_precision: F64
    noise_precision: F64  # (C,)


def _is_clip(value: Any) -> bool:
    if value is None or value == "data":
        return True
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    numbers = all(isinstance(x, (int, float, np.integer, np.floating)) and np.isfinite(x) for x in value)
    return numbers and value[0] < value[1]


@dataclass(kw_only=True, eq=False, repr=False)
class SBMF(Model):
    """Ratings from factors and biases, with the posterior of everything by draws."""

    name: ClassVar[str] = "sbmf"
    data: ClassVar[str] = "ratings"
    event: ClassVar[str] = "the rating that the user gives the item"
    parts: ClassVar[tuple[type, ...]] = (SbmfRows, SbmfSmall, Side, SbmfPast)

    n_factors: int = whole(10, 0)
    burn_in: int = whole(50, 0)
    n_draws: int = whole(100, 1)
    n_chains: int = whole(1, 1)
    biases: bool = either(True, "True or False", lambda value: isinstance(value, (bool, np.bool_)))
    clip: tuple[float, float] | str | None = either(None, "None, 'data' or (lowest, highest)", _is_clip)
    prior_offset_mean: float = number(0.0, -np.inf)
    prior_offset_precision: float = number(0.01, 0.0, open_low=True)
    prior_noise_shape: float = number(1.0, 0.0, open_low=True)
    prior_noise_rate: float = number(1.0, 0.0, open_low=True)
    prior_mean: float = number(0.0, -np.inf)
    prior_strength: float = number(1.0, 0.0, open_low=True)
    prior_shape: float = number(1.0, 0.0, open_low=True)
    prior_rate: float = number(1.0, 0.0, open_low=True)
    random_state: Any = seed_field()
    n_jobs: int | None = jobs_field()
    device: str = device_field()

    @property
    def answer(self) -> str:
        return "rating"

    def _prior(self) -> NormalGamma:
        return NormalGamma(self.prior_mean, self.prior_strength, self.prior_shape, self.prior_rate)

    def plan(self, pairs: Pairs, previous: tuple[Bare, ...] | None) -> Plan:
        return Plan(self.burn_in + self.n_draws, burn_in=self.burn_in)

    def chains(self) -> int:
        return self.n_chains

    # --- states -----------------------------------------------------------------------------------------------

    def init(self, pairs: Pairs, engine: Any, at: At, previous: Bare | None = None) -> State:
        if previous is not None and previous.user.factors.shape[1] != self.n_factors:
            held = previous.user.factors.shape[1]
            raise ConfigError(f"n_factors={self.n_factors} cannot go on from a fit with {held}: fit again")
        user, item = (
            self._rows(at, site, n, old)
            for site, n, old in (
                (Site.INIT_USER, len(pairs.users), previous.user if previous else None),
                (Site.INIT_ITEM, len(pairs.items), previous.item if previous else None),
            )
        )
        k = self.n_factors + 1
        blank = Side(np.zeros(k), np.ones(k), np.zeros(k), np.zeros(k))
        small = previous.small if previous else SbmfSmall(blank, blank, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
        small = small._replace(lowest=float(pairs.values().min()), highest=float(pairs.values().max()))
        state = self.place(pairs, engine, Bare(user, item, small, at.tick))
        _, sums = engine.each("sbmf", state.user, self._shared(state, "user", draw=False), at)
        state = state._replace(small=_with_sums(small, "user", sums))
        _, sums = engine.each("sbmf", state.item, self._shared(state, "item", draw=False), at)
        return state._replace(small=_with_sums(state.small, "item", sums))

    def _rows(self, at: At, site: Site, n: int, old: SbmfRows | None) -> SbmfRows:
        first = len(old.bias) if old else 0
        z = SPREAD * normal(at._replace(tick=0), site, np.arange(first, n), self.n_factors + 1)
        fresh = SbmfRows(z[:, 1:].astype(np.float32), (z[:, 0] * self.biases).astype(np.float32))
        return fresh if old is None else SbmfRows(*(np.concatenate(both) for both in zip(old, fresh, strict=True)))

    def place(self, pairs: Pairs, engine: Any, bare: Bare) -> State:
        user = engine.place("user", bare.user, pairs.by_user)
        return State(user, engine.place("item", bare.item, pairs.by_item), bare.small, bare.tick)

    def _shared(self, state: State, which: str, draw: bool = True) -> SbmfShared:
        small, hyper, other, site = (
            (state.small, state.small.user, state.item, Site.SBMF_USER)
            if which == "user"
            else (state.small, state.small.item, state.user, Site.SBMF_ITEM)
        )
        return SbmfShared(
            other, small.offset, small.noise_precision, hyper.mean, hyper.precision, site, bool(self.biases), draw
        )

    # --- Algorithm 1 ------------------------------------------------------------------------------------------

    def step(self, state: State, engine: Any, at: At, n: int) -> State:
        for _ in range(n):
            state = self._sweep(state, engine, at._replace(tick=state.tick))
        return state

    def _sweep(self, state: State, engine: Any, at: At) -> State:
        draw, prior, small = generator(at, Site.SMALL), self._prior(), state.small
        n_ratings = state.user.n_entries
        sides = []
        for side, rows in ((small.user, state.user), (small.item, state.item)):  # lines 3-13
            mean, precision = drawn(draw, prior, side.mean, side.first, side.second, rows.n_rows)
            sides.append(side._replace(mean=mean, precision=precision))
        tau = draw.gamma(self.prior_noise_shape + n_ratings / 2.0) / (self.prior_noise_rate + small.error2 / 2.0)  # 15
        precision = self.prior_offset_precision + tau * n_ratings  # line 17
        pull = tau * (small.error + n_ratings * small.offset)
        mean = (self.prior_offset_precision * self.prior_offset_mean + pull) / precision
        offset = mean + draw.standard_normal() / np.sqrt(precision)
        small = small._replace(user=sides[0], item=sides[1], offset=float(offset), noise_precision=float(tau))
        state = state._replace(small=small)
        user, sums = engine.each("sbmf", state.user, self._shared(state, "user"), at)  # lines 22-33
        state = state._replace(user=user, small=_with_sums(state.small, "user", sums))
        item, sums = engine.each("sbmf", state.item, self._shared(state, "item"), at)  # lines 34-46
        if not np.isfinite(sums.error2):
            raise ConfigError(
                f"SBMF left the numbers of 32 bits in sweep {state.tick + 1}, on ratings from {small.lowest:g} to "
                f"{small.highest:g}: bring them nearer to 0, or lower the prior precisions"
            )
        return state._replace(item=item, small=_with_sums(state.small, "item", sums), tick=state.tick + 1)

    def objective(self, state: State, engine: Any, at: At) -> Objective | None:
        """The log joint density (16) of the state and the ratings."""
        small, prior, n = state.small, self._prior(), state.user.n_entries
        tau, mu = small.noise_precision, small.offset
        value = n / 2.0 * (np.log(tau) - LOG_2PI) - tau / 2.0 * small.error2  # eq. 5
        value += 0.5 * (np.log(self.prior_offset_precision) - LOG_2PI)
        value -= self.prior_offset_precision / 2.0 * (mu - self.prior_offset_mean) ** 2  # eq. 6
        value += gamma_log_density(tau, self.prior_noise_shape, self.prior_noise_rate)  # eq. 11
        for side, rows in ((small.user, state.user), (small.item, state.item)):
            value += log_density(prior, side, rows.n_rows, first=0 if self.biases else 1)  # eq. 7-10, 12-15
        return Objective(float(value), 0.0)

    def info(self, state: State) -> Info:
        small = state.small
        rmse = np.sqrt(small.error2 / max(state.user.n_entries, 1))
        return {"rmse": float(rmse), "noise_precision": small.noise_precision, "offset": small.offset}

    # --- answers ----------------------------------------------------------------------------------------------

    def read_out(self, state: State, engine: Any) -> Posterior:
        user, item, small = engine.collect(state.user), engine.collect(state.item), state.small
        ones = [np.ones((len(rows.bias), 1), dtype=np.float32) for rows in (user, item)]
        return Posterior(
            user=np.concatenate([user.factors, user.bias[:, None], ones[0]], axis=1)[None],
            user_var=None,
            item=np.concatenate([item.factors, ones[1], item.bias[:, None]], axis=1)[None],
            item_var=None,
            offset=np.array([small.offset]),
            offset_var=np.zeros(1),
            noise=np.array([1.0 / small.noise_precision]),
            user_alpha=None,
            item_alpha=None,
            clip=self._clip(state),
            n_factors=self.n_factors,
            link="identity",
            small=SbmfPast(
                small.user.mean[None],
                small.user.precision[None],
                small.item.mean[None],
                small.item.precision[None],
                np.array([small.noise_precision]),
            ),
        )

    def _clip(self, state: State) -> F64 | None:
        if self.clip is None:
            return None
        seen = (state.small.lowest, state.small.highest)
        return np.array(seen if self.clip == "data" else self.clip, dtype=np.float64)

    def fold_in(self, rows: Csr, which: str, posterior: Posterior, at: At, cov: bool = False) -> RowPosterior:
        return gaussian_rows(rows, which, posterior, bool(self.biases), cov)

    def simulate(self, cells: Pairs, at: At, state: State | None = None) -> tuple[Bare, Pairs] | None:
        draw = generator(at, Site.SIMULATE_VALUE)
        bare = (
            self._from_prior(cells, draw)
            if state is None
            else Bare(state.user.arrays, state.item.arrays, state.small, 0)
        )
        user, item, small = bare.user, bare.item, bare.small
        rows, columns = cells.rows(), cells.columns()
        mean = small.offset + user.bias[rows].astype(np.float64) + item.bias[columns]
        mean += np.einsum("nk,nk->n", user.factors[rows].astype(np.float64), item.factors[columns])
        value = mean + draw.standard_normal(len(rows)) / np.sqrt(small.noise_precision)
        block = cells.by_user._replace(val=value.astype(np.float32))
        return bare, Pairs(cells.users, cells.items, block, cells.hidden)

    def _from_prior(self, cells: Pairs, draw: np.random.Generator) -> Bare:
        k, sides, rows = self.n_factors + 1, [], []
        for n in cells.shape:
            mean, precision = from_prior(draw, self._prior(), k)
            x = (mean + draw.standard_normal((n, k)) / np.sqrt(precision)).astype(np.float32)
            rows.append(SbmfRows(x[:, 1:].copy(), x[:, 0] * np.float32(self.biases)))
            sides.append(Side(mean, precision, np.zeros(k), np.zeros(k)))
        tau = draw.gamma(self.prior_noise_shape) / self.prior_noise_rate
        mu = self.prior_offset_mean + draw.standard_normal() / np.sqrt(self.prior_offset_precision)
        return Bare(rows[0], rows[1], SbmfSmall(sides[0], sides[1], float(mu), float(tau), 0.0, 0.0, 0.0, 0.0), 0)


def _with_sums(small: SbmfSmall, which: str, sums: SbmfSums) -> SbmfSmall:
    side = getattr(small, which)._replace(first=sums.first, second=sums.second)
    return small._replace(**{which: side}, error=sums.error, error2=sums.error2)
