from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from geweke import Plan, findings

from dyads.kernels import native, reference
from dyads.models import sbmf
from dyads.models.sbmf import SBMF
from dyads.pairs import Pairs

FALSE_ALARM = 1e-3  # for all numbers together
FOUND = 1e-6
SHORT, LONG = Plan(4000, 150, 8), Plan(20_000, 1000, 20)
FAULTY = Plan(2000, 100, 8)
CELLS = Pairs.from_matrix(np.arange(30).reshape(6, 5) % 7 != 3)  # 26 of 30 cells
DIAGONAL = [0, 1, 2, 3, 4]


def a_model(**changes: Any) -> SBMF:
    tight = {"prior_shape": 5.0, "prior_rate": 5.0, "prior_noise_shape": 5.0, "prior_noise_rate": 5.0}
    return SBMF(n_factors=2, prior_offset_precision=1.0, **{**tight, **changes})


def numbers(now: Any, values: Pairs) -> dict[str, float]:
    user, item, small = now.user, now.item, now.small
    u, v = user.factors.astype(np.float64), item.factors.astype(np.float64)
    b, c, y = user.bias.astype(np.float64), item.bias.astype(np.float64), values.values().astype(np.float64)
    product = u @ v.T
    mean = small.offset + b[:, None] + c + product
    e = y - mean[values.rows(), values.columns()]
    found = {
        "mean of cell (0, 0)": mean[0, 0],
        "mean of cell (5, 2)": mean[5, 2],
        "mean of an unseen cell": mean[0, 3],
        "mean of all cells": mean.mean(),
        "offset": small.offset,
        "noise precision": small.noise_precision,
        "norm of U V'": np.linalg.norm(product),
        "larger singular value of U V'": np.linalg.norm(product, 2),
        "trace of U V'": product[DIAGONAL, DIAGONAL].sum(),
        "factors crossed": (u[:, 0] @ u[:, 1]) * (v[:, 0] @ v[:, 1]),
        "mean factors": (small.user.mean[1:] * small.item.mean[1:]).sum(),
        "data mean": y.mean(),
        "data spread": y.std(),
        "residual spread": e.std(),
        "log likelihood": np.log(small.noise_precision) * len(y) / 2.0 - small.noise_precision / 2.0 * e @ e,
    }
    for name, side, x, bias in (("user", small.user, u, b), ("item", small.item, v, c)):
        found |= {
            f"{name} bias mean": side.mean[0],
            f"{name} bias precision": side.precision[0],
            f"{name} biases": bias.mean(),
            f"{name} biases squared": bias @ bias,
            f"{name} factors squared": (x * x).sum(),
            f"{name} factor means squared": (side.mean[1:] ** 2).sum(),
            f"{name} factor precisions": np.log(side.precision[1:]).sum(),
            f"{name} factors in their prior": (side.precision[1:] * (x - side.mean[1:]) ** 2).sum(),
        }
    return {name: float(value) for name, value in found.items()}


@pytest.fixture(params=["reference", "native"])
def kernel_set(request, monkeypatch):
    if request.param == "native" and not native.available():
        pytest.skip(f"no compiled kernels: {native.why_not()}")
    if request.param == "native" and "sbmf" not in native.KERNELS:
        pytest.skip("the sbmf kernel has no compiled form: both sets would run its twin")
    monkeypatch.setenv("DYADS_KERNELS", request.param)
    return request.param


def test_the_sweep_keeps_the_joint_distribution(kernel_set):
    assert findings(a_model(), CELLS, numbers, SHORT, seed=11)[0].p > FALSE_ALARM


@pytest.mark.slow
def test_the_sweep_keeps_the_joint_distribution_in_a_long_run(kernel_set):
    assert findings(a_model(), CELLS, numbers, LONG, seed=12)[0].p > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"biases": False},
        {"prior_shape": 1.0, "prior_rate": 1.0, "prior_noise_shape": 1.0, "prior_noise_rate": 1.0},  # the defaults
        {"prior_mean": 0.5, "prior_strength": 3.0, "prior_offset_mean": -1.0},
    ],
    ids=["no biases", "default shapes", "shifted priors"],
)
def test_other_settings_keep_the_joint_distribution(kernel_set, changes):
    assert findings(a_model(**changes), CELLS, numbers, LONG, seed=13)[0].p > FALSE_ALARM


# --- planted faults: copies of the product's functions with one line changed -----------------------------------------


@dataclass(frozen=True)
class Fault:
    where: Any  # the module or class that holds the function
    name: str
    right: str
    wrong: str

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        function = getattr(self.where, self.name)
        source = inspect.cleandoc("\n" + inspect.getsource(function))
        assert source.count(self.right) == 1
        space = dict(vars(inspect.getmodule(function)))
        exec(source.replace(self.right, self.wrong), space)
        monkeypatch.setattr(self.where, self.name, space[self.name])


FAULTS = {
    "dropped term: the prior mean in (20)": Fault(
        reference, "sbmf", "(shared.precision[c] * shared.mean[c] + pull)", "pull"
    ),
    "dropped term: the old value in (20)": Fault(reference, "sbmf", "(e + x[row] * v)", "e"),
    "dropped term: the squares in lines 3-13": Fault(
        sbmf,
        "drawn",
        "(prior.strength * (mean - prior.mean) ** 2 + spread)",
        "prior.strength * (mean - prior.mean) ** 2",
    ),
    "dropped term: the offset in line 17": Fault(
        SBMF, "_sweep", "(small.error + n_ratings * small.offset)", "small.error"
    ),
    "shared stream: users and items": Fault(SBMF, "_shared", "Site.SBMF_ITEM", "Site.SBMF_USER"),
    "shared stream: two coordinates": Fault(reference, "sbmf", "z[:, c]", "z[:, min(c, 1)]"),
    "precision for variance: factors": Fault(reference, "sbmf", "np.sqrt(variance) * z", "z / np.sqrt(variance)"),
    "precision for variance: offset": Fault(
        SBMF, "_sweep", "draw.standard_normal() / np.sqrt(precision)", "draw.standard_normal() * np.sqrt(precision)"
    ),
    "precision for variance: noise": Fault(
        SBMF,
        "_sweep",
        "/ (self.prior_noise_rate + small.error2 / 2.0)",
        "* (self.prior_noise_rate + small.error2 / 2.0)",
    ),
    "stale residual: between coordinates": Fault(reference, "sbmf", "e += v * (x - new)[row]", "pass"),
    "stale residual: after the items": Fault(
        SBMF, "_sweep", '_with_sums(state.small, "item", sums)', '_with_sums(state.small, "item", stale)'
    ),
}
