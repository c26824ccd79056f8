"""The only loop over ticks: steps, marks, stopping rule, callback, progress, kept draws, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from dyads.engines import Engine
from dyads.pairs import Pairs
from dyads.posterior import Posterior
from dyads.state import Bare, Plan, Record, State, bare
from dyads.streams import At

KEEP_SECONDS = 30.0  # between checkpoints, where `every` does not say


class Kept(NamedTuple):
    """A fit on its way, as a checkpoint holds it: enough to end on the same bits."""

    finished: tuple[Bare, ...]  # the last states of the chains that are done
    current: Bare | None  # the chain that is not
    first: int  # the tick at which that chain entered this fit
    n_draws: int  # kept draws so far, of all chains
    trace: tuple[Record, ...]
    stopped: str  # "length", "tolerance" or "callback"; of the chain at work, else of the last one


class Keeper(Protocol):
    """Holds kept draws, and writes checkpoints where that was asked for."""

    @property
    def n_draws(self) -> int:
        """How many draws are held."""

    def resumed(self) -> Kept | None:
        """What the fit goes on from; None for a fresh one."""

    def append(self, draw: Posterior) -> None:
        """Hold one more draw (C = 1)."""

    def posterior(self) -> Posterior:
        """All draws as one mixture."""

    def write(self, kept: Kept, final: bool) -> None:
        """Write a checkpoint, or do nothing."""


class Watch(NamedTuple):
    """Who is told of a fit, and where it is kept. None of it changes a result."""

    tell: Callable[[Record], None]  # progress
    callback: Callable[[Record], Any] | None  # a true answer stops the fit at this mark
    keeper: Keeper
    every: int | None  # ticks between checkpoints


class Run(NamedTuple):
    """What a fit comes to."""

    states: tuple[Bare, ...]
    posterior: Posterior
    trace: tuple[Record, ...]
    stopped: str


@dataclass
class _Fit:
    """A fit on its way; `whole` changes at once after every tick, whatever interrupts the next one."""

    model: Any
    engine: Engine
    seed: int
    watch: Watch
    plan: Plan
    began: float
    kept_at: float
    whole: tuple[Kept, State | None]  # what is kept, and the state at work, read back only when it is written

    @property
    def kept(self) -> Kept:
        return self.whole[0]


def run(model: Any, pairs: Pairs, engine: Engine, seed: int, watch: Watch, previous: tuple[Bare, ...] | None) -> Run:
    """All chains of a fit, one after the other."""
    kept = watch.keeper.resumed() or Kept((), None, 0, 0, (), "length")
    now, spent = time.monotonic(), kept.trace[-1].seconds if kept.trace else 0.0
    fit = _Fit(model, engine, seed, watch, model.plan(pairs, previous), now - spent, now, (kept, None))
    try:
        _chains(fit, pairs, previous)
        watch.keeper.write(fit.kept, final=True)
    except KeyboardInterrupt:
        _write(fit)
        raise
    if fit.plan.burn_in is None:
        posterior = model.read_out(model.place(pairs, engine, fit.kept.finished[-1]), engine)
    else:
        posterior = watch.keeper.posterior()
    return Run(fit.kept.finished, posterior, fit.kept.trace, fit.kept.stopped)


def _chains(fit: _Fit, pairs: Pairs, previous: tuple[Bare, ...] | None) -> None:
    """Those chains that are not finished, each to its end."""
    model, engine, kept = fit.model, fit.engine, fit.kept
    state = model.place(pairs, engine, kept.current) if kept.current is not None else None
    for chain in range(len(kept.finished), model.chains()):
        if state is None:
            if fit.kept.stopped == "callback":
                break
            before = previous[chain % len(previous)] if previous else None
            state = model.init(pairs, engine, At(fit.seed, chain, before.tick if before else 0), before)
            kept = fit.kept._replace(first=state.tick, stopped="length")
        fit.whole = (kept, state)
        end = _chain(fit, chain, state)
        kept = fit.kept._replace(finished=(*fit.kept.finished, bare(end, engine)), current=None)
        fit.whole, state = (kept, None), None


def _chain(fit: _Fit, chain: int, state: State) -> State:
    """One chain to its end."""
    plan, keeper, first = fit.plan, fit.watch.keeper, fit.kept.first
    while fit.kept.stopped == "length" and (done := state.tick - first) < plan.ticks:
        n = _stretch(done, plan, fit.watch.every)
        state = fit.model.step(state, fit.engine, At(fit.seed, chain, state.tick), n)
        done += n
        if plan.burn_in is not None and done > plan.burn_in:
            keeper.append(fit.model.read_out(state, fit.engine))
        trace, stopped = fit.kept.trace, "length"
        if done % plan.mark == 0 or done == plan.ticks:
            trace = (*trace, _record(fit, chain, state))
            stopped = _stopped(fit, trace, chain)
        fit.whole = (fit.kept._replace(trace=trace, n_draws=keeper.n_draws, stopped=stopped), state)
        if stopped == "length" and _due(fit, done):
            _write(fit)
    return state


def _stretch(done: int, plan: Plan, every: int | None) -> int:
    """Ticks until something has to be looked at."""
    left = [plan.ticks - done, plan.chunk, plan.mark - done % plan.mark]
    if every is not None:
        left.append(every - done % every)
    return min(left)


def _record(fit: _Fit, chain: int, state: State) -> Record:
    at = At(fit.seed, chain, state.tick)
    objective, seconds = fit.model.objective(state, fit.engine, at), time.monotonic() - fit.began
    done, ticks = state.tick - fit.kept.first, fit.plan.ticks
    record = Record(chain, state.tick, done, ticks, seconds, objective, dict(fit.model.info(state)))
    fit.watch.tell(record)
    return record


def _stopped(fit: _Fit, trace: tuple[Record, ...], chain: int) -> str:
    """Why the chain ends at this mark; "length" where it goes on to its end."""
    if fit.watch.callback is not None and fit.watch.callback(trace[-1]):
        return "callback"
    tol, w = fit.plan.tol, fit.plan.window
    values = [r.objective.value for r in trace if r.chain == chain and r.objective is not None]
    if tol is None or len(values) < 2 * w:
        return "length"
    before, after = sum(values[-2 * w : -w]) / w, sum(values[-w:]) / w
    return "tolerance" if after - before < tol * abs(after) else "length"


def _due(fit: _Fit, done: int) -> bool:
    if fit.watch.every is not None:
        return done % fit.watch.every == 0
    return time.monotonic() - fit.kept_at > KEEP_SECONDS


def _write(fit: _Fit) -> None:
    """Keep the fit as it stood after its last whole tick."""
    kept, state = fit.whole
    if state is not None:
        fit.whole = (kept._replace(current=bare(state, fit.engine)), state)
    fit.watch.keeper.write(fit.kept, final=False)
    fit.kept_at = time.monotonic()
