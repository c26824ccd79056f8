from __future__ import annotations

import numpy as np
import pytest

from dyads.engines.local import MOST_THREADS, thread_count
from dyads.errors import ConfigError
from dyads.models.bpr import BPR


def test_any_number_of_threads_is_one_that_the_kernels_take():
    X = np.eye(4)
    due = BPR(random_state=0, n_jobs=1).fit(X).item_factors_
    for n_jobs in (2, np.int64(3), 10**11, 2**63 - 1, -1, None):
        assert type(thread_count(n_jobs)) is int
        np.testing.assert_array_equal(BPR(random_state=0, n_jobs=n_jobs).fit(X).item_factors_, due)
    assert thread_count(10**11) == MOST_THREADS


@pytest.mark.parametrize(("text", "n"), [("3", 3), ("99999999999", MOST_THREADS)])
def test_the_variable_says_how_many(monkeypatch, text, n):
    monkeypatch.setenv("DYADS_THREADS", text)
    assert thread_count(None) == n
    assert thread_count(2) == 2


@pytest.mark.parametrize("text", ["0", "-1", "many", "²", "1.5"])
def test_another_value_of_the_variable_is_named(monkeypatch, text):
    monkeypatch.setenv("DYADS_THREADS", text)
    with pytest.raises(ConfigError, match=f"DYADS_THREADS='{text}' is not a number of threads"):
        thread_count(None)
