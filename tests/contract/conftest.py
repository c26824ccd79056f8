from __future__ import annotations

import pytest
from contract.cases import CASES, PERSONAL, SETS, board_fitted, fitted


def _name(case):
    return case.name


@pytest.fixture(params=SETS, autouse=True)
def kernels(request, monkeypatch):
    monkeypatch.setenv("DYADS_KERNELS", request.param)
    return request.param


@pytest.fixture(params=CASES, ids=_name)
def case(request):
    return request.param


@pytest.fixture
def model(case, kernels):
    return fitted(case.name, kernels)


@pytest.fixture(params=PERSONAL, ids=_name)
def personal(request):
    return request.param


@pytest.fixture
def board(personal, kernels):
    return board_fitted(personal.name, kernels)
