from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from geweke import Plan, findings
from planted_sbmf import FAULTS, TWIN_FAULTS

from dyads.models.sbmf import SBMF
from dyads.pairs import Pairs

FALSE_ALARM = 1e-3  # for all numbers together
FOUND = 1e-6
SHORT, FAULTY, LONG = Plan(2000, 60, 10), Plan(2000, 60, 40), Plan(10_000, 200, 60)
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
        "factors of a number": ((u - u.mean(axis=0))[DIAGONAL] * (v - v.mean(axis=0))).sum(),
        "biases of a number": (b - b.mean())[DIAGONAL] @ (c - c.mean()),
        "factors crossed": crossed(u) * crossed(v),
        "mean factors": (small.user.mean[1:] * small.item.mean[1:]).sum(),
        "data mean": y.mean(),
        "data spread": y.std(),
        "residual spread": e.std(),
        "residuals in their law": small.noise_precision * e @ e,
        "mean residual in its law": np.sqrt(small.noise_precision) * e.mean(),
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


# How the two factors of a side go together; times the same of the other side a change of sign cancels.
def crossed(x: np.ndarray) -> float:
    first, second = (x - x.mean(axis=0)).T
    return first @ second / np.sqrt(first @ first * (second @ second))


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


# --- planted faults --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["dropped term: the squares in lines 3-13", "stale residual: the other side before it moved"]
)
def test_a_planted_fault_is_found_in_a_short_run(kernel_set, monkeypatch, name):
    FAULTS[name].plant(monkeypatch)
    assert findings(a_model(), CELLS, numbers, SHORT, seed=14)[0].p < FOUND


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(kernel_set, monkeypatch, name):
    FAULTS[name].plant(monkeypatch)
    assert findings(a_model(), CELLS, numbers, FAULTY, seed=15)[0].p < FOUND


@pytest.mark.slow
@pytest.mark.parametrize("name", TWIN_FAULTS)
def test_a_fault_planted_in_the_twin_is_found(monkeypatch, name):
    monkeypatch.setenv("DYADS_KERNELS", "reference")
    TWIN_FAULTS[name].plant(monkeypatch)
    assert findings(a_model(), CELLS, numbers, FAULTY, seed=15)[0].p < FOUND
