"""Prices of shuffled releases: never below the truth, and falling with epsilon."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from tacit import accounting
from tacit.events import Shuffled
from tacit.shuffle import shuffled_approximate_delta, shuffled_delta


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
