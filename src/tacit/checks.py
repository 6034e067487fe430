"""Validation: every check raises a sentence that says what to change, and none quotes a private value."""

from __future__ import annotations

import dataclasses
import decimal
import math
import numbers
from typing import Never, TypeVar, cast

import numpy as np


class PrivacyError(ValueError):
    """Raised where going on would break a guarantee, or where a guarantee does not hold."""


def check(condition: object, sentence: str) -> None:
    """Raise ``ValueError(sentence)`` unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


def refuse(sentence: str) -> Never:
    """Raise ``PrivacyError(sentence)``."""
    raise PrivacyError(sentence)


def check_real(name: str, value: object) -> float:
    """Return a real number as a float; text and truth values are not numbers."""
    check(
        isinstance(value, numbers.Real) and not isinstance(value, bool),
        f"Expected {name} to be a number, not {value!r}.",
    )
    return _float(name, value)


def check_positive(name: str, value: float) -> float:
    """Return the value as a float, or say that it must be a finite number above zero."""
    number = _float(name, value)
    check(0 < number < float("inf"), f"Expected {name}={value} > 0 and finite.")
    return number


def _float(name: str, value: object) -> float:
    """The value in double precision; a whole number that is too large for it is refused."""
    try:
        return float(cast(float, value))
    except OverflowError:
        raise ValueError(f"Expected {name} to be below 1e308.") from None


def check_range(name: str, low: float, high: float) -> None:
    """Say that a range is too far out, or too narrow, for double precision to scale numbers in it."""
    far = max(abs(low), abs(high))
    check(
        far <= 1e100 and high - low >= max(1e-9 * far, 1e-100),
        f"Expected {name} to be within 1e100, and not narrower than 1e-9 of its ends; "
        "subtract a public number from the targets, or scale them.",
    )


def check_count(name: str, value: int) -> int:
    """Return the value as an int, or say that it must be a whole number of at least one."""
    check(math.isfinite(_float(name, value)), f"Expected {name}={value} to be a whole number >= 1.")
    check(int(value) == value and value >= 1, f"Expected {name}={value} to be a whole number >= 1.")
    return int(value)


Settings = TypeVar("Settings")


def plain_numbers(settings: Settings) -> Settings:
    """The same settings (a dataclass, or a number) with NumPy's numbers as Python's.

    A number in single precision would have the sums and quotients of a price rounded to seven digits, to either side.
    """
    if isinstance(settings, np.generic):
        return cast(Settings, settings.item())
    if not dataclasses.is_dataclass(settings) or isinstance(settings, type):
        return settings
    values = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings) if field.init}
    plain = {name: plain_numbers(value) for name, value in values.items()}
    changed = {name: value for name, value in plain.items() if value is not values[name]}
    return dataclasses.replace(settings, **changed) if changed else settings


def at_most(value: float, digits: int = 4) -> str:
    """The number in so many digits, never below it: for what is promised or spent."""
    return _digits(value, digits, decimal.ROUND_CEILING)


def at_least(value: float, digits: int = 3) -> str:
    """The number in so many digits, never above it: for what was measured as a lower bound."""
    return _digits(value, digits, decimal.ROUND_FLOOR)


def _digits(value: float, digits: int, rounding: str) -> str:
    exact = decimal.Decimal(repr(float(value)))  # the shortest decimal that stands for it: 0.1 stays 0.1
    return f"{float(decimal.Context(digits, rounding).plus(exact)):.{digits}g}"
