# `recommend` as implicit has it, beside what it adds. Scores are compared with those of `predict_pairs`, which takes
# another way through the posterior.

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from contract.cases import N_ITEMS, N_USERS
from scipy import sparse

from dyads import kernels, rank, verbs
from dyads.border import UnknownIdWarning
from dyads.errors import ConfigError, UnknownIdError
from dyads.pairs import Pairs


def users_of(model, *numbers):
    return model.users_.ids(list(numbers)).tolist()


def items_of(model, *numbers):
    return model.items_.ids(list(numbers)).tolist()


# The answers of one user for every item, by item number.
def answers(model, user):
    return model.predict_pairs([(user, item) for item in model.items_.ids().tolist()])


# The items of a user in the order that they should come, by a full sort.
def order(model, user, shut=()):
    value = answers(model, user)
    found = [j for j in np.argsort(-value, kind="stable").tolist() if j not in set(shut)]
    return model.items_.ids(found).tolist(), value[found]


def liked(model, number):
    return model.pairs_.by_user.row(number).tolist()


def test_one_user_gives_rows_of_one_dimension_and_several_of_two(model):
    first, second = users_of(model, 0, 3)
    ids, scores = model.recommend(first, N=3)
    assert ids.shape == scores.shape == (3,)
    many, table = model.recommend([second, first], N=3)
    assert many.shape == table.shape == (2, 3)
    np.testing.assert_array_equal(many[1], ids)
    np.testing.assert_allclose(table[1], scores, rtol=1e-12)
    assert model.recommend([first], N=3)[0].shape == (1, 3)
    assert model.recommend(np.array([first, second]), N=3)[0].shape == (2, 3)
    assert model.recommend([], N=3)[0].shape == (0, 3)


def test_ten_are_given_where_nothing_is_said(model):
    assert model.recommend(users_of(model, 0)[0])[0].shape == (10,)


@pytest.mark.parametrize("number", range(N_USERS))
def test_the_best_new_items_come_in_order(model, number):
    (user,) = users_of(model, number)
    ids, scores = model.recommend(user, N=4)
    due, value = order(model, user, liked(model, number))
    n = min(4, len(due))
    assert ids[:n].tolist() == due[:n]
    np.testing.assert_allclose(scores[:n], value[:n], rtol=1e-9)


def test_items_of_the_fit_are_left_in_on_request(model):
    (user,) = users_of(model, 2)
    ids, scores = model.recommend(user, N=N_ITEMS, filter_already_liked_items=False)
    due, value = order(model, user)
    assert ids.tolist() == due
    np.testing.assert_allclose(scores, value, rtol=1e-9)


def test_named_items_are_left_out_for_every_user(model):
    out = items_of(model, 0, 4)
    ids, _ = model.recommend(users_of(model, 0, 1, 2), N=N_ITEMS, filter_items=out)
    assert not set(out) & set(ids.ravel().tolist())
    (user,) = users_of(model, 1)
    alone, _ = model.recommend(user, N=3, filter_already_liked_items=False, filter_items=out[0])
    assert alone.tolist() == order(model, user, [0])[0][:3]


def test_only_named_items_are_candidates(model):
    among = items_of(model, 7, 1, 3, 3)
    (user,) = users_of(model, 11)  # without a pair
    ids, scores = model.recommend(user, N=5, items=among)
    due, value = order(model, user, set(range(N_ITEMS)) - {1, 3, 7})
    assert ids[:3].tolist() == due
    np.testing.assert_allclose(scores[:3], value, rtol=1e-9)
    assert ids[3:].tolist() == [None, None]
    assert np.isneginf(scores[3:]).all()
    again, _ = model.recommend(user, N=5, items=among, filter_items=items_of(model, 3))
    assert set(again[:2]) == set(items_of(model, 1, 7))
    assert again[2:].tolist() == [None] * 3


def test_no_candidates_are_all_padding(model):
    ids, scores = model.recommend(users_of(model, 0, 1), N=2, items=[])
    assert ids.tolist() == [[None] * 2] * 2
    assert np.isneginf(scores).all()


def test_numbers_are_padded_with_minus_one(case):
    model = case.make().fit(case.pairs().to_scipy(), show_progress=False)
    ids, scores = model.recommend(0, N=N_ITEMS + 3)
    n = N_ITEMS - len(liked(model, 0))
    assert ids.dtype == np.int64
    assert (ids[:n] >= 0).all() and (ids[n:] == -1).all()
    assert np.isfinite(scores[:n]).all() and np.isneginf(scores[n:]).all()


def test_equal_items_come_in_their_order(case):
    if case.board is not None:
        pytest.skip("items without a difference are popularity's")
    model = case.make().fit(np.ones((2, 30)), show_progress=False)
    ids, _ = model.recommend([0, 1], N=7, filter_already_liked_items=False)
    assert ids.tolist() == [[*range(7)]] * 2


# --- histories ----------------------------------------


