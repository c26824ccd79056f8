from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from dyads.engines.local import Local
from dyads.errors import ConfigError
from dyads.kernels import reference
from dyads.kernels.shapes import BprData, BprItems, BprShared, BprUsers
from dyads.models import _fold_in
from dyads.models.bpr import BPR, negatives
from dyads.pairs import Csr, Pairs, csr
from dyads.state import arrays_equal, bare
from dyads.streams import At, Site

FALSE_ALARM = 1e-5  # of every test by chance
AT = At(5, 0, 0)


def data_of(ones, hidden=None, weight=None):
    rows, columns = np.nonzero(ones)
    block = csr(rows, columns, None, *ones.shape)
    shut = None if hidden is None else csr(*np.nonzero(hidden), None, *ones.shape)
    weight = np.ones(ones.shape[1], dtype=np.int64) if weight is None else weight
    return BprData(rows.astype(np.int32), columns.astype(np.int32), negatives(block, shut, weight))


def some_ones(seed=0, shape=(30, 12)):
    rng = np.random.default_rng(seed)
    ones = rng.random(shape) < rng.uniform(0.05, 0.7, size=shape[0])[:, None]
    ones[0], ones[1] = True, False  # a row without a zero, and one without a one
    return ones, (rng.random(shape) < 0.2) & ~ones


# --- the law of the negatives ---

BOARDS = st.tuples(st.integers(1, 4), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(
        arrays(np.bool_, shape),
        st.none() | arrays(np.bool_, shape),
        arrays(np.int64, shape[1], elements=st.integers(0, 4)),
    )
)


# Every open weight of every row is asked for: an open item is found as often as it weighs, a closed one never.
@given(BOARDS)
def test_every_open_item_has_its_weight_and_no_closed_one_has_any(board):
    ones, hidden, weight = board
    table = negatives(
        csr(*np.nonzero(ones), None, *ones.shape),
        None if hidden is None else csr(*np.nonzero(hidden), None, *ones.shape),
        weight,
    )
    closed = ones if hidden is None else ones | hidden
    due = np.where(closed, 0, weight)
    np.testing.assert_array_equal(table.room, due.sum(axis=1))
    for row in range(len(ones)):
        asked = np.arange(table.room[row])
        found = reference.open_item(table, np.full(len(asked), row), asked)
        np.testing.assert_array_equal(np.bincount(found, minlength=ones.shape[1]), due[row])


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**62 - 1))
def test_two_words_and_a_bound_give_a_whole_number_below_it(low, high, bound):
    words = (np.array([word], dtype=np.uint32) for word in (low, high))
    assert reference.wide(*words, np.array([bound]))[0] == (high * 2**32 + low) * bound >> 64


@pytest.mark.parametrize("with_hidden", [False, True])
@pytest.mark.parametrize("law", ["uniform", "popularity"])
def test_drawn_triples_follow_their_law(law, with_hidden):
    ones, hidden = some_ones()
    weight = np.ones(12, dtype=np.int64) if law == "uniform" else ones.sum(axis=0)
    data = data_of(ones, hidden if with_hidden else None, weight)
    n = 40_000
    one, zero = reference.bpr_triples(data, AT, Site.BPR_TRIPLE, n)
    counts = np.bincount(one, minlength=ones.sum())
    assert stats.chisquare(counts).pvalue > FALSE_ALARM  # (u, i) is uniform over the ones
    closed = ones | hidden if with_hidden else ones
    rows = data.rows[one]
    np.testing.assert_array_equal(zero < 0, closed[rows].all(axis=1))
    kept = zero >= 0
    assert not closed[rows[kept], zero[kept]].any()
    for row in np.unique(rows[kept]):
        mine, share = (
            zero[kept & (rows == row)],
            np.where(closed[row], 0, weight) / np.where(closed[row], 0, weight).sum(),
        )
        open_items = np.flatnonzero(share)
        seen = np.bincount(mine, minlength=12)[open_items]
        if len(open_items) > 1:
            assert stats.chisquare(seen, len(mine) * share[open_items]).pvalue > FALSE_ALARM / 30


