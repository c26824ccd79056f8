from __future__ import annotations

import json
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from dyads import metrics, split, synthetic
from dyads.errors import ConfigError, DataError, NotFittedError, UnknownIdError
from dyads.evaluate import evaluate
from dyads.models import method
from dyads.models.bpr import BPR
from dyads.pairs import Pairs
from dyads.posterior import Posterior, expit


def told(values, link="none", noise=None, var=None):
    # a posterior whose latent value of cell (i, j) is values[i, j]: one factor per item
    n_items = values.shape[1]
    return Posterior(
        user=np.asarray(values, dtype=np.float32)[None],
        user_var=None if var is None else np.full((1, *values.shape), var, dtype=np.float32),
        item=np.eye(n_items, dtype=np.float32)[None],
        item_var=None,
        offset=np.zeros(1),
        offset_var=np.zeros(1),
        noise=None if noise is None else np.array([noise]),
        user_alpha=None,
        item_alpha=None,
        clip=None,
        n_factors=n_items,
        link=link,
        small=None,
    )


@dataclass
class Oracle:
    values: Any
    pairs: Pairs
    data: str = "binary"
    answer: str = "relevance"
    link: str = "none"
    noise: float | None = None
    var: float | None = None
    binarize: float | None = None
    users_: Any = field(init=False)
    items_: Any = field(init=False)
    posterior_: Any = field(init=False)

    def __post_init__(self):
        self.users_, self.items_ = self.pairs.users, self.pairs.items
        self.posterior_ = told(self.values, self.link, self.noise, self.var)


def same_values(a, b):
    # users who have held-out zeros only join the sums, so that the last bits may differ
    for mine, theirs in zip(a.rows, b.rows, strict=True):
        assert mine.metric == theirs.metric
        np.testing.assert_allclose(mine[1:], theirs[1:], rtol=1e-12)


def planted(seed=0, n_users=60, n_items=25):
    return synthetic.binary(n_users, n_items, 3, -1.0, min_pairs=2, random_state=seed)


def oracle_of(truth, train, **kind):
    return Oracle(truth.user @ truth.item.T + truth.offset, train, **kind)


@pytest.fixture
def left_out():
    truth = planted()
    train, test = split.leave_one_out(truth.pairs, 1)
    return truth, train, test


@pytest.fixture
def hidden():
    truth = planted(3, 80, 40)
    train, test = split.cells(truth.pairs, 900, 2)
    return oracle_of(truth, train, answer="probability", link="logistic"), train, test


def test_rankings_are_those_of_the_scores_and_of_popularity(left_out):
    truth, train, test = left_out
    report = evaluate(oracle_of(truth, train), train, test, ["recall@3", "mrr", "auc"], n_bootstrap=20)
    seen = train.to_scipy().toarray() != 0
    for column, scores in (
        ("value", (truth.user.astype(np.float32) @ truth.item.T.astype(np.float32) + 0.0)),
        ("popularity", np.tile(seen.sum(axis=0), (len(seen), 1))),
    ):
        hits = []
        for user, item in zip(test.rows(), test.columns(), strict=True):
            order = sorted(np.flatnonzero(~seen[user]), key=lambda j: (-scores[user, j], j))
            hits.append(item in order[:3])
        assert getattr(report["recall@3"], column) == pytest.approx(np.mean(hits))
    assert report["auc"].value > report["auc"].popularity > 0.5
    assert (report.n_users, report.n_pairs) == (test.n_pairs, test.n_pairs)


def test_by_default_every_model_is_ranked_with_popularity_beside_it(left_out):
    truth, train, test = left_out
    report = evaluate(oracle_of(truth, train), train, test)
    assert [row.metric for row in report.rows] == ["recall@10", "ndcg@10", "mrr", "auc", "average_rank"]
    assert all(row.low <= row.value <= row.high for row in report.rows)
    assert all(row.popularity_low <= row.popularity <= row.popularity_high for row in report.rows)


