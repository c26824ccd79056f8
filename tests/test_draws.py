from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import pytest

from dyads import arrayfile
from dyads.draws import DrawFile, DrawMemory
from dyads.errors import ModelFileError
from dyads.pairs import F32, F64
from dyads.state import arrays_equal
from dyads.trees import by_name


class Past(NamedTuple):
    rate: F64  # (C,)


class Draw(NamedTuple):
    user: F32  # (C, I, K)
    var: F32 | None
    flags: Any  # (C, 3)
    clip: F64  # (2,)
    link: str
    small: Past


CLASSES = by_name(Draw, Past)
CLIP = np.array([1.0, 5.0])


def draw(n: int) -> Draw:
    numbers = np.random.default_rng(n)
    user, flags = numbers.normal(size=(1, 5, 3)).astype(np.float32), numbers.integers(100, size=(1, 3)).astype(np.uint8)
    return Draw(user, None, flags, CLIP, "identity", Past(numbers.normal(size=1)))


def expected(which: range | list[int]) -> Draw:
    draws = [draw(n) for n in which]
    user, flags, rate = (
        np.concatenate(parts)
        for parts in ([d.user for d in draws], [d.flags for d in draws], [d.small.rate for d in draws])
    )
    return Draw(user, None, flags, CLIP, "identity", Past(rate))


@pytest.fixture(params=["memory", "file"])
def draws(request, tmp_path):
    made: Any = DrawMemory(CLASSES, capacity=2) if request.param == "memory" else DrawFile(tmp_path / "draws", CLASSES)
    yield made
    made.close()


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_draws_come_back_stacked(draws, n):
    for number in range(n):
        draws.append(draw(number))
    draws.flush()
    assert draws.count == n
    assert arrays_equal(draws.stacked(), expected(range(n)))


def test_draws_cut_back_are_written_over(draws):
    for number in range(5):
        draws.append(draw(number))
    draws.flush()
    draws.cut(2)
    draws.append(draw(7))
    assert arrays_equal(draws.stacked(), expected([0, 1, 7]))


def test_draws_cut_to_none_may_have_other_shapes(draws):
    draws.append(draw(0))
    draws.cut(0)
    other = draw(1)._replace(user=np.ones((1, 2, 2), np.float32))
    draws.append(other)
    assert arrays_equal(draws.stacked(), other)


def test_a_draw_of_another_make_is_a_fault_of_the_program(draws):
    draws.append(draw(0))
    with pytest.raises(ValueError, match="not made like"):
        draws.append(draw(1)._replace(link="none"))
    with pytest.raises(ValueError, match=r"draw\.user"):
        draws.append(draw(1)._replace(user=np.ones((1, 2, 2), np.float32)))
    with pytest.raises(ValueError, match=r"draw\.clip .* differs"):
        draws.append(draw(1)._replace(clip=np.zeros(2)))
    draws.append(draw(1))
    assert arrays_equal(draws.stacked(), expected(range(2)))


def test_a_file_is_taken_up_where_its_checkpoint_counts(tmp_path):
    first = DrawFile(tmp_path / "draws", CLASSES)
    for number in range(4):
        first.append(draw(number))
    first.close()
    with open(tmp_path / "draws", "ab") as file:
        file.write(bytes(17))  # a record that a kill cut short
    second = DrawFile(tmp_path / "draws", CLASSES)
    second.cut(3)
    second.append(draw(8))
    assert arrays_equal(second.stacked(), expected([0, 1, 2, 8]))
    second.close()


def test_what_is_mapped_outlives_a_cut_and_a_new_start(tmp_path):
    draws = DrawFile(tmp_path / "draws", CLASSES)
    for number in range(4):
        draws.append(draw(number))
    before = draws.stacked()
    draws.cut(2)
    assert arrays_equal(before, expected(range(4)))
    draws.cut(0)
    draws.append(draw(9))
    assert arrays_equal(before, expected(range(4)))
    draws.close()


def test_arrays_of_a_file_are_mapped_and_not_read(tmp_path):
    draws = DrawFile(tmp_path / "draws", CLASSES)
    for number in range(3):
        draws.append(draw(number))
    found = draws.stacked()
    draws.close()
    assert not found.user.flags.writeable
    assert found.user.strides[0] == (os.path.getsize(tmp_path / "draws") - len(draws._head)) // 3
    assert found.user.flags.aligned
    assert found.small.rate.flags.aligned


def test_a_file_with_too_few_draws_is_refused(tmp_path):
    draws = DrawFile(tmp_path / "draws", CLASSES)
    with pytest.raises(ModelFileError, match="draws is not there"):
        draws.cut(1)
    draws.append(draw(0))
    draws.close()
    with pytest.raises(ModelFileError, match="holds 1 draws where its checkpoint counts 2"):
        DrawFile(tmp_path / "draws", CLASSES).cut(2)


def test_changed_draws_are_refused(tmp_path):
    draws = DrawFile(tmp_path / "draws", CLASSES)
    for number in range(3):
        draws.append(draw(number))
    draws.close()
    whole, numbers = (tmp_path / "draws").read_bytes(), np.random.default_rng(0)
    stride = draws._stride
    for _ in range(200):
        bit = int(numbers.integers(8 * (len(whole) - 3 * stride, len(whole))[int(numbers.integers(2))]))
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        (tmp_path / "draws").write_bytes(changed)
        one = DrawFile(tmp_path / "draws", CLASSES)
        try:
            one.cut(3)
        except ModelFileError:
            continue
        assert one.stacked() is not None
        assert arrays_equal(one.stacked(), expected(range(3)))  # the bit fell into the padding between records


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    draws = DrawFile(tmp_path / "draws", CLASSES)
    draws.append(draw(0))

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dyads.draws.write_body", full)
    with pytest.raises(ModelFileError, match="No space left"):
        draws.append(draw(1))
    monkeypatch.undo()
    draws.append(draw(2))
    assert arrays_equal(draws.stacked(), expected([0, 2]))
    draws.close()


def test_one_draw_is_a_file_of_arrays(tmp_path):
    draws = DrawFile(tmp_path / "draws", CLASSES)
    draws.append(draw(0))
    draws.close()
    size = os.path.getsize(tmp_path / "draws") - (draws._stride - draws._tensors[-1].last)
    with open(tmp_path / "draws", "r+b") as file:
        file.truncate(size)
    _, arrays = arrayfile.read(tmp_path / "draws", "draws")
    assert np.array_equal(arrays["draw.user"], draw(0).user)
