"""The posterior of every method: a mixture of C Gaussians over rows, and what can be asked of it.

A latent value is a = offset + u·v. Within one component u and v are independent Gaussians with means m and
variances s, so that

    E[a] = offset + Σ_k um vm,      Var[a] = Σ_k (um² vs + us vm² + us vs) + offset_var.

Biases are columns beside a column of ones on the other side. An answer is g(a), g named by `link`, averaged over
the components, times the expected popularity of the item where the method has one. Answers are averaged, factors
never: they are not identified across draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from dyads.pairs import F32, F64, I64
from dyads.state import RowPosterior
from dyads.streams import At, Site, normal

NODES, WEIGHTS = hermegauss(20)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class Posterior(NamedTuple):
    """C components; point estimates have C = 1 and no variance, samplers one component per kept draw."""

    user: F32  # (C, I, K)
    user_var: F32 | None
    item: F32  # (C, J, K)
    item_var: F32 | None
    offset: F64  # (C,)
    offset_var: F64  # (C,)
    noise: F64 | None  # (C,) variance of a rating around its mean
    user_alpha: F64 | None  # (C, I) Dirichlet parameters
    item_alpha: F64 | None  # (C, J)
    clip: F64 | None  # (2,) lowest and highest answer
    n_factors: int  # the first so many columns are factors, the rest biases and ones
    link: str  # "identity", "logistic", "probit" or "none"
    small: Any  # the method's own numbers that fold-in needs, leading axis C


def side(posterior: Posterior, name: str, numbers: I64) -> RowPosterior:
    """The rows of one side, by number."""
    mean, var, alpha = (
        (posterior.user, posterior.user_var, posterior.user_alpha)
        if name == "user"
        else (posterior.item, posterior.item_var, posterior.item_alpha)
    )
    return RowPosterior(
        np.asarray(mean[:, numbers], dtype=np.float64),
        None if var is None else np.asarray(var[:, numbers], dtype=np.float64),
        None,
        None if alpha is None else alpha[:, numbers],
    )


def last(posterior: Posterior) -> Posterior:
    """The last component alone: for a sampler its last kept draw, whose factors belong together."""
    return posterior._replace(
        **{
            name: _last(value)
            for name, value in posterior._asdict().items()
            if name not in ("clip", "n_factors", "link")
        }
    )


def _last(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return type(value)(*(_last(x) for x in value))  # type(value) is a NamedTuple class
    return value[-1:]


def stacked(parts: Sequence[Posterior]) -> Posterior:
    """One mixture of the components of several posteriors."""
    if len(parts) == 1:
        return parts[0]
    fixed = ("clip", "n_factors", "link")
    columns = zip(*parts, strict=True)
    return Posterior(
        *(
            values[0] if name in fixed else _joined(values)
            for name, values in zip(Posterior._fields, columns, strict=True)
        )
    )


def _joined(values: Sequence[Any]) -> Any:
    if values[0] is None:
        return None
    if isinstance(values[0], tuple):
        return type(values[0])(*(_joined(column) for column in zip(*values, strict=True)))
    return np.concatenate(values)


# --- latent values of pairs ------------------------------------------------------------------------------------


def latent(posterior: Posterior, users: RowPosterior, which: I64, items: I64) -> tuple[F64, F64]:
    """Mean and variance of a for each pair (users' row `which[n]`, item `items[n]`), both (C, n)."""
    n_components = len(posterior.offset)
    mean = np.empty((n_components, len(items)))
    var = np.zeros((n_components, len(items)))
    for c in range(n_components):
        u, v = users.mean[c, which], posterior.item[c, items].astype(np.float64)
        us = None if users.var is None else users.var[c, which]
        vs = None if posterior.item_var is None else posterior.item_var[c, items].astype(np.float64)
        mean[c] = posterior.offset[c] + np.einsum("nk,nk->n", u, v)
        var[c] = posterior.offset_var[c]
        if users.cov is not None:
            var[c] += np.einsum("nk,nkl,nl->n", v, users.cov[c, which], v)
        elif us is not None:
            var[c] += np.einsum("nk,nk->n", us, v * v)
        if vs is not None:
            var[c] += np.einsum("nk,nk->n", u * u, vs)
        if us is not None and vs is not None:
            var[c] += np.einsum("nk,nk->n", us, vs)
    return mean, var


# --- answers ---------------------------------------------------------------------------------------------------


def expit(x: F64) -> F64:
    """σ(x) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def probit(x: F64) -> F64:
    """Φ(x)."""
    from scipy.special import ndtr

    value: F64 = ndtr(x)
    return value


def mean_answer(link: str, mean: F64, var: F64) -> F64:
    """E[g(a)] for a ~ N(mean, var): exact for the identity and the probit, MacKay's rescaled probit for σ."""
    if link == "logistic":
        return expit(mean / np.sqrt(1.0 + np.pi * var / 8.0))
    if link == "probit":
        return probit(mean / np.sqrt(1.0 + var))
    return mean


def spread_answer(link: str, mean: F64, var: F64) -> F64:
    """Var[g(a)] for a ~ N(mean, var); by quadrature where g bends."""
    if link not in ("logistic", "probit"):
        return var
    g = expit if link == "logistic" else probit
    values = g(mean[..., None] + np.sqrt(var)[..., None] * NODES)
    first, second = values @ WEIGHTS, (values * values) @ WEIGHTS
    return np.maximum(second - first * first, 0.0)


def popularity(posterior: Posterior) -> tuple[F64, F64] | None:
    """Mean and variance (C, J) of the Dirichlet item rates, where the method has them."""
    alpha = posterior.item_alpha
    if alpha is None:
        return None
    total = alpha.sum(axis=1, keepdims=True)
    rate = alpha / total
    return rate, rate * (1.0 - rate) / (total + 1.0)


class Answer(NamedTuple):
    """What the model says of a set of pairs."""

    value: F64
    spread: F64  # standard deviation from not knowing the parameters
    noise: F64  # standard deviation of one outcome around its mean (ratings; 0 elsewhere)


def answer(posterior: Posterior, users: RowPosterior, which: I64, items: I64) -> Answer:
    """The mixture's answer for pairs: mean over components, and total variance by its two parts."""
    mean, var = latent(posterior, users, which, items)
    value, spread = mean_answer(posterior.link, mean, var), spread_answer(posterior.link, mean, var)
    rates = popularity(posterior)
    if rates is not None:
        rate, rate_var = rates[0][:, items], rates[1][:, items]
        spread = (value**2 + spread) * (rate**2 + rate_var) - value**2 * rate**2
        value = value * rate
    total = spread.mean(axis=0) + value.var(axis=0)
    noise = 0.0 if posterior.noise is None else float(np.mean(posterior.noise))
    return Answer(clipped(posterior, value.mean(axis=0)), np.sqrt(total), np.full(len(items), np.sqrt(noise)))


def clipped(posterior: Posterior, value: F64) -> F64:
    """The answer brought into the range that the method was told of."""
    return value if posterior.clip is None else np.clip(value, posterior.clip[0], posterior.clip[1])


def scores(posterior: Posterior, users: RowPosterior, items: I64 | None = None, by: str = "answer") -> F64:
    """What every given row is ranked by, for all (or the given) items: (n, J).

    `by="answer"`: the answer; `by="mean"`: the latent mean, averaged over components.
    """
    n, rates = users.mean.shape[1], popularity(posterior)
    item = posterior.item if items is None else posterior.item[:, items]
    total = np.zeros((n, item.shape[1]))
    for c in range(len(posterior.offset)):
        v = item[c].astype(np.float64)
        mean = posterior.offset[c] + users.mean[c] @ v.T
        if by == "answer" and posterior.link in ("logistic", "probit"):
            mean = mean_answer(posterior.link, mean, _block_variance(posterior, users, v, items, c))
        if by == "answer" and rates is not None:
            rate = rates[0][c]
            mean = mean * (rate if items is None else rate[items])
        total += mean
    return total / len(posterior.offset)


def _block_variance(posterior: Posterior, users: RowPosterior, v: F64, items: I64 | None, c: int) -> F64:
    var = np.full((users.mean.shape[1], len(v)), posterior.offset_var[c])
    u, us = users.mean[c], None if users.var is None else users.var[c]
    vs = None
    if posterior.item_var is not None:
        vs = (posterior.item_var[c] if items is None else posterior.item_var[c][items]).astype(np.float64)
    if us is not None:
        var += us @ (v * v).T
    if vs is not None:
        var += (u * u if us is None else u * u + us) @ vs.T
    return var


# --- draws -----------------------------------------------------------------------------------------------------


def sample(posterior: Posterior, users: I64, items: I64, at: At, n: int) -> F64:
    """`n` joint draws of the latent values of the given pairs: (n, pairs).

    A draw takes one component, then one draw of every row and item in it, so that pairs that share a row or an
    item move together.
    """
    n_components = len(posterior.offset)
    rows, row_of = np.unique(users, return_inverse=True)
    cols, col_of = np.unique(items, return_inverse=True)
    drawn = np.empty((n, len(users)))
    for d in range(n):
        c, here = d % n_components, at._replace(tick=at.tick + d)
        u = _draw(posterior.user[c, rows], posterior.user_var, c, rows, here, 0)
        v = _draw(posterior.item[c, cols], posterior.item_var, c, cols, here, 1)
        z = normal(here, Site.SAMPLE_OFFSET, np.zeros(1, dtype=np.int64), 1)[0, 0]
        offset = posterior.offset[c] + np.sqrt(posterior.offset_var[c]) * z
        drawn[d] = offset + np.einsum("nk,nk->n", u[row_of], v[col_of])
    return drawn


def _draw(mean: F32, var: F32 | None, c: int, numbers: I64, at: At, which: int) -> F64:
    if var is None:
        return mean.astype(np.float64)
    z = normal(at, (Site.SAMPLE_USER, Site.SAMPLE_ITEM)[which], numbers, mean.shape[1])
    drawn: F64 = mean + np.sqrt(var[c, numbers].astype(np.float64)) * z
    return drawn