def test_an_interval_is_about_two_standard_errors_over_users(left_out):
    truth, train, test = left_out
    model = oracle_of(truth, train)
    row = evaluate(model, train, test, "average_rank", n_bootstrap=4000)["average_rank"]
    standing = metrics.stand(lambda users: model.values[users], test.by_user, train.by_user, test.shape[1])
    per_user = metrics.average_rank(standing)
    error = per_user.std() / np.sqrt(len(per_user))
    # half the width of a 95 % interval; percentiles of 4000 draws are within 5 % of it
    assert (row.high - row.low) / 2 == pytest.approx(1.96 * error, rel=0.1)


def test_the_same_seed_gives_the_same_report(left_out):
    truth, train, test = left_out
    a, b, c = (evaluate(oracle_of(truth, train), train, test, random_state=s).to_dict() for s in (0, 0, 1))
    assert a == b
    assert a != c


def test_without_draws_and_baseline_there_are_only_values(left_out):
    truth, train, test = left_out
    report = evaluate(oracle_of(truth, train), train, test, n_bootstrap=0, baseline=False)
    assert all(np.isnan([row.low, row.high, row.popularity, row.popularity_low]).all() for row in report.rows)
    assert "popularity" not in str(report)


def test_calibration_is_measured_on_hidden_cells(hidden):
    model, train, test = hidden
    report = evaluate(model, train, test, n_bootstrap=100)
    p = expit(model.values)[test.rows(), test.columns()]
    assert report["log_loss"].value == pytest.approx(metrics.log_loss(test.values(), p), rel=1e-5)
    assert report["brier"].value == pytest.approx(metrics.brier(test.values(), p), rel=1e-5)
    assert report["log_loss"].value < report["log_loss"].popularity
    # the oracle knows the law that the ones were drawn from
    assert report.reliability.p_value > 0.01


def test_popularity_answers_for_a_cell_with_the_share_of_users(hidden):
    model, train, test = hidden
    report = evaluate(model, train, test, "brier", n_bootstrap=0)
    closed = np.zeros(train.shape, dtype=bool)
    closed[train.hidden.rows(), train.hidden.idx] = True
    ones, looks = train.to_scipy().toarray().sum(axis=0), (~closed).sum(axis=0)
    usual = ones.sum() / looks.sum()
    share = (ones + usual) / (looks + 1)
    assert report["brier"].popularity == pytest.approx(metrics.brier(test.values(), share[test.columns()]))


def test_held_out_zeros_are_no_hits(hidden):
    model, train, test = hidden
    ones = test.select(test.values() != 0)
    a = evaluate(model, train, test, ["recall", "auc"], n_bootstrap=0)
    b = evaluate(model, train, ones, ["recall", "auc"], n_bootstrap=0)
    same_values(a, b)


def test_calibration_on_another_split_is_refused_with_the_reason(left_out):
    truth, train, test = left_out
    model = oracle_of(truth, train, answer="probability", link="logistic")
    with pytest.raises(ConfigError, match="'log_loss' cannot be measured here: the held-out ones stood as zeros"):
        evaluate(model, train, test, ["recall", "log_loss"])
    report = evaluate(model, train, test)
    assert "Calibration was not measured" in str(report)
    assert report.reliability is None


def test_cells_chosen_for_their_ones_are_no_split_for_calibration(hidden):
    model, train, test = hidden
    with pytest.raises(ConfigError, match=r"split\.cells"):
        evaluate(model, train, test.select(test.values() != 0), "brier")


@pytest.mark.parametrize(
    ("answer", "data", "name", "why"),
    [
        ("relevance", "binary", "brier", "does not answer with the probability that a cell"),
        ("relevance", "binary", "rmse", "answers with a relevance, not with a rating"),
        ("probability", "counts", "log_loss", "does not answer with the probability that a cell"),
        ("rating", "ratings", "brier", "answers with ratings, not with probabilities"),
    ],
)
def test_a_metric_that_does_not_fit_the_answer_is_refused(left_out, answer, data, name, why):
    truth, train, test = left_out
    with pytest.raises(ConfigError, match=f"{name!r} cannot be measured here: Oracle {why}"):
        evaluate(oracle_of(truth, train, answer=answer, data=data), train, test, name)


