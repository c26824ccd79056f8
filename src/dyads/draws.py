"""Kept draws of a sampler, appended one at a time, in memory or in a file that need not fit into memory.

A draw is a NamedTuple tree whose arrays have a leading axis of one (a posterior of one component); `stacked` gives all
of them as one tree, that axis as long as there are draws. Other arrays must be equal in all draws and stay single.

The file is a header (see `header`) and then one record after the other, each the arrays of one draw and their digest;
with one draw it is a safetensors file.
"""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from dyads import header
from dyads.arrayfile import Arrays, check_digest, open_regular, read_header, reading, replacing, write_body, writing
from dyads.header import RefusedError, Tensor
from dyads.trees import flatten, rebuild

_STEP = 8  # records start at a multiple of so many bytes


class Draws(Protocol):
    """Two kinds with the same verbs."""

    count: int

    def append(self, draw: Any) -> None:
        """Keep one more draw; all have the same shapes."""

    def cut(self, count: int) -> None:
        """Keep the first `count` draws only."""

    def flush(self) -> None:
        """Return when all draws are where they would survive."""

    def stacked(self) -> Any:
        """All draws as one tree."""

    def close(self) -> None:
        """No more draws come; what `stacked` gave stays."""


class DrawMemory:
    """Draws in memory. Room for `capacity` draws is asked for at once, and touched only when a draw fills it."""

    def __init__(self, classes: Mapping[str, type], capacity: int = 16) -> None:
        self.count, self._classes, self._capacity = 0, classes, max(capacity, 1)
        self._plan: Any = None
        self._arrays: Arrays = {}

    def append(self, draw: Any) -> None:
        plan, arrays = _apart(draw)
        if self._plan is None:
            self._plan, self._arrays = plan, {name: self._room(array) for name, array in arrays.items()}
        elif self.count == self._capacity:
            self._capacity *= 2
            for name, full in self._arrays.items():
                self._arrays[name] = self._room(full[0])
                self._arrays[name][: self.count] = full
        _check_alike(self._plan, plan, {name: kept[0] for name, kept in self._arrays.items()}, arrays, self.count)
        for name, array in arrays.items():
            self._arrays[name][self.count] = array
        self.count += 1

    def _room(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.empty((self._capacity, *array.shape), dtype=array.dtype)

    def cut(self, count: int) -> None:
        self.count = count
        if count == 0:  # the next draw is a first one
            self._plan = None

    def flush(self) -> None:
        return

    def stacked(self) -> Any:
        arrays = {name: _over_draws(kept[: self.count]) for name, kept in self._arrays.items()}
        return rebuild(self._plan, arrays, self._classes)

    def close(self) -> None:
        return


class DrawFile:
    """Draws in a file; `stacked` maps it. What lies behind `count` draws is left over, and written over.

    The file is never cut short, for a model may have it mapped.
    """

    def __init__(self, path: Path, classes: Mapping[str, type]) -> None:
        self.count, self._path, self._classes = 0, path, classes
        self._head, self._tensors, self._plan = b"", list[Tensor](), None
        self._out: BinaryIO | None = None

    def append(self, draw: Any) -> None:
        plan, arrays = _apart(draw)
        with writing(self._path):
            if self.count == 0:
                self._start(plan, arrays)
            else:
                out = self._opened()
                _check_alike(self._plan, plan, self._first(), arrays, self.count)
                out.seek(len(self._head) + self.count * self._stride)
                self._record(out, arrays)
        self.count += 1

    def _start(self, plan: Any, arrays: Arrays) -> None:
        self.close()
        self._plan, self._tensors = plan, header.layout(arrays)
        self._head = header.encode("draws", {"plan": plan}, self._tensors)
        with replacing(self._path) as out:
            out.write(self._head)
            self._record(out, arrays)

    def _record(self, out: BinaryIO, arrays: Arrays) -> None:
        write_body(out, self._head, self._tensors, arrays)
        out.write(bytes(self._stride - self._tensors[-1].last))

    @property
    def _stride(self) -> int:
        return -(-self._tensors[-1].last // _STEP) * _STEP

    def _opened(self) -> BinaryIO:
        if self._out is None:
            self._out = open(self._path, "r+b")  # noqa: SIM115 (closed by `close`)
        return self._out

    def cut(self, count: int) -> None:
        """Keep the first `count` draws only; those of a file that is there are compared with their digests."""
        self.close()
        self.count = 0
        if count == 0:
            return
        with reading(self._path), open_regular(self._path) as file:
            size = os.fstat(file.fileno()).st_size
            self._head, found = read_header(file, size, "draws")
            self._tensors, self._plan = found.tensors, found.payload.get("plan")
            there = (size - len(self._head)) // self._stride
            if there < count:
                raise RefusedError(
                    f"holds {there} draws where its checkpoint counts {count}: remove both, and fit again"
                )
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            for c in range(count):
                check_digest(self._head, content[len(self._head) + c * self._stride :], found, True)
        self.count = count

    def flush(self) -> None:
        if self._out is not None:
            with writing(self._path):
                self._out.flush()
                os.fsync(self._out.fileno())

    def _first(self) -> Arrays:
        return {name: kept[0] for name, kept in self._mapped(1).items()}

    def _mapped(self, count: int) -> Arrays:
        """(count, ...) arrays over the records."""
        with open(self._path, "rb") as file:
            content = mmap.mmap(file.fileno(), len(self._head) + count * self._stride, access=mmap.ACCESS_READ)
        return {tensor.name: self._over(content, tensor, count) for tensor in self._tensors[:-1]}

    def _over(self, content: mmap.mmap, tensor: Tensor, count: int) -> np.ndarray[Any, Any]:
        """One array of every record; its axes are those of a C-ordered array, and the records before them."""
        inner = [tensor.dtype.itemsize * math.prod(tensor.shape[k + 1 :]) for k in range(len(tensor.shape))]
        start, shape = len(self._head) + tensor.first, (count, *tensor.shape)
        return np.ndarray(shape, tensor.dtype, content, start, (self._stride, *inner))

    def stacked(self) -> Any:
        self.flush()
        arrays = {name: _over_draws(kept) for name, kept in self._mapped(self.count).items()}
        return rebuild(self._plan, arrays, self._classes)

    def close(self) -> None:
        if self._out is not None:
            self._out.close()
            self._out = None


def _apart(draw: Any) -> tuple[Any, Arrays]:
    arrays: Arrays = {}
    return flatten(draw, "draw", arrays), arrays


def _over_draws(kept: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(draws, 1, ...) as (draws, ...); an array without a leading axis of one is the same in all draws."""
    return kept[:, 0] if kept.shape[1:2] == (1,) else kept[0]


def _check_alike(first_plan: Any, plan: Any, first: Arrays, arrays: Arrays, count: int) -> None:
    """A ValueError for a draw that does not go with the first one."""
    if count and plan != first_plan:
        raise ValueError("a draw is not made like the first one")
    for name, array in arrays.items():
        if array.shape != first[name].shape or array.dtype != first[name].dtype:
            raise ValueError(f"{name} of a draw is {array.dtype}{array.shape}, of the first {first[name].shape}")
        same = (
            np.array_equal(array, first[name], equal_nan=array.dtype.kind == "f") if array.shape[:1] != (1,) else True
        )
        if count and not same:
            raise ValueError(f"{name} has no axis for the draws and yet differs between them")
