# ruff: noqa: ARG002 (the loop gives every method the same arguments)

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from dyads import loop
from dyads.engines.local import Local
from dyads.errors import ConfigError
from dyads.keeper import Keeper, keeper
from dyads.loop import Watch
from dyads.pairs import F64, Pairs
from dyads.posterior import Posterior
from dyads.state import Bare, Objective, Plan, Record, State

PAIRS = Pairs.from_matrix(np.eye(3))


class Rows(NamedTuple):
    x: F64


class Small(NamedTuple):
    ticks: int


# Counts its ticks. Its objective at a tick is `curve[tick]`, the last of them from there on.
class Counting:
    name = "counting"
    parts = (Rows, Small)

    def __init__(self, plan: Plan, curve: list[float] | None = None, chains: int = 1) -> None:
        self._plan, self._curve, self._chains = plan, curve, chains
        self.steps: list[tuple[int, int, int]] = []  # chain, tick, n

    def plan(self, pairs, previous):
        return self._plan

    def chains(self):
        return self._chains

    def init(self, pairs, engine, at, previous=None):
        assert at.tick == (previous.tick if previous else 0)
        return self.place(pairs, engine, Bare(Rows(np.zeros(3)), Rows(np.zeros(3)), Small(0), at.tick))

    def place(self, pairs, engine, bare):
        user, item = engine.place("user", bare.user, pairs.by_user), engine.place("item", bare.item, pairs.by_item)
        return State(user, item, bare.small, bare.tick)

    def step(self, state, engine, at, n):
        assert at.tick == state.tick
        self.steps.append((at.chain, at.tick, n))
        return state._replace(tick=state.tick + n, small=Small(state.small.ticks + n))

    def objective(self, state, engine, at):
        if self._curve is None:
            return None
        return Objective(float(self._curve[min(state.tick, len(self._curve) - 1)]), 0.5)

    def info(self, state):
        return {"half": state.tick / 2}

    def read_out(self, state, engine):
        none = np.zeros((1, 3, 0), dtype=np.float32)
        at = np.array([float(state.tick)])
        return Posterior(none, None, none, None, at, np.zeros(1), None, None, None, None, 0, "none", None)


def ran(model, callback=None, every=None, previous=None, seed=5):
    told: list[Record] = []
    with keeper(model, PAIRS, None, False, seed) as kept:
        run = loop.run(model, PAIRS, Local(1), seed, Watch(told.append, callback, kept, every), previous)
    assert told == list(run.trace)
    return run


def stretches(model):
    return [n for _, _, n in model.steps]


def test_a_fit_is_as_long_as_its_plan():
    model = Counting(Plan(ticks=7))
    run = ran(model)
    assert [state.tick for state in run.states] == [7]
    assert run.states[0].small == Small(7)
    assert run.stopped == "length"
    assert run.posterior.offset.tolist() == [7.0]


@pytest.mark.parametrize(
    ("plan", "every", "due"),
    [
        (Plan(10, mark=4, chunk=100), None, [4, 4, 2]),
        (Plan(10, mark=100, chunk=3), None, [3, 3, 3, 1]),
        (Plan(10, mark=4, chunk=3), None, [3, 1, 3, 1, 2]),
        (Plan(10, mark=100, chunk=100), 4, [4, 4, 2]),
        (Plan(10, mark=5, chunk=4), 3, [3, 2, 1, 3, 1]),
        (Plan(0), None, []),
    ],
)
def test_steps_end_where_something_is_looked_at(plan, every, due):
    model = Counting(plan)
    run = ran(model, every=every)
    assert stretches(model) == due
    assert run.states[0].tick == plan.ticks


def test_a_record_at_every_mark_and_at_the_end():
    run = ran(Counting(Plan(10, mark=4, chunk=100), curve=[*range(11)]))
    assert [(r.chain, r.tick, r.done, r.ticks) for r in run.trace] == [(0, 4, 4, 10), (0, 8, 8, 10), (0, 10, 10, 10)]
    assert [r.objective for r in run.trace] == [Objective(4.0, 0.5), Objective(8.0, 0.5), Objective(10.0, 0.5)]
    assert [r.info for r in run.trace] == [{"half": 2.0}, {"half": 4.0}, {"half": 5.0}]
    assert all(a.seconds <= b.seconds for a, b in zip(run.trace, run.trace[1:], strict=False))
    assert run.trace[0].seconds >= 0.0


