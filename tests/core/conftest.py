from __future__ import annotations

import pytest

from dyads.kernels import native

USABLE = [level for level in native.built() if level in native.supported()]
NONE = pytest.param(None, marks=pytest.mark.skip(reason="no compiled core here"))


@pytest.fixture(params=USABLE or [NONE])
def level(request, monkeypatch):
    monkeypatch.setenv("DYADS_LEVEL", request.param)
    return request.param


@pytest.fixture
def each_level(level):
    return native.core()
