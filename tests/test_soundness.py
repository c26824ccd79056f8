# Parts of a model file that do not fit together, each named once.

from __future__ import annotations

import numpy as np
import pytest
from contract.cases import CASES

from dyads import soundness
from dyads.errors import DataError
from dyads.pairs import Csr
from dyads.state import Bare
from dyads.strings import encode
from dyads.vocabulary import Vocabulary

N_USERS, N_ITEMS = 12, 9


def fitted(case):
    return case.make().fit(case.pairs(), show_progress=False)._learned()


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def learned(request):
    return fitted(request.param)


def i64(*numbers):
    return np.array(numbers, dtype=np.int64)


def text(*words):
    strings = encode(list(words))
    return {"bytes": strings.data, "offsets": strings.offsets}


# --- vocabularies ---


@pytest.mark.parametrize(
    ("kind", "arrays", "ids"),
    [
        ("range", {"size": i64(3)}, [0, 1, 2]),
        ("range", {"size": i64(0)}, []),
        ("integers", {"ids": i64(5, -2)}, [5, -2]),
        ("strings", text("a", "", "größe", "日本"), ["a", "", "größe", "日本"]),
        ("strings", text(), []),
    ],
)
def test_vocabularies_that_are_sound(kind, arrays, ids):
    assert soundness.vocabulary(kind, arrays, "user").ids().tolist() == ids


@pytest.mark.parametrize(
    ("kind", "arrays", "said"),
    [
        ("words", {"ids": i64(1)}, "the user ids are 'words' in arrays"),
        ("range", {"ids": i64(1)}, "which is no vocabulary"),
        ("integers", {"ids": np.array([1.0])}, "float64.*which is no vocabulary"),
        ("integers", {"ids": i64(1).reshape(1, 1)}, "which is no vocabulary"),
        ("integers", {"ids": i64(1), "size": i64(1)}, "which is no vocabulary"),
        ("integers", {"ids": None}, "which is no vocabulary"),
        ("range", {"size": i64(-1)}, r"a range of \[-1\] numbers"),
        ("range", {"size": i64(2**31)}, r"a range of \[2147483648\] numbers"),
        ("range", {"size": i64(3, 3)}, r"a range of \[3, 3\] numbers"),
        ("range", {"size": i64()}, r"a range of \[\] numbers"),
        ("strings", {**text("ab", "c"), "offsets": i64(0, 2)}, "do not cut its bytes from start to end"),
        ("strings", {**text("ab", "c"), "offsets": i64(1, 2, 3)}, "do not cut"),
        ("strings", {**text("ab", "c"), "offsets": i64(0, 5, 3)}, "do not cut"),
        ("strings", {**text("ab", "c"), "offsets": i64()}, "do not cut"),
        ("strings", {"bytes": np.array([255, 65], np.uint8), "offsets": i64(0, 2)}, "are not UTF-8 text"),
        ("strings", {**text("é", "c"), "offsets": i64(0, 1, 3)}, "are not UTF-8 text"),
    ],
)
def test_vocabularies_that_are_not(kind, arrays, said):
    with pytest.raises(DataError, match=said):
        soundness.vocabulary(kind, arrays, "user")


def test_text_is_looked_at_across_blocks(monkeypatch):
    monkeypatch.setattr(soundness, "_BLOCK", 3)
    words = ["größe", "ß", "日本語", "a" * 10]
    assert soundness.vocabulary("strings", text(*words), "item").ids().tolist() == words
    cut = text("日本")
    cut["bytes"] = cut["bytes"].copy()
    cut["bytes"][4] = 65
    with pytest.raises(DataError, match=r"the item ids are not UTF-8 text"):
        soundness.vocabulary("strings", cut, "item")


# --- rows ---

BLOCK = Csr(i64(0, 2, 2, 3), np.array([0, 3, 1], dtype=np.int32), None)


def test_rows_that_are_sound():
    soundness.rows(BLOCK, 3, 4, "pairs")
    soundness.rows(BLOCK._replace(val=np.ones(3, np.float32)), 3, 4, "pairs")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ptr": i64(0, 3)}, "the pairs have 1 rows and there are 3 users"),
        ({"ptr": i64(0, 2, 2, 3).reshape(2, 2)}, "the pairs have"),
        ({"idx": BLOCK.idx.reshape(1, 3)}, "the pairs have 3 rows"),
        ({"ptr": i64(1, 2, 2, 3)}, "the rows of the pairs do not cut its 3 entries from start to end"),
        ({"ptr": i64(0, 2, 2, 2)}, "do not cut its 3 entries"),
        ({"ptr": i64(0, 3, 2, 3)}, "do not cut its 3 entries"),
        ({"ptr": i64(0, -2, 2, 3)}, "do not cut its 3 entries"),
        ({"val": np.ones(2, np.float32)}, "the pairs have 3 entries and 2 values"),
        ({"idx": np.array([0, 4, 1], np.int32)}, "the pairs name an item outside the 4 items"),
        ({"idx": np.array([0, -1, 1], np.int32)}, "the pairs name an item outside the 4 items"),
    ],
)
def test_rows_that_are_not(change, said):
    with pytest.raises(DataError, match=said):
        soundness.rows(BLOCK._replace(**change), 3, 4, "pairs")


