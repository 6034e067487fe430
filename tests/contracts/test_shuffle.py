"""Prices of shuffled releases: never below the truth, and falling with epsilon."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.privacy import accounting, shuffle
from tacit.privacy.events import Shuffled
from tacit.privacy.shuffle import shuffled_approximate_delta, shuffled_delta


def test_a_shuffled_price_falls_with_epsilon_though_its_bound_rises():
    """The bound has a term with e^epsilon; a price that rose with epsilon would be reported far above the budget."""
    event = Shuffled(4.8, 5e-9, 3000)
    bounds = [shuffled_approximate_delta(4.8, 5e-9, 3000, e) for e in np.linspace(0.0, 4.7, 60)]
    prices = [accounting.delta((event,), e, "replace-one") for e in np.linspace(0.0, 4.7, 60)]
    assert np.diff(bounds).max() > 1e-7, "else nothing is tested"
    assert all(a >= b for a, b in itertools.pairwise(prices))
    assert prices[-1] == pytest.approx(min(bounds), rel=1e-3)
    for delta in (1.1 * min(bounds), 1e-4):
        assert accounting.delta((event,), accounting.epsilon((event,), delta, "replace-one"), "replace-one") <= delta


@pytest.mark.parametrize(("local", "records"), [(2.0, 200), (6.0, 2000), (0.3, 50)])
def test_shuffling_is_never_below_the_truth(local, records):
    """Against fractions and 40 digits: binomials as whole numbers, the best event of all."""
    with mpmath.workdps(40):
        p = 1 / (1 + mpmath.exp(-local))
        chance = mpmath.exp(-mpmath.mpf(local))
        for epsilon in (0.0, 0.05 * local, 0.5 * local, 0.97 * local):
            gain, loss = p - mpmath.exp(epsilon) * (1 - p), mpmath.exp(epsilon) * p - (1 - p)
            exact = mpmath.mpf(0)
            spread = 9 * math.sqrt(records * float(chance)) + 20
            middle = records * float(chance)
            for c in range(max(0, int(middle - spread)), min(records - 1, int(middle + spread)) + 1):
                weight = mpmath.binomial(records - 1, c) * chance**c * (1 - chance) ** (records - 1 - c)
                least = int(mpmath.ceil((c + 1) * loss / (gain + loss)))
                upper = sum(math.comb(c, a) for a in range(max(least, 0), c + 1))
                above = upper + (math.comb(c, least - 1) if 1 <= least <= c + 1 else 0)
                exact += weight * max(gain * above - loss * upper, 0) / mpmath.mpf(2) ** c
            found = shuffled_delta(local, records, epsilon)
            assert exact <= found <= exact * (1 + 1e-5) + 2e-15, epsilon


@pytest.mark.parametrize(("local", "records"), [(0.7, 10**6), (2.0, 10**7), (4.0, 10**7)])
def test_blocks_of_clone_counts_cost_little_and_never_less(local, records, monkeypatch):
    """Against the sum over every count: more by a part in a thousand of delta at most."""
    for delta in (1e-5, 1e-9):
        epsilon = accounting.epsilon((Shuffled(local, 0.0, records),), delta, "replace-one")
        coarse = shuffled_delta(local, records, epsilon)
        with monkeypatch.context() as patch:
            patch.setattr(shuffle, "COARSE", 0.0)
            shuffle._clones.cache_clear()
            fine = shuffled_delta(local, records, epsilon)
        shuffle._clones.cache_clear()
        assert fine * (1 - 1e-9) <= coarse <= fine * 1.001


def test_one_clone_more_never_costs_more():
    """What makes the least count of a block stand for all of it; the advantages as exact fractions."""
    gain, loss = Fraction(3, 10), Fraction(4, 10)

    def cost(count):
        tails = [Fraction(sum(math.comb(count, k) for k in range(a, count + 1)), 2**count) for a in range(count + 2)]
        return max(max(gain * tails[max(a - 1, 0)] - loss * tails[min(a, count + 1)], 0) for a in range(count + 3))

    costs = [cost(count) for count in range(40)]
    assert all(a >= b for a, b in itertools.pairwise(costs))
    assert costs[0] > costs[20] > costs[39] > 0


def test_a_price_of_very_many_records_looks_at_few_counts():
    for records in (10**5, 10**7, 10**8):
        for local in (0.01, 0.7, 4.0):
            assert len(shuffle._clones(records - 1, math.exp(-local))[0]) <= 12_000
