"""Rounding to the private side really does, and by little; borders lie between two numbers that were both tried."""

import math
import random
from fractions import Fraction

import mpmath
import pytest

from tacit.rounding import SMALL, U, below, border, geometric, halfway, narrow, up


def test_numbers_are_rounded_up_by_more_than_eight_library_calls_lose():
    assert Fraction(1, 2**53) == U
    assert 32 * U <= SMALL <= 64 * U
    for value in (1e-300, 0.1, 1.0, 3.7e200):
        assert (
            Fraction(value) * (1 + 31 * Fraction(U)) <= Fraction(up(value)) <= Fraction(value) * (1 + 65 * Fraction(U))
        )
    assert up(0.0) == 0.0


def test_differences_are_rounded_down_by_what_either_number_may_lose():
    for epsilon, part in ((1.0, 0.3), (1.0, 1.0 - 2**-52), (1e-9, 3.0), (-2.0, 0.5), (0.5, -2.0)):
        exact = Fraction(epsilon) - Fraction(part)
        wrong = (abs(Fraction(epsilon)) + abs(Fraction(part))) * Fraction(U)
        assert exact - 65 * wrong <= Fraction(below(epsilon, part)) <= exact - 30 * wrong


LEAST = 5e-324
HUGE = 1.7976931348623157e308


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 5, 101, 2**52 - 7])
@pytest.mark.parametrize("width", range(2, 20))
def test_a_mean_lies_strictly_between_the_smallest_doubles(start, width):
    """Where halves are rounded: every distance of a few ulps, from even and from odd places, on both sides of 0."""
    low, high = start * LEAST, (start + width) * LEAST
    assert low < halfway(low, high) < high
    assert -high < halfway(-high, -low) < -low
    assert halfway(low, math.nextafter(low, 1.0)) in (low, math.nextafter(low, 1.0))


def test_means_do_not_overflow():
    assert halfway(HUGE / 2, HUGE) == 0.75 * HUGE
    assert halfway(-HUGE, HUGE) == 0.0
    assert halfway(1.0, 4.0) == 2.5
    assert geometric(1.0, 4.0) == 2.0
    assert geometric(1e-150, 1e150) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (0.0, HUGE), (-HUGE, HUGE), (-3.0, -1e-300), (0.0, 7 * LEAST), (1.0, 1.0 + 2**-50)]
)
def test_a_border_is_found_between_neighbouring_doubles(low, high):
    """For thresholds over the whole bracket the answer is known: the threshold, and the double after it."""
    rng = random.Random(1)
    places = [low, math.nextafter(high, low), *(rng.random() * high + rng.random() * low for _ in range(20))]
    for threshold in places:
        if low <= threshold < high:
            tried = []
            found = narrow(lambda x, t=threshold, tried=tried: tried.append(x) or x <= t, low, high)
            assert found == (threshold, math.nextafter(threshold, math.inf))
            assert len(set(tried)) == len(tried), "a number was tried twice"


@pytest.mark.parametrize("relative", [1e-1, 1e-6, 1e-12])
def test_a_border_is_narrow_and_each_side_is_what_it_says(relative):
    with mpmath.workdps(60):
        for number in (2, 3, 10**9 + 7):
            root = mpmath.sqrt(number)
            low, high = border(lambda x, n=number: Fraction(x) ** 2 < n, relative=relative)
            assert low < root < high
            assert high - low <= relative * high
            assert 4 * (high - low) > relative * high, "no more work than was asked for"


def test_a_predicate_that_is_not_monotone_still_has_its_ends_tried():
    """Whatever it does in between, the two numbers have been tried, and answered differently."""
    for seed in range(50):
        rng, answers = random.Random(seed), {0.0: True, 8.0: False}
        low, high = narrow(lambda x, a=answers, r=rng: a.setdefault(x, r.random() < 0.5), 0.0, 8.0)
        assert (answers[low], answers[high]) == (True, False)
        assert high == math.nextafter(low, math.inf)


def counted(threshold, **settings):
    """The numbers that were tried for a border at the threshold, and what was found."""
    tried = []
    return tried, border(lambda x: tried.append(x) or x <= threshold, **settings)


def test_a_bracket_doubles_from_one():
    tried, found = counted(11.0, halvings=2)
    assert tried == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 12.0, 10.0]
    assert found == (10.0, 12.0)
    assert counted(0.3, halvings=1) == ([0.0, 1.0, 0.5], (0.0, 0.5))
    assert counted(-1.0) == ([0.0], (0.0, 0.0))


def test_a_border_beyond_the_most_is_at_infinity():
    assert counted(100.0, most=8.0) == ([0.0, 1.0, 2.0, 4.0, 8.0], (8.0, math.inf))
    assert counted(100.0, most=5.0) == ([0.0, 1.0, 2.0, 4.0, 8.0], (8.0, math.inf))
    assert counted(7.5, most=8.0, relative=1e-9)[1][0] <= 7.5
    assert counted(math.inf)[1] == (2.0**1023, math.inf)
    for relative in (0.0, 0.5):
        assert narrow(lambda x: True, 3.0, math.inf, relative=relative) == (3.0, math.inf)


def test_halvings_and_means_are_what_was_asked_for():
    tried = []
    found = narrow(lambda x: tried.append(x) or x <= 3.0, 1.0, 256.0, halvings=3, middle=geometric)
    assert tried == [16.0, 4.0, 2.0]
    assert found == (2.0, 4.0)
    assert narrow(lambda x: True, 1.0, 2.0, halvings=0) == (1.0, 2.0)
    assert narrow(lambda x: True, 1.0, 2.0, relative=0.5) == (1.0, 2.0)  # near enough at once
    assert narrow(lambda x: x < -3.0, -4.0, -2.0, relative=0.5) == (-4.0, -3.0)