# --- posteriors ---


def test_posteriors_of_every_method_are_sound(learned):
    soundness.posterior(learned.posterior, N_USERS, N_ITEMS)


@pytest.mark.parametrize("name", ["user", "item", "offset", "offset_var", "noise", "item_alpha"])
def test_posteriors_with_an_array_of_another_shape(learned, name):
    array = getattr(learned.posterior, name)
    if array is None:
        pytest.skip("this method has no such array")
    for other in (np.concatenate([array, array]), array[None], array[..., :0] if array.size else array[..., None]):
        changed = learned.posterior._replace(**{name: other})
        with pytest.raises(DataError, match=r"posterior's \w+ is of shape|of the posterior is of shape|cannot be"):
            soundness.posterior(changed, N_USERS, N_ITEMS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"link": "cloglog"}, "the link 'cloglog', which cannot be"),
        ({"n_factors": -1}, "-1 factors"),
        ({"n_factors": 99}, "99 factors"),
        ({"clip": np.zeros(3)}, r"clip is of shape \(3,\) and should be \(2,\)"),
        ({"user_var": np.zeros((1, 1, 1), np.float32)}, r"user_var is of shape \(1, 1, 1\)"),
        ({"small": (np.zeros(77),)}, r"a part of the posterior is of shape \(77,\)"),
    ],
)
def test_posteriors_that_cannot_be(learned, change, said):
    with pytest.raises(DataError, match=said):
        soundness.posterior(learned.posterior._replace(**change), N_USERS, N_ITEMS)


def test_a_posterior_without_components_is_refused(learned):
    none = {
        name: value[:0]
        for name, value in learned.posterior._asdict().items()
        if isinstance(value, np.ndarray) and name != "clip"
    }
    with pytest.raises(DataError, match=r"the posterior has 0 components"):
        soundness.posterior(learned.posterior._replace(**none, small=None), N_USERS, N_ITEMS)


# --- states ---


def test_states_of_every_method_are_sound(learned):
    soundness.states(learned.states, N_USERS, N_ITEMS, empty=False)
    soundness.states((Bare(None, None, None, 3),), N_USERS, N_ITEMS, empty=True)


@pytest.mark.parametrize(
    ("states", "empty", "said"),
    [
        (lambda s: (), False, "there is no state of a chain"),
        (lambda s: (s._replace(tick=-1),), False, "a state at tick -1 is not whole"),
        (lambda s: (s._replace(user=None),), False, "is not whole"),
        (lambda s: (s._replace(item=None),), False, "is not whole"),
        (lambda s: (s,), True, "is not whole"),
        (lambda s: (s._replace(user=s.item),), False, "a state has an array of shape .* for 12 users"),
        (lambda s: (s._replace(item=s.user),), False, "a state has an array of shape .* for 9 items"),
    ],
)
def test_states_that_are_not(learned, states, empty, said):
    with pytest.raises(DataError, match=said):
        soundness.states(states(learned.states[0]), N_USERS, N_ITEMS, empty)


def test_a_vocabulary_comes_back_from_its_own_arrays(learned):
    for ids in (learned.users, learned.items, Vocabulary.range(4), Vocabulary.of([3, 9], "user")):
        assert soundness.vocabulary(ids.kind, ids.arrays(), "user") == ids


# --- parts are those that the model makes itself ---


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def model(request):
    return request.param.make().fit(request.param.pairs(), show_progress=False)


def test_what_a_fit_has_left_is_as_made(model):
    soundness.as_made(model, model.posterior_, model._learned().states)
    if hasattr(model, "n_factors"):  # which a user may change after a fit
        model.set_params(n_factors=40)
        soundness.as_made(model, model.posterior_, model._learned().states)


def test_parts_of_another_kind_type_or_width_are_named(model):
    posterior, state = model.posterior_, model._learned().states[0]
    name, rows = type(state.item)._fields[0], state.item[0]
    changes = [
        (posterior, state._replace(small=None), "its state.small is None and should be a"),
        (posterior, state._replace(user=(1, 2)), "its state.user is a tuple and should be a"),
        (posterior, _item(state, name, rows.astype(np.float16)), rf"its state.item.{name} is float16"),
        (posterior, _item(state, name, rows[..., None]), rf"its state.item.{name} is \w+\(9, .* and should be"),
        (posterior, _item(state, name, rows[:-1]), rf"its state.item.{name} is \w+\(8,.* and should be \w+\(9,"),
        (posterior._replace(link="logistic"), state, "its posterior.link is 'logistic' and should be"),
        (posterior._replace(item_alpha=3.0), state, "its posterior.item_alpha is a float and should be"),
        (posterior._replace(small=(np.zeros(3),)), state, "its posterior.small is a tuple and should be"),
    ]
    for changed, other, said in changes:
        with pytest.raises(DataError, match=said):
            soundness.as_made(model, changed, (other,))


def _item(state, name, array):
    return state._replace(item=state.item._replace(**{name: array}))
