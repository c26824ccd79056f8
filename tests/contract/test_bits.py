from __future__ import annotations

import copy
import threading
import time

import numpy as np
import pytest
from contract.cases import N_ITEMS, N_USERS

from dyads import kernels as kernel_sets
from dyads.engines import local
from dyads.kernels import native
from dyads.pairs import Pairs
from dyads.state import Bare, arrays_equal, bare
from dyads.streams import At
from dyads.vocabulary import Vocabulary


def quiet(model, pairs, **more):
    return model.fit(pairs, show_progress=False, **more)


def same_posterior(a, b):
    return arrays_equal(a.posterior_, b.posterior_)


def started(case, engine, pairs=None):
    model, pairs = case.make(), pairs or case.pairs()
    return model, model.init(pairs, engine, At(7, 0, 0))


def test_the_same_seed_gives_the_same_bits(case, model):
    again = quiet(case.make(), case.pairs())
    assert same_posterior(again, model)
    assert arrays_equal(again._learned().states, model._learned().states)


def test_a_second_fit_of_the_same_object_starts_afresh(case, model):
    twice = quiet(case.make(), case.data(case.kind, 3))
    assert same_posterior(quiet(twice, case.pairs()), model)


def test_different_seeds_give_different_draws(personal):
    first, second = (quiet(personal.make(random_state=seed), personal.pairs()) for seed in (1, 2))
    assert not same_posterior(first, second)


def test_the_seed_that_a_fit_keeps_repeats_it(case):
    first = quiet(case.make(random_state=None), case.pairs())
    assert same_posterior(quiet(case.make(random_state=first.seed_), case.pairs()), first)


def test_a_step_changes_nothing_it_was_given(case):
    pairs, engine = case.pairs(), local.Local(1)
    model, state = started(case, engine, pairs)
    before, data = copy.deepcopy(state), copy.deepcopy(pairs.by_user)
    model.step(state, engine, At(7, 0, state.tick), 2)
    assert arrays_equal(state, before)
    assert arrays_equal(pairs.by_user, data)


def test_objective_info_and_posterior_change_nothing_they_were_given(case):
    engine = local.Local(1)
    model, state = started(case, engine)
    state = model.step(state, engine, At(7, 0, state.tick), 1)
    before = copy.deepcopy(state)
    model.objective(state, engine, At(7, 0, state.tick))
    model.info(state)
    model.read_out(state, engine)
    assert arrays_equal(state, before)


def shapes(tree):
    if isinstance(tree, tuple):
        return type(tree), tuple(map(shapes, tree))
    array = np.asarray(tree)
    return type(tree), array.shape, array.dtype


def test_a_state_keeps_its_types_shapes_and_dtypes(case):
    engine = local.Local(1)
    model, state = started(case, engine)
    after = model.step(state, engine, At(7, 0, state.tick), 3)
    assert type(after) is type(state)
    assert after.tick == state.tick + 3
    assert shapes(bare(after, engine)) == shapes(bare(state, engine))


def test_n_steps_are_n_times_one_step(case):
    engine = local.Local(1)
    model, state = started(case, engine)
    at_once, one_by_one = model.step(state, engine, At(7, 0, state.tick), 3), state
    for _ in range(3):
        one_by_one = model.step(one_by_one, engine, At(7, 0, one_by_one.tick), 1)
    assert arrays_equal(bare(at_once, engine), bare(one_by_one, engine))


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_the_length_of_a_chunk_changes_no_bit(case, model, monkeypatch, chunk):
    plan = type(model).plan
    monkeypatch.setattr(type(model), "plan", lambda *given: plan(*given)._replace(chunk=chunk))
    other = quiet(case.make(), case.pairs())
    assert same_posterior(other, model)
    assert [r[:4] for r in other.trace_] == [r[:4] for r in model.trace_]
    assert [r.objective for r in other.trace_] == [r.objective for r in model.trace_]


@pytest.mark.parametrize("every", [1, 3])
def test_checkpoints_change_no_bit(case, model, tmp_path, every):
    assert same_posterior(quiet(case.make(), case.pairs(), checkpoint=tmp_path / "kept", every=every), model)


def test_progress_and_callback_change_no_bit(case, model, capsys):
    shown = case.make().fit(case.pairs(), show_progress=True, callback=lambda record: None)
    assert same_posterior(shown, model)


# Shards this small make many of them of the small data; whoever is last through a random pause does not matter.
def test_the_number_of_threads_and_their_pace_change_no_bit(case, kernels, paused, monkeypatch):
    monkeypatch.setattr(local, "SHARD_COST", 6)
    alone = quiet(case.make(n_jobs=1), case.pairs())
    for n_jobs in (2, 3, 16, None):
        assert same_posterior(quiet(case.make(n_jobs=n_jobs), case.pairs()), alone)


# Every shard waits for a random time before it starts.
@pytest.fixture
def paused(kernels, monkeypatch):
    if kernels == "native":
        native.core().delay_shards(300)
        yield
        native.core().delay_shards(0)
        return
    pause, twin = np.random.default_rng(5), kernel_sets.twin

    def delayed(name):
        def run(*given):
            time.sleep(pause.uniform(0, 3e-4))
            return twin(name)(*given)

        return run

    monkeypatch.setattr(kernel_sets, "twin", delayed)
    yield


def test_many_shards_are_cut_and_run_by_several_threads(monkeypatch):
    monkeypatch.setattr(local, "SHARD_COST", 6)
    assert len(local.shard_cuts(np.arange(0, 61, 5))) > 4
    together = threading.Barrier(3)
    assert local.Local(3)._map(lambda s: together.wait(timeout=20) and s, 3) is not None


# The equivariance that holds: with the state before it in new places, and its random words with it, a step ends in the
# same state in new places. Words stand under row numbers, so that without them nothing could be said of single draws.
def test_a_step_goes_with_a_permutation_of_users_and_items(case, kernels, monkeypatch):
    if kernels != "reference":
        pytest.skip("the words are moved inside the twins; compiled kernels are compared with those")
    rng, engine = np.random.default_rng(11), local.Local(1)
    users, items = rng.permutation(N_USERS), rng.permutation(N_ITEMS)
    model, start = started(case, engine)
    here = model.step(start, engine, At(7, 0, start.tick), 2)
    case.travel(monkeypatch, start, users, items)
    there = model.place(moved(case.pairs(), users, items), engine, moved_state(bare(start, engine), users, items))
    there = model.step(there, engine, At(7, 0, there.tick), 2)
    # sums over the data run in another order: float64 in the last places, float32 where they are stored
    close(bare(there, engine), moved_state(bare(here, engine), users, items))


def moved(pairs, users, items):
    matrix = pairs.to_scipy()[users][:, items]
    return Pairs.from_matrix(matrix, pairs.users.take(users), pairs.items.take(items))


def moved_state(state, users, items):
    user, item = (
        type(side)(*(array[order] for array in side)) for side, order in ((state.user, users), (state.item, items))
    )
    return Bare(user, item, state.small, state.tick)


def close(a, b):
    if isinstance(a, tuple):
        for x, y in zip(a, b, strict=True):
            close(x, y)
    else:
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_ids_change_no_bit(case, model):
    matrix = case.pairs().to_scipy()
    renamed = Pairs.from_matrix(matrix, Vocabulary.of(np.arange(N_USERS) * 10 - 5, "user"))
    assert same_posterior(quiet(case.make(), renamed), model)