def test_popularity_weighs_items_by_their_ones():
    ones, _ = some_ones()
    pairs = Pairs.from_matrix(ones)
    engine = Local(1)
    for law, due in (("uniform", np.ones(12)), ("popularity", ones.sum(axis=0))):
        state = BPR(n_factors=2, negatives=law).init(pairs, engine, AT)
        np.testing.assert_array_equal(bare(state, engine).item.weight, due)


# --- triples by address ---


@pytest.fixture
def state():
    ones, hidden = some_ones()
    pairs = Pairs.from_matrix(ones).with_hidden(csr(*np.nonzero(hidden), None, *ones.shape))
    model = BPR(n_factors=3, minibatch=8, decay=0.3, learning_rate=0.2)
    return model, model.init(pairs, Local(1), AT)


@pytest.mark.parametrize("cuts", [[1] * 12, [5, 7], [11, 1], [3, 4, 5]])
def test_triples_have_their_address_however_a_fit_is_cut(state, cuts):
    model, start = state
    due = model.step(start, Local(1), AT, 12)
    now = start
    for n in cuts:
        now = model.step(now, Local(1), AT._replace(tick=now.tick), n)
    assert arrays_equal(bare(now, Local(1)), bare(due, Local(1)))


def test_another_tick_seed_or_chain_has_other_triples(state):
    data = state[1].user.data
    first = reference.bpr_triples(data, AT, Site.BPR_TRIPLE, 50)
    for at, site in (
        (AT._replace(tick=1), Site.BPR_TRIPLE),
        (AT._replace(seed=6), Site.BPR_TRIPLE),
        (AT._replace(chain=1), Site.BPR_TRIPLE),
        (AT, Site.BPR_CHECK),
    ):
        assert not np.array_equal(first, reference.bpr_triples(data, at, site, 50))
    np.testing.assert_array_equal(np.array(first)[:, :20], reference.bpr_triples(data, AT, Site.BPR_TRIPLE, 20))


def test_the_objective_is_over_the_same_triples_at_every_mark(state):
    model, start = state
    values = [model.objective(start._replace(tick=tick), Local(1), AT._replace(tick=tick)) for tick in (0, 3, 99)]
    assert values[0] == values[1] == values[2]
    assert values[0].value < 0 < values[0].std_error


# --- a step goes up the slope ---


# log σ(x) − λ/2 ‖θ‖² of the parameters that a triple touches.
def height(theta, shrink):
    u, vi, vj, bi, bj = theta[:3], theta[3:6], theta[6:9], theta[9], theta[10]
    return -np.log1p(np.exp(-(bi - bj + u @ (vi - vj)))) - shrink / 2.0 * theta @ theta


def test_a_step_is_the_slope_times_the_rate():
    rng = np.random.default_rng(0)
    ones = np.array([[True, False]])
    user = BprUsers(rng.normal(size=(1, 3)).astype(np.float32))
    item = BprItems(*(rng.normal(size=s).astype(np.float32) for s in ((2, 3), 2)), np.ones(2, dtype=np.int64))
    theta = np.concatenate([user.factors[0], item.factors[0], item.factors[1], item.bias]).astype(np.float64)
    slope = np.array([(height(theta + h, 0.3) - height(theta - h, 0.3)) / 2e-6 for h in 1e-6 * np.eye(11)])
    sums = reference.bpr(data_of(ones), user, item, BprShared(1, 1, 0.1, 2.0, 0.3), AT._replace(tick=4))
    after = np.concatenate([user.factors[0], item.factors[0], item.factors[1], item.bias])
    rate = 0.1 / (1.0 + 2.0 * 4 * 1 / 1)  # after 4 minibatches of one triple on one pair
    np.testing.assert_allclose(after - theta, rate * slope, atol=1e-6)
    assert sums.log_sigma == pytest.approx(height(theta, 0.0))
    assert (sums.correct, sums.skipped) == (int(height(theta, 0.0) > -np.log(2.0)), 0)


