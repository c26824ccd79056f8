from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dyads import streams
from dyads.errors import ConfigError
from dyads.streams import At, Site

AT = At(seed=12345, chain=2, tick=7)
ROWS = np.arange(2000)
WORDS32 = st.integers(0, 2**32 - 1)

# The seeds are fixed; a random seed would fail any one of these tests with probability 1e-6.
LEVEL = 1e-6

# --- words ---------------------------------------------------------------------------------------------------------

# Published with Random123 for philox4x32-10: counter, key (low word, high word), output.
PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "output"), PUBLISHED)
def test_the_published_vectors_come_out(counter, key, output):
    assert tuple(int(word) for word in streams.philox(counter, key[1] << 32 | key[0])) == output


# The rounds as the paper writes them, in Python's whole numbers.
def slow(counter, seed):
    a, b, c, d = counter
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        first, second = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = second >> 32 ^ b ^ k0, second & 0xFFFFFFFF, first >> 32 ^ d ^ k1, first & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return a, b, c, d


@given(st.tuples(WORDS32, WORDS32, WORDS32, WORDS32), st.integers(0, 2**64 - 1))
def test_philox_is_what_the_paper_writes(counter, seed):
    assert tuple(int(word) for word in streams.philox(counter, seed)) == slow(counter, seed)


ADDRESSES = st.builds(At, st.integers(0, 2**64 - 1), st.integers(0, 2**24 - 1), WORDS32)


