"""Entry kernels, sparse products and top-N as the compiled module of a level takes them."""

from __future__ import annotations

from typing import Any

from dyads.kernels.shapes import (
    BprCheck,
    BprCheckSums,
    BprData,
    BprItems,
    BprShared,
    BprSums,
    BprUsers,
    NoSums,
    ProductRows,
    ProductShared,
)
from dyads.pairs import I64, Csr
from dyads.streams import At, Site, checked


def bpr(core: Any, data: BprData, user: BprUsers, item: BprItems, shared: BprShared, at: At, threads: int) -> BprSums:
    """`reference.bpr`, in the precision of the factors."""
    if shared.n_minibatches == 0:
        return BprSums(0.0, 0, 0)
    checked(at._replace(tick=at.tick + shared.n_minibatches - 1))
    run = getattr(core, f"bpr_{user.factors.dtype}")
    return BprSums(*run(data, user, item, shared, at, int(Site.BPR_TRIPLE), threads))


def bpr_check(
    core: Any, data: BprData, user: BprUsers, item: BprItems, shared: BprCheck, at: At, threads: int
) -> BprCheckSums:
    """`reference.bpr_check`, summed in float64."""
    run = getattr(core, f"bpr_check_{user.factors.dtype}")
    return BprCheckSums(*run(data, user, item, shared.n_triples, at, int(Site.BPR_CHECK), threads))


def row_products(
    core: Any, csr: Csr, cuts: I64, own: ProductRows, shared: ProductShared, at: At, threads: int
) -> NoSums:
    """`reference.row_products` of a whole side, in the precision of the block."""
    getattr(core, f"row_products_{own.out.dtype}")(*csr, cuts, shared.block, own.out, threads)
    return NoSums()
