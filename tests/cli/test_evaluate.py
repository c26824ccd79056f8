from __future__ import annotations

import json

import pytest

import dyads
from dyads import synthetic

SHIPPED = (synthetic.SHIPPED, "--user", "shopper", "--item", "product")
FEW = ("--set", "bpr.n_entries=20000", "-q")
ASKED = ("--metric", "recall", "-q", "--as", "json")


def test_the_numbers_are_those_of_python(dyads_, log):
    done = dyads_("evaluate", *SHIPPED, "--seed", 4, *FEW, "--metric", "recall@5,auc", "--as", "json")
    train, test = dyads.split.leave_one_out(log, random_state=4)
    model = dyads.BPR(n_entries=20_000, random_state=4).fit(train, show_progress=False)
    report = dyads.evaluate(model, train, test, ["recall@5", "auc"], random_state=4)
    wanted = []
    for row in report.rows:
        wanted += [
            {"metric": row.metric, "model": "bpr", "value": row.value, "low": row.low, "high": row.high},
            {
                "metric": row.metric,
                "model": "popularity",
                "value": row.popularity,
                "low": row.popularity_low,
                "high": row.popularity_high,
            },
        ]
    assert json.loads(done.out) == wanted


def test_popularity_stands_once_beside_the_models(dyads_):
    done = dyads_("evaluate", *SHIPPED, "--model", "bpr,popularity", *FEW, "--metric", "recall", "--as", "csv")
    assert [line.split(",")[:2] for line in done.out.splitlines()[1:]] == [
        ['"recall@10"', '"bpr"'],
        ['"recall@10"', '"popularity"'],
    ]


def test_ratings_are_split_by_pairs(dyads_, rated, tmp_path):
    data = rated.with_suffix(".tsv")
    settings = ("--set", "n_factors=1", "--set", "burn_in=2", "--set", "n_draws=3")
    columns = ("--value", 2, "--no-header", "--share", 0.3)
    done = dyads_("evaluate", data, *columns, "--model", "sbmf", *settings, "-o", tmp_path / "r.csv")
    assert done.code == 0
    assert "36 held-out pairs" in done.err
    names = [line.partition(",")[0].strip('"') for line in (tmp_path / "r.csv").read_text().splitlines()]
    assert names[1] == "rmse" and "coverage@90" in names


def test_hidden_cells(dyads_):
    done = dyads_("evaluate", *SHIPPED, "--split", "cells", "--cells", 5000, *FEW, "--metric", "auc", "--as", "csv")
    assert done.code == 0
    assert done.out.count("\n") == 3


def test_a_saved_model_is_judged_on_other_pairs(dyads_, log, tmp_path):
    train, test = dyads.split.leave_one_out(log, random_state=0)
    model = dyads.BPR(n_entries=20_000, random_state=0).fit(train, show_progress=False)
    model.save(tmp_path / "m.dyads")
    held = tmp_path / "held.csv"
    held.write_text("who,what\n" + "".join(f"{user},{item}\n" for user, item, _ in test))
    columns = ("--user", "who", "--item", "what")
    done = dyads_("evaluate", "--model", tmp_path / "m.dyads", "--test", held, *columns, *ASKED)
    assert done.err == ""
    wanted = dyads.evaluate(model, train, test, ["recall"])["recall@10"]
    assert json.loads(done.out)[0]["value"] == wanted.value
    assert json.loads(done.out)[1]["model"] == "popularity"


@pytest.mark.parametrize("setting", ["bpr.n_factors=3", "n_factors=3"])
def test_a_setting_is_for_the_models_that_have_it(setting):
    from dyads.cli.settings import shared_out

    assert shared_out((setting,), ["bpr", "popularity"]) == {"bpr": ("n_factors=3",), "popularity": ()}


def test_a_metric_that_does_not_fit_is_said_before_any_fit(dyads_):
    done = dyads_("evaluate", synthetic.SHIPPED, "--model", "popularity,bpr", "--metric", "recall,rmse")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "metric 'rmse' cannot be measured here: Popularity answers with a probability" in done.err


def test_lines_that_come_again_are_ones_to_a_model_of_ones(dyads_, tmp_path):
    (tmp_path / "log.csv").write_text("".join(f"u{n % 9},i{n * n % 7}\n" for n in range(60)))
    done = dyads_("evaluate", tmp_path / "log.csv", "--model", "bpr,popularity", "-q", "--metric", "auc")
    assert (done.code, done.err) == (0, "")


def test_a_metric_that_no_pair_can_measure_has_no_value(dyads_, tmp_path):
    (tmp_path / "log.csv").write_text("a,x\nb,y\nc,z\nd,w\n")
    words = ("--no-header", "--model", "popularity", "--split", "cells", "--cells", 1, "--metric", "recall")
    done = dyads_("evaluate", tmp_path / "log.csv", *words, "-q", "--as", "json", "--seed", 1)
    assert done.code == 0
    assert json.loads(done.out)[0] == {
        "metric": "recall@10",
        "model": "popularity",
        "value": None,
        "low": None,
        "high": None,
    }
