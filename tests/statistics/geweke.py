"""Geweke's joint test (2004) of a sampler against the generative model that it claims to sample from.

If theta ~ prior and y ~ p(y | theta), then sweeps that keep p(theta | y), each followed by new values y ~ p(y | theta),
leave (theta, y) distributed as it was. So the numbers of a state along such a chain must be distributed as those of
independent draws of the joint.

Every chain here starts at a draw of the joint, so there is no burn-in, and the mean of a number over a chain is one
observation: chains are independent, and no effective sample size has to be guessed. Every number is first replaced by
its place u in (0, 1) among the independent draws, so that no moment has to exist, and is tested twice: by u for its
place and by |u - 1/2| for its spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from dyads.engines.local import Local
from dyads.pairs import Pairs
from dyads.state import Bare, bare
from dyads.streams import At

SWEEPS = 4  # between new values: those after the first start from the sums that the one before has left
Numbers = Callable[[Bare, Pairs], Mapping[str, float]]


class Plan(NamedTuple):
    """How much work a test is."""

    n_draws: int  # independent draws of the joint
    n_chains: int
    length: int  # new values per chain


class Finding(NamedTuple):
    """The p-value of one number, by its place or its spread, times how many were tested (Bonferroni)."""

    name: str
    p: float


def joint_draws(model: Any, cells: Pairs, numbers: Numbers, n: int, seed: int) -> dict[str, np.ndarray]:
    """The numbers of n independent draws of parameters and values."""
    rows = [numbers(*model.simulate(cells, At(seed, r, 0))) for r in range(n)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def chain(model: Any, cells: Pairs, numbers: Numbers, length: int, at: At) -> list[Mapping[str, float]]:
    """The numbers after every round of sweeps, from a draw of the joint; new values come between the rounds."""
    engine, found = Local(1), []
    now, values = model.simulate(cells, at)
    for tick in range(1, length + 1):
        here = at._replace(tick=tick * SWEEPS)
        state = model.init(values, engine, here, now._replace(tick=here.tick))
        state = model.step(state, engine, here, SWEEPS)
        now = bare(state, engine)
        found.append(numbers(now, values))  # against the values that the sweeps saw: new ones would suit any state
        _, values = model.simulate(cells, here, state)
    return found


def findings(model: Any, cells: Pairs, numbers: Numbers, plan: Plan, seed: int) -> list[Finding]:
    """Every test, the most surprising first."""
    drawn = joint_draws(model, cells, numbers, plan.n_draws, seed)
    chains = [chain(model, cells, numbers, plan.length, At(seed + 1, c, 0)) for c in range(plan.n_chains)]
    tests = []
    for name, values in drawn.items():
        along = np.array([[step[name] for step in one] for one in chains])
        ordered = np.sort(values)
        place = np.searchsorted(ordered, along) / len(ordered)
        own = (np.arange(len(ordered)) + 0.5) / len(ordered)
        tests.append((f"place of {name}", place.mean(axis=1), own))
        tests.append((f"spread of {name}", np.abs(place - 0.5).mean(axis=1), np.abs(own - 0.5)))
    found = [Finding(name, min(1.0, len(tests) * _p_value(seen, own))) for name, seen, own in tests]
    return sorted(found, key=lambda finding: finding.p)


def _p_value(seen: np.ndarray, own: np.ndarray) -> float:
    """Two-sided, for the mean of `seen` against that of the draws that it was ranked among."""
    variance = seen.var(ddof=1) / len(seen) + own.var() / len(own)
    return float(2.0 * stats.t.sf(abs(seen.mean() - own.mean()) / np.sqrt(variance), len(seen) - 1))
