# Faults to plant in SBMF: changed lines of its source, and its kernels with something wrapped around them. Those of
# TWIN_FAULTS change the twin's own lines and reach no compiled kernel; those of FAULTS are in what surrounds a kernel,
# or in what it is given and gives back, and reach both sets.

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from dyads.kernels import native, reference
from dyads.models import sbmf
from dyads.models.sbmf import SBMF
from dyads.streams import Site


@dataclass(frozen=True)
class Line:
    """A copy of a function with one piece of its source changed."""

    where: Any  # the module or class that holds the function
    name: str
    right: str
    wrong: str

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        function = getattr(self.where, self.name)
        source = inspect.cleandoc("\n" + inspect.getsource(function))
        assert source.count(self.right) == 1
        space = dict(vars(inspect.getmodule(function)))
        exec(source.replace(self.right, self.wrong), space)
        monkeypatch.setattr(self.where, self.name, space[self.name])


Kernel = Callable[..., Any]


@dataclass(frozen=True)
class Wrapping:
    """The kernel of both sets with something around it; block, rows, own, shared and at stand at the same places."""

    make: Callable[[Kernel], Kernel]

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reference, "sbmf", self.make(reference.sbmf))
        if "sbmf" in native.KERNELS:
            monkeypatch.setitem(native.KERNELS, "sbmf", self.make(native.KERNELS["sbmf"]))


def given_wrong(change: Callable[[Any, Any], Any]) -> Wrapping:
    """The kernel is told something else: `change` of `shared` and `at`, where rows are drawn."""

    def make(kernel: Kernel) -> Kernel:
        def run(block: Any, rows: Any, own: Any, shared: Any, at: Any, *threads: int) -> Any:
            if shared.draw:
                shared, at = change(shared, at)
            return kernel(block, rows, own, shared, at, *threads)

        return run

    return Wrapping(make)


def _stale_sums(kernel: Kernel) -> Kernel:
    """The sums of residuals are those from before the sweeps."""
    first: list[Any] = []

    def run(block: Any, rows: Any, own: Any, shared: Any, at: Any, *threads: int) -> Any:
        sums = kernel(block, rows, own, shared, at, *threads)
        if not shared.draw:
            first[:] = [sums]
        return sums._replace(error=first[0].error, error2=first[0].error2)

    return run


def _stale_offset(kernel: Kernel) -> Kernel:
    """Residuals hold the offset of the sweep before."""
    told: list[float] = []

    def run(block: Any, rows: Any, own: Any, shared: Any, at: Any, *threads: int) -> Any:
        if not shared.draw:
            told[:] = [shared.offset]
            return kernel(block, rows, own, shared, at, *threads)
        if shared.site == Site.SBMF_USER:
            told.append(shared.offset)
        return kernel(block, rows, own, shared._replace(offset=told[-2]), at, *threads)

    return run


def _stale_table(kernel: Kernel) -> Kernel:
    """Items see the users as they were before their half of the sweep."""
    old: list[Any] = []

    def run(block: Any, rows: Any, own: Any, shared: Any, at: Any, *threads: int) -> Any:
        if shared.draw and shared.site == Site.SBMF_USER:
            old[:] = [type(own)(*(array.copy() for array in own))]
        elif shared.draw:
            shared = shared._replace(other=old[0])
        return kernel(block, rows, own, shared, at, *threads)

    return run


TWIN_FAULTS = {
    "dropped term: the old value in (20)": Line(reference, "sbmf", "(e + x[row] * v)", "e"),
    "shared stream: the coordinates of a row": Line(reference, "sbmf", "z[:, c]", "z[:, 0]"),
    "precision for variance: rows": Line(
        reference, "sbmf", "np.sqrt(variance) * z[:, c]", "z[:, c] / np.sqrt(variance)"
    ),
    "stale residual: between coordinates": Line(reference, "sbmf", "e += v * (x - new)[row]", "pass"),
}
FAULTS = {
    "dropped term: the squares in lines 3-13": Line(
        sbmf,
        "drawn",
        "(prior.strength * (mean - prior.mean) ** 2 + spread)",
        "prior.strength * (mean - prior.mean) ** 2",
    ),
    "dropped term: the offset in line 17": Line(
        SBMF, "_sweep", "(small.error + n_ratings * small.offset)", "small.error"
    ),
    "dropped term: the prior mean of every row": given_wrong(
        lambda shared, at: (shared._replace(mean=0.0 * shared.mean), at)
    ),
    "dropped term: the bias of the other side": given_wrong(
        lambda shared, at: (shared._replace(other=shared.other._replace(bias=0.0 * shared.other.bias)), at)
    ),
    "shared stream: users and items": given_wrong(lambda shared, at: (shared._replace(site=Site.SBMF_USER), at)),
    "shared stream: all sweeps": given_wrong(lambda shared, at: (shared, at._replace(tick=0))),
    "precision for variance: noise of the ratings": given_wrong(
        lambda shared, at: (shared._replace(noise_precision=1.0 / shared.noise_precision), at)
    ),
    "precision for variance: prior of the rows": given_wrong(
        lambda shared, at: (shared._replace(precision=1.0 / shared.precision), at)
    ),
    "precision for variance: offset": Line(
        SBMF, "_sweep", "draw.standard_normal() / np.sqrt(precision)", "draw.standard_normal() * np.sqrt(precision)"
    ),
    "precision for variance: draw of the noise": Line(
        SBMF,
        "_sweep",
        "/ (self.prior_noise_rate + small.error2 / 2.0)",
        "* (self.prior_noise_rate + small.error2 / 2.0)",
    ),
    "stale residual: lines 18-20 left out": Wrapping(_stale_offset),
    "stale residual: sums never renewed": Wrapping(_stale_sums),
    "stale residual: the other side before it moved": Wrapping(_stale_table),
}