def test_triples_of_a_minibatch_start_from_the_same_values_and_add():
    rng = np.random.default_rng(1)
    ones = np.array([[True, False]])
    start = rng.normal(size=(1, 3)).astype(np.float32), rng.normal(size=(2, 3)).astype(np.float32)

    def moved(minibatch):
        user, item = BprUsers(start[0].copy()), BprItems(start[1].copy(), np.zeros(2, np.float32), np.ones(2, np.int64))
        reference.bpr(data_of(ones), user, item, BprShared(1, minibatch, 0.01, 0.0, 0.1), AT)
        return user.factors - start[0], item.factors - start[1]

    for one, four in zip(moved(1), moved(4), strict=True):
        np.testing.assert_allclose(four, 4 * one, atol=1e-6)


# After 5 minibatches of 4 triples there were 10 passes over the two ones.
def test_the_rate_shrinks_with_the_passes_over_the_ones():
    data = data_of(np.array([[True, False], [True, False]]))
    moved = []
    for decay in (0.0, 0.5):
        user = BprUsers(np.zeros((2, 1), np.float32))
        item = BprItems(np.zeros((2, 1), np.float32), np.zeros(2, np.float32), np.ones(2, np.int64))
        reference.bpr(data, user, item, BprShared(1, 4, 0.1, decay, 0.0), AT._replace(tick=5))
        moved.append(item.bias[0])
    assert moved[0] == pytest.approx(4 * 0.1 / 2)  # σ(0) is a half
    assert moved[1] == pytest.approx(moved[0] / (1.0 + 0.5 * 10))


def test_a_row_without_a_zero_is_skipped():
    ones = np.ones((2, 3), dtype=bool)
    model = BPR(n_factors=2, n_entries=64, minibatch=16, random_state=0).fit(ones, show_progress=False)
    assert all(record.objective is None for record in model.trace_)
    first = BPR(n_factors=2).init(Pairs.from_matrix(ones), Local(1), At(0, 0, 0))
    np.testing.assert_array_equal(model.user_factors_, first.user.arrays.factors)


# --- length, and its end ---


def test_a_fit_is_a_hundred_passes_and_a_later_one_twenty():
    pairs = Pairs.from_matrix(some_ones(shape=(50, 40))[0])
    model = BPR()
    plan = model.plan(pairs, None)
    batch = model.init(pairs, Local(1), AT).small.minibatch
    assert batch == pairs.n_pairs // 64
    assert 0 <= plan.ticks * batch - 100 * pairs.n_pairs < batch
    later = model.plan(pairs, (bare(model.init(pairs, Local(1), AT), Local(1)),))
    assert 0 <= later.ticks * batch - 20 * pairs.n_pairs < batch
    assert plan.mark * batch >= pairs.n_pairs
    assert (BPR(n_entries=1000, minibatch=300).plan(pairs, None).ticks, plan.tol) == (4, 1e-3)


