from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from contract.cases import CASES, SETS
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dyads.errors import ConfigError
from dyads.models import method
from dyads.state import arrays_equal


# These are of Python alone, and need no second set of kernels.
@pytest.fixture(params=SETS[-1:], autouse=True)
def kernels(request, monkeypatch):
    monkeypatch.setenv("DYADS_KERNELS", request.param)
    return request.param


# scikit-learn's checks that a method does not pass, each with its reason: none.
EXPECTED: dict[str, dict[str, str]] = {case.name: {} for case in CASES}
ALLOWED = 3


# Binary and count methods read every value above 0 as a one, for the checks bring real numbers.
def for_checks(case):
    reads = {"binarize": 0.0} if "binarize" in case.make().get_params() else {}
    return method(case.name)(**{**case.fast, **reads})


def expected(model):
    return EXPECTED[model.name]


# scikit-learn is not imported by this library, so that nothing can inherit from it.
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "Estimator .* does not inherit from `sklearn.base.BaseEstimator`")
    theirs = parametrize_with_checks([for_checks(case) for case in CASES], expected_failed_checks=expected)
    every_check = pytest.mark.parametrize(theirs.args[0], list(theirs.args[1]), **theirs.kwargs)  # older: a generator


@every_check
def test_scikit_learn_finds_nothing_amiss(estimator, check):
    check(estimator)


def test_few_exceptions_are_made():
    assert all(len(reasons) <= ALLOWED and all(reasons.values()) for reasons in EXPECTED.values())


def quiet(model, pairs):
    return model.fit(pairs, show_progress=False)


def test_a_clone_has_the_parameters_and_nothing_else(case, model):
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert vars(twin).keys() == model.get_params().keys()
    with pytest.raises(TheirNotFittedError):
        twin.posterior_


def test_parameters_are_set_by_name_and_an_unknown_one_is_refused(case):
    model = case.make()
    assert model.set_params(random_state=3, n_jobs=2) is model
    assert (model.get_params()["random_state"], model.n_jobs) == (3, 2)
    assert model.set_params().get_params() == model.get_params()
    with pytest.raises(ConfigError, match=r"has no parameter 'n_factor': it has .*random_state"):
        model.set_params(n_factor=3)


def test_parameters_are_given_by_name_alone(case):
    with pytest.raises(TypeError, match=r"positional"):
        method(case.name)(3)


def test_what_is_written_makes_the_same_model(case):
    cls = method(case.name)
    assert repr(cls()) == f"{cls.__name__}()"
    given = case.make()
    assert eval(repr(given), {cls.__name__: cls}).get_params() == given.get_params()
    assert "random_state=7" in repr(given)


def test_equal_values_are_not_written_though_they_are_other_objects(case):
    cls = method(case.name)
    same = {name: type(v)(str(v)) if isinstance(v, (int, float)) else v for name, v in cls().get_params().items()}
    same = {name: value for name, value in same.items() if not isinstance(value, bool)}
    assert repr(cls(**same)) == f"{cls.__name__}()"


@pytest.mark.parametrize("travel", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_fitted_model_is_copied_and_pickled_whole(case, model, travel):
    there = travel(model)
    assert there.get_params() == model.get_params()
    assert arrays_equal(there._learned()[3:5], model._learned()[3:5])
    user = model.users_.ids([1])[0]
    for mine, theirs in zip(model.recommend(user, N=4), there.recommend(user, N=4), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_fit_leaves_the_parameters_alone(case):
    model, before = case.make(), case.make().get_params()
    quiet(model, case.pairs())
    assert model.get_params() == before


def test_what_is_not_fitted_has_nothing_learned(case):
    model = case.make()
    for name in ("posterior_", "user_factors_", "users_", "n_iter_", "trace_", "seed_", "pairs_"):
        assert not hasattr(model, name)


def test_it_stands_in_a_pipeline(case):
    matrix = case.pairs().to_scipy()
    line = make_pipeline(MaxAbsScaler(), for_checks(case).set_params(random_state=1))
    factors = line.fit_transform(matrix)
    assert factors.shape == (matrix.shape[0], line[-1].posterior_.n_factors)
    np.testing.assert_array_equal(line.transform(matrix), factors)


# Rows of a fold are not the fitted users, so `score` judges the whole matrix by cells: every fold is all of it.
def test_it_is_searched_by_its_score(case):
    matrix = case.pairs().to_scipy()
    name = "prior_concentration" if case.board is None else "n_factors"
    everyone = np.arange(matrix.shape[0])
    search = GridSearchCV(case.make(), {name: [1, 2]}, cv=[(everyone, everyone)], error_score="raise").fit(matrix)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    again = case.make(**search.best_params_)
    assert search.best_score_ == pytest.approx(quiet(again, matrix).score(matrix), rel=1e-12)


def test_folds_of_rows_are_refused_by_name(case):
    matrix = case.pairs().to_scipy()
    search = GridSearchCV(case.make(), {"random_state": [1]}, cv=KFold(3), error_score="raise")
    with pytest.raises(ValueError, match=r"its rows are the fitted users"):
        search.fit(matrix)
