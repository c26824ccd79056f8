from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dyads import arrayfile
from dyads.checkpoint import Checkpoints, written
from dyads.errors import ConfigError, ModelFileError

KEY = {"method": "sbmf", "n_factors": 10, "data": "ab12"}
MACHINE = {"kernels": "reference"}


def opened(folder: Path, **changes: Any) -> Checkpoints:
    return Checkpoints(folder, {**KEY, **changes}, MACHINE)


def kept(folder: Path, *numbers: int) -> None:
    checkpoints = opened(folder)
    checkpoints.start(resume=bool(checkpoints.numbers()))
    for n in numbers:
        checkpoints.write({"n": n}, {"x": np.full(5, float(n))})
    checkpoints.close()


def found(folder: Path) -> int:
    checkpoints = opened(folder)
    try:
        content, arrays = checkpoints.start(resume=True) or (None, None)
    finally:
        checkpoints.close()
    assert arrays["x"].tolist() == [content["n"]] * 5
    return content["n"]


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-70] ^= 1
    path.write_bytes(content)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_two_are_kept_and_the_newest_is_found(tmp_path):
    kept(tmp_path / "a" / "b", 1, 2, 3, 4)
    assert names(tmp_path / "a" / "b") == ["checkpoint-000000003.dyads", "checkpoint-000000004.dyads", "lock"]
    assert found(tmp_path / "a" / "b") == 4


def test_a_fit_that_goes_on_counts_on(tmp_path):
    kept(tmp_path, 1, 2, 3)
    kept(tmp_path, 4)
    assert names(tmp_path) == ["checkpoint-000000003.dyads", "checkpoint-000000004.dyads", "lock"]


def test_a_used_folder_is_refused_without_resume(tmp_path):
    kept(tmp_path, 1)
    checkpoints = opened(tmp_path)
    with pytest.raises(ConfigError, match=rf"{tmp_path}.* already holds a fit: give resume=True"):
        checkpoints.start(resume=False)
    checkpoints.close()


def test_nothing_to_resume_is_said(tmp_path, caplog):
    checkpoints = opened(tmp_path)
    assert checkpoints.start(resume=True) is None
    assert caplog.messages == [f"nothing to resume in {tmp_path}: the fit starts afresh"]
    checkpoints.close()


def test_nothing_is_said_where_nothing_was_to_be_resumed(tmp_path, caplog):
    checkpoints = opened(tmp_path)
    assert checkpoints.start(resume=False) is None
    assert caplog.messages == []
    checkpoints.close()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_factors": 20}, "n_factors was 10 there and is 20 now; give the same n_factors"),
        ({"data": "cd34"}, "data was 'ab12' there and is 'cd34' now"),
        ({"method": "bpr"}, "method was 'sbmf' there and is 'bpr' now"),
        ({"clip": None}, "clip was not there there and is None now"),
    ],
)
def test_another_fit_is_refused_by_name_and_both_values(tmp_path, changes, said):
    kept(tmp_path, 1)
    checkpoints = opened(tmp_path, **changes)
    with pytest.raises(ModelFileError, match=rf"{tmp_path} holds another fit: {said}"):
        checkpoints.start(resume=True)
    checkpoints.close()


def test_another_kernel_set_is_warned_of(tmp_path, caplog):
    kept(tmp_path, 1)
    checkpoints = Checkpoints(tmp_path, KEY, {"kernels": "native"})
    assert checkpoints.start(resume=True) is not None
    assert "begun with kernels 'reference' and goes on with 'native'" in caplog.text
    assert "not the same to the bit" in caplog.text
    checkpoints.close()


def test_a_damaged_newest_gives_way_to_the_older(tmp_path, caplog):
    kept(tmp_path, 1, 2, 3)
    damage(tmp_path / "checkpoint-000000003.dyads")
    assert found(tmp_path) == 2
    assert "checkpoint-000000003.dyads was altered or damaged" in caplog.text
    kept(tmp_path, 4)
    assert names(tmp_path) == ["checkpoint-000000002.dyads", "checkpoint-000000004.dyads", "lock"]


def test_without_a_whole_checkpoint_there_is_no_silent_new_start(tmp_path):
    kept(tmp_path, 1, 2)
    damage(tmp_path / "checkpoint-000000001.dyads")
    (tmp_path / "checkpoint-000000002.dyads").write_bytes(b"")
    checkpoints = opened(tmp_path)
    with pytest.raises(ModelFileError, match=r"no checkpoint in .* can be read .*is empty.*altered.*remove the folder"):
        checkpoints.start(resume=True)
    checkpoints.close()


