# Every error of the border, the fit and the verbs once, matched on the value that it names.

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from contract.cases import N_ITEMS, N_USERS, SETS
from scipy import sparse

from dyads.errors import ConfigError, DataError, DyadsError, UnknownIdError
from dyads.models import method
from dyads.pairs import Pairs, csr

NAN, INF = float("nan"), float("inf")


# These are of Python alone, and need no second set of kernels.
@pytest.fixture(params=SETS[-1:], autouse=True)
def kernels(request, monkeypatch):
    monkeypatch.setenv("DYADS_KERNELS", request.param)
    return request.param


def quiet(case, X, **more):
    return case.make(**more).fit(X, show_progress=False)


def said(error, text):
    return pytest.raises(error, match=re.escape(text))


def matrix(case):
    return case.pairs().to_scipy()


# --- what is fitted ---


@pytest.mark.parametrize("frame", [pd.DataFrame({"a": [1, 1]}), pl.DataFrame({"a": [1, 1]}), pl.Series("a", [1])])
def test_frames_are_sent_to_read(case, model, frame):
    text = f"a {type(frame).__name__} may hold one pair per row or one user per row: give dyads.read(frame, user=..."
    for ask in (
        lambda: quiet(case, frame),
        lambda: model.transform(frame),
        lambda: model.score(frame),
        lambda: model.recommend(["user 1"], frame),
        lambda: model.predict_pairs(frame),
        lambda: model.partial_fit(frame),
    ):
        with said(DataError, text):
            ask()


@pytest.mark.parametrize(("shape", "text"), [((0, 3), "0 sample(s) (shape=(0, 3))"), ((3, 0), "0 feature(s)")])
def test_data_without_rows_or_columns_are_refused(case, shape, text):
    with said(DataError, f"the data hold {text}"):
        quiet(case, sparse.csr_array(shape))


def test_data_without_a_pair_are_refused(case):
    with said(DataError, f"hold no pairs (shape=(4, 3)): {type(case.make()).__name__} needs at least one"):
        quiet(case, sparse.csr_array((4, 3)))
    pairs = case.pairs()
    with said(DataError, "hold no pairs (shape=(12, 9))"):
        quiet(case, pairs.with_hidden(pairs.by_user._replace(val=None)))


@pytest.mark.parametrize("bad", [NAN, INF, -INF, 1e39])
def test_values_that_are_no_numbers_are_named_with_their_place(case, bad):
    X = np.ones((3, 4))
    X[1, 2] = bad
    with said(DataError, f"value {bad!r} of user 1 and item 2 is not a finite number"):
        quiet(case, X)


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (np.ones(3), "a matrix has two dimensions, not the shape (3,)"),
        (np.ones((2, 2, 2)), "a matrix has two dimensions, not the shape (2, 2, 2)"),
        (np.ones((2, 2)) * 1j, "of type complex128"),
        (np.array([["a", "b"]]), "of type <U1: give whole or decimal numbers"),
        (np.array([["a", None]]), "the matrix holds something that is no number"),
        (None, "a NoneType is no matrix: give dyads.read(...), a sparse matrix or an array of two dimensions"),
        ("clicks.csv", "the path of a file is no matrix: give dyads.read(...)"),
        ([[1], [1, 0]], "the rows are no matrix"),
        (np.ma.masked_equal(np.eye(2), 1), "the array has masked cells"),
    ],
    ids=["1-D", "3-D", "complex", "strings", "objects", "None", "path", "ragged", "masked"],
)
def test_what_is_no_matrix_is_refused(case, X, text):
    with said(DataError, text):
        quiet(case, X)


def wrong_values(case):
    return {"binary": [2.0, 0.5, -1.0], "counts": [1.5, -1.0]}.get(case.kind, [])


def test_values_that_the_method_does_not_take_are_named(case, model):
    kind = {"binary": "ones", "counts": "whole counts"}.get(case.kind)
    name = type(model).__name__
    for bad in wrong_values(case):
        X = sparse.csr_array(([1.0, bad, 1.0], ([0, 1, 2], [0, 3, 1])), shape=(3, N_ITEMS))
        for given, place in (
            (X, "user 1, item 3"),
            (Pairs.of(["ann", "ben"], ["pear", "fig"], [1.0, bad]), "user 'ben', item 'fig'"),
            (Pairs.of([-5, 77], [12, 40], [1.0, bad]), "user 77, item 40"),
        ):
            with said(
                DataError, f"value {bad!r} ({place}) is not what {name} takes, which is {kind}: give binarize=0."
            ):
                quiet(case, given)
        with said(DataError, f"value {bad!r} (row 1, column 3) is not what {name} takes"):
            model.recommend(model.users_.ids([0, 1, 2]), X)
        assert quiet(case, X, binarize=0.0).pairs_.n_pairs == 2 + (bad > 0)
        assert quiet(case, X, binarize=-2.0).pairs_.n_pairs == 3