def rated(seed=0):
    truth = synthetic.ratings(50, 30, 2, 900, 0.7, random_state=seed)
    train, test = split.fraction(truth.pairs, 0.2, seed)
    means = truth.offset + truth.user_bias[:, None] + truth.item_bias + truth.user @ truth.item.T
    return Oracle(means, train, "ratings", "rating", "identity", noise=0.49, var=0.01), train, test


def test_ratings_are_judged_by_errors_and_coverage():
    model, train, test = rated()
    report = evaluate(model, train, test)
    said, y = model.values[test.rows(), test.columns()], test.values()
    assert report["rmse"].value == pytest.approx(np.sqrt(np.mean((y - said) ** 2)), rel=1e-5)
    assert report["mae"].value == pytest.approx(np.mean(np.abs(y - said)), rel=1e-5)
    spread = np.sqrt(0.49 + 0.01)
    inside = np.abs(y - said) <= NormalDist().inv_cdf(0.95) * spread
    assert report["coverage@90"].value == pytest.approx(inside.mean())
    assert np.isnan(report["coverage@90"].popularity)
    assert report["rmse"].value < report["rmse"].popularity
    assert "recall@10" in [row.metric for row in report.rows]


def test_popularity_answers_for_a_rating_with_the_mean_of_the_item():
    model, train, test = rated()
    report = evaluate(model, train, test, "rmse", n_bootstrap=0)
    sums, counts = np.zeros(30), np.zeros(30)
    np.add.at(sums, train.columns(), train.values())
    np.add.at(counts, train.columns(), 1)
    means = (sums + sums.sum() / counts.sum()) / (counts + 1)
    wanted = metrics.rmse(test.values(), means[test.columns()])
    assert report["rmse"].popularity == pytest.approx(wanted, rel=1e-6)


def test_many_ratings_are_answered_in_chunks_alike(monkeypatch):
    model, train, test = rated()
    whole = evaluate(model, train, test, n_bootstrap=5).to_dict()
    monkeypatch.setattr("dyads.metrics.measure.CHUNK", 7)
    assert evaluate(model, train, test, n_bootstrap=5).to_dict() == whole


def test_a_rating_model_does_not_take_hidden_cells():
    model, train, _ = rated()
    closed, cells = split.cells(train, 200, 0)
    with pytest.raises(DataError, match="zeros as values"):
        evaluate(model, closed, cells)


def test_ids_in_another_order_give_the_same_report(left_out):
    truth, train, test = left_out
    names = np.array([f"item {j}" for j in range(25)])
    people = np.array([f"user {i}" for i in range(60)])
    named = Pairs(Pairs.of(people, people).users, Pairs.of(names, names).items, train.by_user)
    model = oracle_of(truth, named)
    rng = np.random.default_rng(0)
    parts = []
    for part in (train, test):
        order = rng.permutation(part.n_pairs)
        parts.append(Pairs.of(people[part.rows()][order], names[part.columns()][order]))
    other = evaluate(model, *parts)
    assert other.rows == evaluate(model, named, Pairs(named.users, named.items, test.by_user)).rows


def test_hidden_cells_are_found_again_under_other_numbers(hidden):
    model, train, test = hidden
    turned = [pairs.items.take(np.arange(40)[::-1]) for pairs in (train, test)]
    flipped = []
    for pairs, items in zip((train, test), turned, strict=True):
        moved = Pairs.numbered(pairs.users, items, pairs.rows(), 39 - pairs.columns(), pairs.values())
        hid = pairs.hidden and Pairs.numbered(pairs.users, items, pairs.hidden.rows(), 39 - pairs.hidden.idx)
        flipped.append(moved.with_hidden(hid.by_user if hid else None))
    a, b = evaluate(model, train, test), evaluate(model, *flipped)
    assert a.rows == b.rows


def test_matrices_are_taken_too(left_out):
    truth, train, test = left_out
    model = oracle_of(truth, train)
    assert evaluate(model, train.to_scipy(), test.to_scipy()).rows == evaluate(model, train, test).rows


