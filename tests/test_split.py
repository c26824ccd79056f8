from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dyads import split
from dyads.errors import ConfigError, DataError
from dyads.pairs import Pairs


def some_pairs(seed=0, n_users=30, n_items=20, share=0.2, values=True):
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((n_users, n_items)) < share)
    users = np.array([f"u{r}" for r in rows])
    given_values = rng.integers(1, 9, rows.size) if values else None
    return Pairs.of(users, columns * 10, given_values)


def dense(pairs):
    return pairs.to_scipy().toarray()


def grid(pairs, block):
    full = np.zeros(pairs.shape, dtype=bool)
    full[block.rows(), block.idx] = True
    return full


@given(seed=st.integers(0, 200), share=st.floats(0.05, 0.6))
@settings(max_examples=40, deadline=None)
def test_leave_one_out_takes_one_pair_of_everyone_with_two(seed, share):
    pairs = some_pairs(seed, share=share)
    if (pairs.by_user.counts() < 2).all():
        return
    train, test = split.leave_one_out(pairs, seed)
    assert np.array_equal(test.by_user.counts(), (pairs.by_user.counts() >= 2).astype(int))
    assert np.array_equal(dense(train) + dense(test), dense(pairs))
    assert (dense(train) * dense(test) == 0).all()
    assert train.users is pairs.users
    assert test.items is pairs.items


def test_leave_one_out_takes_each_pair_of_a_user_equally_often():
    pairs = Pairs.of(np.zeros(5, dtype=int), np.arange(5))
    times = sum(dense(split.leave_one_out(pairs, seed)[1])[0] for seed in range(2000))
    # chi-square with 4 degrees of freedom; 18.5 has probability 1e-3
    assert np.sum((times - 400) ** 2 / 400) < 18.5


def test_leaving_one_out_of_single_pairs_is_refused():
    with pytest.raises(DataError, match="no user has two pairs"):
        split.leave_one_out(Pairs.of(["a", "b"], ["x", "x"]))


@given(seed=st.integers(0, 200), share=st.floats(0.05, 0.9))
@settings(max_examples=40, deadline=None)
def test_a_fraction_is_that_share_of_the_pairs(seed, share):
    pairs = some_pairs(seed)
    train, test = split.fraction(pairs, share, seed)
    assert test.n_pairs == round(share * pairs.n_pairs)
    assert np.array_equal(dense(train) + dense(test), dense(pairs))


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, 1e-9])
def test_a_fraction_that_leaves_a_part_empty_is_refused(share):
    with pytest.raises(ConfigError, match=f"share={share!r}"):
        split.fraction(some_pairs(), share)


@given(seed=st.integers(0, 200), n=st.integers(1, 300))
@settings(max_examples=40, deadline=None)
def test_hidden_cells_stand_in_test_with_their_values_and_zeros(seed, n):
    pairs = some_pairs(seed)
    train, test = split.cells(pairs, n, seed)
    closed = grid(pairs, train.hidden)
    assert test.n_pairs == closed.sum() == n
    assert np.array_equal(grid(test, test.by_user), closed)
    assert np.array_equal(dense(test), np.where(closed, dense(pairs), 0))
    assert np.array_equal(dense(train), np.where(closed, 0, dense(pairs)))
    assert train.users is test.users is pairs.users


@given(seed=st.integers(0, 200))
@settings(max_examples=30, deadline=None)
def test_cells_hidden_twice_stay_hidden_and_never_come_again(seed):
    pairs = some_pairs(seed)
    outer, first = split.cells(pairs, 150, seed)
    inner, second = split.cells(outer, 200, seed + 1)
    assert not (grid(pairs, first.by_user) & grid(pairs, second.by_user)).any()
    assert np.array_equal(grid(pairs, inner.hidden), grid(pairs, first.by_user) | grid(pairs, second.by_user))
    assert np.array_equal(dense(inner) + dense(first) + dense(second), dense(pairs))


def test_every_free_cell_is_hidden_equally_often():
    pairs = some_pairs(3, 4, 5, 0.7)
    outer, first = split.cells(pairs, 6, 0)
    times = sum(grid(pairs, split.cells(outer, 7, seed)[1].by_user).astype(int) for seed in range(1000))
    free = ~grid(pairs, first.by_user)
    assert (times[~free] == 0).all()
    # 14 free cells, 500 expected, variance 250 (1 - 7/14 of 1000 draws); chi-square with 13 degrees, 34.5 is 1e-3
    assert np.sum((times[free] - 500) ** 2 / 250) * 13 / 14 < 34.5


def test_by_default_a_hundredth_of_the_cells_but_at_least_a_few_are_hidden():
    assert split.cells(some_pairs(0, 200, 100), random_state=0)[1].n_pairs in range(100, 201)
    assert (
        split.cells(some_pairs(0, 5, 5, 0.5), random_state=0)[1].n_pairs
        == some_pairs(0, 5, 5, 0.5).by_user.n_rows * 5 // 2
    )


@pytest.mark.parametrize("n", [0, -3, 600])
def test_more_cells_than_there_are_cannot_be_hidden(n):
    with pytest.raises(ConfigError, match=f"n_cells={n}"):
        split.cells(some_pairs(0, 30, 20), n)


def test_preparation_keeps_full_items_then_full_users():
    pairs = some_pairs(1, 60, 25, 0.3, values=False)
    ready = split.prepare(pairs, 10, 4)
    ones = dense(pairs) != 0
    columns = sorted(range(ones.shape[1]), key=lambda j: (-ones[:, j].sum(), j))[:10]
    rows = np.flatnonzero(ones[:, sorted(columns)].sum(axis=1) >= 4)
    assert np.array_equal(dense(ready), dense(pairs)[np.ix_(rows, sorted(columns))])
    assert ready.users.ids().tolist() == pairs.users.ids(rows).tolist()
    assert ready.items.ids().tolist() == pairs.items.ids(sorted(columns)).tolist()


