"""Placing new rows where ratings are Gaussian: the exact conditional of (factors, bias) given each draw."""

from __future__ import annotations

import numpy as np

from dyads.pairs import Csr
from dyads.posterior import Posterior
from dyads.state import RowPosterior


def gaussian_rows(rows: Csr, which: str, posterior: Posterior, biased: bool, cov: bool) -> RowPosterior:
    """For x = (factors, bias) with prior N(m, diag(1/σ)) and ratings r = μ + b_other + x·(v, 1) + noise of precision τ,

    precision = diag(σ) + τ Σ (v, 1)(v, 1)ᵀ,   mean = precision⁻¹ (σ m + τ Σ (v, 1)(r − μ − b_other)).
    """
    k, past, n = posterior.n_factors, posterior.small, rows.n_rows
    table = posterior.item if which == "user" else posterior.user
    other_bias = k + (which == "user")  # the column of the other side's bias
    own_bias, ones = (k, k + 1) if which == "user" else (k + 1, k)
    order = np.concatenate([np.arange(1, k + 1), [0]])  # priors hold the bias first
    prior_mean = (past.user_mean if which == "user" else past.item_mean)[:, order]
    prior_precision = (past.user_precision if which == "user" else past.item_precision)[:, order]
    c, width = len(prior_mean), k + 2
    mean, var = np.zeros((c, n, width)), np.zeros((c, n, width))
    covariance = np.zeros((c, n, width, width)) if cov else None
    mean[:, :, ones] = 1.0
    live = np.array([*range(k), own_bias] if biased else [*range(k)], dtype=np.int64)
    at = np.arange(len(live))
    values = rows.values().astype(np.float64)
    for r in range(n):
        mine = slice(int(rows.ptr[r]), int(rows.ptr[r + 1]))
        others = table[:, rows.idx[mine]].astype(np.float64)
        design = np.concatenate([others[:, :, :k], np.ones((*others.shape[:2], 1))], axis=2)[:, :, at]
        target = values[mine] - posterior.offset[:, None] - others[:, :, other_bias]
        tau = past.noise_precision[:, None]
        precision = tau[:, :, None] * np.einsum("cnk,cnl->ckl", design, design)
        precision[:, at, at] += prior_precision[:, at]
        pull = prior_precision[:, at] * prior_mean[:, at] + tau * np.einsum("cnk,cn->ck", design, target)
        inverse = np.linalg.inv(precision)
        mean[:, r, live] = np.einsum("ckl,cl->ck", inverse, pull)
        var[:, r, live] = np.einsum("ckk->ck", inverse)
        if covariance is not None:
            covariance[:, r, live[:, None], live] = inverse
    return RowPosterior(mean, var, covariance)
