"""Printed numbers lean to the honest side: what is promised is never shown smaller, what was measured never larger."""

import math

import pytest

from tacit.checks import at_least, at_most


@pytest.mark.parametrize("digits", [1, 3, 4, 6])
def test_rounding_has_a_direction(digits, rng):
    for value in 10.0 ** rng.uniform(-12, 6, size=500):
        assert value * (1 - 10.0 ** (1 - digits)) <= float(at_least(value, digits)) <= value
        assert value <= float(at_most(value, digits)) <= value * (1 + 10.0 ** (1 - digits))


def test_a_round_number_stays():
    for value in (0.1, 0.3, 1.0, 8.0, 1e-5, 2031.0, 0.0):
        assert float(at_most(value)) == float(at_least(value, 4)) == value
    assert (at_most(math.inf), at_least(math.inf)) == ("inf", "inf")
    assert at_most(1.0000049, 6) == "1.00001"
