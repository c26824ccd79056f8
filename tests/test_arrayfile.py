from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dyads import arrayfile
from dyads.errors import ModelFileError

DTYPES = st.sampled_from(
    ["?", "<i1", "<u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", ">f4", ">i8"]
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_.]{0,20}\Z").filter(lambda name: name != "digest")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, ARRAYS, max_size=6), st.dictionaries(st.text(), JSON, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(tmp_path, arrays, payload):
    path = tmp_path / "file"
    arrayfile.write(path, "model", payload, arrays)
    found, mapped = arrayfile.read(path, "model")
    assert found == payload
    assert set(mapped) == set(arrays)
    for name, array in arrays.items():
        assert mapped[name].shape == array.shape
        assert mapped[name].dtype == array.dtype.newbyteorder("<")
        assert mapped[name].tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()


@pytest.mark.parametrize("view", [np.s_[:, ::2], np.s_[::-1], np.s_[2:, 1:3], np.s_[:, 0]])
def test_views_are_written_as_they_look(tmp_path, view):
    array = np.arange(35, dtype=np.float32).reshape(5, 7)[view]
    arrayfile.write(tmp_path / "file", "model", {}, {"x": array, "y": array.T})
    _, mapped = arrayfile.read(tmp_path / "file", "model")
    assert np.array_equal(mapped["x"], array)
    assert np.array_equal(mapped["y"], array.T)


def test_arrays_are_mapped_read_only_and_stand_at_multiples_of_their_size(tmp_path):
    arrays = {
        "a": np.ones(3, np.uint8),
        "b": np.ones(1, np.float64),
        "c": np.ones(1, np.int16),
        "d": np.ones(1, np.float32),
    }
    arrayfile.write(tmp_path / "file", "model", {}, arrays)
    _, mapped = arrayfile.read(tmp_path / "file", "model")
    for array in mapped.values():
        assert array.flags.aligned
        assert not array.flags.writeable


def test_safetensors_reads_our_files(tmp_path):
    from safetensors.numpy import load_file

    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros((1, 4, 0), np.float32), "c": np.array([True, False])}
    arrayfile.write(tmp_path / "file", "model", {"name": "x"}, arrays)
    theirs = load_file(tmp_path / "file")
    assert all(
        np.array_equal(theirs[name], array) and theirs[name].shape == array.shape for name, array in arrays.items()
    )


VERSION_1 = (
    "IAEAAAAAAAB7Il9fbWV0YWRhdGFfXyI6eyJmb3JtYXQiOiJkeWFkcyIsInZlcnNpb24iOiIxIiwia2luZCI6Im1vZGVsIiwicGF5bG9hZCI6In"
    "tcIm5hbWVcIjpcImFcIixcIm5cIjpbMSwyLjUsbnVsbF19In0sInkiOnsiZHR5cGUiOiJJNjQiLCJzaGFwZSI6WzIsMV0sImRhdGFfb2Zmc2V0"
    "cyI6WzAsMTZdfSwieCI6eyJkdHlwZSI6IkYzMiIsInNoYXBlIjpbM10sImRhdGFfb2Zmc2V0cyI6WzE2LDI4XX0sImRpZ2VzdCI6eyJkdHlwZS"
    "I6IlU4Iiwic2hhcGUiOls2NF0sImRhdGFfb2Zmc2V0cyI6WzI4LDkyXX19ICAgICAHAAAAAAAAAAgAAAAAAAAAAAAAAAAAgD8AAABAz4Q2MSGy"
    "GQsmebjAo+penPNGqa42/e7CjhDEeyD0yFDsH8b8U4UrMNy/lbzPsQsOTQoZCoiAj7+rhcsDdSfz3Q=="
)


def test_a_file_of_the_first_version_opens(tmp_path):
    (tmp_path / "file").write_bytes(base64.b64decode(VERSION_1))
    payload, arrays = arrayfile.read(tmp_path / "file", "model", verify=True)
    assert payload == {"name": "a", "n": [1, 2.5, None]}
    assert arrays["x"].tolist() == [0.0, 1.0, 2.0]
    assert arrays["y"].tolist() == [[7], [8]]


def test_errors_name_what_cannot_be_written(tmp_path):
    with pytest.raises(TypeError, match="'x' is of type <U1"):
        arrayfile.write(tmp_path / "file", "model", {}, {"x": np.array(["a"])})
    with pytest.raises(ValueError, match="'a b'"):
        arrayfile.write(tmp_path / "file", "model", {}, {"a b": np.zeros(1)})
    with pytest.raises(ValueError, match="10002 arrays"):
        arrayfile.write(tmp_path / "file", "model", {}, {f"x{n}": np.zeros(0) for n in range(10_001)})
    assert list(tmp_path.iterdir()) == []


# --- files that are not opened ----------------------------------------------------------------------------------


