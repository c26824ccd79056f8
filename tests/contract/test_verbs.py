# Neighbours, predictions, factors, a score: what a fitted model is asked besides recommendations.

from __future__ import annotations

import numpy as np
import pytest
from contract.cases import N_ITEMS, N_USERS

from dyads.errors import ConfigError, DataError, NotFittedError, UnknownIdError
from dyads.pairs import Pairs
from dyads.posterior import last

SIDES = ["user", "item"]


def ids_of(model, side, *numbers):
    return (model.users_ if side == "user" else model.items_).ids(list(numbers)).tolist()


def neighbours(model, side):
    return model.similar_users if side == "user" else model.similar_items


def rows_of(case, side):
    matrix = case.pairs().to_scipy()
    return matrix if side == "user" else matrix.T.tocsr()


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def needs_factors(case):
    if case.board is None:
        pytest.skip("a method without factors has no neighbours")


# --- neighbours ----------------------------------------


@pytest.mark.parametrize("side", SIDES)
def test_neighbours_are_those_of_the_largest_cosine(case, model, side):
    needs_factors(case)
    factors = (model.user_factors_ if side == "user" else model.item_factors_).astype(np.float64)
    cosine = unit(factors) @ unit(factors).T
    n = len(factors)
    asked = ids_of(model, side, *range(n))
    ids, found = neighbours(model, side)(asked, N=n)
    for row in range(n):
        due = np.argsort(-cosine[row], kind="stable")
        assert ids[row, 0] == asked[row]
        assert sorted(ids[row]) == sorted(asked)
        np.testing.assert_allclose(found[row], cosine[row, due], atol=1e-12)
    one, alone = neighbours(model, side)(asked[2], N=3)
    assert one.tolist() == ids[2, :3].tolist()
    np.testing.assert_allclose(alone, found[2, :3], atol=1e-12)


def test_neighbours_are_limited_as_recommendations_are(case, model):
    needs_factors(case)
    one, two, three, four = ids_of(model, "item", 0, 1, 2, 3)
    assert not {one, two} & set(model.similar_items(one, N=N_ITEMS, filter_items=[one, two])[0][:-2])
    ids, cosines = model.similar_items(one, N=5, items=[three, four])
    assert set(ids[:2]) == {three, four}
    assert ids[2:].tolist() == [None] * 3 and np.isneginf(cosines[2:]).all()
    ann, ben, cleo = ids_of(model, "user", 0, 1, 2)
    assert model.similar_users(ann, N=3, users=[ben, cleo], filter_users=ben)[0].tolist() == [cleo, None, None]


def test_a_method_without_factors_has_no_neighbours(case, model):
    if case.board is not None:
        pytest.skip("this method has factors")
    for side in SIDES:
        with pytest.raises(ConfigError, match=r"Popularity has no factors here, so nothing is near"):
            neighbours(model, side)(ids_of(model, side, 0)[0])


def test_neighbours_of_an_item_placed_anew_are_those_of_its_factors(case, model):
    needs_factors(case)
    rows = rows_of(case, "item")
    (item,) = ids_of(model, "item", 2)
    placed = model.recalculate_item(item, rows[[2]])
    cosine = unit(placed[None]) @ unit(model.item_factors_.astype(np.float64)).T
    ids, found = model.similar_items(item, N=N_ITEMS, recalculate_item=True, item_users=rows[[2]])
    np.testing.assert_allclose(found, np.sort(cosine[0])[::-1], atol=1e-9)
    by_name = {item: dict(zip(ids_of(model, "user", *rows[[2]].indices), rows[[2]].data, strict=True))}
    named, _ = model.similar_items(item, N=N_ITEMS, recalculate_item=True, item_users=by_name)
    assert named.tolist() == ids.tolist()
    with pytest.raises(ConfigError, match=r"items are placed by their pairs: give item_users"):
        model.similar_items(item, recalculate_item=True)


# --- factors ----------------------------------------