# Three histories, as rows of a matrix, as Pairs and as a mapping of names.
def histories(case, model):
    matrix = case.pairs().to_scipy()[[4, 0, 7]]
    asked = users_of(model, 4, 0, 7)
    names = model.items_.ids()
    rows = {
        user: {names[j]: v for j, v in zip(matrix[[r]].indices, matrix[[r]].data, strict=True)}
        for r, user in enumerate(asked)
    }
    others = [*rows, "nobody"]  # in another order, with one who is not asked
    mapping = {user: rows.get(user, {}) for user in reversed(others)}
    flat = [(u, i, v) for u, row in mapping.items() for i, v in row.items()]
    pairs = Pairs.of(*zip(*flat, strict=True))
    return asked, matrix, pairs, mapping


def test_a_matrix_pairs_and_a_mapping_say_the_same(case, model):
    asked, matrix, pairs, mapping = histories(case, model)
    learned, placed = ([] for _ in range(2))
    for given in (matrix, sparse.coo_matrix(matrix), matrix.toarray(), pairs, mapping):
        learned.append(model.recommend(asked, given, N=4))
        placed.append(model.recommend(asked, given, N=4, recalculate_user=True))
    for found in (learned, placed):
        for ids, scores in found[1:]:
            np.testing.assert_array_equal(ids, found[0][0])
            np.testing.assert_array_equal(scores, found[0][1])
    np.testing.assert_array_equal(learned[0][0], model.recommend(asked, N=4)[0])


def test_given_histories_are_filtered_and_those_of_the_fit_are_not(model):
    (user,), (item,) = users_of(model, 0), items_of(model, N_ITEMS - 1)
    ids, _ = model.recommend(user, {user: [item]}, N=N_ITEMS)
    assert sorted(ids[:-1]) == sorted(set(model.items_.ids().tolist()) - {item})
    assert ids[-1] is None


def test_one_row_answers_one_user(case, model):
    (user,) = users_of(model, 4)
    row = case.pairs().to_scipy()[[4]]
    ids, _ = model.recommend(user, row, N=3)
    np.testing.assert_array_equal(ids, model.recommend(user, N=3)[0])


def test_new_users_are_placed_by_what_they_have(case, model):
    asked, matrix, _, mapping = histories(case, model)
    renamed = {f"new {user}": row for user, row in mapping.items()}
    ids, scores = model.recommend([f"new {user}" for user in asked], renamed, N=4, recalculate_user=True)
    due = model.recommend(asked, matrix, N=4, recalculate_user=True)
    np.testing.assert_array_equal(ids, due[0])
    np.testing.assert_array_equal(scores, due[1])


def test_a_user_in_no_history_is_an_empty_one(model):
    ids, scores = model.recommend("nobody", {}, N=N_ITEMS, recalculate_user=True)
    assert sorted(ids) == sorted(model.items_.ids())
    assert np.isfinite(scores).all()


def test_a_history_may_be_empty_or_name_values_one_by_one(model):
    first, second = items_of(model, 0, 1)
    same = [{first: 2.0, second: 1.0}, [(first, 2.0), second], ((second, 1), (first, 2))]
    if model.data == "binary":
        same = [[first, second], {first: 1, second: 1.0}, [(second, 1), first]]
    found = [model.recommend("new", {"new": row}, N=3, recalculate_user=True) for row in same]
    for ids, scores in found[1:]:
        np.testing.assert_array_equal(ids, found[0][0])
        np.testing.assert_array_equal(scores, found[0][1])


