from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyads import metrics
from dyads.errors import DataError
from dyads.kernels import ranking
from dyads.kernels.ranking import top
from dyads.pairs import csr


@st.composite
def boards(draw):
    n_users, n_items = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    levels = draw(st.sampled_from([1, 2, 1000]))
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    scores = rng.integers(levels, size=(n_users, n_items)) / 4.0
    kind = rng.choice(3, size=(n_users, n_items), p=[0.5, 0.3, 0.2])
    return scores, kind == 1, kind == 2


def sparse(mask):
    rows, columns = np.nonzero(mask)
    return csr(rows, columns, None, *mask.shape)


def standing_of(scores, held, seen):
    return metrics.stand(lambda users: scores[users], sparse(held), sparse(seen), scores.shape[1])


def the_list(scores, seen):
    return sorted((j for j in range(len(scores)) if not seen[j]), key=lambda j: (-scores[j], j))


def mean_place(scores, seen, t):
    others = [j for j in range(len(scores)) if not seen[j] and j != t]
    return 1 + sum(1.0 if scores[j] > scores[t] else 0.5 if scores[j] == scores[t] else 0.0 for j in others)


def brute(name, n, scores, held, seen):
    first, hits = the_list(scores, seen)[:n], [j for j in range(len(scores)) if held[j]]
    candidates = [j for j in range(len(scores)) if not seen[j]]
    if name == "recall":
        return len(set(first) & set(hits)) / len(hits)
    if name == "hit_rate":
        return float(bool(set(first) & set(hits)))
    if name == "ndcg":
        gain = sum(1 / math.log2(p + 2) for p, j in enumerate(first) if j in hits)
        return gain / sum(1 / math.log2(p + 2) for p in range(min(n, len(hits))))
    if name == "mrr":
        return 1 / min(mean_place(scores, seen, t) for t in hits)
    if name == "average_rank":
        behind = [
            sum(1.0 if scores[t] > scores[j] else 0.5 * (scores[t] == scores[j]) for j in candidates if j != t)
            for t in hits
        ]
        return sum(behind) / len(hits) / len(candidates)
    others = [j for j in candidates if j not in hits]
    wins = [1.0 if scores[t] > scores[c] else 0.5 * (scores[t] == scores[c]) for t in hits for c in others]
    return sum(wins) / len(wins) if wins else math.nan


@pytest.mark.parametrize("name", ["recall", "hit_rate", "ndcg", "mrr", "auc", "average_rank"])
@given(board=boards(), n=st.integers(1, 12))
@settings(max_examples=80, deadline=None)
def test_a_ranking_metric_is_its_definition(name, board, n):
    scores, held, seen = board
    standing = standing_of(scores, held, seen)
    users = np.flatnonzero(held.any(axis=1))
    wanted = [brute(name, n, scores[u], held[u], seen[u]) for u in users]
    assert standing.users.tolist() == users.tolist()
    np.testing.assert_allclose(metrics.metric(name, n).terms(standing), wanted, rtol=1e-12)


@given(board=boards())
@settings(max_examples=60, deadline=None)
def test_places_are_those_of_the_lists_that_rank_makes(board):
    scores, held, seen = board
    standing = standing_of(scores, held, seen)
    shut = np.where(seen, -np.inf, scores)
    lists = top(shut, scores.shape[1])[0]
    for n, u in enumerate(standing.users):
        hits = np.flatnonzero(held[u])
        places = standing.place()[standing.ptr[n] : standing.ptr[n + 1]]
        assert lists[u][places].tolist() == hits.tolist()


def test_the_size_of_a_block_changes_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    scores = rng.integers(6, size=(23, 17)) / 2.0
    kind = rng.choice(3, size=scores.shape)
    whole = standing_of(scores, kind == 1, kind == 2)
    for cells in (1, 20, 40):
        monkeypatch.setattr(ranking, "BLOCK_CELLS", cells)
        parts = standing_of(scores, kind == 1, kind == 2)
        assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))


def test_nobody_with_held_out_items_gives_empty_metrics():
    nothing = np.zeros((3, 4), dtype=bool)
    standing = standing_of(np.zeros((3, 4)), nothing, nothing)
    for name in ("recall", "hit_rate", "ndcg", "mrr", "auc", "average_rank"):
        assert metrics.metric(name).terms(standing).shape == (0,)


def test_a_model_that_scores_all_alike_is_worth_a_coin():
    held = np.zeros((1, 9), dtype=bool)
    held[0, 0] = True
    standing = standing_of(np.zeros((1, 9)), held, ~held & False)
    assert metrics.auc(standing)[0] == 0.5
    assert metrics.mrr(standing)[0] == 2 / 10
    assert metrics.average_rank(standing)[0] == 4 / 9


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused(bad):
    held = np.eye(3, dtype=bool)
    scores = np.zeros((3, 3))
    scores[1, 1] = bad
    with pytest.raises(DataError, match="not a number"):
        standing_of(scores, held, held & False)
