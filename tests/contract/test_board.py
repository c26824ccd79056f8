# The checkerboard, of which the right answers are known: even goes with even, odd with odd. The diagonal is withheld,
# so that the best new item of user i is item i; of ratings a second diagonal of ones is withheld too.

from __future__ import annotations

import numpy as np
import pytest
from contract.cases import BOARD, checkerboard

EVERYONE = np.arange(BOARD)


def given_of(personal):
    return checkerboard(personal.kind)[0]


def good(users, items):
    return (users + items) % 2 == 0


def test_the_withheld_diagonal_comes_first(board):
    ids, scores = board.recommend(EVERYONE, N=2)
    assert ids[:, 0].tolist() == EVERYONE.tolist()
    assert (scores[:, 0] > scores[:, 1]).all()


def test_the_diagonal_comes_first_for_users_placed_by_their_rows(board, personal):
    rows = given_of(personal).to_scipy()
    ids, _ = board.recommend(EVERYONE, rows, N=2, recalculate_user=True)
    assert ids[:, 0].tolist() == EVERYONE.tolist()


def test_a_new_user_is_given_the_rest_of_its_kind(board, personal):
    value = 5.0 if personal.kind == "ratings" else 1.0
    for first in (0, 1):
        known = [*range(first, BOARD, 2)][:6]
        history = dict.fromkeys(known, value)
        if personal.kind == "ratings":
            history |= dict.fromkeys(range(1 - first, BOARD, 2), 1.0)
        ids, _ = board.recommend("new", {"new": history}, N=BOARD // 2 - 6, recalculate_user=True)
        assert sorted(ids.tolist()) == [*range(first, BOARD, 2)][6:]


def test_every_item_of_the_kind_is_above_every_other(board):
    scores = np.empty((BOARD, BOARD))
    for user in EVERYONE:
        ids, found = board.recommend(user, N=BOARD, filter_already_liked_items=False)
        scores[user, ids] = found
    kind = good(EVERYONE[:, None], EVERYONE)
    assert (np.where(kind, scores, np.inf).min(axis=1) > np.where(kind, -np.inf, scores).max(axis=1)).all()


@pytest.mark.parametrize("side", ["user", "item"])
def test_those_of_a_kind_are_near_each_other(board, side):
    ask = board.similar_users if side == "user" else board.similar_items
    ids, cosines = ask(EVERYONE, N=BOARD // 2)
    assert ids[:, 0].tolist() == EVERYONE.tolist()
    np.testing.assert_allclose(cosines[:, 0], 1.0)
    assert good(EVERYONE[:, None], ids).all()


def test_a_new_item_is_near_those_of_its_kind(board, personal):
    pairs = given_of(personal)
    columns = pairs.to_scipy().T.tocsr()
    ids, _ = board.similar_items(EVERYONE, N=6, recalculate_item=True, item_users=columns)
    assert good(EVERYONE[:, None], ids).all()


def test_ratings_of_the_withheld_cells_are_met(board, personal):
    if personal.kind != "ratings":
        pytest.skip("only ratings have a value to meet")
    whole = checkerboard("ratings")[1]
    for k in (0, 1):
        cells = [(u, u + k) for u in range(BOARD - k)]
        value, spread = board.predict_pairs(cells, return_std=True)
        truth = whole[[u for u, _ in cells], [i for _, i in cells]]
        assert np.abs(value - truth).max() < 0.5
        assert (spread > 0).all()