def test_values_below_the_threshold_are_zeros():
    rng = np.random.default_rng(4)
    stars = rng.integers(1, 6, (40, 20)) * (rng.random((40, 20)) < 0.6)
    train, test = split.fraction(Pairs.from_matrix(stars), 0.3, 0)
    scores = rng.standard_normal(stars.shape)
    report = evaluate(Oracle(scores, train, binarize=3.5), train, test, "recall", n_bootstrap=0)
    ones = [part.select(part.values() > 3.5) for part in (train, test)]
    plain = [Pairs(part.users, part.items, part.by_user._replace(val=None)) for part in ones]
    wanted = evaluate(Oracle(scores, plain[0]), *plain, "recall", n_bootstrap=0)
    same_values(report, wanted)


def test_users_and_items_that_the_model_does_not_know_are_named(left_out):
    truth, train, _ = left_out
    model = oracle_of(truth, train)
    with pytest.raises(UnknownIdError, match="test holds what Oracle was not fitted on: user 99 is not known"):
        evaluate(model, train, Pairs.of([1, 99], [2, 3]))
    with pytest.raises(UnknownIdError, match="item 77 is not known"):
        evaluate(model, train, Pairs.of([1, 2], [2, 77]))


def test_pairs_in_both_parts_are_named():
    pairs = Pairs.of(["ann", "ann", "bob"], ["tea", "jam", "tea"])
    model = Oracle(np.zeros((2, 2)), pairs)
    with pytest.raises(DataError, match=r"user 'bob' and item 'tea' stand in train and in test \(1 pairs do\)"):
        evaluate(model, pairs, pairs.select(np.array([False, False, True])))


def test_nothing_held_out_is_refused(left_out):
    truth, train, test = left_out
    with pytest.raises(DataError, match="test holds no pairs"):
        evaluate(oracle_of(truth, train), train, test.select(np.zeros(test.n_pairs, dtype=bool)))


def test_no_metric_and_unknown_metrics_are_refused(left_out):
    truth, train, test = left_out
    with pytest.raises(ConfigError, match="asks for nothing"):
        evaluate(oracle_of(truth, train), train, test, [])
    with pytest.raises(ConfigError, match="'precision' is unknown"):
        evaluate(oracle_of(truth, train), train, test, "precision")
    with pytest.raises(KeyError, match="was not measured; there are recall@10"):
        evaluate(oracle_of(truth, train), train, test, n_bootstrap=0)["rmse"]


def test_an_unfitted_model_is_refused(left_out):
    _, train, test = left_out
    with pytest.raises(NotFittedError):
        evaluate(method("bpr")(), train, test)


def test_a_report_is_json_and_a_table(hidden):
    report = evaluate(*hidden, n_bootstrap=30)
    again = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert again["rows"][0]["metric"] == "recall@10"
    assert again["reliability"]["answer"] == report.reliability.answer.tolist()
    lines = str(report).splitlines()
    assert lines[0].startswith(f"{report.n_users} users, 900 held-out pairs, 95% intervals")
    assert lines[2].split() == ["metric", "Oracle", "popularity"]
    assert (
        len({line.index(f"{row.popularity:.4f}", 20) for row, line in zip(report.rows, lines[3:], strict=False)}) == 1
    )


def test_bpr_beats_popularity_on_the_purchase_log():
    pairs = Pairs.of(*synthetic.purchase_log(200))
    train, test = split.leave_one_out(pairs, 0)
    model = method("bpr")(n_factors=6, n_entries=60_000, random_state=0).fit(train, show_progress=False)
    row = evaluate(model, train, test, "recall")["recall@10"]
    assert row.low > row.popularity_high


# --- search --------------------------------------------------------------------------------------------------------


def the_log():
    return Pairs.of(*synthetic.purchase_log(120))


def bpr(**parameters):
    return method("bpr")(**({"n_factors": 4, "n_entries": 15_000, "random_state": 0} | parameters))


