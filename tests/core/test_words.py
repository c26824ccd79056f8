from __future__ import annotations

import numpy as np
import pytest

from dyads import streams
from dyads.kernels import native
from dyads.streams import At

AT = At(seed=0xFEDCBA9876543210, chain=0xABCDEF, tick=0x89ABCDEF)
ROWS = np.arange(3, 3 + 7)
LENGTHS = [0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 48, 50, 63, 64, 65, 80, 129]

# The vectors published with Random123 for philox4x32-10: counter, key (low word, high word), output.
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
def test_the_published_vectors_come_out(each_level, counter, key, output):
    assert each_level.philox(*counter, key[1] << 32 | key[0]) == output


@pytest.mark.parametrize("n", LENGTHS)
def test_words_equal_the_twin_to_the_bit(level, n):
    found = native.fill_words(AT, 0xEE, 3, 7, n)
    assert found.dtype == np.uint32
    assert np.array_equal(found, streams.words(AT, 0xEE, ROWS, n))


@pytest.mark.parametrize("n", LENGTHS)
def test_uniforms_equal_the_twin_to_the_bit(level, n):
    found = native.fill_uniform(AT, 0xEE, 3, 7, n)
    assert found.dtype == np.float32
    assert np.array_equal(found, streams.uniform(AT, 0xEE, ROWS, n))


@pytest.mark.parametrize("n", LENGTHS)
def test_normals_equal_the_twin_closely(level, n):
    found = native.fill_normal(AT, 0xEE, 3, 7, n)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, streams.normal(AT, 0xEE, ROWS, n), rtol=4e-7, atol=4e-7)


def test_many_normals_equal_the_twin_closely(level):
    # The radius and the point on the circle are each within 2 units in the last place (6e-8 of the value, twice that
    # below a power of two), their product adds half of one: 4 units are below 5e-7 of the radius, which is below 5.8.
    found = native.fill_normal(AT, 1, 0, 4000, 64)
    expected = streams.normal(AT, 1, np.arange(4000), 64)
    np.testing.assert_allclose(found, expected, rtol=4e-7, atol=1e-6)


def test_rows_beyond_32_bits_equal_the_twin(level):
    rows = np.arange(2**32 - 2, 2**32 + 2)
    assert np.array_equal(native.fill_words(AT, 1, int(rows[0]), 4, 70), streams.words(AT, 1, rows, 70))


@pytest.mark.parametrize("fill", [native.fill_words, native.fill_uniform, native.fill_normal])
def test_a_range_of_rows_is_a_slice_of_the_whole_on_any_number_of_threads(level, fill):
    whole = fill(AT, 2, 0, 5000, 65)
    for threads in (2, 3, 16):
        assert np.array_equal(fill(AT, 2, 1234, 2345, 65, threads), whole[1234 : 1234 + 2345])


def test_more_words_begin_with_the_fewer(level):
    long = native.fill_normal(AT, 3, 0, 5, 200)
    for n in (1, 17, 64, 130):
        assert np.array_equal(native.fill_normal(AT, 3, 0, 5, n), long[:, :n])


def test_arrays_of_another_kind_are_refused(each_level):
    for out in (np.empty((2, 3)), np.empty((2, 6), np.uint32)[:, ::2], np.empty(6, np.uint32)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            each_level.fill_words(out, 0, 0, 0, 0, 0, 1)
    sealed = np.empty((2, 3), np.uint32)
    sealed.flags.writeable = False
    with pytest.raises(TypeError, match="incompatible function arguments"):
        each_level.fill_words(sealed, 0, 0, 0, 0, 0, 1)
