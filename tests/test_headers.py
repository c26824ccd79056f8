from __future__ import annotations

import pytest

import dyads
from dyads.synthetic import SHIPPED

HEADERS = ["user,item", "shopper,product", "userId,movieId", "Customer ID,Product name", "source,target"]


@pytest.mark.parametrize("header", HEADERS)
def test_words_that_name_columns_are_a_header(tmp_path, header):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{header}\nann,milk\nben,bread\n")
    pairs = dyads.read(path)
    assert pairs.users.ids().tolist() == ["ann", "ben"]
    assert pairs.items.ids().tolist() == ["milk", "bread"]


def test_other_words_are_data(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("ann,paper\nben,bread\n")
    assert dyads.read(path).n_pairs == 2


def test_the_header_of_the_shipped_log_is_no_shopper():
    pairs = dyads.read(SHIPPED)
    assert "shopper" not in pairs.users
    assert "product" not in pairs.items
    assert len(pairs.users) == 500
