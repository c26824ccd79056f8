from __future__ import annotations

import numpy as np
import pytest
from planted_sbmf import FAULTS
from scipy import stats
from small_sbmf import CELLS, a_model, numbers

from dyads.engines.local import Local
from dyads.state import bare
from dyads.streams import At

# Simulation-based calibration (Talts et al., 2018): where parameters come from the prior and values from them, the
# rank of a true number among posterior draws of it is even. Every draw here is the end of a chain of its own from the
# model's own start, so that ranks are exact but for what 40 sweeps leave of that start.

FALSE_ALARM, FOUND = 1e-3, 1e-6  # for all numbers together (Bonferroni)
N_TRUTHS, N_CHAINS, SWEEPS, BINS = 200, 19, 40, 10
OF_THE_DATA = {"data mean", "data spread"}

pytestmark = pytest.mark.slow


def smallest_p(seed: int) -> float:
    ranks: dict[str, list[int]] = {}
    for r in range(N_TRUTHS):
        at = At(seed, r * N_CHAINS, 0)
        truth, values = a_model().simulate(CELLS, at)
        own = numbers(truth, values)
        draws = [draw(values, at._replace(chain=at.chain + c)) for c in range(N_CHAINS)]
        for name in own.keys() - OF_THE_DATA:
            ranks.setdefault(name, []).append(sum(one[name] < own[name] for one in draws))
    counts = {
        name: np.bincount(np.array(found) * BINS // (N_CHAINS + 1), minlength=BINS) for name, found in ranks.items()
    }
    return len(counts) * min(stats.chisquare(count).pvalue for count in counts.values())


def draw(values, at):
    engine, model = Local(1), a_model()
    state = model.step(model.init(values, engine, at), engine, at, SWEEPS)
    return numbers(bare(state, engine), values)


def test_ranks_of_true_numbers_are_even(kernel_set):
    assert smallest_p(seed=21) > FALSE_ALARM


@pytest.mark.parametrize(
    "name", ["precision for variance: draw of the noise", "dropped term: the squares in lines 3-13"]
)
def test_a_planted_fault_makes_ranks_uneven(kernel_set, monkeypatch, name):
    FAULTS[name].plant(monkeypatch)
    assert smallest_p(seed=22) < FOUND
