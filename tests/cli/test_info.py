from __future__ import annotations

import json

import pytest

import dyads
from dyads import kernels
from dyads.kernels import native


def fields(told):
    return dict(line.split(maxsplit=1) for line in told.splitlines())


def test_a_model_says_what_it_is(dyads_, shop):
    told = fields(dyads_("info", shop).out)
    model = dyads.load(shop)
    assert told["model"] == "BPR"
    assert told["users"] == "500 strings, such as 'ann.baker'"
    assert told["posterior"] == "a point, without spread"
    assert (told["n_entries"], told["seed"], told["ticks"]) == ("40000", "3", str(model.n_iter_))
    assert told["size"] == f"{shop.stat().st_size:,} bytes"


def test_a_model_as_json(dyads_, rated):
    told = json.loads(dyads_("info", rated, "--as", "json").out)
    model = dyads.load(rated)
    assert told["posterior"] == "4 draws"
    assert told["parameters"]["clip"] == "(1.0, 5.0)"
    assert told["data fingerprint"] == model.pairs_.fingerprint
    assert told["objective"] == model.trace_[-1].objective.value


def test_a_file_without_pairs_says_so(dyads_, tmp_path):
    path = tmp_path / "m.dyads"
    dyads.Popularity().fit(dyads.Pairs.of([1, 2], [3, 3]), show_progress=False).save(path, pairs=False)
    told = fields(dyads_("info", path).out)
    assert (told["pairs"], told["posterior"]) == ("not saved", "Dirichlet over the items")


@pytest.mark.parametrize("name", ["bpr", "sbmf", "popularity"])
def test_a_method_lists_its_parameters_and_what_they_may_be(dyads_, name):
    from dyads.models import method

    rows = json.loads(dyads_("info", name, "--as", "json").out)
    assert [row["parameter"] for row in rows] == list(method(name)().get_params())
    assert all(row["may be"] for row in rows)


def test_the_doctor_says_what_is_in_use_and_why(dyads_, monkeypatch):
    for name in ("DYADS_KERNELS", "DYADS_LEVEL", "DYADS_THREADS"):
        monkeypatch.delenv(name, raising=False)
    told = dyads_("doctor").out
    lines = {line[:18].strip(): line[18:].strip() for line in told.splitlines()}
    assert lines["dyads"] == dyads.__version__
    assert lines["kernels"].startswith(f"{kernels.chosen()}, for ")
    assert lines["levels built"] == (", ".join(native.built()) or "none")
    if native.available():
        assert lines["level"].startswith(f"{native.level()} (")


@pytest.mark.parametrize(("name", "value"), [("DYADS_KERNELS", "reference"), ("DYADS_THREADS", "3")])
def test_a_variable_is_named_where_it_decides(dyads_, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert f"{value}, as {name} says" in dyads_("doctor").out


def test_without_a_compiled_core_the_doctor_says_why(dyads_, monkeypatch):
    monkeypatch.delenv("DYADS_KERNELS", raising=False)
    monkeypatch.delenv("DYADS_LEVEL", raising=False)
    monkeypatch.setattr(native, "why_not", lambda: "nothing was compiled")
    monkeypatch.setattr(native, "available", lambda: False)
    done = dyads_("doctor")
    assert done.code == 0
    assert "reference, for nothing was compiled" in done.out
