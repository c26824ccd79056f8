# The method that docs/adding-a-method.md starts from, run through the contract of every method.

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from contract.cases import Case, small

from dyads import models, save
from dyads.engines.local import Local
from dyads.kernels import reference
from dyads.state import arrays_equal, bare
from dyads.streams import At
from dyads.synthetic import ratings

FILE = Path(__file__).parents[1] / "docs" / "skeleton_method.py"


@pytest.fixture(scope="module")
def skeleton():
    if not FILE.exists():
        pytest.skip("the documentation is not part of this source tree")
    spec = importlib.util.spec_from_file_location("skeleton_method", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["skeleton_method"] = module
    spec.loader.exec_module(module)
    reference.leanings = module.leanings
    yield module
    del reference.leanings


@pytest.fixture
def leanings(skeleton, monkeypatch):
    """The class under its name in the table of methods."""
    found = models.method
    named = {"leanings": skeleton.Leanings}
    for place in (models, save):
        monkeypatch.setattr(place, "method", lambda name: named.get(name) or found(name))
    monkeypatch.setitem(models.METHODS, "leanings", "Leanings")
    return skeleton.Leanings


def fitted(leanings, **changes):
    return leanings(random_state=0, **changes).fit(small("ratings"), show_progress=False)


def test_every_function_of_the_table_is_there(leanings):
    page = (FILE.parent / "adding-a-method.md").read_text()
    for name in ("plan", "init", "place", "step", "objective", "info", "read_out", "fold_in", "simulate"):
        assert f"`{name}(" in page
        assert name in vars(leanings)


def test_the_bound_never_falls(leanings):
    model, pairs, engine = leanings(), small("ratings"), Local(1)
    state = model.init(pairs, engine, At(0, 0, 0))
    values = []
    for tick in range(30):
        state = model.step(state, engine, At(0, 0, tick), 1)
        values.append(model.objective(state, engine, At(0, 0, tick)).value)
    assert np.diff(values).min() > -1e-5 * abs(values[-1])
    assert values[-1] > values[0]


def test_one_pass_of_the_contract(leanings, tmp_path):
    case = Case("leanings", small, {})
    model, again = fitted(leanings), fitted(leanings)
    assert arrays_equal(model.posterior_, again.posterior_)
    engine = Local(1)
    state = model.init(case.data("ratings"), engine, At(0, 0, 0))
    together = model.step(state, engine, At(0, 0, 0), 2)
    apart = model.step(model.step(state, engine, At(0, 0, 0), 1), engine, At(0, 0, 1), 1)
    assert arrays_equal(bare(together, engine), bare(apart, engine))
    model.save(tmp_path / "leanings.dyads")
    assert arrays_equal(save.load(tmp_path / "leanings.dyads").posterior_, model.posterior_)
    ids, answers = model.recommend("user 0", N=3, filter_already_liked_items=False)
    assert len(ids) == 3
    assert np.isfinite(answers).all()


def test_a_row_that_is_folded_in_stands_where_the_fit_put_it(leanings):
    model = fitted(leanings, tol=None, n_sweeps=200)
    placed = model.fold_in(model.pairs_.by_user, "user", model.posterior_, At(0, 0, 0))
    np.testing.assert_allclose(placed.mean[0], model.posterior_.user[0], atol=1e-5)


def test_planted_leanings_are_found(leanings):
    planted = ratings(200, 150, n_factors=0, n_pairs=6000, noise=0.5, random_state=3)
    model = leanings(random_state=0, noise_precision=4.0, prior_precision=10.0).fit(planted.pairs, show_progress=False)
    mean, spread = model.predict_pairs([(5, 7), (6, 8)], return_std=True)
    truth = planted.offset + planted.user_bias[[5, 6]] + planted.item_bias[[7, 8]]
    assert np.abs(mean - truth).max() < 4 * spread.max()
    held = model.predict_pairs([(u, i) for u in range(50) for i in range(50)])
    exact = planted.offset + planted.user_bias[:50, None] + planted.item_bias[:50]
    assert np.sqrt(np.mean((held - exact.ravel()) ** 2)) < 0.2
