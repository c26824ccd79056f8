# Data of unusual shapes, hidden cells, and values of the model's own.

from __future__ import annotations

import numpy as np
import pytest
from contract.cases import N_ITEMS, N_USERS
from scipy import sparse

from dyads.engines.local import Local
from dyads.errors import ConfigError
from dyads.pairs import Pairs, csr
from dyads.state import arrays_equal
from dyads.streams import At


def quiet(model, X):
    return model.fit(X, show_progress=False)


@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 5), (3, 4)])
def test_a_matrix_of_ones_is_fitted(case, shape):
    model = quiet(case.make(), np.ones(shape))
    ids, scores = model.recommend(0, N=shape[1], filter_already_liked_items=False)
    assert sorted(ids.tolist()) == [*range(shape[1])]
    assert np.isfinite(scores).all()
    assert model.recommend(0, N=2)[0].tolist() == [-1, -1]
    assert model.transform(np.ones(shape)).shape == (shape[0], model.posterior_.n_factors)
    value, spread = model.predict_pairs([(shape[0] - 1, shape[1] - 1)], return_std=True)
    assert np.isfinite(value).all() and np.isfinite(spread).all()


def test_one_pair_among_many_rows_and_columns_is_fitted(case):
    X = sparse.csr_array(([1.0], ([17], [3])), shape=(40, 30))
    model = quiet(case.make(), X)
    assert np.isfinite(model.predict_pairs([(17, 3), (0, 0), (39, 29)])).all()
    assert 3 not in model.recommend(17, N=29)[0]
    assert (model.recommend(17, N=30)[0] == -1).sum() == 1


@pytest.mark.parametrize("wide", [False, True])
def test_matrices_of_every_kind_give_the_same_bits(case, model, wide):
    matrix = case.pairs().to_scipy()
    index = np.int64 if wide else np.int32
    same = sparse.csr_matrix((matrix.data, matrix.indices.astype(index), matrix.indptr.astype(index)), matrix.shape)
    unsorted = sparse.coo_array(matrix)
    order = np.random.default_rng(0).permutation(unsorted.nnz)
    cells = (unsorted.data[order], (unsorted.coords[0][order], unsorted.coords[1][order]))
    for given in (same, same.tocsc(), same.tolil(), sparse.coo_matrix(cells, matrix.shape), matrix.astype(np.float32)):
        assert arrays_equal(quiet(case.make(), given).posterior_, model.posterior_)
    assert arrays_equal(quiet(case.make(), matrix.toarray()).posterior_, model.posterior_)


def test_a_fit_changes_no_data(case):
    matrix = case.pairs().to_scipy()
    before = [array.copy() for array in (matrix.data, matrix.indices, matrix.indptr)]
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    quiet(case.make(), matrix)
    for array, then in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
        np.testing.assert_array_equal(array, then)


def test_without_factors_biases_are_left(personal):
    model = quiet(personal.make(n_factors=0), personal.pairs())
    users, items = model.users_.ids([0, 1]), model.items_.ids([2, 3])
    assert model.user_factors_.shape == (N_USERS, 0)
    assert model.transform(personal.pairs()).shape == (N_USERS, 0)
    ids, scores, spread = model.recommend(users, N=3, return_std=True)
    assert ids.shape == scores.shape == spread.shape == (2, 3)
    assert model.recommend("new", {"new": items[:1]}, recalculate_user=True, N=2)[0].shape == (2,)
    assert model.item_bias_.any()
    for ask, one in ((model.similar_items, items[0]), (model.similar_users, users[0])):
        with pytest.raises(
            ConfigError, match=r"has no factors here, so nothing is near: use a model with n_factors > 0"
        ):
            ask(one)


# --- hidden cells ---


def half_hidden(pairs):
    cells = np.random.default_rng(8).random((N_USERS, N_ITEMS)) < 0.3
    return csr(*np.nonzero(cells), None, N_USERS, N_ITEMS), cells


def test_the_values_of_hidden_cells_are_data_for_no_model(case):
    pairs = case.pairs()
    hidden, cells = half_hidden(pairs)
    seen = pairs.select(~cells[pairs.rows(), pairs.columns()])
    assert 0 < seen.n_pairs < pairs.n_pairs
    with_values, without = (quiet(case.make(), given.with_hidden(hidden)) for given in (pairs, seen))
    assert arrays_equal(with_values.posterior_, without.posterior_)
    assert with_values.pairs_.n_pairs == seen.n_pairs


def test_hidden_cells_may_be_recommended(case):
    pairs = case.pairs()
    hidden, cells = half_hidden(pairs)
    model = quiet(case.make(), pairs.with_hidden(hidden))
    seen = pairs.to_scipy().toarray() * ~cells
    for number, user in enumerate(model.users_.ids().tolist()):
        ids, _ = model.recommend(user, N=N_ITEMS)
        found = {model.items_.number(one) for one in ids if one is not None}
        assert found == set(np.flatnonzero(seen[number] == 0).tolist())


# --- values of the model's own ---


def test_what_is_simulated_can_be_fitted(case):
    model, cells = case.make(), case.pairs()
    made = model.simulate(cells, At(4, 0, 0))
    if made is None:
        pytest.skip("this method has no generative model")
    start, pairs = made
    assert pairs.shape == cells.shape and isinstance(pairs, Pairs)
    again, same = model.simulate(cells, At(4, 0, 0))
    assert arrays_equal(again, start) and same.fingerprint == pairs.fingerprint
    assert model.simulate(cells, At(4, 0, 1))[1].fingerprint != pairs.fingerprint
    engine = Local(1)
    state = model.place(pairs, engine, start)
    _, more = model.simulate(cells, At(4, 0, 2), state)
    assert more.shape == cells.shape
    assert np.isfinite(quiet(case.make(), pairs).predict_pairs(cells)).all()