def test_an_item_that_stands_twice_in_a_history_has_the_mean_of_its_values(model):
    (item,) = items_of(model, 2)
    twice, once = ([(item, 1.0), (item, 3.0)], {item: 2.0}) if model.data == "ratings" else ([item, item], [item])
    found = [model.recommend("new", {"new": history}, recalculate_user=True) for history in (twice, once)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_unknown_items_of_a_history_are_left_out_and_one_is_named(model):
    known = items_of(model, 0, 1)
    with pytest.warns(UnknownIdWarning, match=r"2 of 4 items of the given histories, such as 'pear', are not known"):
        ids, scores = model.recommend("new", {"new": [known[0], "pear", known[1], "fig"]}, recalculate_user=True)
    due = model.recommend("new", {"new": known}, recalculate_user=True)
    np.testing.assert_array_equal(ids, due[0])
    np.testing.assert_array_equal(scores, due[1])


def test_the_warning_points_at_whoever_asked(model):
    with pytest.warns(UnknownIdWarning) as told:
        model.recommend("new", {"new": ["pear"]}, recalculate_user=True)
    assert told[0].filename == __file__


def test_unknown_users_and_items_are_named(model):
    for ask in (
        lambda: model.recommend("pear"),
        lambda: model.recommend([*users_of(model, 0), "pear"]),
        lambda: model.recommend(users_of(model, 0), filter_items=["pear"]),
        lambda: model.recommend(users_of(model, 0)[0], items="pear"),
    ):
        with pytest.raises(UnknownIdError, match=r"'pear' is not known"):
            ask()


def test_users_are_not_placed_by_nothing(model):
    with pytest.raises(ConfigError, match=r"recalculate_user=True places users by their pairs: give user_items"):
        model.recommend("new", recalculate_user=True)


# --- what is ranked by, and its spread ----------------------------------------


def test_the_spread_stands_beside_the_score(model):
    asked = users_of(model, 0, 5)
    ids, scores, spread = model.recommend(asked, N=3, return_std=True)
    plain = model.recommend(asked, N=3)
    np.testing.assert_array_equal(ids, plain[0])
    np.testing.assert_array_equal(scores, plain[1])
    cells = [(user, item) for user, row in zip(asked, ids, strict=True) for item in row]
    value, due = model.predict_pairs(cells, return_std=True)
    np.testing.assert_allclose(scores.ravel(), value, rtol=1e-9)
    np.testing.assert_allclose(spread.ravel(), due, rtol=1e-9)


def test_padding_has_no_spread(model):
    ids, _, spread = model.recommend(users_of(model, 0)[0], N=N_ITEMS, return_std=True)
    padded = np.array([one is None for one in ids])
    assert padded.any()
    np.testing.assert_array_equal(np.isnan(spread), padded)


def test_mean_ranks_by_the_mean_of_the_latent_value(model):
    (user,) = users_of(model, 3)
    ids, scores = model.recommend(user, N=N_ITEMS, filter_already_liked_items=False, rank_by="mean")
    posterior = model.posterior_
    latent = np.mean(posterior.offset + np.einsum("ck,cjk->jc", posterior.user[:, 3], posterior.item), axis=1)
    if not posterior.item.shape[2]:  # then every latent value is the same
        latent = model.predict_pairs([(user, item) for item in model.items_.ids()])
    numbers = model.items_.numbers(ids)
    np.testing.assert_allclose(scores, latent[numbers], rtol=1e-5)
    assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("wrong", ["best", None, "Mean"])
def test_another_rank_is_named(model, wrong):
    with pytest.raises(ConfigError, match=rf"rank_by={wrong!r} is unknown: give one of 'answer', 'mean'"):
        model.recommend(users_of(model, 0)[0], rank_by=wrong)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "3", None])
def test_another_number_of_answers_is_named(model, wrong):
    for ask in (model.recommend, model.similar_users):
        with pytest.raises(ConfigError, match=rf"N={wrong!r} is no number of answers"):
            ask(users_of(model, 0)[0], N=wrong)


def test_more_answers_than_anyone_could_mean_are_refused_before_memory_is_taken(model):
    for ask in (model.recommend, model.similar_users):
        with pytest.raises(ConfigError, match="N=1000000000 asks for more than the "):
            ask(users_of(model, 0)[0], N=10**9)


@pytest.mark.parametrize("held", [1, 100])
def test_users_and_pairs_are_answered_alike_in_blocks_of_any_height(case, model, monkeypatch, held):
    asked, matrix, _, _ = histories(case, model)
    shut, every = items_of(model, 1), [(user, item) for user in asked for item in model.items_.ids()]

    def ask():
        learned = model.recommend(asked, N=5, filter_items=shut, return_std=True)
        placed = model.recommend(asked, matrix, N=5, filter_items=shut, recalculate_user=True, return_std=True)
        return *learned, *placed, *model.predict_pairs(every, return_std=True)

    whole = ask()
    monkeypatch.setattr(verbs, "HELD", held)
    for due, found in zip(whole, ask(), strict=True):
        if due.dtype == object:
            np.testing.assert_array_equal(found, due)
        else:
            np.testing.assert_allclose(found, due, rtol=1e-12)


def test_blocks_cover_every_row_and_hold_no_more_than_they_should(model):
    components, _, columns = model.posterior_.user.shape
    for n in (0, 1, 7, 10**6):
        for square in (False, True):
            parts = verbs._blocks(model.posterior_, n, square)
            covered = np.concatenate([np.arange(part.start, part.stop) for part in parts])
            np.testing.assert_array_equal(covered, np.arange(n))
            height = max(part.stop - part.start for part in parts)
            assert height <= 1 or height * components * columns * (columns if square else 1) <= verbs.HELD


def test_a_question_takes_no_more_threads_than_the_model(case, model, monkeypatch):
    asked = []
    monkeypatch.setattr(rank, "thread_count", lambda n_jobs: asked.append(n_jobs) or 1)
    one = copy(model).set_params(n_jobs=3)
    scores = one.recommend(users_of(model, 0)[0], N=4)[1]
    one.score(case.pairs())
    assert set(asked) == (set() if kernels.compiled("top_n") is None else {3})
    np.testing.assert_array_equal(scores, model.recommend(users_of(model, 0)[0], N=4)[1])
