from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyads.engines.local import Local, shard_cuts
from dyads.kernels import native, reference
from dyads.kernels.shapes import NoSums, ProductRows, ProductShared
from dyads.pairs import Csr, csr
from dyads.streams import At

pytestmark = pytest.mark.skipif(not native.available(), reason="no compiled core here")

AT = At(0, 0, 0)
WIDE = 120_000
by_level = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


# The last row has every column, the first none.
def matrix(seed, n, m, valued):
    rng = np.random.default_rng(seed)
    there = rng.random((n, m)) < 0.3
    there[-1], there[0] = True, False
    rows, columns = np.nonzero(there)
    return csr(rows, columns, rng.normal(size=rows.size).astype(np.float32) if valued else None, n, m)


def block(seed, m, k, dtype):
    return np.random.default_rng(seed).normal(size=(m, k)).astype(dtype)


def product(x, b, threads, cuts=None):
    out = np.full((x.n_rows, b.shape[1]), np.nan, dtype=b.dtype)
    cuts = np.array([0, x.n_rows]) if cuts is None else cuts
    native.KERNELS["row_products"](x, cuts, ProductRows(out), ProductShared(b), AT, threads)
    return out


@by_level
@given(
    st.integers(0, 99),
    st.integers(1, 20),
    st.integers(1, 40),
    st.sampled_from([0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 50, 63, 64, 65, 127, 128, 200]),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_the_kernel_equals_its_twin_and_scipy(level, seed, n, m, k, valued, dtype):
    x, b = matrix(seed, n, m, valued), block(seed, m, k, dtype)
    tolerance = 1e-10 if dtype is np.float64 else 1e-4
    twin = np.full((n, k), np.nan)
    assert reference.row_products(x, 0, ProductRows(twin), ProductShared(b), AT) == NoSums()
    np.testing.assert_allclose(twin, x.to_scipy(m).astype(np.float64) @ b.astype(np.float64), atol=1e-10)
    np.testing.assert_allclose(product(x, b, 2), twin, rtol=tolerance, atol=tolerance)


# Rows beside and beyond the length from which on their blocks are shared out.
def heavy(valued=True):
    rng = np.random.default_rng(5)
    counts = [0, 511, 512, 513, 64 * 512, 64 * 512 + 1, 100_003, 1]
    idx = np.concatenate([np.sort(rng.choice(WIDE, n, replace=False)) for n in counts]).astype(np.int32)
    val = rng.normal(size=idx.size).astype(np.float32) if valued else None
    return Csr(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), idx, val)


def test_threads_cuts_and_their_pace_change_no_bit(level):
    x, b, core = heavy(), block(1, WIDE, 21, np.float32), native.core()
    alone = product(x, b, 1)
    core.delay_shards(300)
    try:
        for threads in (1, 2, 3, 16):
            assert np.array_equal(product(x, b, threads, np.array([0, 1, 4, 5, 8])), alone)
    finally:
        core.delay_shards(0)


# A sum over blocks errs by at most (512 + blocks + 1) roundings of the sum of absolute values.
@pytest.mark.parametrize("valued", [True, False])
def test_the_error_is_bounded_by_the_length_of_a_block(level, valued):
    x, b = heavy(valued), block(2, WIDE, 5, np.float32)
    whole = sp.csr_array((x.values().astype(np.float64), x.idx, x.ptr), shape=(x.n_rows, WIDE))
    expected, size = whole @ b.astype(np.float64), abs(whole) @ np.abs(b.astype(np.float64))
    roundings = 513 + x.counts()[:, None] / 512
    assert (np.abs(product(x, b, 2) - expected) <= roundings * 2.0**-24 * size).all()


@pytest.mark.parametrize("kernels", ["native", "reference"])
def test_an_engine_runs_it_over_both_sides(monkeypatch, kernels):
    monkeypatch.setenv("DYADS_KERNELS", kernels)
    x, engine = matrix(3, 30, 40, True), Local(2)
    dense = x.to_scipy(40)
    for side, other, m in ((x, dense, 40), (x.transpose(40), dense.T, 30)):
        b = block(4, m, 6, np.float32)
        own = engine.place("user", ProductRows(np.zeros((side.n_rows, 6), np.float32)), side)
        assert np.array_equal(own.cuts, shard_cuts(side.ptr))
        moved, _ = engine.each("row_products", own, ProductShared(b), AT)
        np.testing.assert_allclose(moved.arrays.out, other @ b, atol=1e-5)
