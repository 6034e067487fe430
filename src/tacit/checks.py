"""Validation: every check raises a sentence that says what to change, and none quotes a private value."""

from __future__ import annotations

from typing import Never


class PrivacyError(ValueError):
    """Raised where going on would break a guarantee, or where a guarantee does not hold."""


def check(condition: object, sentence: str) -> None:
    """Raise ``ValueError(sentence)`` unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


def refuse(sentence: str) -> Never:
    """Raise ``PrivacyError(sentence)``."""
    raise PrivacyError(sentence)


def check_positive(name: str, value: float) -> float:
    """Return the value as a float, or say that it must be a finite number above zero."""
    number = float(value)
    check(0 < number < float("inf"), f"Expected {name}={value} > 0 and finite.")
    return number


def check_count(name: str, value: int) -> int:
    """Return the value as an int, or say that it must be a whole number of at least one."""
    check(int(value) == value and value >= 1, f"Expected {name}={value} to be a whole number >= 1.")
    return int(value)
