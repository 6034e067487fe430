"""Sources of words, and what is made of them, word by word."""

import math
from collections import Counter
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from scipy import stats

from tacit.privacy.sources import SeededSource, SystemSource, choose, permutation, subset, uniform


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


def packed(*digits):
    """Words whose bytes, the lowest first, are these digits."""
    data = bytes(digits) + bytes(-len(digits) % 8)
    return [int.from_bytes(data[start : start + 8], "little") for start in range(0, len(data), 8)]


@pytest.mark.parametrize("rate", [0.25, 0.1, 1 / 3, 2.0**-70 * 5, 2.0**-80 * 5, 0.99])
def test_coins_by_digits(rate):
    """Heads exactly for the bytes below the rate; where a byte equals its first 8 digits, the next 64 decide."""
    first = math.floor(256 * rate)
    rest = math.ldexp(256 * rate - first, 64)
    if first:
        assert choose(Given(*packed(first - 1, first + 1)), 2, rate).tolist() == [True, False]
    if rest:
        second = math.floor(rest)
        ties = packed(first, first + 1, first, first)
        if second:
            tossed = choose(Given(*ties, 2**64 - 1, second - 1, second + 1), 4, rate)
            assert tossed.tolist() == [False, False, True, False]
        third = math.floor(math.ldexp(rest - second, 64))
        if third:
            tossed = choose(Given(*ties, 2**64 - 1, second, second, third - 1, third + 1), 4, rate)
            assert tossed.tolist() == [False, False, True, False]
    else:
        assert choose(Given(*packed(first)), 1, rate).tolist() == [False]


@pytest.mark.parametrize("rate", [0.1, 1 / 3, 0.7123456789, 2.0**-30 * 0.3])
def test_a_coins_probability_is_the_rate_to_the_last_digit(rate):
    """Follow the ties: the parts of the interval that are heads add up to the rate, without rounding."""
    total, width, left, words = Fraction(0), Fraction(1), rate, []
    for bits in (8, 64, 64):
        scaled = math.ldexp(left, bits)
        first, width = math.floor(scaled), width / 2**bits
        total, left = total + width * first, scaled - first
        if first:
            below = [*words, *packed(first - 1)] if bits == 8 else [*words, first - 1]
            assert choose(Given(*below, *[0] * (bits == 8 and left > 0)), 1, rate).tolist() == [True]
        words += packed(first) if bits == 8 else [first]
        if not left:
            assert choose(Given(*words), 1, rate).tolist() == [False]
            break
    assert total == Fraction(rate)


def test_coins_take_a_byte_each():
    source = Given(*packed(*range(16)))
    assert choose(source, 16, 0.5).all()
    assert source.left == []
    assert choose(Given(*packed(200, 1, 200)), 3, 0.5).tolist() == [False, True, False]


def test_sure_coins():
    assert choose(Given(), 2, 1.0).tolist() == [True, True]
    assert choose(Given(), 1, 1.0).dtype == choose(Given(0), 1, 0.5).dtype == np.bool_
    assert choose(Given(255 << 8), 2, 0.0).tolist() == [False, False]
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


def test_subsets_are_the_first_different_places():
    # ceil(-10 log(0.8) + 4 sqrt 2) = 8 places: 7, 7, 3 and more; a place is a word modulo 10.
    assert subset(Given(17, 7, 3, 9, 1, 1, 1, 1), 10, 2).tolist() == [3, 7]
    # Words from the last multiple of 10 below 2**64 on are drawn again.
    last = 2**64 // 10 * 10
    assert subset(Given(last, 7, last + 1, 3, 9, 1, 1, 1, 4, 5, *range(6)), 10, 2).tolist() == [3, 7]
    # Too few different ones: more are drawn, and those that came first are kept.
    assert subset(Given(*[5] * 8, 5, 2, *[8] * 6), 10, 2).tolist() == [2, 5]
    # A large one is what a small one leaves, and nobody draws for all or none.
    assert subset(Given(17, 7, 3, 9, 1, 1, 1, 1), 10, 8).tolist() == [0, 1, 2, 4, 5, 6, 8, 9]
    assert subset(Given(), 4, 4).tolist() == subset(Given(), 4, 9).tolist() == [0, 1, 2, 3]
    assert subset(Given(), 4, 0).tolist() == subset(Given(), 0, 0).tolist() == subset(Given(), 0, 3).tolist() == []
    assert subset(SeededSource(1), 100, 7).dtype == np.intp
    with pytest.raises(ValueError, match=r"^Expected size=-1 >= 0\.$"):
        subset(Given(), 4, -1)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_subset_is_as_likely(size):
    """A chi-square test of 20,000 subsets of 5: false alarms below 1e-6, with a seed that is not looked for."""
    source, count = SeededSource(11), 20_000
    found = Counter(tuple(subset(source, 5, size).tolist()) for _ in range(count))
    cells = math.comb(5, size)
    assert len(found) == cells
    statistic = sum((seen - count / cells) ** 2 for seen in found.values()) / (count / cells)
    assert stats.chi2.sf(statistic, cells - 1) > 1e-6