def test_preparation_draws_users_without_repeats_in_their_order():
    pairs = some_pairs(1, 60, 25, 0.3)
    ready, all_of_them = split.prepare(pairs, 10, 2, 7, 0), split.prepare(pairs, 10, 2)
    numbers = all_of_them.users.numbers(ready.users.ids())
    assert len(numbers) == 7
    assert (np.diff(numbers) > 0).all()
    assert np.array_equal(dense(ready), dense(all_of_them)[numbers])


def test_preparation_refuses_what_it_cannot_do():
    pairs = some_pairs()
    with pytest.raises(DataError, match="no user has 500 ones"):
        split.prepare(pairs, 10, 500)
    with pytest.raises(ConfigError, match="n_users=1000"):
        split.prepare(pairs, 10, 1, 1000)
    with pytest.raises(DataError, match="7 cells of these pairs are hidden"):
        split.prepare(split.cells(pairs, 7, 0)[0])


@pytest.mark.parametrize("cut", [split.leave_one_out, split.fraction, split.cells])
def test_the_same_seed_gives_the_same_split(cut):
    pairs = some_pairs()
    sources = [lambda: 5, lambda: np.random.default_rng(5), lambda: np.random.RandomState(5)]
    for source in sources:
        a, b = cut(pairs, random_state=source()), cut(pairs, random_state=source())
        assert [x.fingerprint for x in a] == [x.fingerprint for x in b]
    assert cut(pairs, random_state=5)[1].fingerprint != cut(pairs, random_state=6)[1].fingerprint


def test_a_generator_goes_on_from_split_to_split():
    rng = np.random.default_rng(0)
    assert (
        split.fraction(some_pairs(), 0.3, rng)[1].fingerprint != split.fraction(some_pairs(), 0.3, rng)[1].fingerprint
    )


@pytest.mark.parametrize("bad", [-1, "seed", 1.5, True])
def test_a_random_state_that_is_none_is_named(bad):
    with pytest.raises(ConfigError, match=f"random_state={bad!r}"):
        split.fraction(some_pairs(), 0.3, bad)


def test_an_even_split_of_a_large_matrix_does_not_list_its_cells():
    wide = Pairs.numbered(*(split.Pairs.from_matrix(np.eye(2)).users for _ in range(2)), [0, 1], [1, 0])
    wide = Pairs(wide.users.range(2_000_000), wide.items.range(1_000_000), wide.by_user.grown(2_000_000))
    train, test = split.cells(wide, 1000, 0)
    assert train.hidden.nnz == test.n_pairs == 1000


@pytest.mark.parametrize("file", ["retail.dat", "webview2.dat"])
def test_preparation_of_a_real_set_is_a_count_by_hand(file):
    folder = os.environ.get("DYADS_DATA")
    if folder is None:
        pytest.skip("DYADS_DATA does not name the folder of the data sets")
    baskets = [set(map(int, line.split())) for line in Path(folder, file).read_text().splitlines()]
    users = np.repeat(np.arange(len(baskets)), [len(basket) for basket in baskets])
    ready = split.prepare(Pairs.of(users, np.array([item for basket in baskets for item in basket])), 1000, 10)
    most = set(ready.items.ids().tolist())
    count = Counter(item for basket in baskets for item in basket)
    left = min(count[item] for item in most)
    assert len(most) == 1000
    assert all(item in most for item in count if count[item] > left)
    full = [user for user, basket in enumerate(baskets) if len(basket & most) >= 10]
    assert ready.users.ids().tolist() == full
    assert ready.n_pairs == sum(len(baskets[user] & most) for user in full)


CUTS = (split.leave_one_out, split.fraction, split.cells, lambda data, random_state: (split.prepare(data, 5, 1),) * 2)


@pytest.mark.parametrize("cut", CUTS)
def test_matrices_are_cut_as_their_pairs(cut):
    matrix = np.random.default_rng(4).integers(0, 2, (40, 30))
    for one, other in zip(cut(matrix, random_state=3), cut(Pairs.from_matrix(matrix), random_state=3), strict=True):
        assert one.fingerprint == other.fingerprint
    for wrong, said in ((pd.DataFrame(matrix), "a DataFrame may hold"), ("log.csv", "the path of a file is no matrix")):
        with pytest.raises(DataError, match=said):
            cut(wrong, random_state=3)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda pairs: split.fraction(pairs, "0.1"), "share='0.1' of 6 pairs"),
        (lambda pairs: split.fraction(pairs, None), "share=None of 6 pairs"),
        (lambda pairs: split.cells(pairs, 1.5), "n_cells=1.5 cells"),
        (lambda pairs: split.cells(pairs, "3"), "n_cells='3' cells"),
        (lambda pairs: split.cells(pairs, True), "n_cells=True cells"),
        (lambda pairs: split.prepare(pairs, -1), "n_items=-1 cannot be"),
        (lambda pairs: split.prepare(pairs, 2, 0), "min_pairs=0 cannot be"),
        (lambda pairs: split.prepare(pairs, 2, 1, 1.5), "n_users=1.5 cannot be"),
    ],
)
def test_numbers_that_cannot_be_are_named(ask, said):
    with pytest.raises(ConfigError, match=said):
        ask(Pairs.from_matrix(np.ones((3, 2))))


def test_a_single_cell_cannot_be_hidden():
    with pytest.raises(DataError, match=r"shape \(1, 1\) cannot be hidden"):
        split.cells(Pairs.from_matrix(np.ones((1, 1))))