def test_a_threshold_is_not_above_itself(case):
    if case.kind == "ratings":
        pytest.skip("ratings have no threshold")
    X = sparse.csr_array(([1.0, 2.0, 3.0], ([0, 1, 2], [0, 3, 1])), shape=(3, 4))
    assert [quiet(case, X, binarize=t).pairs_.n_pairs for t in (0.0, 1.0, 1.5, 2.0)] == [3, 2, 2, 1]


def test_ratings_may_be_anything_and_zeros_among_them_stay(case):
    if case.kind != "ratings":
        pytest.skip("only ratings keep their zeros")
    X = sparse.csr_array(([-1.5, 0.0, 2.0], ([0, 1, 2], [0, 3, 1])), shape=(3, 4))
    assert quiet(case, X).pairs_.n_pairs == 3


def test_zeros_of_ones_and_counts_are_no_pairs(case):
    if case.kind == "ratings":
        pytest.skip("zeros are ratings")
    X = sparse.csr_array(([1.0, 0.0, 1.0], ([0, 1, 2], [0, 3, 1])), shape=(3, 4))
    assert quiet(case, X).pairs_.n_pairs == 2


def test_hidden_cells_are_no_data(case):
    pairs = case.pairs()
    hidden = csr(pairs.rows()[:2], pairs.columns()[:2], None, *pairs.shape)
    model = quiet(case, pairs.with_hidden(hidden))
    assert model.pairs_.n_pairs == pairs.n_pairs - 2


# --- how it is fitted ---


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"every": 3}, "every=3 and resume=False need a folder: give checkpoint=DIR"),
        ({"resume": True}, "every=None and resume=True need a folder"),
        ({"every": 0, "checkpoint": "here"}, "every=0 is no number of ticks"),
        ({"every": True, "checkpoint": "here"}, "every=True is no number of ticks"),
        ({"every": 2.0, "checkpoint": "here"}, "every=2.0 is no number of ticks"),
        ({"checkpoint": ""}, "checkpoint='' is no folder"),
        ({"checkpoint": 5}, "checkpoint=5 is no folder"),
        ({"callback": "done"}, "callback='done' cannot be called"),
    ],
)
def test_checkpoints_that_cannot_be_are_named(case, given, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with said(ConfigError, text):
        case.make().fit(case.pairs(), show_progress=False, **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["n_jobs", "device", "random_state"])
@pytest.mark.parametrize("bad", [0, -2, 1.5, True, [], "x"])
def test_the_machine_and_the_seed_are_checked_at_the_fit(case, name, bad):
    if name == "random_state" and bad is not True and bad == 0:
        pytest.skip("0 is a seed")
    with pytest.raises(ConfigError, match=re.escape(f"{name}={bad!r}")):
        quiet(case, case.pairs(), **{name: bad})


def test_a_device_that_is_not_there_is_named(case):
    with pytest.raises(ConfigError, match=r"'cuda:1'"):
        quiet(case, case.pairs(), device="cuda:1")


def test_an_unknown_method_is_named():
    with said(ConfigError, "model 'svd' is unknown: it is one of popularity"):
        method("svd")


# --- who is asked ---


@pytest.mark.parametrize("bad", [None, 2.5, np.float64(1.0)])
def test_what_is_no_id_is_named(model, bad):
    for ask, side in ((model.recommend, "user"), (model.similar_users, "user"), (model.similar_items, "item")):
        with said(DataError, f"{side} {bad!r} is no id: give a string, a whole number, or a list of them"):
            ask(bad)


@pytest.mark.parametrize(("bad", "text"), [([1.5], "user 1.5 at place 0 is of type float"), ([None], "is missing")])
def test_what_is_no_id_in_a_list_is_named(model, bad, text):
    with said(DataError, text):
        model.recommend(bad)


def test_ids_of_the_other_type_are_unknown(model, case):
    with said(UnknownIdError, "user 3 is not known: ids here are strings, such as 'user 0'"):
        model.recommend(3)
    numbered = quiet(case, matrix(case))
    with said(UnknownIdError, "user '3' is not known: ids here are whole numbers, did you mean 3?"):
        numbered.recommend("3")
    with said(UnknownIdError, f"user 99 is not known: users here are the numbers 0 to {N_USERS - 1}"):
        numbered.recommend([0, 99])


def test_an_unknown_id_is_an_index_and_a_key_error(model):
    for kind in (IndexError, KeyError, DyadsError):
        with said(kind, "user 'pear' is not known"):
            model.recommend("pear")


# --- histories ---


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"new": "pear"}, "the history 'pear' of user 'new' is no list of items: put it in a list"),
        ({"new": 3}, "the history 3 of user 'new' is no list of items"),
        ({"new": {"ítem 1": NAN}}, "value nan of item 'ítem 1' is not a finite number"),
        ({"new": [("ítem 1", INF)]}, "value inf of item 'ítem 1' is not a finite number"),
        ({"new": {"ítem 1": "five"}}, "value 'five' of item 'ítem 1' is no number"),
        ({"new": {"ítem 1": None}}, "value None of item 'ítem 1' is no number"),
        ({"new": [("ítem 1", 1.0, 2.0)]}, "('ítem 1', 1.0, 2.0) of user 'new' is no item: give an id or (id, value)"),
        ({"new": ["ítem 1", 3]}, "items are of mixed types, such as 'ítem 1' and 3"),
        (7, "an object of type int is no history: give a matrix, Pairs, or a mapping from ids to lists"),
        ("new", "an object of type str is no history"),
    ],
)
def test_histories_that_cannot_be_are_named(model, given, text):
    with said(DataError, text):
        model.recommend("new", given, recalculate_user=True)


