from __future__ import annotations

import copy

import numpy as np
import pytest
from contract.cases import N_ITEMS, N_USERS, small

from dyads.engines.local import Local
from dyads.errors import ConfigError, DataError
from dyads.pairs import Pairs, csr
from dyads.state import arrays_equal
from dyads.streams import At

NEW = (["user 3", "zoe", "zoe", "user 0"], ["ítem 1", "ítem 1", "kiwi", "kiwi"])


def quiet(case, pairs=None, **more):
    return case.make(**more).fit(case.pairs() if pairs is None else pairs, show_progress=False)


def more_pairs(case, value=1.0):
    return Pairs.of(*NEW, None if case.kind == "binary" else [value] * 4)


def cells(pairs):
    return {(user, item): value for user, item, value in pairs}


def test_new_users_and_items_join_after_the_old_ones(case):
    model = quiet(case)
    model.partial_fit(more_pairs(case), show_progress=False)
    assert model.users_.ids().tolist() == [*case.pairs().users.ids(), "zoe"]
    assert model.items_.ids().tolist() == [*case.pairs().items.ids(), "kiwi"]
    assert np.isfinite(model.predict_pairs([("zoe", "ítem 5"), ("user 2", "kiwi"), ("zoe", "kiwi")])).all()
    ids, scores = model.recommend("zoe", N=N_ITEMS - 1)
    assert not {"ítem 1", "kiwi"} & set(ids) and np.isfinite(scores).all()
    assert model.n_features_in_ == N_ITEMS + 1


def test_counts_add_and_newer_ratings_replace_older_ones(case):
    before, model = cells(case.pairs()), quiet(case)
    model.partial_fit(more_pairs(case, 2.0), show_progress=False)
    due = dict(before)
    for cell in zip(*NEW, strict=True):
        if case.kind == "counts":
            due[cell] = due.get(cell, 0.0) + 2.0
        else:
            due[cell] = 1.0 if case.kind == "binary" else 2.0
    assert cells(model.pairs_) == due


def test_the_last_of_several_new_ratings_is_not_a_sum(case):
    if case.kind != "ratings":
        pytest.skip("only ratings are replaced")
    model = quiet(case).partial_fit(more_pairs(case, 2.0), show_progress=False)
    model.partial_fit(more_pairs(case, 4.0), show_progress=False)
    assert cells(model.pairs_)["zoe", "kiwi"] == 4.0


def test_ticks_and_seed_go_on(case):
    model = quiet(case, random_state=None)
    ticks, seed = model.n_iter_, model.seed_
    told = []
    model.partial_fit(more_pairs(case), show_progress=False, callback=told.append)
    assert model.seed_ == seed
    assert model.n_iter_ > ticks
    assert all(record.tick == ticks + record.done for record in told)
    assert told[-1].tick == model.n_iter_


def test_the_first_partial_fit_is_a_fit(case, model):
    first = case.make().partial_fit(case.pairs(), show_progress=False)
    assert arrays_equal(first.posterior_, model.posterior_)


def test_the_same_pairs_later_give_the_same_bits(case):
    first, second = (quiet(case).partial_fit(more_pairs(case), show_progress=False) for _ in range(2))
    assert arrays_equal(first.posterior_, second.posterior_)
    assert first._learned().fingerprint == second._learned().fingerprint


def test_what_was_learned_before_is_not_written_over(case):
    model = quiet(case)
    before, kept = model.fitted_, copy.deepcopy(model.fitted_)
    model.partial_fit(more_pairs(case), show_progress=False)
    assert arrays_equal(before.states, kept.states)
    assert arrays_equal(before.posterior, kept.posterior)
    assert before.pairs.fingerprint == kept.pairs.fingerprint


def test_a_failed_partial_fit_leaves_the_model_as_it_was(case):
    model = quiet(case)
    before = model.fitted_
    with pytest.raises(DataError):
        model.partial_fit(np.full((2, 2), np.nan), show_progress=False)
    assert model.fitted_ is before


