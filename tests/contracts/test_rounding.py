"""Rounding to the private side really does, and by little."""

from fractions import Fraction

from tacit.privacy.rounding import SMALL, U, below, up


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