def test_matrices_of_another_size_are_named(case, model):
    rows, name = matrix(case), type(model).__name__
    asked = model.users_.ids([0, 1])
    with said(DataError, f"X has 8 features, but {name} is expecting 9 features as input, one for each item"):
        model.recommend(asked, rows[:2, :8])
    with said(DataError, "the matrix has 3 rows for 2 asked users: give one row per asked user, in their order"):
        model.recommend(asked, rows[:3])
    with said(DataError, "the matrix has 1 rows for 2 asked items"):
        model.recalculate_item(model.items_.ids([0, 1]), rows.T.tocsr()[:1])
    with said(DataError, f"X has 9 features, but {name} is expecting 12 features as input, one for each user"):
        model.recalculate_item(model.items_.ids([0, 1]), rows[:2])
    with said(DataError, "the data hold 0 sample(s) (shape=(0, 9))"):
        model.transform(rows[:0])


@pytest.mark.parametrize("which", ["user", "item"])
def test_rows_are_not_placed_by_nothing(model, which):
    place = getattr(model, f"recalculate_{which}")
    with said(
        ConfigError, f"{which}s are placed by their pairs: give {which}_{'items' if which == 'user' else 'users'}"
    ):
        place("new", None)


# --- pairs ---


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([("user 1", "ítem 1"), "ab"], "pair 'ab' at place 1 is not (user, item): give two ids each"),
        ([("user 1", "ítem 1", 2.0)], "pair ('user 1', 'ítem 1', 2.0) at place 0 is not (user, item)"),
        ([3], "pair 3 at place 0 is not (user, item)"),
        (np.zeros((2, 3)), "pair [0.0, 0.0, 0.0] at place 0 is not (user, item)"),
        (np.array(5), "array(5) is no list of pairs"),
        (sparse.csr_array(np.eye(2)), "a csr_array is no list of pairs"),
        (5, "5 is no list of pairs: give a list of (user, item), an array of two columns, or Pairs"),
        (None, "None is no list of pairs"),
        ([("user 1", None)], "item None at place 0 is missing"),
    ],
)
def test_pairs_that_cannot_be_are_named(model, given, text):
    with said(DataError, text):
        model.predict_pairs(given)


def test_a_matrix_of_another_shape_is_not_scored(case, model):
    with said(DataError, "a matrix of shape (12, 8) cannot be scored by a model of 12 users and 9 items"):
        model.score(matrix(case)[:, :8])