# A grown state starts from the rows that were learned.
def test_old_rows_go_on_from_where_they_stood(personal):
    pairs, grown = personal.pairs(), small(personal.kind, 2)
    model, engine = quiet(personal, pairs), Local(1)
    users, items = grown.users.take(np.arange(N_USERS)), grown.items
    more = Pairs.numbered(
        users.union(Pairs.of(["zoe"], ["x"]).users)[0],
        items.union(Pairs.of(["z"], ["kiwi"]).items)[0],
        grown.rows(),
        grown.columns(),
        grown.values() if personal.kind == "ratings" else None,
    )
    old = model._learned().states[0]
    start = model.init(more, engine, At(model.seed_, 0, old.tick), old)
    for now, then, n in ((start.user, old.user, N_USERS), (start.item, old.item, N_ITEMS)):
        assert now.n_rows == n + 1
        for name in ("factors", "bias"):
            if hasattr(then, name):
                np.testing.assert_array_equal(getattr(now.arrays, name)[:n], getattr(then, name))
        assert np.abs(now.arrays.factors[n]).max() > 0
    assert start.tick == old.tick


def blocks(case):
    return case.pairs().to_scipy()[:8, :7], small(case.kind, 3).to_scipy()


def test_strings_and_numbers_give_the_same_bits(case):
    first, second = blocks(case)
    users, items = [f"u{r}" for r in range(N_USERS)], [f"i{c}" for c in range(N_ITEMS)]
    numbered = quiet(case, first).partial_fit(second, show_progress=False)
    named = quiet(case, Pairs.from_matrix(first, users[:8], items[:7]))
    named.partial_fit(Pairs.from_matrix(second, users, items), show_progress=False)
    assert arrays_equal(numbered.posterior_, named.posterior_)
    assert arrays_equal(numbered._learned().states, named._learned().states)
    assert numbered.users_.ids().tolist() == [*range(N_USERS)]
    np.testing.assert_array_equal(numbered.recommend(3, N=4)[1], named.recommend("u3", N=4)[1])


def test_rows_of_a_bare_matrix_are_those_of_the_matrix_before(case):
    first, second = blocks(case)
    shorter = quiet(case, second).partial_fit(second[:3], show_progress=False)
    assert len(shorter.users_) == N_USERS
    with pytest.raises(ValueError, match=r"X has 7 features, but \w+ is expecting 9 features as input"):
        quiet(case, second).partial_fit(first, show_progress=False)


def test_hidden_cells_stay_hidden(case):
    pairs = case.pairs()
    user, item = pairs.users.number("user 3"), pairs.items.number("ítem 1")
    hidden = csr([user, 4], [item, 8], None, *pairs.shape)
    model = quiet(case, pairs.with_hidden(hidden))
    assert ("user 3", "ítem 1") not in cells(model.pairs_)
    model.partial_fit(more_pairs(case), show_progress=False)
    assert ("user 3", "ítem 1") not in cells(model.pairs_)
    assert model.pairs_.hidden.nnz == 2
    assert model.pairs_.hidden.contains([user, 4], [item, 8], N_ITEMS + 1).all()
    late = quiet(case, pairs).partial_fit(more_pairs(case).with_hidden(csr([0], [0], None, 3, 2)), show_progress=False)
    assert ("user 3", "ítem 1") not in cells(late.pairs_)


def test_popularity_goes_on_to_what_it_would_have_been(case):
    if case.board is not None:
        pytest.skip("others go on from where they stood, not to the same place")
    first, second = blocks(case)
    both = second.toarray()
    both[:8, :7] += first
    later = quiet(case, first).partial_fit(second, show_progress=False)
    np.testing.assert_array_equal(later.posterior_.item_alpha, quiet(case, both).posterior_.item_alpha)


def test_another_number_of_factors_cannot_go_on(personal):
    model = quiet(personal).set_params(n_factors=7)
    held = personal.fast["n_factors"]
    with pytest.raises(ConfigError, match=rf"n_factors=7 cannot go on from a fit with {held}: fit again"):
        model.partial_fit(more_pairs(personal), show_progress=False)


def test_ids_of_the_other_type_are_refused(case):
    with pytest.raises(DataError, match=r"ids such as 'user 0' and 3 do not mix"):
        quiet(case).partial_fit(Pairs.of([3], [1]), show_progress=False)
