# The table of methods. A new method is one line in `CASES`.

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from contract import travel

from dyads.kernels import native
from dyads.models import method
from dyads.pairs import Pairs, csr
from dyads.vocabulary import Vocabulary

N_USERS, N_ITEMS, BOARD = 12, 9, 24
SETS = ("reference", "native") if native.available() and native.KERNELS else ("reference",)


# 12 users and 9 items with string ids, the last of each without a pair.
def small(kind: str, seed: int = 0) -> Pairs:
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((N_USERS - 1, N_ITEMS - 1)) < 0.45)
    values = {"binary": None, "counts": rng.integers(1, 6, rows.size), "ratings": rng.integers(1, 11, rows.size) / 2.0}
    users = Vocabulary.of([f"user {r}" for r in range(N_USERS)], "user")
    items = Vocabulary.of([f"ítem {c}" for c in range(N_ITEMS)], "item")
    return Pairs.numbered(users, items, rows, columns, values[kind])


# A matrix whose withheld diagonal is known, and the whole of it: even goes with even, odd with odd.
def checkerboard(kind: str) -> tuple[Pairs, np.ndarray]:
    whole = np.where(np.add.outer(np.arange(BOARD), np.arange(BOARD)) % 2 == 0, 5.0, 1.0)
    off = ~np.eye(BOARD, dtype=bool)
    if kind == "ratings":  # zeros are no data: the 1s are given too, but for a second diagonal
        given = off & ~np.eye(BOARD, k=1, dtype=bool)
        return Pairs.from_matrix(csr_of(whole, given)), whole
    return Pairs.from_matrix(csr_of((whole == 5.0).astype(float), off & (whole == 5.0))), whole


# The given cells of a matrix, zeros among them.
def csr_of(values: np.ndarray, given: np.ndarray) -> Any:
    rows, columns = np.nonzero(given)
    return csr(rows, columns, values[rows, columns], *values.shape).to_scipy(values.shape[1])


class Case(NamedTuple):
    name: str
    data: Callable[[str], Pairs]  # small data by the kind that the method takes
    fast: dict[str, Any]  # a fit in some hundredths of a second
    board: dict[str, Any] | None = None  # a fit that learns the checkerboard; None where all users are alike
    travel: Callable[..., None] = travel.by_row
    many: dict[str, Any] | None = None  # a fit of some hundred ticks, to be killed; None where there is one tick

    @property
    def kind(self) -> str:
        return method(self.name).data

    def make(self, **more: Any) -> Any:
        return method(self.name)(**{"random_state": 7, **self.fast, **more})

    def pairs(self) -> Pairs:
        return self.data(self.kind)


CASES = [
    Case("popularity", small, {}),
    Case(
        "bpr",
        small,
        {"n_factors": 3, "n_entries": 640, "minibatch": 16},
        {"n_factors": 3, "n_entries": 40_000, "minibatch": 64, "learning_rate": 0.1},
        travel.by_triple,
        many={"n_entries": 16 * 150, "tol": None},
    ),
    Case(
        "sbmf",
        small,
        {"n_factors": 2, "burn_in": 2, "n_draws": 3, "n_chains": 2},
        {"n_factors": 2, "burn_in": 20, "n_draws": 20},
        many={"burn_in": 20, "n_draws": 50},
    ),
]
PERSONAL = [case for case in CASES if case.board is not None]
LONG = [case for case in CASES if case.many is not None]


# The fast fit, shared by the tests that only ask it.
@cache
def fitted(case_name: str, kernels: str) -> Any:
    case = named(case_name)
    return case.make().fit(case.pairs(), show_progress=False)


# The fit of the checkerboard, shared in the same way.
@cache
def board_fitted(case_name: str, kernels: str) -> Any:
    case = named(case_name)
    return case.make(**case.board).fit(checkerboard(case.kind)[0], show_progress=False)


def named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)
