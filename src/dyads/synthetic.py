"""Data whose truth is known: the planted models, the checkerboard, and the purchase log that ships with the package.

`python -m dyads.synthetic PATH` writes the log again, byte for byte.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dyads.errors import ConfigError
from dyads.kernels.ranking import blocks
from dyads.pairs import F64, I64, Pairs
from dyads.posterior import expit
from dyads.shop import AISLES, EVERYDAY, FIRST_NAMES, LAST_NAMES, WEIGHTS
from dyads.split import draws
from dyads.streams import At, Site, uniform
from dyads.vocabulary import Vocabulary

__all__ = ["SHIPPED", "Planted", "binary", "checkerboard", "purchase_log", "ratings"]

SHIPPED = Path(__file__).with_name("data") / "purchases.csv"
TRIES = 48  # products that a shopper looks at; those bought are the first different ones


class Planted(NamedTuple):
    """Pairs and the parameters they were drawn with."""

    pairs: Pairs
    user: F64  # (users, K)
    item: F64  # (items, K)
    user_bias: F64
    item_bias: F64
    offset: float


def binary(
    n_users: int = 2000,
    n_items: int = 1000,
    n_factors: int = 10,
    offset: float = -7.5,
    min_pairs: int = 10,
    random_state: Any = None,
) -> Planted:
    """The synthetic matrix of Hernández-Lobato et al. (2014, section 4), about 2 % ones in the paper's shape.

        p(x_ij = 1) = σ(u_i·v_j + offset),   u_ik, v_jk ~ N(0, 1).

    Users with fewer than `min_pairs` ones are drawn again, which keeps the law of those that stay.
    """
    rng = draws(random_state)
    item = rng.standard_normal((n_items, n_factors))
    users, rows, columns, found, drawn = [], [], [], 0, 0
    while found < n_users:
        if drawn > 1000 * n_users:
            raise ConfigError(
                f"hardly any user gets min_pairs={min_pairs} ones with offset={offset}: lower or raise it"
            )
        batch = next(blocks(n_users, n_items)).stop
        user = rng.standard_normal((batch, n_factors))
        ones = rng.random((batch, n_items)) < expit(user @ item.T + offset)
        enough = np.flatnonzero(ones.sum(axis=1) >= min_pairs)[: n_users - found]
        row, column = np.nonzero(ones[enough])
        users.append(user[enough])
        rows.append(row + found)
        columns.append(column)
        found, drawn = found + len(enough), drawn + batch
    pairs = _pairs(n_users, n_items, np.concatenate(rows), np.concatenate(columns))
    return Planted(pairs, np.concatenate(users), item, np.zeros(n_users), np.zeros(n_items), offset)


def ratings(
    n_users: int = 300,
    n_items: int = 200,
    n_factors: int = 3,
    n_pairs: int | None = None,
    noise: float = 0.5,
    scale: tuple[int, int] | None = None,
    random_state: Any = None,
) -> Planted:
    """Ratings of cells drawn evenly, without `n_pairs` a fifth of all:

        y_ij = 3.5 + b_i + c_j + u_i·v_j + ε_ij,   b, c ~ N(0, 0.3²),   u·v of variance 1,   ε ~ N(0, noise²).

    `scale=(1, 5)` rounds to whole numbers and keeps them within.
    """
    rng, offset = draws(random_state), 3.5
    n = n_users * n_items // 5 if n_pairs is None else n_pairs
    if not 0 < n <= n_users * n_items:
        raise ConfigError(
            f"n_pairs={n} cells cannot be drawn from {n_users} x {n_items}: give 1 to {n_users * n_items}"
        )
    user, item = (rng.standard_normal((m, n_factors)) * max(n_factors, 1) ** -0.25 for m in (n_users, n_items))
    user_bias, item_bias = (0.3 * rng.standard_normal(m) for m in (n_users, n_items))
    rows, columns = np.divmod(np.sort(rng.choice(n_users * n_items, n, replace=False)), n_items)
    mean = offset + user_bias[rows] + item_bias[columns] + np.einsum("nk,nk->n", user[rows], item[columns])
    values = mean + noise * rng.standard_normal(n)
    if scale is not None:
        values = np.clip(np.round(values), *scale)
    return Planted(_pairs(n_users, n_items, rows, columns, values), user, item, user_bias, item_bias, offset)


def checkerboard(n: int = 50, rated: bool = False) -> tuple[Pairs, Pairs]:
    """(train, test): a board of n × n whose right answers are known.

    Cell (i, j) is a one where i + j is even; the diagonal is left out of train and makes up test, so that the best new
    item of user i is item i. `rated`: fives there and ones elsewhere, every cell but the diagonal given.
    """
    rows, columns = (x.ravel() for x in np.indices((n, n)))
    even, diagonal = (rows + columns) % 2 == 0, rows == columns
    values = np.where(even, 5.0, 1.0) if rated else None
    shown = ~diagonal & (even | rated)
    parts = [(rows[m], columns[m], None if values is None else values[m]) for m in (shown, diagonal)]
    train, test = (_pairs(n, n, *part) for part in parts)
    return train, test


def purchase_log(n_shoppers: int = 500, random_state: int = 0) -> tuple[Any, Any]:
    """Who bought what in a small shop: two arrays of strings, shoppers and products, a row each.

    Every shopper has a home aisle, where 60 of 100 looks go, and a second one with 20; 13 go to everyday things, the
    rest anywhere. Within an aisle some products are looked at more often. Nobody buys a thing twice. The words come
    from `dyads.streams`, so that the log of a seed is the same on every machine.
    """
    n_aisles, n_products = len(AISLES), len(WEIGHTS)
    u = uniform(At(random_state, 0, 0), Site.SIMULATE_VALUE, np.arange(n_shoppers), 3 + 2 * TRIES)
    home = _below(u[:, :1], n_aisles)
    second = (home + 1 + _below(u[:, 1:2], n_aisles - 1)) % n_aisles
    size = 5 + _below(u[:, 2:3], 16)
    where, which = u[:, 3 : 3 + TRIES], u[:, 3 + TRIES :]
    elsewhere = _below((where - 0.93) / 0.07, n_aisles)
    aisle = np.select([where < 0.6, where < 0.8, where < 0.93], [home, second, EVERYDAY], elsewhere)
    looked = aisle * n_products + np.repeat(np.arange(n_products), WEIGHTS)[_below(which, sum(WEIGHTS))]
    first = np.zeros(looked.shape, dtype=bool)
    first.flat[np.unique(looked + np.arange(n_shoppers)[:, None] * n_aisles * n_products, return_index=True)[1]] = True
    bought = first & (np.cumsum(first, axis=1) <= size)
    shoppers, _ = np.nonzero(bought)
    return _names(n_shoppers)[shoppers], np.array([p for aisle in AISLES.values() for p in aisle])[looked[bought]]


def write(path: str | Path) -> None:
    """The log of seed 0 as the CSV file that ships."""
    lines = [f"{shopper},{product}\n" for shopper, product in zip(*purchase_log(), strict=True)]
    Path(path).write_bytes("".join(["shopper,product\n", *lines]).encode())


def _below(u: F64, bound: int) -> I64:
    return np.floor(u * bound).astype(np.int64)


def _names(n: int) -> Any:
    """n different names; those after the first few hundred carry a number."""
    many = len(FIRST_NAMES) * len(LAST_NAMES)
    spread = np.arange(n) * 7 % many  # neighbours in the log get different names; 7 and the number of names are coprime
    pairs = [(FIRST_NAMES[k % len(FIRST_NAMES)], LAST_NAMES[k // len(FIRST_NAMES)]) for k in spread.tolist()]
    return np.array([f"{a}.{b}{k // many + 1 if k >= many else ''}" for k, (a, b) in enumerate(pairs)])


def _pairs(n_users: int, n_items: int, rows: Any, columns: Any, values: Any = None) -> Pairs:
    return Pairs.numbered(Vocabulary.range(n_users), Vocabulary.range(n_items), rows, columns, values)


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else SHIPPED)
