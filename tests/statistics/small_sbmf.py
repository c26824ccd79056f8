# SBMF on 6 x 5 cells, and numbers of its states that do not change when factors are rotated or change their signs.

from __future__ import annotations

from typing import Any

import numpy as np

from dyads.models.sbmf import SBMF
from dyads.pairs import Pairs

CELLS = Pairs.from_matrix(np.arange(30).reshape(6, 5) % 7 != 3)  # 26 of 30 cells
DIAGONAL = [0, 1, 2, 3, 4]


def a_model(**changes: Any) -> SBMF:
    tight = {"prior_shape": 5.0, "prior_rate": 5.0, "prior_noise_shape": 5.0, "prior_noise_rate": 5.0}
    return SBMF(n_factors=2, prior_offset_precision=1.0, **{**tight, **changes})


def numbers(now: Any, values: Pairs) -> dict[str, float]:
    user, item, small = now.user, now.item, now.small
    u, v = user.factors.astype(np.float64), item.factors.astype(np.float64)
    b, c, y = user.bias.astype(np.float64), item.bias.astype(np.float64), values.values().astype(np.float64)
    product = u @ v.T
    mean = small.offset + b[:, None] + c + product
    e = y - mean[values.rows(), values.columns()]
    found = {
        "mean of cell (0, 0)": mean[0, 0],
        "mean of cell (5, 2)": mean[5, 2],
        "mean of an unseen cell": mean[0, 3],
        "mean of all cells": mean.mean(),
        "offset": small.offset,
        "noise precision": small.noise_precision,
        "norm of U V'": np.linalg.norm(product),
        "larger singular value of U V'": np.linalg.norm(product, 2),
        "trace of U V'": product[DIAGONAL, DIAGONAL].sum(),
        "factors of a number": ((u - u.mean(axis=0))[DIAGONAL] * (v - v.mean(axis=0))).sum(),
        "biases of a number": (b - b.mean())[DIAGONAL] @ (c - c.mean()),
        "factors crossed": crossed(u) * crossed(v),
        "mean factors": (small.user.mean[1:] * small.item.mean[1:]).sum(),
        "data mean": y.mean(),
        "data spread": y.std(),
        "residual spread": e.std(),
        "residuals in their law": small.noise_precision * e @ e,
        "mean residual in its law": np.sqrt(small.noise_precision) * e.mean(),
        "log likelihood": np.log(small.noise_precision) * len(y) / 2.0 - small.noise_precision / 2.0 * e @ e,
    }
    for name, side, x, bias in (("user", small.user, u, b), ("item", small.item, v, c)):
        found |= {
            f"{name} bias mean": side.mean[0],
            f"{name} bias precision": side.precision[0],
            f"{name} biases": bias.mean(),
            f"{name} biases squared": bias @ bias,
            f"{name} factors squared": (x * x).sum(),
            f"{name} factor means squared": (side.mean[1:] ** 2).sum(),
            f"{name} factor precisions": np.log(side.precision[1:]).sum(),
            f"{name} factors in their prior": (side.precision[1:] * (x - side.mean[1:]) ** 2).sum(),
        }
    return {name: float(value) for name, value in found.items()}


# How the two factors of a side go together; times the same of the other side a change of sign cancels.
def crossed(x: np.ndarray) -> float:
    first, second = (x - x.mean(axis=0)).T
    return first @ second / np.sqrt(first @ first * (second @ second))