@given(ADDRESSES, st.integers(0, 255), st.lists(WORDS32, min_size=1, max_size=4), st.integers(1, 200), st.data())
def test_every_word_stands_at_its_address(at, site, rows, n, data):
    found = streams.words(at, site, rows, n)
    assert (found.shape, found.dtype) == ((len(rows), n), np.uint32)
    r, w = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.integers(0, n - 1))
    block = 16 * (w // 64) + w % 16
    assert found[r, w] == slow((at.tick, site << 24 | at.chain, rows[r], block), at.seed)[w % 64 // 16]


@given(ADDRESSES, st.lists(st.integers(0, 50), max_size=20), st.sampled_from([1, 3, 64, 130]))
def test_rows_in_any_order_have_the_same_words(at, rows, n):
    whole = streams.words(at, 1, np.arange(51), n)
    assert np.array_equal(streams.words(at, 1, rows, n), whole[rows])
    assert np.array_equal(streams.normal(at, 1, rows, n), streams.normal(at, 1, np.arange(51), n)[rows])


@given(ADDRESSES, st.integers(0, 140), st.integers(0, 140))
def test_more_words_begin_with_the_fewer(at, a, b):
    few, many = sorted((a, b))
    for draw in (streams.words, streams.uniform, streams.normal, streams.exponential):
        assert np.array_equal(draw(at, 3, [4, 9], many)[:, :few], draw(at, 3, [4, 9], few))


# --- no two names share a word -------------------------------------------------------------------------------------


# The counters that were asked for while `draw` ran.
def counters(monkeypatch, draw):
    asked = set()
    real = streams.philox

    def spy(counter, seed):
        parts = (np.atleast_1d(part).ravel() for part in np.broadcast_arrays(*counter))
        asked.update((seed, *map(int, one)) for one in zip(*parts, strict=True))
        return real(counter, seed)

    with monkeypatch.context() as patch:
        patch.setattr(streams, "philox", spy)
        draw()
    return asked


# Values next to the ends of each field, where one field would run over into the next.
def test_the_fields_of_a_counter_are_disjoint(monkeypatch):
    seeds, chains, ticks = (0, 1, 2**32, 2**64 - 1), (0, 1, 2**24 - 1), (0, 1, 2**32 - 1)
    sites, rows = (0, 1, 255), (0, 1, 2**24, 2**32 - 1)
    seen = set()
    for seed, chain, tick, site in itertools.product(seeds, chains, ticks, sites):
        for row in rows:
            new = counters(monkeypatch, lambda: streams.words(At(seed, chain, tick), site, [row], 65))  # noqa: B023
            assert len(new) == 17  # 64 words are 16 blocks
            assert not new & seen
            seen |= new
    assert len(seen) == 17 * len(seeds) * len(chains) * len(ticks) * len(sites) * len(rows)


def test_every_site_has_a_number_of_its_own_that_fits():
    assert len({int(site) for site in Site}) == len(Site.__members__)
    assert all(0 < site < 256 for site in Site)


@pytest.mark.parametrize("at", [At(1, 2**24, 0), At(1, -1, 0), At(1, 0, 2**32), At(1, 0, -1)])
def test_an_address_beyond_the_fields_is_refused(at):
    for draw in (streams.words, streams.uniform, streams.normal, streams.quads):
        with pytest.raises(ConfigError, match=f"tick {at.tick} of chain {at.chain} has no random words"):
            draw(at, 1, [0], 1)


def test_the_generator_of_a_driver_goes_by_name_too():
    names = [At(1, 0, 0), At(2, 0, 0), At(1, 1, 0), At(1, 0, 1)]
    draws = [streams.generator(at, site).random(3).tolist() for at in names for site in (3, 4)]
    assert all(a != b for a, b in itertools.combinations(draws, 2))
    assert streams.generator(names[0], 3).random(3).tolist() == draws[0]


def test_quads_are_the_outputs_of_one_block():
    for block in (0, 5):
        found = streams.quads(AT, 9, ROWS[:5], block)
        expected = streams.words(AT, 9, ROWS[:5], 64).reshape(5, 4, 16)[:, :, block]
        assert np.array_equal(np.stack(found, axis=1), expected)


# --- distributions -------------------------------------------------------------------------------------------------


def fits(draws, cdf):
    return stats.kstest(np.ravel(draws), cdf).pvalue > LEVEL


@pytest.mark.parametrize("n", [1, 5, 64, 100])
def test_uniforms_normals_and_exponentials_have_their_distributions(n):
    rows = np.arange(200_000 // n)
    assert fits(streams.uniform(AT, 1, rows, n), "uniform")
    assert fits(streams.normal(AT, 2, rows, n), "norm")
    assert fits(streams.exponential(AT, 3, rows, n), "expon")


def test_every_bit_of_a_word_is_fair():
    words = streams.words(AT, 1, ROWS, 64).ravel()
    ones = np.array([np.count_nonzero(words >> np.uint32(bit) & np.uint32(1)) for bit in range(32)])
    z = (ones - words.size / 2) / np.sqrt(words.size / 4)
    assert 2 * stats.norm.sf(np.abs(z)).min() > LEVEL / 32


# Along rows, along words, along ticks, and for the words 16 apart that come from one block.
def test_neighbours_are_not_correlated():
    draws = np.stack([streams.normal(AT._replace(tick=t), 1, ROWS[:300], 64) for t in range(30)])
    for axis, lag in ((0, 1), (1, 1), (2, 1), (2, 16), (2, 32), (2, 48)):
        moved = np.moveaxis(draws, axis, 0)
        a, b = moved[lag:].ravel(), moved[:-lag].ravel()
        for x, y in ((a, b), ((a**2 - 1) / np.sqrt(2), (b**2 - 1) / np.sqrt(2))):
            z = np.dot(x, y) / np.sqrt(a.size)
            assert 2 * stats.norm.sf(abs(z)) > LEVEL / 12


def test_a_uniform_is_an_odd_multiple_of_two_to_minus_24():
    draws = streams.uniform(AT, 1, ROWS, 64)
    assert draws.min() > 0 and draws.max() < 1
    assert np.array_equal(draws, draws.astype(np.float32))
    assert (draws * 2**24 % 2 == 1).all()
    ends = streams._unit(np.array([0, 2**32 - 1], np.uint32))
    assert ends.tolist() == [2.0**-24, 1 - 2.0**-24]


INTERVALS = [
    (-np.inf, np.inf),
    (0.0, np.inf),
    (-np.inf, 0.0),
    (-1.0, 2.0),
    (0.3, 0.4),
    (4.0, np.inf),
    (-np.inf, -6.0),
    (20.0, np.inf),
    (-40.0, -38.0),
    (8.0, 8.5),
    (-0.5, 12.0),
]


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_truncated_normals_have_their_distribution(low, high):
    draws = streams.truncated_normal(AT, 4, ROWS, 50, low, high)
    assert np.isfinite(draws).all()
    assert draws.min() >= low and draws.max() <= high
    assert fits(draws, stats.truncnorm(low, high).cdf)


def test_truncated_normals_take_limits_that_broadcast():
    low, high = np.linspace(-3, 3, 40)[:, None], np.linspace(-1, 1, 30)[None, :] + 5
    draws = streams.truncated_normal(AT, 4, np.arange(40), 30, low, high)
    assert draws.shape == (40, 30)
    assert (draws >= low).all() and (draws <= high).all()
    assert (streams.truncated_normal(AT, 4, ROWS, 3, 1.5, 1.5) == 1.5).all()
    one = streams.truncated_normal(AT, 4, [7], 30, low[7], high)
    assert np.array_equal(one[0], draws[7])


@pytest.mark.parametrize("bound", [2, 3, 10, 1000])
def test_whole_numbers_below_a_bound_are_equally_likely(bound):
    draws = streams.integers(AT, 5, ROWS, 60, bound)
    assert draws.dtype == np.int64
    counts = np.bincount(draws.ravel(), minlength=bound)
    assert counts.size == bound
    assert stats.chisquare(counts).pvalue > LEVEL


def test_whole_numbers_of_large_and_of_many_bounds():
    draws = streams.integers(AT, 5, ROWS, 60, 2**32)
    assert draws.min() >= 0 and draws.max() < 2**32
    assert fits((draws + 0.5) / 2**32, "uniform")
    bounds = np.arange(1, 61)
    draws = streams.integers(AT, 5, ROWS, 60, bounds)
    assert (draws.min(axis=0) == 0).all() and (draws < bounds).all()
    # the largest value of each column comes among 2000 draws, but with probability (1 - 1/60)^2000 < 3e-15
    assert (draws.max(axis=0) == bounds - 1).all()


@given(WORDS32, WORDS32, st.integers(1, 2**32))
def test_scaled_words_are_those_of_whole_numbers(low, high, bound):
    assert int(streams.scaled(low, high, bound)) == (high << 32 | low) * bound >> 64
