from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from dyads import synthetic
from dyads.errors import ConfigError
from dyads.posterior import expit
from dyads.shop import AISLES, WEIGHTS


def test_the_planted_matrix_has_the_shape_and_the_density_of_the_paper():
    planted = synthetic.binary(random_state=0)
    assert planted.pairs.shape == (2000, 1000)
    assert planted.pairs.by_user.counts().min() >= 10
    assert 0.01 < planted.pairs.n_pairs / 2e6 < 0.06


def test_the_planted_ones_are_as_many_as_their_probabilities_say():
    planted = synthetic.binary(400, 300, 4, -2.0, min_pairs=0, random_state=1)
    p = expit(planted.user @ planted.item.T + planted.offset)
    ones = planted.pairs.to_scipy().toarray()
    high = p > 0.5
    for part in (high, ~high):
        deviation = np.sqrt((p * (1 - p))[part].sum())
        assert abs(ones[part].sum() - p[part].sum()) < 4 * deviation


def test_a_matrix_that_nobody_can_fill_is_refused():
    with pytest.raises(ConfigError, match="min_pairs=50"):
        synthetic.binary(5, 40, 2, -12.0, min_pairs=50, random_state=0)


def test_planted_ratings_scatter_around_their_means_by_the_noise():
    planted = synthetic.ratings(200, 100, 3, 8000, 0.5, random_state=2)
    pairs = planted.pairs
    rows, columns = pairs.rows(), pairs.columns()
    mean = planted.offset + planted.user_bias[rows] + planted.item_bias[columns]
    mean += np.einsum("nk,nk->n", planted.user[rows], planted.item[columns])
    left = pairs.values() - mean
    assert pairs.n_pairs == 8000
    assert abs(left.mean()) < 4 * 0.5 / np.sqrt(8000)
    assert abs(left.std() / 0.5 - 1) < 4 / np.sqrt(2 * 8000)


def test_ratings_on_a_scale_are_whole_and_stay_on_it():
    values = synthetic.ratings(scale=(1, 5), random_state=0).pairs.values()
    assert set(values.tolist()) == {1.0, 2.0, 3.0, 4.0, 5.0}


def test_more_ratings_than_cells_are_refused():
    with pytest.raises(ConfigError, match="n_pairs=100"):
        synthetic.ratings(3, 3, n_pairs=100)


def test_the_checkerboard_leaves_out_its_diagonal():
    train, test = synthetic.checkerboard(6)
    board = train.to_scipy().toarray()
    i, j = np.indices((6, 6))
    assert np.array_equal(board, ((i + j) % 2 == 0) & (i != j))
    assert np.array_equal(test.to_scipy().toarray(), np.eye(6))


def test_the_rated_checkerboard_has_every_cell_but_the_diagonal():
    train, test = synthetic.checkerboard(6, rated=True)
    i, j = np.indices((6, 6))
    assert np.array_equal(train.to_scipy().toarray(), np.where(i == j, 0, np.where((i + j) % 2 == 0, 5, 1)))
    assert np.array_equal(test.to_scipy().toarray(), 5 * np.eye(6))


def test_the_shop_has_different_products_in_full_aisles():
    products = [product for aisle in AISLES.values() for product in aisle]
    assert len(set(products)) == len(products)
    assert {len(aisle) for aisle in AISLES.values()} == {len(WEIGHTS)}
    assert not any("," in product or '"' in product for product in products)


def test_the_log_shows_where_everyone_is_at_home():
    shoppers, products = synthetic.purchase_log(200, 3)
    aisle_of = {product: name for name, aisle in AISLES.items() for product in aisle}
    assert len(set(zip(shoppers.tolist(), products.tolist(), strict=True))) == len(shoppers)
    assert len(set(shoppers.tolist())) == 200
    shares = []
    for shopper in set(shoppers.tolist()):
        aisles = [aisle_of[p] for p in products[shoppers == shopper]]
        shares.append(max(map(aisles.count, aisles)) / len(aisles))
    assert 0.4 < np.mean(shares) < 0.7


def test_shoppers_beyond_the_names_get_numbers():
    shoppers, _ = synthetic.purchase_log(1300)
    assert len(set(shoppers.tolist())) == 1300
    assert "ann.baker2" in shoppers


def test_the_shipped_log_is_what_the_generator_writes(tmp_path):
    path = tmp_path / "log.csv"
    subprocess.run([sys.executable, "-m", "dyads.synthetic", str(path)], check=True, timeout=60)
    assert path.read_bytes() == synthetic.SHIPPED.read_bytes()
    assert path.stat().st_size <= 300_000


@pytest.mark.parametrize("make", [synthetic.binary, synthetic.ratings])
def test_the_same_seed_gives_the_same_data(make):
    small = {"n_users": 40, "n_items": 300, "random_state": 4}
    assert make(**small).pairs.fingerprint == make(**small).pairs.fingerprint
    assert make(**small).pairs.fingerprint != make(**(small | {"random_state": 5})).pairs.fingerprint
