from __future__ import annotations

import re
import shlex

import pytest

from dyads import shop
from dyads.synthetic import SHIPPED

AISLES = {product: aisle for aisle, products in shop.AISLES.items() for product in products}


@pytest.fixture(scope="module")
def told():
    from cli.conftest import process

    done = process("demo", "--quiet")
    assert (done.code, done.err) == (0, "")
    return done.out


def test_it_does_better_than_popularity_by_more_than_the_intervals(told):
    rows = [line.split() for line in told.splitlines() if line.startswith("recall@10")]
    value = {name: [float(x) for x in numbers] for _, name, *numbers in rows}
    assert set(value) == {"SBMF", "BPR", "popularity"}
    assert min(value["SBMF"][1], value["BPR"][1]) > value["popularity"][2]


def shoppers(told):
    return re.findall(r"^(\S+) bought (.*)\n.*\n─+\n((?:.+\n)+)", told, re.MULTILINE)


def test_the_aisles_of_the_log_show_in_the_recommendations(told):
    found = shoppers(told)
    assert len({shopper for shopper, _, _ in found}) == 3
    for _, bought, table in found:
        homes = [part.split(" of ")[1] for part in bought.split(", ") if "everyday" not in part][:2]
        products = [re.split(r" {2,}", line)[0].removesuffix(" *") for line in table.splitlines()]
        assert len(products) == 5
        assert sum(AISLES[product] in homes for product in products) >= 3


def test_every_recommendation_has_its_spread(told):
    rows = [line.split()[-2:] for _, _, table in shoppers(told) for line in table.splitlines()]
    assert len(rows) == 15
    assert all(0.0 < float(std) < 0.5 for _, std in rows)


def test_what_to_type_next_runs(dyads_, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [shlex.split(line) for line in told.partition("Type next:\n")[2].splitlines()]
    assert [line[:2] for line in lines] == [["dyads", name] for name in ("demo", "fit", "recommend", "evaluate")]
    for _, *words in lines:
        quick = ["--set", "bpr.n_entries=20000"] if words[0] == "evaluate" else []
        done = dyads_(*words, *quick)
        assert done.code == 0
        assert done.out or words[0] in ("demo", "fit")
    assert (tmp_path / "purchases.csv").read_bytes() == SHIPPED.read_bytes()