def test_a_minibatch_is_no_longer_than_the_fit():
    pairs = Pairs.from_matrix(np.eye(5))
    for asked, held in (({"n_entries": 100}, 100), ({}, 500), ({"n_entries": 10**13}, 10**12)):
        model = BPR(minibatch=10**12, **asked)
        assert model.init(pairs, Local(1), At(0, 0, 0)).small.minibatch == held
        assert model.plan(pairs, None).ticks == max(1, asked.get("n_entries", 500) // held)


def test_a_fit_ends_when_it_gains_no_more():
    ones, _ = some_ones(3)
    model = BPR(n_factors=2, random_state=0, tol=0.05).fit(ones, show_progress=False)
    assert model._learned().stopped == "tolerance"
    assert model.n_iter_ < model.trace_[-1].ticks


@pytest.mark.parametrize("given", [{"learning_rate": 10.0}, {"learning_rate": 1.0, "regularization": 3.0}])
def test_a_fit_that_runs_away_is_said(given):
    ones, _ = some_ones()
    text = r"BPR\(learning_rate=.*, regularization=.*\) left the numbers of 32 bits within \d+ minibatches: lower one"
    with pytest.raises(ConfigError, match=text):
        BPR(n_factors=3, minibatch=16, tol=None, random_state=0, **given).fit(ones, show_progress=False)


# --- fold-in: the optimum over a row's own triples ---


# The slope of the weighted mean of log σ(x) − λ/2 ‖u‖² at u, pair by pair.
def slope_at(u, ones, zeros, share, table, bias, shrink):
    found = -shrink * u
    for i in ones:
        for j, weight in zip(zeros, share, strict=True):
            x = bias[i] - bias[j] + u @ (table[i] - table[j])
            found = found + weight / len(ones) * (table[i] - table[j]) / (1.0 + np.exp(x))
    return found


HISTORIES = [[0, 3, 7], [11], [*range(11)], [1, 2]]


def block_of(histories):
    ptr = np.cumsum([0, *map(len, histories)]).astype(np.int64)
    return Csr(ptr, np.array([i for row in histories for i in row], dtype=np.int32), None)


@pytest.fixture(scope="module", params=["uniform", "popularity"])
def model(request):
    ones, _ = some_ones(4)
    more = {"negatives": request.param, "regularization": 0.02, "random_state": 3, "minibatch": 64}
    return BPR(n_factors=3, n_entries=20_000, **more).fit(ones, show_progress=False)


def test_new_users_are_placed_at_the_optimum(model):
    placed = model.fold_in(block_of(HISTORIES), "user", model.posterior_, AT)
    table, bias = model.item_factors_.astype(np.float64), model.item_bias_.astype(np.float64)
    weight = model.posterior_.small.weight[0]
    for r, ones in enumerate(HISTORIES):
        zeros = [j for j in range(12) if j not in ones and weight[j]]
        share = weight[zeros] / weight[zeros].sum()
        u = placed.mean[0, r, :3]
        assert np.abs(slope_at(u, ones, zeros, share, table, bias, 0.02)).max() < 1e-9
        assert np.linalg.norm(u) > 0.01
    assert placed.mean[0, :, 4].tolist() == [1.0] * 4  # takes the items' biases
    assert placed.var is None


def test_new_items_are_placed_at_the_optimum_before_other_users(model):
    histories = [[0, 5, 9, 20], [29]]
    placed = model.fold_in(block_of(histories), "item", model.posterior_, AT)
    table = model.user_factors_.astype(np.float64)
    for r, ones in enumerate(histories):
        zeros = [j for j in range(30) if j not in ones]
        share = np.full(len(zeros), 1.0 / len(zeros))
        slope = slope_at(placed.mean[0, r, :3], ones, zeros, share, table, np.zeros(30), 0.02)
        assert np.abs(slope).max() < 1e-9
    np.testing.assert_allclose(placed.mean[0, :, 4], model.item_bias_.mean(), rtol=1e-5)


def test_rows_without_a_one_or_without_a_zero_stand_at_nothing(model):
    placed = model.fold_in(block_of([[], [*range(12)]]), "user", model.posterior_, AT)
    assert not placed.mean[0, :, :3].any()


# More zeros than are drawn: the optimum over the drawn ones, near that over all of them.
def test_many_zeros_are_drawn_by_their_weight():
    rng = np.random.default_rng(2)
    ones = np.zeros(2000, dtype=bool)
    ones[[5, 900, 1700]] = True
    weight = rng.integers(0, 5, size=2000)
    drawn, share = _fold_in._zeros(np.flatnonzero(ones).astype(np.int32), weight, AT)
    assert len(drawn) == _fold_in.ZEROS and share.sum() == pytest.approx(1.0)
    assert not ones[drawn].any() and (weight[drawn] > 0).all()
    room = np.where(ones, 0, weight)
    many = np.concatenate([_fold_in._zeros(np.flatnonzero(ones), weight, At(s, 0, 0))[0] for s in range(60)])
    by_weight = np.bincount(weight[many], minlength=5)[1:]
    due = np.array([room[weight == w].sum() for w in range(1, 5)]) / room.sum()
    assert stats.chisquare(by_weight, len(many) * due).pvalue > FALSE_ALARM


def test_a_row_is_placed_alike_alone_and_among_others(model):
    block = block_of(HISTORIES)
    for which in ("user", "item"):
        together = model.fold_in(block, which, model.posterior_, AT)
        for r in range(4):
            alone = model.fold_in(block.slice(r, r + 1), which, model.posterior_, AT)
            np.testing.assert_array_equal(alone.mean[:, 0], together.mean[:, r])


def test_there_is_no_law_to_simulate_from(model):
    assert model.simulate(model.pairs_, AT) is None
