from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from contract.cases import LONG, named
from contract.fits import cut_short, fit, same, straight

from dyads.errors import ModelFileError

TESTS = Path(__file__).parent.parent
KILLS = 20


@pytest.fixture(params=LONG, ids=lambda case: case.name)
def long(request):
    return request.param


def child(case, folder, *where):
    command = [sys.executable, "-m", "contract.killed", case.name, str(folder), *map(str, where)]
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)


# --- kills ---


# Each moment is drawn: a call of a step, or of one of the two that a write consists of.
@pytest.mark.parametrize("where", ["step", "replace", pytest.param("fsync", marks=pytest.mark.slow)])
def test_a_killed_fit_ends_on_the_same_bits(long, kernels, where, tmp_path):
    first, last = (20, 90) if where == "step" else (4, 12)
    moment = int(np.random.default_rng([len(long.name), len(where)]).integers(first, last))
    with child(long, tmp_path / "kept", where, moment) as process:
        assert process.wait(timeout=60) == -signal.SIGKILL
    assert list((tmp_path / "kept").glob("checkpoint-*"))
    assert same(fit(long, tmp_path / "kept", resume=True), straight(long.name, kernels))


# Kills come at random moments after the fit has begun; a fit that ends before its next kill is compared, and another
# one begun.
@pytest.mark.slow
def test_a_fit_killed_at_random_moments_ends_on_the_same_bits(long, kernels, tmp_path):
    due, rng, kills, n = straight(long.name, kernels), np.random.default_rng(20), 0, 0
    while kills < KILLS:
        with child(long, tmp_path / f"kept {n}") as process:
            assert process.stdout.readline() == "begun\n"
            time.sleep(rng.uniform(0.0, 0.4))
            process.send_signal(signal.SIGKILL)
        if process.returncode == 0:
            assert same(fit(long, tmp_path / f"kept {n}", resume=True), due)
            n += 1
        kills += process.returncode == -signal.SIGKILL
    assert same(fit(long, tmp_path / f"kept {n}", resume=True), due)


# --- interrupts and stops ---


@pytest.mark.parametrize("mark", [1, 2, 5])
def test_an_interrupted_fit_is_kept_and_ends_on_the_same_bits(case, kernels, mark, tmp_path):
    marks = len(straight(case.name, kernels).trace_)
    mark, told = min(mark, marks), []

    def interrupt(record):
        told.append(record)
        if len(told) == mark:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(case, tmp_path, every=1000, callback=interrupt)
    assert len(list(tmp_path.glob("checkpoint-*"))) == 1
    seen = []
    assert same(fit(case, tmp_path, resume=True, callback=seen.append), straight(case.name, kernels))
    assert len(seen) == marks - mark + 1


def test_an_interrupt_without_a_folder_comes_through_and_leaves_nothing(case):
    model = case.make()

    def interrupt(record):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(case.pairs(), show_progress=False, callback=interrupt)
    assert not hasattr(model, "posterior_")


def test_a_finished_fit_is_resumed_to_itself(case, kernels, tmp_path):
    fit(case, tmp_path)
    seen = []
    assert same(fit(case, tmp_path, resume=True, callback=seen.append), straight(case.name, kernels))
    assert seen == []


def test_a_fit_stopped_by_its_callback_stays_stopped(long, tmp_path):
    stopped = fit(long, tmp_path, callback=lambda record: record.done >= 40)
    again = fit(long, tmp_path, resume=True)
    assert same(again, stopped)
    assert again._learned().stopped == "callback"


def test_the_number_of_threads_may_change_on_the_way(long, kernels, tmp_path):
    cut_short(long, tmp_path, n_jobs=1)
    assert same(fit(long, tmp_path, resume=True, n_jobs=3), straight(long.name, kernels))


def test_a_fresh_seed_is_kept(long, tmp_path):
    cut_short(long, tmp_path, random_state=None)
    model = fit(long, tmp_path, resume=True, random_state=None)
    assert same(model, fit(long, random_state=model.seed_))


# --- what lies in the folder ---


# The draws behind the checkpoint that is left are not those of the fit that goes on.
def test_draws_are_cut_back_to_those_that_the_checkpoint_counts(kernels, tmp_path):
    case = named("sbmf")
    fit(case, tmp_path, every=7)
    newest = max(tmp_path.glob("checkpoint-*"))
    newest.unlink()
    draws = tmp_path / "draws"
    whole = draws.read_bytes()
    resumed = fit(case, tmp_path, resume=True, every=7)
    assert same(resumed, straight(case.name, kernels))
    assert len(resumed.posterior_.offset) == 2 * case.many["n_draws"]
    assert draws.read_bytes() == whole


def test_a_model_stays_whole_when_its_folder_goes(long, kernels, tmp_path):
    folder = tmp_path / "kept"
    model = fit(long, folder)
    for path in folder.iterdir():
        path.unlink()
    assert same(model, straight(long.name, kernels))


def test_draws_that_are_missing_are_said(tmp_path):
    case = named("sbmf")
    cut_short(case, tmp_path)
    (tmp_path / "draws").write_bytes((tmp_path / "draws").read_bytes()[:2000])
    with pytest.raises(ModelFileError, match=r"draws holds \d+ draws where its checkpoint counts \d+: remove both"):
        fit(case, tmp_path, resume=True)


def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(long, kernels, tmp_path, caplog):
    cut_short(long, tmp_path)
    newest = max(tmp_path.glob("checkpoint-*"))
    newest.write_bytes(newest.read_bytes()[:-9])
    assert same(fit(long, tmp_path, resume=True), straight(long.name, kernels))
    assert "an older checkpoint is looked for" in caplog.text
