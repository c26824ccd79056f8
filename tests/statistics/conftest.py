from __future__ import annotations

import pytest

from dyads.kernels import native


@pytest.fixture(params=["reference", "native"])
def kernel_set(request, monkeypatch):
    if request.param == "native" and not native.available():
        pytest.skip(f"no compiled kernels: {native.why_not()}")
    if request.param == "native" and "sbmf" not in native.KERNELS:
        pytest.skip("the sbmf kernel has no compiled form: both sets would run its twin")
    monkeypatch.setenv("DYADS_KERNELS", request.param)
    return request.param
