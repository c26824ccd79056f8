from __future__ import annotations

import pytest
from geweke import Plan, findings
from planted_sbmf import FAULTS, TWIN_FAULTS
from small_sbmf import CELLS, a_model, numbers

FALSE_ALARM = 1e-3  # for all numbers together
FOUND = 1e-6
SHORT, FAULTY, LONG = Plan(2000, 60, 10), Plan(2000, 60, 40), Plan(10_000, 200, 60)


def test_the_sweep_keeps_the_joint_distribution(kernel_set):
    assert findings(a_model(), CELLS, numbers, SHORT, seed=11)[0].p > FALSE_ALARM


@pytest.mark.slow
def test_the_sweep_keeps_the_joint_distribution_in_a_long_run(kernel_set):
    assert findings(a_model(), CELLS, numbers, LONG, seed=12)[0].p > FALSE_ALARM


# Without biases, those and their priors are numbers that nothing uses.
@pytest.mark.slow
def test_a_sweep_without_biases_keeps_the_joint_distribution(kernel_set):
    def used(now, values):
        return {name: value for name, value in numbers(now, values).items() if "bias" not in name}

    assert findings(a_model(biases=False), CELLS, used, LONG, seed=13)[0].p > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"prior_shape": 1.0, "prior_rate": 1.0, "prior_noise_shape": 1.0, "prior_noise_rate": 1.0},  # the defaults
        {"prior_mean": 0.5, "prior_strength": 3.0, "prior_offset_mean": -1.0},
    ],
    ids=["default shapes", "shifted priors"],
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
