# What a folder of checkpoints is refused for. It is of Python alone, and needs no second set of kernels.

from __future__ import annotations

import logging

import numpy as np
import pytest
from contract.cases import LONG, SETS, named
from contract.fits import cut_short, fit, same

from dyads import arrayfile, keeper
from dyads.errors import ConfigError, ModelFileError


@pytest.fixture(params=SETS[-1:], autouse=True)
def kernels(request, monkeypatch):
    monkeypatch.setenv("DYADS_KERNELS", request.param)
    return request.param


@pytest.fixture(params=LONG, ids=lambda case: case.name)
def long(request):
    return request.param


def test_nothing_to_resume_starts_afresh_and_is_said(case, kernels, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "dyads"):
        model = fit(case, tmp_path, long=False, resume=True)
    assert [m for m in caplog.messages if "NumPy" not in m] == [
        f"nothing to resume in {tmp_path}: the fit starts afresh"
    ]
    assert same(model, fit(case, long=False))


def test_a_used_folder_is_refused_without_resume(case, tmp_path):
    fit(case, tmp_path, long=False)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match=rf"{tmp_path}.* already holds a fit: give resume=True"):
        fit(case, tmp_path, long=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_other_data_are_refused_by_name(case, tmp_path):
    fit(case, tmp_path, long=False)
    with pytest.raises(ModelFileError, match=rf"{tmp_path} holds another fit: data was '\w+' there and is '\w+' now"):
        fit(case, tmp_path, long=False, resume=True, pairs=case.data(case.kind, 1))


@pytest.mark.parametrize(
    ("name", "now"), [("random_state", 5), ("n_factors", 5), ("prior_shape", 2.0), ("prior_concentration", 0.5)]
)
def test_other_parameters_are_refused_by_name(case, tmp_path, name, now):
    if name not in case.make().get_params():
        pytest.skip(f"this method has no {name}")
    fit(case, tmp_path, long=False)
    before = case.make().get_params()[name]
    with pytest.raises(ModelFileError, match=rf"holds another fit: {name} was {before} there and is {now} now"):
        fit(case, tmp_path, long=False, resume=True, **{name: now})


def test_another_version_is_refused_by_name(case, tmp_path, monkeypatch):
    fit(case, tmp_path, long=False)
    here = keeper.version()
    monkeypatch.setattr(keeper, "version", lambda: "9.9")
    with pytest.raises(ModelFileError, match=rf"holds another fit: dyads was '{here}' there and is '9.9' now"):
        fit(case, tmp_path, long=False, resume=True)


def test_another_method_is_refused_by_name(tmp_path):
    fit(named("popularity"), tmp_path, long=False)
    other = named("sbmf")
    with pytest.raises(ModelFileError, match=r"method was 'popularity' there and is 'sbmf' now"):
        fit(other, tmp_path, long=False, resume=True, pairs=named("popularity").pairs())


def test_a_checkpoint_that_holds_something_else_is_refused(long, tmp_path):
    cut_short(long, tmp_path)
    for path in tmp_path.glob("checkpoint-*"):
        payload, arrays = arrayfile.read(path, "checkpoint")
        arrays = {name: np.array(array) for name, array in arrays.items() if "trace.seconds" not in name}
        arrayfile.write(path, "checkpoint", payload, arrays)
    with pytest.raises(ModelFileError, match=rf"the checkpoint in {tmp_path} is damaged .*: remove the folder"):
        fit(long, tmp_path, resume=True)