def test_a_model_file_is_no_checkpoint(tmp_path):
    arrayfile.write(tmp_path / "checkpoint-000000001.dyads", "model", {}, {})
    checkpoints = opened(tmp_path)
    with pytest.raises(ModelFileError, match="is of kind model"):
        checkpoints.start(resume=True)
    checkpoints.close()


@pytest.mark.parametrize("payload", [{}, {"key": KEY}, {"key": [], "machine": {}, "content": 1}])
def test_a_checkpoint_without_its_parts_is_refused(tmp_path, payload):
    arrayfile.write(tmp_path / "checkpoint-000000001.dyads", "checkpoint", payload, {})
    checkpoints = opened(tmp_path)
    with pytest.raises(ModelFileError, match="holds no fit"):
        checkpoints.start(resume=True)
    checkpoints.close()


def test_stale_files_of_a_kill_are_cleared_and_others_stay(tmp_path):
    (tmp_path / ".checkpoint-000000001.dyads.0123456789abcdef.part").write_bytes(b"half")
    (tmp_path / "notes.txt").write_text("mine")
    opened(tmp_path).close()
    assert names(tmp_path) == ["lock", "notes.txt"]


def test_two_fits_cannot_use_one_folder(tmp_path):
    first = opened(tmp_path)
    with pytest.raises(ConfigError, match=rf"{tmp_path}.* is in use by another fit"):
        opened(tmp_path)
    first.close()
    opened(tmp_path).close()


def test_a_file_in_place_of_the_folder_is_one_sentence(tmp_path):
    (tmp_path / "flat").touch()
    with pytest.raises(ConfigError, match=r"flat' cannot be used .File exists.: give a folder"):
        opened(tmp_path / "flat")


@pytest.mark.parametrize("step", ["fsync", "replace", "unlink"])
def test_a_kill_at_any_step_of_a_write_leaves_a_whole_checkpoint(tmp_path, monkeypatch, step):
    kept(tmp_path, 1, 2)
    checkpoints = opened(tmp_path)
    checkpoints.start(resume=True)

    class Killed(BaseException):
        pass

    def fail(*args: Any, **kwargs: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(*({"fsync": (os, "fsync"), "replace": (os, "replace"), "unlink": (Path, "unlink")}[step]), fail)
        with pytest.raises(Killed):
            checkpoints.write({"n": 3}, {"x": np.full(5, 3.0)})
    checkpoints.close()
    assert found(tmp_path) == (3 if step == "unlink" else 2)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, np.int64(1), True),
        (0.1, np.float64(0.1), True),
        (1, 1.0, False),
        (1, True, False),
        ("1", 1, False),
        ((1, 2), [1, 2], True),
        (np.arange(1000), np.arange(1000), True),
        (np.arange(1000), np.arange(1000) + (np.arange(1000) == 500), False),
        (np.arange(4), np.arange(4.0), False),
        (np.random.default_rng(0), np.random.default_rng(1), True),
        (None, "None", False),
    ],
)
def test_values_are_remembered_as_texts_that_tell_them_apart(a, b, equal):
    assert (written(a) == written(b)) is equal


WRITER = """
import sys
import numpy as np
from dyads.checkpoint import Checkpoints

checkpoints = Checkpoints(sys.argv[1], {"a": 1}, {})
start = checkpoints.start(resume=True)
n = start.content["n"] if start else 0
while True:
    n += 1
    checkpoints.write({"n": n}, {"x": np.full(200_000, float(n))})
    print(n, flush=True)
"""


def last_written(folder: Path, seconds: float) -> int:
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        last = int(process.stdout.readline())
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        said = process.stdout.read().splitlines()
    return int(said[-1]) if said else last


@pytest.mark.slow
def test_a_writer_killed_at_random_moments_never_loses_what_it_wrote(tmp_path):
    moments = np.random.default_rng(0).uniform(0.0, 0.05, size=20)
    for seconds in moments:
        last = last_written(tmp_path, seconds)
        checkpoints = Checkpoints(tmp_path, {"a": 1}, {})
        start = checkpoints.start(resume=True)
        checkpoints.close()
        assert start is not None
        n = start.content["n"]
        assert n in (last, last + 1)
        assert (start.arrays["x"] == n).all()
        assert len(checkpoints.numbers()) <= 3
        assert not list(tmp_path.glob(".*"))