@pytest.mark.parametrize("side", SIDES)
def test_factors_placed_anew_have_one_row_each(case, model, side):
    place, rows = getattr(model, f"recalculate_{side}"), rows_of(case, side)
    k = model.posterior_.n_factors
    asked = ids_of(model, side, 3, 0, 5)
    many = place(asked, rows[[3, 0, 5]])
    assert many.shape == (3, k) and many.dtype == np.float64
    for r, one in enumerate(asked):
        alone = place(one, rows[[[3, 0, 5][r]]])
        assert alone.shape == (k,)
        np.testing.assert_array_equal(alone, many[r])


@pytest.mark.parametrize("side", SIDES)
def test_covariances_come_on_request_or_not_at_all(case, model, side):
    place, rows = getattr(model, f"recalculate_{side}"), rows_of(case, side)
    asked = ids_of(model, side, 3, 0)
    if model.posterior_.small is None or case.kind != "ratings":
        with pytest.raises(ConfigError, match=r"is a point estimate and has no covariance"):
            place(asked, rows[[3, 0]], return_cov=True)
        return
    k = model.posterior_.n_factors
    mean, cov = place(asked, rows[[3, 0]], return_cov=True)
    np.testing.assert_array_equal(mean, place(asked, rows[[3, 0]]))
    assert cov.shape == (2, k, k)
    assert (np.linalg.eigvalsh(cov) > 0).all()
    one, alone = place(asked[0], rows[[3]], return_cov=True)
    np.testing.assert_array_equal(one, mean[0])
    np.testing.assert_array_equal(alone, cov[0])


def test_transform_gives_the_rows_that_recalculate_user_gives(case, model):
    matrix = case.pairs().to_scipy()
    placed = model.transform(matrix)
    assert placed.shape == (N_USERS, model.posterior_.n_factors)
    np.testing.assert_array_equal(placed, model.recalculate_user(model.users_.ids(), matrix))
    np.testing.assert_array_equal(placed, model.transform(case.pairs()))
    np.testing.assert_array_equal(placed, case.make().fit_transform(case.pairs()))


def test_factors_and_biases_are_those_of_the_last_draw(model):
    posterior, k = last(model.posterior_), model.posterior_.n_factors
    for side, n in (("user", N_USERS), ("item", N_ITEMS)):
        factors, bias = getattr(model, f"{side}_factors_"), getattr(model, f"{side}_bias_")
        assert factors.shape == (n, k) and bias.shape == (n,)
        np.testing.assert_array_equal(factors, getattr(posterior, side)[0, :, :k])
        np.testing.assert_array_equal(getattr(model, f"{side}_factors"), factors)
    if k:
        latent = posterior.offset[0] + np.einsum("ik,jk->ij", posterior.user[0], posterior.item[0])
        due = posterior.offset[0] + model.user_factors @ model.item_factors.T
        np.testing.assert_allclose(latent, due + model.user_bias_[:, None] + model.item_bias_, rtol=1e-4, atol=1e-5)


# --- predictions ----------------------------------------


def test_pairs_are_predicted_in_their_order_whatever_they_come_in(case, model):
    cells = [(u, i) for u in ids_of(model, "user", 5, 0, 5) for i in ids_of(model, "item", 2, 7)]
    value = model.predict_pairs(cells)
    assert value.shape == (6,) and value.dtype == np.float64
    np.testing.assert_array_equal(value[:2], value[4:])
    np.testing.assert_array_equal(model.predict_pairs(np.array(cells, dtype=object)), value)
    np.testing.assert_array_equal(model.predict_pairs(np.array(cells)), value)
    np.testing.assert_array_equal(model.predict_pairs(iter(cells)), value)
    pairs = case.pairs()
    named = [(u, i) for u, i, _ in pairs]
    np.testing.assert_array_equal(model.predict_pairs(pairs), model.predict_pairs(named))
    assert model.predict_pairs([]).shape == (0,)


