"""Sources of words, and what is made of them, word by word."""

import math
from unittest import mock

import numpy as np
import pytest

from tacit.privacy.sources import SeededSource, SystemSource, choose, permutation, uniform


class Given:
    """These words, in this order."""

    seeded = True

    def __init__(self, *words):
        self.left = list(words)

    def words(self, count):
        given, self.left = self.left[:count], self.left[count:]
        assert len(given) == count
        return np.array(given, dtype=np.uint64)


def test_system_words_are_eight_bytes_of_the_operating_system():
    raw = bytes(range(24))
    with mock.patch("os.urandom", return_value=raw) as asked:
        words = SystemSource().words(3)
    asked.assert_called_once_with(24)
    assert words.tolist() == [int.from_bytes(raw[8 * i : 8 * i + 8], "little") for i in range(3)]
    assert words.dtype == np.uint64
    assert SystemSource().seeded is False
    assert SystemSource() == SystemSource()


def test_seeded_words_are_a_stream():
    one, two = SeededSource(5), SeededSource(5)
    np.testing.assert_array_equal(np.r_[one.words(2), one.words(3)], two.words(5))
    assert one.seeded is True
    assert SeededSource(5).words(4).dtype == np.uint64
    assert SeededSource((1, 2)).words(1)[0] != SeededSource((2, 1)).words(1)[0]
    expected = np.random.PCG64(np.random.SeedSequence(5)).random_raw(4)
    np.testing.assert_array_equal(SeededSource(5).words(4), expected)


def test_uniform_numbers_are_midpoints():
    top = 2**64 - 1
    assert uniform(Given(top), 1).dtype == np.float64
    assert uniform(Given(0, 2**11, top), 3).tolist() == [0.5 * 2**-53, 1.5 * 2**-53, 1 - 2**-54]


@pytest.mark.parametrize("rate", [0.25, 0.1, 1 / 3, 2.0**-70 * 5, 0.999])
def test_coins_by_words(rate):
    """Heads exactly for the words below the rate; where a word equals its first 64 digits, the rest is tossed for."""
    first = math.floor(math.ldexp(rate, 64))
    rest = math.ldexp(rate, 64) - first
    if first:
        assert choose(Given(first - 1, first + 1), 2, rate).tolist() == [True, False]
    if rest:
        below = int(math.ldexp(rest, 64)) - 1
        assert choose(Given(first, first + 1, first, below, 2**64 - 1), 3, rate).tolist() == [True, False, False]
    else:
        assert choose(Given(first), 1, rate).tolist() == [False]


def test_sure_coins():
    assert choose(Given(0, 2**64 - 1), 2, 1.0).tolist() == [True, True]
    assert choose(Given(0), 1, 1.0).dtype == choose(Given(0), 1, 0.5).dtype == np.bool_
    assert choose(Given(0, 2**64 - 1), 2, 0.0).tolist() == [False, False]
    for bad in (-1e-9, 1.0000001, math.nan):
        with pytest.raises(ValueError, match=rf"^Expected 0 <= rate={bad} <= 1\.$"):
            choose(Given(0), 1, bad)


def test_orders_by_keys():
    assert permutation(Given(30, 10, 20), 3).tolist() == [1, 2, 0]
    assert permutation(Given(3, 3, 1, 2, 9, 4), 3).tolist() == [0, 2, 1]
    assert permutation(Given(1, 3, 3, 9, 5, 7), 3).tolist() == [1, 2, 0]
    assert permutation(Given(1, 5, 5, 7, 9, 5, 4, 3, 2, 1), 5).tolist() == [4, 3, 2, 1, 0]
    assert permutation(Given(5), 1).tolist() == [0]
    assert permutation(Given(), 0).tolist() == []