def test_without_an_objective_records_say_so():
    assert [r.objective for r in ran(Counting(Plan(2, tol=0.1))).trace] == [None, None]


# --- the stopping rule: the mean of the last `window` marks gains less than `tol` of itself over the window before ---


def first_stop(curve, tol, window):
    for n in range(2 * window, len(curve) + 1):
        before, after = np.mean(curve[n - 2 * window : n - window]), np.mean(curve[n - window : n])
        if after - before < tol * abs(after):
            return n
    return None


@pytest.mark.parametrize("tol", [0.0, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_curve_that_flattens_is_left(tol, window, sign):
    ticks = np.arange(1, 201)
    curve = -np.exp(-ticks / 20.0) - 0.5 if sign < 0 else 2.0 - np.exp(-ticks / 20.0)
    model = Counting(Plan(200, tol=tol, window=window), curve=[0.0, *curve])
    run = ran(model)
    due = first_stop(curve, tol, window)
    assert run.states[0].tick == (due or 200)
    assert run.stopped == ("length" if due is None else "tolerance")


def test_without_a_tolerance_a_flat_curve_goes_on():
    run = ran(Counting(Plan(30, tol=None), curve=[1.0]))
    assert (run.states[0].tick, run.stopped) == (30, "length")


def test_a_falling_curve_is_left_at_any_tolerance():
    run = ran(Counting(Plan(30, tol=0.0, window=2), curve=[-float(t) for t in range(31)]))
    assert (run.states[0].tick, run.stopped) == (4, "tolerance")


def test_every_chain_is_judged_by_its_own_marks():
    run = ran(Counting(Plan(30, tol=0.1, window=2), curve=[1.0], chains=3))
    assert [state.tick for state in run.states] == [4, 4, 4]
    assert [r.chain for r in run.trace] == [0] * 4 + [1] * 4 + [2] * 4


# --- the callback ---


def test_the_callback_is_told_what_is_kept():
    told = []
    run = ran(Counting(Plan(6, mark=2), curve=[1.0]), callback=told.append)
    assert tuple(told) == run.trace
    assert run.stopped == "length"


def test_a_true_answer_stops_at_that_mark():
    run = ran(Counting(Plan(100, mark=3, chunk=10)), callback=lambda record: record.tick >= 6)
    assert (run.states[0].tick, run.stopped) == (6, "callback")
    assert run.posterior.offset.tolist() == [6.0]


def test_a_true_answer_stops_all_chains():
    model = Counting(Plan(5), chains=3)
    run = ran(model, callback=lambda record: record.chain == 1 and record.tick == 2)
    assert [state.tick for state in run.states] == [5, 2]
    assert run.stopped == "callback"
    assert {chain for chain, _, _ in model.steps} == {0, 1}


def test_a_fit_that_stops_before_a_draw_is_one_sentence():
    with pytest.raises(ConfigError, match=r"stopped before the first draw was kept: let it run beyond its burn_in"):
        ran(Counting(Plan(5, burn_in=3)), callback=lambda record: record.tick == 3)


def test_what_a_callback_raises_comes_through():
    class OwnError(Exception):
        pass

    def fail(record):
        raise OwnError

    with pytest.raises(OwnError):
        ran(Counting(Plan(5)), callback=fail)


# --- draws, chains, going on ---


def test_draws_after_the_burn_in_are_kept_chain_by_chain():
    run = ran(Counting(Plan(5, burn_in=2), chains=2))
    assert run.posterior.offset.tolist() == [3.0, 4.0, 5.0, 3.0, 4.0, 5.0]
    assert [state.tick for state in run.states] == [5, 5]


def test_a_later_fit_goes_on_at_the_ticks_of_the_one_before():
    first = ran(Counting(Plan(4), chains=2))
    model = Counting(Plan(3), chains=3)
    again = ran(model, previous=first.states)
    assert [state.tick for state in again.states] == [7, 7, 7]
    assert [(r.chain, r.tick, r.done) for r in again.trace[:3]] == [(0, 5, 1), (0, 6, 2), (0, 7, 3)]


# --- checkpoints ---


def kept_ticks(model, folder, every=None, monkeypatch=None, clock=None):
    ticks: list[Any] = []
    with keeper(model, PAIRS, folder, False, 5) as kept:
        write = kept.write

        def told(what, final):
            ticks.append("end" if final else what.current.tick)
            write(what, final)

        kept.write = told
        loop.run(model, PAIRS, Local(1), 5, Watch(lambda r: None, None, kept, every), None)
    return ticks


@pytest.fixture
def keyed(monkeypatch):
    monkeypatch.setattr("dyads.keeper._key", lambda model, pairs: {"method": "counting"})


@pytest.mark.parametrize(("every", "due"), [(2, [2, 4, 6, "end"]), (3, [3, 6, "end"]), (10, ["end"])])
def test_checkpoints_come_every_so_many_ticks_and_at_the_end(keyed, tmp_path, every, due):
    assert kept_ticks(Counting(Plan(7, chunk=100, mark=100)), tmp_path, every) == due


def test_checkpoints_come_by_the_clock_where_nothing_is_said(keyed, tmp_path, monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(loop, "time", clock)
    model = Counting(Plan(10))
    step = model.step

    def slow(*given):
        clock.now += 0.35 * loop.KEEP_SECONDS
        return step(*given)

    model.step = slow
    assert kept_ticks(model, tmp_path) == [3, 6, 9, "end"]


@pytest.mark.parametrize("when", [1, 4, 7])
def test_an_interrupt_keeps_the_last_whole_tick(keyed, tmp_path, when):
    model = Counting(Plan(7, burn_in=2))
    step = model.step

    def interrupted(state, engine, at, n):
        if state.tick == when - 1:
            raise KeyboardInterrupt
        return step(state, engine, at, n)

    model.step = interrupted
    with pytest.raises(KeyboardInterrupt):
        kept_ticks(model, tmp_path)
    again = Counting(Plan(7, burn_in=2))
    with keeper(again, PAIRS, tmp_path, True, 9) as kept:
        assert kept.seed == 5
        run = loop.run(again, PAIRS, Local(1), kept.seed, Watch(lambda r: None, None, kept, None), None)
    assert [tick for _, tick, _ in again.steps] == [*range(when - 1, 7)]
    assert run.posterior.offset.tolist() == [3.0, 4.0, 5.0, 6.0, 7.0]
    assert [r.tick for r in run.trace] == [*range(1, 8)]
    assert all(a.seconds <= b.seconds for a, b in zip(run.trace, run.trace[1:], strict=False))


# Also where no chain is at work: before the first, between two, and while the finished fit is written.
@pytest.mark.parametrize("when", ["init 0", "init 1", "write"])
def test_an_interrupt_between_chains_keeps_those_that_are_done(keyed, tmp_path, monkeypatch, when):
    model = Counting(Plan(4, burn_in=2), chains=2)
    init, begun = model.init, []

    def interrupted(*given):
        begun.append(None)
        if when == f"init {len(begun) - 1}":
            raise KeyboardInterrupt
        return init(*given)

    def write(self, kept, final, write=Keeper.write):
        if final and when == "write":
            monkeypatch.undo()
            raise KeyboardInterrupt
        write(self, kept, final)

    model.init = interrupted
    monkeypatch.setattr("dyads.keeper._key", lambda model, pairs: {"method": "counting"})
    monkeypatch.setattr(Keeper, "write", write)
    with pytest.raises(KeyboardInterrupt), keeper(model, PAIRS, tmp_path, False, 5) as kept:
        loop.run(model, PAIRS, Local(1), 5, Watch(lambda r: None, None, kept, None), None)
    monkeypatch.setattr("dyads.keeper._key", lambda model, pairs: {"method": "counting"})
    again = Counting(Plan(4, burn_in=2), chains=2)
    with keeper(again, PAIRS, tmp_path, True, 9) as kept:
        run = loop.run(again, PAIRS, Local(1), kept.seed, Watch(lambda r: None, None, kept, None), None)
    assert kept.seed == 5
    assert {chain for chain, _, _ in again.steps} == {"init 0": {0, 1}, "init 1": {1}, "write": set()}[when]
    assert run.posterior.offset.tolist() == [3.0, 4.0, 3.0, 4.0]


def test_a_fit_that_was_stopped_stays_stopped_when_resumed(keyed, tmp_path):
    def fit(model, callback, resume):
        with keeper(model, PAIRS, tmp_path, resume, 5) as kept:
            return loop.run(model, PAIRS, Local(1), kept.seed, Watch(lambda r: None, callback, kept, 1), None)

    first = fit(Counting(Plan(7), chains=2), lambda record: record.tick == 4, False)
    model = Counting(Plan(7), chains=2)
    again = fit(model, None, True)
    assert model.steps == []
    assert (again.stopped, [s.tick for s in again.states]) == (first.stopped, [4]) == ("callback", [4])
