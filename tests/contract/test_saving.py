from __future__ import annotations

import marshal
import pickle

import numpy as np
import pytest
from contract.cases import N_ITEMS, small

import dyads
from dyads.errors import ConfigError, ModelFileError
from dyads.state import arrays_equal


def saved(model, path, **more):
    model.save(path, **more)
    return dyads.load(path)


def same(a, b):
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return np.array_equal(np.asarray(a), np.asarray(b), equal_nan=np.asarray(a).dtype.kind == "f")


# Every verb that needs no pairs of the fit.
def answers(case, model):
    users, items = model.users_.ids([0, 3]).tolist(), model.items_.ids([1, 2]).tolist()
    rows = case.pairs().to_scipy()
    cells = [(user, item) for user in users for item in items]
    yield model.recommend(users, rows[[0, 3]], N=N_ITEMS, return_std=True)
    yield model.recommend(users[0], {users[0]: items}, N=3, recalculate_user=True)
    yield model.recommend(users[0], filter_already_liked_items=False, rank_by="mean")
    yield model.predict_pairs(cells, return_std=True, with_noise=True)
    yield model.transform(rows)
    yield model.recalculate_user(users, rows[[0, 3]])
    yield model.recalculate_item(items, rows.T.tocsr()[[1, 2]])
    yield model.user_factors_, model.item_factors_, model.user_bias_, model.item_bias_
    if case.board is not None:
        yield model.similar_items(items[0], N=4)
        yield model.similar_users(users, N=4)
    if case.kind == "ratings":
        yield model.recalculate_user(users, rows[[0, 3]], return_cov=True)


# --- there and back ---


def test_what_is_opened_answers_to_the_bit(case, model, tmp_path):
    opened = saved(model, tmp_path / "m.dyads")
    assert type(opened) is type(model)
    for there, here in zip(answers(case, opened), answers(case, model), strict=True):
        assert same(there, here)
    users = model.users_.ids([0, 3])
    assert same(opened.recommend(users, N=N_ITEMS), model.recommend(users, N=N_ITEMS))
    assert opened.score(case.data(case.kind, 5)) == model.score(case.data(case.kind, 5))


def test_all_that_was_learned_comes_back(model, tmp_path):
    opened = saved(model, tmp_path / "m.dyads")
    here, there = model._learned(), opened._learned()
    assert arrays_equal(there.states, here.states)
    assert arrays_equal(there.posterior, here.posterior)
    assert (there.users, there.items) == (here.users, here.items)
    assert there.pairs.fingerprint == here.pairs.fingerprint == there.fingerprint
    assert (there.trace, there.seed, there.stopped) == (here.trace, here.seed, here.stopped)
    assert opened.get_params() == model.get_params()
    assert repr(opened) == repr(model)
    assert opened.n_iter_ == model.n_iter_


def test_what_is_saved_again_is_the_same_file(model, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    saved(model, first).save(second)
    assert first.read_bytes() == second.read_bytes()


def test_a_model_may_be_saved_over_the_file_it_is_mapped_from(case, model, tmp_path):
    opened = saved(model, tmp_path / "m.dyads")
    again = saved(opened, tmp_path / "m.dyads")
    assert arrays_equal(opened.posterior_, model.posterior_)
    assert arrays_equal(again.posterior_, model.posterior_)


def test_partial_fit_goes_on_from_a_file(case, tmp_path):
    here = case.make().fit(case.pairs(), show_progress=False)
    there = saved(here, tmp_path / "m.dyads")
    more = small(case.kind, 4)
    for model in (here, there):
        model.partial_fit(more, show_progress=False)
    assert arrays_equal(there.posterior_, here.posterior_)
    assert arrays_equal(there._learned().states, here._learned().states)
    assert there.n_iter_ == here.n_iter_


def test_hidden_cells_come_back(case, tmp_path):
    pairs = case.pairs().with_hidden(case.data(case.kind, 9).by_user._replace(val=None))
    model = case.make().fit(pairs, show_progress=False)
    opened = saved(model, tmp_path / "m.dyads")
    assert arrays_equal(opened.pairs_.hidden, pairs.hidden)
    assert opened.pairs_.fingerprint == model.pairs_.fingerprint


def test_ids_that_are_numbers_come_back_as_numbers(case, tmp_path):
    matrix = case.pairs().to_scipy()
    model = saved(case.make().fit(matrix, show_progress=False), tmp_path / "m.dyads")
    assert model.recommend(3, N=2)[0].dtype == np.int64
    assert model.users_.kind == "range"


@pytest.mark.parametrize("state", [np.random.default_rng(5), np.random.RandomState(5)])
def test_a_generator_is_saved_as_the_seed_it_gave(case, tmp_path, state):
    model = case.make(random_state=state).fit(case.pairs(), show_progress=False)
    assert saved(model, tmp_path / "m.dyads").random_state == model.seed_


# --- without pairs ---


def test_without_pairs_a_model_answers_and_asks_for_histories(case, model, tmp_path):
    opened = saved(model, tmp_path / "m.dyads", pairs=False)
    model.save(tmp_path / "whole")
    assert (tmp_path / "m.dyads").stat().st_size < (tmp_path / "whole").stat().st_size
    for there, here in zip(answers(case, opened), answers(case, model), strict=True):
        assert same(there, here)
    (user,) = model.users_.ids([3]).tolist()
    for ask in (lambda: opened.recommend(user), lambda: opened.pairs_):
        with pytest.raises(ConfigError, match=r"saved with pairs=False: give the users' pairs as user_items"):
            ask()
    with pytest.raises(ConfigError, match=r"saved with pairs=False and cannot go on: fit it again"):
        opened.partial_fit(case.pairs())
    assert opened.n_iter_ == model.n_iter_


def test_without_pairs_it_can_be_saved_again(model, tmp_path):
    opened = saved(model, tmp_path / "first", pairs=False)
    opened.save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


# --- what a file may be ---


def test_pickle_is_never_called(model, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("pickle was called")

    for module in (pickle, marshal):
        for name in ("load", "loads", "dump", "dumps"):
            monkeypatch.setattr(module, name, refuse)
    for name in ("Pickler", "Unpickler", "_Pickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    opened = saved(model, tmp_path / "m.dyads")
    assert arrays_equal(opened.posterior_, model.posterior_)
    monkeypatch.undo()
    (tmp_path / "bad").write_bytes(pickle.dumps(model))
    with pytest.raises(ModelFileError, match=r"pickle files can run code"):
        dyads.load(tmp_path / "bad")


def test_a_model_that_a_file_cannot_hold_is_refused_whole(case, tmp_path):
    model = case.make().fit(case.pairs(), show_progress=False).set_params(random_state=object())
    with pytest.raises(ConfigError, match=r"random_state=<object"):
        model.save(tmp_path / "m.dyads")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(ModelFileError, match=r"nowhere/m.dyads cannot be written .No such file or directory"):
        model.save(tmp_path / "nowhere" / "m.dyads")