def refused(path: Path, match: str, verify: bool | None = None) -> None:
    with pytest.raises(ModelFileError, match=match) as error:
        arrayfile.read(path, "model", verify)
    said = str(error.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    assert len(said) < 400


STRANGERS = {
    "empty": (b"", "is empty"),
    "one byte": (b"x", "no file of dyads"),
    "eight bytes": (bytes(8), "no file of dyads"),
    "text": (b"user,item\n1,2\n3,4\n", "no file of dyads"),
    "pickle": (b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00", "pickle file"),
    "numpy": (b"\x93NUMPY\x01\x00v\x00" + bytes(100), "NumPy"),
    "zip": (b"PK\x03\x04" + bytes(100), "zip"),
    "gzip": (b"\x1f\x8b\x08" + bytes(100), "gzip"),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_a_stranger_is_called_what_it_is(tmp_path, case):
    content, match = STRANGERS[case]
    (tmp_path / "file").write_bytes(content)
    refused(tmp_path / "file", match)


def test_a_pickle_is_never_run(tmp_path):
    import pickle

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "run"),)

    (tmp_path / "file").write_bytes(pickle.dumps(Trap()))
    refused(tmp_path / "file", "pickle file")
    assert not (tmp_path / "run").exists()


def test_what_is_no_file_is_refused(tmp_path):
    refused(tmp_path, "is a folder")
    refused(tmp_path / "nothing", "is not there")
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "below", "cannot be read")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "no ordinary file")


# --- damage --------------------------------------------------------------------------------------------------------


@pytest.fixture
def whole(tmp_path):
    arrays = {"a": np.arange(50.0), "b": np.arange(30, dtype=np.int32).reshape(5, 6), "c": np.ones(7, np.uint8)}
    arrayfile.write(tmp_path / "whole", "model", {"name": "x", "numbers": [1, 2, 3]}, arrays)
    return (tmp_path / "whole").read_bytes()


def test_every_truncation_is_refused(tmp_path, whole):
    path = tmp_path / "file"
    for length in [*range(0, len(whole), 7), *range(len(whole) - 70, len(whole))]:
        path.write_bytes(whole[:length])
        refused(path, ".")


def test_every_flipped_bit_is_refused(tmp_path, whole):
    path, draw = tmp_path / "file", np.random.default_rng(0)
    for bit in draw.choice(8 * len(whole), size=600, replace=False):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        refused(path, ".")


def test_a_longer_file_is_refused(tmp_path, whole):
    (tmp_path / "file").write_bytes(whole + b"\0")
    refused(tmp_path / "file", "bytes long")


def test_replaced_and_shuffled_bytes_never_do_more_than_be_refused(tmp_path, whole):
    path, draw = tmp_path / "file", np.random.default_rng(1)
    for _ in range(300):
        changed = np.frombuffer(whole, np.uint8).copy()
        first, length = draw.integers(len(whole)), draw.integers(1, 200)
        changed[first : first + length] = draw.integers(256, size=len(changed[first : first + length]))
        path.write_bytes(changed.tobytes())
        if changed.tobytes() != whole:
            refused(path, ".")


def test_a_large_file_is_compared_with_its_digest_when_asked(tmp_path, whole, monkeypatch):
    changed = bytearray(whole)
    changed[-100] ^= 1
    (tmp_path / "file").write_bytes(changed)
    monkeypatch.setattr(arrayfile, "VERIFIED", 100)
    arrayfile.read(tmp_path / "file", "model")
    refused(tmp_path / "file", "data do not have the digest", verify=True)


# --- writing is all or nothing ------------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for a signal that ends the process."""


def fails(monkeypatch, where: str, error: BaseException) -> None:
    def fail(*args: Any, **kwargs: Any) -> Any:
        raise error

    monkeypatch.setattr(
        *({"fsync": (os, "fsync"), "replace": (os, "replace"), "body": (arrayfile, "write_body")}[where]), fail
    )


@pytest.mark.parametrize("where", ["body", "fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, where):
    path = tmp_path / "file"
    arrayfile.write(path, "model", {"n": 1}, {"x": np.ones(3)})
    with monkeypatch.context() as patch:
        fails(patch, where, Killed())
        with pytest.raises(Killed):
            arrayfile.write(path, "model", {"n": 2}, {"x": np.ones(3)})
    assert arrayfile.read(path, "model")[0] == {"n": 1}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", ["body", "fsync", "replace"])
def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch, where):
    fails(monkeypatch, where, OSError(28, "No space left on device"))
    with pytest.raises(ModelFileError, match=r"cannot be written .No space left on device.: choose a folder"):
        arrayfile.write(tmp_path / "file", "model", {}, {"x": np.ones(3)})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(ModelFileError, match=r"none/file cannot be written .No such file"):
        arrayfile.write(tmp_path / "none" / "file", "model", {}, {})
    (tmp_path / "flat").touch()
    with pytest.raises(ModelFileError, match=r"flat/file cannot be written .Not a directory"):
        arrayfile.write(tmp_path / "flat" / "file", "model", {}, {})


def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(ModelFileError, match="pipe is a device, pipe or socket"):
            arrayfile.write(tmp_path / name, "model", {}, {})
    assert (tmp_path / "pipe").is_fifo()
    assert len(list(tmp_path.iterdir())) == 2


def test_arrays_of_the_old_file_stay_when_it_is_replaced(tmp_path):
    path = tmp_path / "file"
    arrayfile.write(path, "model", {}, {"x": np.ones(1000)})
    _, mapped = arrayfile.read(path, "model")
    arrayfile.write(path, "model", {}, {"x": np.zeros(10)})
    assert mapped["x"].sum() == 1000


def test_a_link_keeps_pointing_at_the_file(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    arrayfile.write(tmp_path / "link", "model", {}, {})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file").is_file()
