"""Random words by address: the same name gives the same word, in any order, on any number of threads.

Philox4x32-10 (Salmon et al. 2011). The key is the seed (low word, high word); the counter is

    c0 = tick,   c1 = site << 24 | chain,   c2 = row,   c3 = block,

four disjoint fields, so that no two names share a word. The words of one (tick, site, chain, row) come in groups of
64, laid out for 16 lanes: word w is output (w mod 64) // 16 of block 16 (w // 64) + w mod 16. A uniform is
((word >> 9) + ½) / 2²³, exact in 32 bits and never 0 or 1. Normal n takes the pair of uniforms that stand in outputs
(0, 1), for q = (n mod 64) // 16 in {0, 1}, or (2, 3), for q in {2, 3}, of its block (Box-Muller: the cosine for even
q, the sine for odd).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from dyads.errors import ConfigError
from dyads.pairs import F64, I64, U32

LANES, GROUP = 16, 64
ROWS_AT_ONCE = 4096  # so that what a draw takes on its way is small beside what it gives
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_MASK = 0xFFFFFFFF


class At(NamedTuple):
    """With (site, row, slot) it names every random word. Ticks never restart."""

    seed: int
    chain: int
    tick: int


class Site(IntEnum):
    """The places that draw, one number each."""

    INIT_USER = 1
    INIT_ITEM = 2
    SMALL = 3  # the driver's draws of hyper-parameters
    SAMPLE_USER = 4
    SAMPLE_ITEM = 5
    SAMPLE_OFFSET = 6
    FOLD_IN = 7
    SIMULATE_USER = 8
    SIMULATE_ITEM = 9
    SIMULATE_VALUE = 10
    BPR_TRIPLE = 16
    BPR_CHECK = 17
    SBMF_USER = 20
    SBMF_ITEM = 21


def philox(counter: tuple[Any, Any, Any, Any], seed: int) -> tuple[U32, U32, U32, U32]:
    """The four output words of Philox4x32-10 at these counter words (arrays or numbers that broadcast)."""
    a, b, c, d = (np.asarray(word, dtype=np.uint64) for word in np.broadcast_arrays(*counter))
    k0, k1 = seed & _MASK, seed >> 32 & _MASK
    for _ in range(10):
        first, second = a * _M0, c * _M1
        a, b = second >> _HALF ^ b ^ np.uint64(k0), second & _LOW
        c, d = first >> _HALF ^ d ^ np.uint64(k1), first & _LOW
        k0, k1 = k0 + _W0 & _MASK, k1 + _W1 & _MASK
    return tuple(word.astype(np.uint32) for word in (a, b, c, d))  # type: ignore[return-value]


def checked(at: At) -> At:
    """An address that has random words."""
    if not 0 <= at.tick <= _MASK or not 0 <= at.chain < 1 << 24:
        raise ConfigError(f"tick {at.tick} of chain {at.chain} has no random words: ticks end at 2^32, chains at 2^24")
    return at


def _outputs(at: At, site: int, rows: Any, n_blocks: int) -> tuple[U32, U32, U32, U32]:
    """Outputs of blocks 0 to n_blocks - 1 for every row: four arrays of (rows, n_blocks)."""
    checked(at)
    rows = np.asarray(rows, dtype=np.int64)[:, None]
    return philox((at.tick, int(site) << 24 | at.chain, rows & _MASK, np.arange(n_blocks)), at.seed)


def _blocks(n: int) -> int:
    """Blocks that hold the first n words or normals of a row."""
    return LANES * (n // GROUP) + min(LANES, n % GROUP)


def _laid_out(outputs: tuple[Any, ...], n: int) -> Any:
    """Four arrays (rows, blocks) in the order of the words: (rows, n)."""
    rows, n_blocks = outputs[0].shape
    groups = -(-n_blocks // LANES)
    padded = np.zeros((rows, groups, 4, LANES), dtype=outputs[0].dtype)
    for q, output in enumerate(outputs):
        whole = np.zeros((rows, groups * LANES), dtype=output.dtype)
        whole[:, :n_blocks] = output
        padded[:, :, q] = whole.reshape(rows, groups, LANES)
    return padded.reshape(rows, groups * GROUP)[:, :n]


def words(at: At, site: int, rows: Any, n: int) -> U32:
    """The first n words of each row: (rows, n)."""
    out: U32 = _laid_out(_outputs(at, site, rows, _blocks(n)), n)
    return out


def _unit(word: Any) -> F64:
    value: F64 = ((word >> np.uint32(9)) + 0.5) * 2.0**-23
    return value


def uniform(at: At, site: int, rows: Any, n: int) -> F64:
    """n uniforms of (0, 1) for each row."""
    return _unit(words(at, site, rows, n))


def exponential(at: At, site: int, rows: Any, n: int) -> F64:
    """n draws of -log u for each row."""
    draws: F64 = -np.log(uniform(at, site, rows, n))
    return draws


def normal(at: At, site: int, rows: Any, n: int) -> F64:
    """n standard normals for each row, by Box and Muller."""
    rows = np.asarray(rows, dtype=np.int64)
    out: F64 = np.empty((len(rows), n))
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = slice(first, first + ROWS_AT_ONCE)
        out[some] = _normal(at, site, rows[some], n)
    return out


def _normal(at: At, site: int, rows: I64, n: int) -> F64:
    w = _outputs(at, site, rows, _blocks(n))
    first, second = np.sqrt(-2.0 * np.log(_unit(w[0]))), np.sqrt(-2.0 * np.log(_unit(w[2])))
    alpha, beta = 2.0 * np.pi * _unit(w[1]), 2.0 * np.pi * _unit(w[3])
    parts = (first * np.cos(alpha), first * np.sin(alpha), second * np.cos(beta), second * np.sin(beta))
    out: F64 = _laid_out(parts, n)
    return out


def truncated_normal(at: At, site: int, rows: Any, n: int, low: Any, high: Any) -> F64:
    """n standard normals for each row within [low, high] (numbers or arrays that broadcast to the result)."""
    from scipy.special import log_ndtr, ndtri_exp

    u = uniform(at, site, rows, n)
    low, high = np.broadcast_to(low, u.shape), np.broadcast_to(high, u.shape)
    flip = low > 0  # the upper tail is the mirror of the lower, where log Φ keeps its digits
    a, b = np.where(flip, -high, low), np.where(flip, -low, high)
    log_a, log_b = log_ndtr(a), log_ndtr(b)
    z = ndtri_exp(log_b + np.log1p(-(1.0 - u) * -np.expm1(log_a - log_b)))
    z = np.clip(z, a, b)
    draws: F64 = np.where(flip, -z, z)
    return draws


def quads(at: At, site: int, rows: Any, block: int = 0) -> tuple[U32, U32, U32, U32]:
    """Four words for each row: the outputs of one of its blocks, for those who need few words of many rows."""
    checked(at)
    rows = np.asarray(rows, dtype=np.int64)
    return philox((at.tick, int(site) << 24 | at.chain, rows & _MASK, block), at.seed)


def integers(at: At, site: int, rows: Any, n: int, bound: Any) -> I64:
    """n whole numbers below `bound` (at most 2³², a number or an array that broadcasts) for each row.

    Number m takes words 2m (low) and 2m + 1 (high) as one of 64 bits, times the bound, shifted down by 64: its bias
    is below bound / 2⁶⁴.
    """
    w = words(at, site, rows, 2 * n).astype(np.uint64)
    return scaled(w[:, 0::2], w[:, 1::2], bound)


def scaled(low: Any, high: Any, bound: Any) -> I64:
    """(high · 2³² + low) · bound >> 64 for a bound of at most 2³², in 64-bit pieces."""
    low, high = np.asarray(low, dtype=np.uint64), np.asarray(high, dtype=np.uint64)
    m = np.asarray(bound, dtype=np.uint64)
    carry = low * m >> _HALF
    value: I64 = (high * m + carry >> _HALF).astype(np.int64)
    return value


def generator(at: At, site: int) -> np.random.Generator:
    """NumPy's generator for the few draws of a driver (Gamma, Dirichlet, Wishart), named like a word."""
    key = np.array([at.seed & (1 << 64) - 1, int(site) << 24 | at.chain], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, at.tick]))