def test_pairs_of_other_vocabularies_are_looked_up_by_id(model):
    users, items = ids_of(model, "user", 8, 1), ids_of(model, "item", 6, 0)
    other = Pairs.of([users[0], users[1], users[0]], [items[0], items[1], items[1]])
    due = model.predict_pairs([(users[0], items[0]), (users[0], items[1]), (users[1], items[1])])
    np.testing.assert_array_equal(model.predict_pairs(other), due)


def test_the_spread_of_parameters_and_of_a_new_value(model):
    cells = [(u, i) for u in ids_of(model, "user", 0, 4) for i in ids_of(model, "item", 0, 5)]
    value, spread = model.predict_pairs(cells, return_std=True)
    np.testing.assert_array_equal(value, model.predict_pairs(cells))
    again, whole = model.predict_pairs(cells, return_std=True, with_noise=True)
    np.testing.assert_array_equal(again, value)
    noise = 0.0 if model.posterior_.noise is None else np.mean(model.posterior_.noise)
    np.testing.assert_allclose(whole**2, spread**2 + noise, rtol=1e-12, atol=1e-300)
    assert (spread >= 0).all()


def test_unknown_ids_of_pairs_are_named(model):
    (user,), (item,) = ids_of(model, "user", 0), ids_of(model, "item", 0)
    for given in ([(user, item), ("pear", item)], Pairs.of([user, "pear"], [item, item])):
        with pytest.raises(UnknownIdError, match=r"user 'pear' is not known"):
            model.predict_pairs(given)
    for given in ([(user, 3)], Pairs.of([user], [3])):
        with pytest.raises(UnknownIdError, match=r"item 3 is not known.*: ids here are strings"):
            model.predict_pairs(given)


# --- the score ----------------------------------------


def held_out(case):
    return case.data(case.kind, 5)


def test_the_score_is_what_the_answer_asks_for(case, model):
    test = held_out(case)
    said, truth = model.predict_pairs(test), test.values().astype(np.float64)
    if model.answer == "probability":
        due = np.sum(truth * np.log(said)) / truth.sum()
    elif model.answer == "rating":
        due = -np.sqrt(np.mean((said - truth) ** 2))
    else:
        due = mean_recall(model, test)
    assert model.score(test) == pytest.approx(due, rel=1e-12)
    assert model.score(test.to_scipy()) == model.score(test)


def mean_recall(model, test):
    users, found = test.users.ids(), []
    for number in np.flatnonzero(test.by_user.counts()).tolist():
        best = set(model.recommend(users[number], N=10)[0])
        mine = test.items.ids(test.by_user.row(number)).tolist()
        found.append(np.mean([one in best for one in mine]))
    return np.mean(found)


def test_nothing_cannot_be_scored(case, model):
    none = case.pairs().select(np.zeros(case.pairs().n_pairs, dtype=bool))
    for given in (none, none.to_scipy()):
        with pytest.raises(DataError, match=r"hold no pairs .*: a score needs at least one"):
            model.score(given)


# --- before a fit ----------------------------------------


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.recommend(0),
        lambda m: m.similar_items(0),
        lambda m: m.similar_users(0),
        lambda m: m.recalculate_user(0, [[1.0]]),
        lambda m: m.recalculate_item(0, [[1.0]]),
        lambda m: m.predict_pairs([(0, 0)]),
        lambda m: m.predict_pairs([]),
        lambda m: m.transform([[1.0]]),
        lambda m: m.score([[1.0]]),
        lambda m: m.save("nowhere.dyads"),
        lambda m: m.posterior_,
        lambda m: m.user_factors,
    ],
    ids=[
        "recommend",
        "items",
        "users",
        "user",
        "item",
        "pairs",
        "no-pairs",
        "transform",
        "score",
        "save",
        "posterior",
        "factors",
    ],
)
def test_a_fit_is_asked_for_first(case, ask):
    model = case.make()
    with pytest.raises(NotFittedError, match=rf"this {type(model).__name__} has no fitted state; call fit\(X\) first"):
        ask(model)
