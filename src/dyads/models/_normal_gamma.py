"""The Normal-Gamma prior of a column of numbers: its conditionals, its draws, its density.

x_1 … x_n ~ N(m, 1/σ), σ ~ Gamma(α0, rate β0), m | σ ~ N(μ0, 1/(ν0 σ)). σ is a precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from dyads.pairs import F64


class NormalGamma(NamedTuple):
    mean: float  # μ0
    strength: float  # ν0
    shape: float  # α0
    rate: float  # β0


def drawn(draw: np.random.Generator, prior: NormalGamma, mean: F64, first: F64, second: F64, n: int) -> tuple[F64, F64]:
    """Means and precisions of columns given Σ x, Σ x² over their n rows: σ | m, x, then m | σ, x."""
    shape = prior.shape + (n + 1) / 2.0
    spread = np.maximum(second - 2.0 * mean * first + n * mean**2, 0.0)
    rate = prior.rate + 0.5 * (prior.strength * (mean - prior.mean) ** 2 + spread)
    precision = draw.gamma(shape, size=len(mean)) / rate
    centre = (prior.strength * prior.mean + first) / (prior.strength + n)
    return centre + draw.standard_normal(len(mean)) / np.sqrt(precision * (prior.strength + n)), precision


def from_prior(draw: np.random.Generator, prior: NormalGamma, size: int) -> tuple[F64, F64]:
    """Means and precisions of `size` columns."""
    precision = draw.gamma(prior.shape, size=size) / prior.rate
    return prior.mean + draw.standard_normal(size) / np.sqrt(prior.strength * precision), precision


def log_density(prior: NormalGamma, side: Any, n: int, first: int) -> float:
    """log p(x | m, σ) + log p(m, σ), summed over the columns from `first` on."""
    m, s = side.mean[first:], side.precision[first:]
    spread = side.second[first:] - 2.0 * m * side.first[first:] + n * m**2
    rows = n / 2.0 * (np.log(s) - np.log(2.0 * np.pi)) - s / 2.0 * spread
    centre = 0.5 * (np.log(prior.strength * s) - np.log(2.0 * np.pi)) - prior.strength * s / 2.0 * (m - prior.mean) ** 2
    return float((rows + centre + gamma_log_density(s, prior.shape, prior.rate)).sum())


def gamma_log_density(x: Any, shape: float, rate: float) -> Any:
    """log Gamma(x; shape, rate)."""
    return shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(x) - rate * x