def test_search_tries_every_point_and_keeps_the_best():
    train = the_log()
    before = train.fingerprint
    found = evaluate.search(bpr(), {"n_entries": [100, 30_000], "regularization": [0.01, 5.0]}, train, "recall@5")
    assert [trial.parameters for trial in found.trials] == [
        {"n_entries": n, "regularization": r} for n in (100, 30_000) for r in (0.01, 5.0)
    ]
    assert found.best == {"n_entries": 30_000, "regularization": 0.01}
    assert found.value == max(trial.value for trial in found.trials)
    assert found.metric == "recall@5"
    assert found.fits == 5
    assert found.seconds >= sum(trial.seconds for trial in found.trials)
    assert train.fingerprint == before
    assert found.model.regularization == 0.01
    assert found.model.pairs_.n_pairs == train.n_pairs
    assert "Best: n_entries=30000, regularization=0.01 (recall@5 0." in str(found)


def test_search_judges_on_a_split_of_train_by_evaluate():
    train = the_log()
    found = evaluate.search(bpr(), {"regularization": [0.02]}, train, "auc", random_state=3, refit=False)
    inner, held = split.leave_one_out(train, split.draws(3))
    wanted = evaluate(bpr(regularization=0.02).fit(inner), inner, held, "auc", n_bootstrap=0, baseline=False)
    assert found.value == wanted["auc"].value
    assert found.model is None
    assert found.fits == 1


@pytest.mark.parametrize("seed", [0, None])
def test_the_same_seed_gives_the_same_search(seed):
    train = the_log()
    one, two = (
        evaluate.search(bpr(random_state=seed), {"regularization": [0.01, 0.1]}, train, random_state=5)
        for _ in range(2)
    )
    assert [trial.value for trial in one.trials] == [trial.value for trial in two.trials]
    assert np.array_equal(one.model.item_factors_, two.model.item_factors_)


def test_search_takes_the_least_error_of_ratings():
    train = synthetic.ratings(60, 40, 2, 1200, random_state=0).pairs
    model = method("sbmf")(n_factors=2, burn_in=2, n_draws=3, random_state=0)
    found = evaluate.search(model, {"n_factors": [0, 2]}, train, refit=False)
    assert found.metric == "rmse"
    assert found.value == min(trial.value for trial in found.trials)


def test_a_coverage_is_best_near_its_aim():
    from dyads.search import _loss

    aim = metrics.metric("coverage@90")
    assert _loss(aim, 0.91) < _loss(aim, 0.87) < _loss(aim, 1.0) < _loss(aim, np.nan)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"lambda": [1]}, "BPR has no parameter 'lambda': it has n_factors"),
        ({"regularization": []}, r"grid\['regularization'\]=\[\] holds no values"),
        ({"negatives": "uniform"}, r"grid\['negatives'\]='uniform' holds no values"),
        ({"regularization": 0.1}, r"grid\['regularization'\]=0.1 holds no values"),
        ({}, "holds nothing to try"),
        ({"regularization": [-1.0]}, "regularization=-1.0"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(grid, message):
    with pytest.raises(ConfigError, match=message):
        evaluate.search(bpr(), grid, the_log())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"N": 0}, "N=0 is no length of a list"),
        ({"N": 2.5}, "N=2.5 is no length of a list"),
        ({"N": "3"}, "N='3' is no length of a list"),
        ({"n_bootstrap": -1}, "n_bootstrap=-1 is no number of draws"),
        ({"n_bootstrap": "x"}, "n_bootstrap='x' is no number of draws"),
        ({"metrics": 5}, "metrics=5 names none"),
        ({"model": BPR}, "is no fitted model"),
        ({"model": "bpr"}, "'bpr' is no fitted model"),
    ],
)
def test_what_cannot_be_asked_is_named(left_out, given, said):
    _, train, test = left_out
    with pytest.raises(ConfigError, match=said):
        evaluate(**{"model": method("popularity")().fit(train), "train": train, "test": test, **given})


def test_a_search_that_cannot_be_ends_before_its_first_fit(left_out, monkeypatch):
    monkeypatch.setattr(BPR, "fit", lambda *_, **__: pytest.fail("a model was fitted"))
    for grid, metric, said in (
        ({"n_factors": [2, "many"]}, "recall", "n_factors='many'"),
        ({"n_factors": [2]}, "rmse", "metric 'rmse' cannot be measured here"),
    ):
        with pytest.raises(ConfigError, match=said):
            evaluate.search(BPR(), grid, left_out[1], metric)
