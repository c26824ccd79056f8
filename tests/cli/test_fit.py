from __future__ import annotations

import numpy as np
import pytest

import dyads
from dyads import synthetic
from dyads.state import arrays_equal


def fit(run, path, *more):
    output = path.with_suffix(".dyads")
    done = run("fit", path, "-o", output, "--quiet", *more)
    assert done == (0, "", "")
    return dyads.load(output)


def test_the_model_is_the_one_that_python_fits(shop, log):
    mine = dyads.BPR(n_entries=40_000, random_state=3).fit(log, show_progress=False)
    opened = dyads.load(shop)
    assert arrays_equal(opened.posterior_, mine.posterior_)
    assert opened.get_params() == mine.get_params()
    assert opened.users_ == log.users


def test_columns_come_by_name_or_number_and_values_are_read(dyads_, tmp_path):
    data = tmp_path / "log.txt"
    data.write_text("when|what|who|n\n1|milk|ann|2\n2|milk|ben|3\n3|bread|ann|4\n4|milk|ann|5\n")
    columns = ("--user", "who", "--item", 1, "--value", "n", "--delimiter", "|", "--duplicates", "sum")
    model = fit(dyads_, data, *columns, "--model", "popularity")
    assert sorted(model.pairs_) == [("ann", "bread", 4.0), ("ann", "milk", 7.0), ("ben", "milk", 3.0)]


def test_a_file_may_have_no_header_and_tabs(dyads_, tmp_path):
    data = tmp_path / "log.csv"
    data.write_text("user\titem\nann\tmilk\n")
    model = fit(dyads_, data, "--no-header", "--delimiter", "\\t", "--model", "popularity")
    assert model.users_.ids().tolist() == ["user", "ann"]


def test_lines_that_come_again_are_ones_to_a_model_of_ones(dyads_, tmp_path):
    (tmp_path / "log.csv").write_text("user,item\nann,milk\nann,milk\nann,tea\nben,tea\nben,rice\n")
    (tmp_path / "once.csv").write_text("user,item\nann,milk\nann,tea\nben,tea\nben,rice\n")
    again, once = (fit(dyads_, tmp_path / name, "--seed", 2) for name in ("log.csv", "once.csv"))
    assert again.binarize == 0.0 and once.binarize is None
    assert sorted(again.pairs_) == sorted(once.pairs_)
    assert arrays_equal(again.posterior_, once.posterior_)
    told = dyads_("fit", tmp_path / "log.csv", "-o", tmp_path / "log.dyads").err
    assert f"pairs that come again in {tmp_path / 'log.csv'} count once, for BPR learns from ones" in told
    asked = ("recommend", tmp_path / "once.dyads", "--as", "csv", "--history")
    assert dyads_(*asked, tmp_path / "log.csv") == dyads_(*asked, tmp_path / "once.csv")


def test_a_column_of_values_is_not_read_as_ones(dyads_, tmp_path):
    (tmp_path / "log.csv").write_text("user,item,n\nann,milk,2\nann,tea,1\nben,tea,1\n")
    done = dyads_("fit", tmp_path / "log.csv", "--value", "n", "-o", tmp_path / "m.dyads", "-q")
    assert done.code == 2
    assert "value 2.0 (user 'ann', item 'milk') is not what BPR takes" in done.err
    assert dyads_("fit", tmp_path / "log.csv", "-o", tmp_path / "m.dyads", "-q").code == 0


def test_a_matrix_needs_no_column_of_ratings(dyads_, tmp_path):
    data = tmp_path / "ratings.mtx"
    data.write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n1 2 2.5\n2 2 5\n")
    model = fit(dyads_, data, "--model", "sbmf", "--set", "n_draws=2", "--set", "burn_in=0", "--set", "n_factors=1")
    assert model.pairs_.values().tolist() == [4.0, 2.5, 5.0]


def test_every_kind_of_parameter_can_be_set(dyads_, tmp_path):
    data = tmp_path / "log.csv"
    data.write_text("user,item,value\n1,2,3\n1,3,4\n2,2,5\n")
    words = ("n_factors=1", "burn_in=1", "n_draws=2", "biases=false", "clip=1,5", "prior_mean=-0.5", "prior_rate=2e-1")
    settings = [part for word in words for part in ("--set", word)]
    model = fit(dyads_, data, "--model", "sbmf", "--value", "value", *settings, "--seed", 9, "--jobs", 1)
    changed = {"n_factors": 1, "burn_in": 1, "n_draws": 2, "biases": False, "clip": (1.0, 5.0), "prior_mean": -0.5}
    assert model.get_params() == dyads.SBMF(**changed, prior_rate=0.2, random_state=9, n_jobs=1).get_params()


@pytest.mark.parametrize(
    ("text", "wanted"), [("data", "data"), ("none", None), ("None", None), ("(1,5)", (1.0, 5.0)), ("-1.5,0", (-1.5, 0))]
)
def test_a_text_gets_the_first_meaning_that_the_parameter_takes(text, wanted):
    from dyads.cli.settings import built

    assert built("sbmf", (f"clip={text}",), None, None).get_params()["clip"] == wanted


def test_a_file_without_pairs_is_smaller(dyads_, shop, tmp_path):
    path = tmp_path / "small.dyads"
    columns = ("--user", "shopper", "--item", "product", "--set", "n_entries=40000", "--seed", 3)
    done = dyads_("fit", synthetic.SHIPPED, *columns, "-o", path, "-q", "--without-pairs")
    assert done.code == 0
    assert path.stat().st_size < shop.stat().st_size
    assert np.array_equal(dyads.load(path).posterior_.item, dyads.load(shop).posterior_.item)


def test_what_was_fitted_is_said(dyads_, tmp_path):
    done = dyads_("fit", synthetic.SHIPPED, "--model", "popularity", "-o", tmp_path / "m.dyads")
    assert done.out == ""
    assert done.err.splitlines()[-1].startswith("Popularity of 500 users and 144 items: 1 ticks, saved as ")


def test_a_kept_fit_goes_on_to_the_same_end(dyads_, tmp_path):
    common = ("fit", synthetic.SHIPPED, "--seed", 3, "-q", "--set", "tol=none")
    kept = ("--checkpoint", tmp_path / "kept", "--every", 7)
    assert dyads_(*common, "--set", "n_entries=2000", *kept, "-o", tmp_path / "a.dyads").code == 0
    again = dyads_(*common, "--set", "n_entries=2000", *kept, "--resume", "-o", tmp_path / "b.dyads")
    assert again.code == 0
    a, b = (dyads.load(tmp_path / f"{name}.dyads") for name in "ab")
    assert arrays_equal(a.posterior_, b.posterior_)


def test_nothing_to_resume_is_said_and_the_fit_starts(dyads_, tmp_path):
    kept = ("--checkpoint", tmp_path / "kept", "--resume")
    done = dyads_("fit", synthetic.SHIPPED, "--model", "popularity", "-q", *kept, "-o", tmp_path / "m.dyads")
    assert done.code == 0
    assert "nothing to resume" in done.err
