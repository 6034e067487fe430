"""Validation: every check raises a sentence that says what to change, and none quotes a private value."""

from __future__ import annotations

import dataclasses
import decimal
import math
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, Never, TypeGuard, TypeVar, cast

import numpy as np


class PrivacyError(ValueError):
    """Raised where going on would break a guarantee, or where a guarantee does not hold."""


class ForeignFile(PrivacyError):
    """Raised where a file is nothing that Tacit wrote, so that no guarantee is there to hold or to fail."""


class RefutedWarning(UserWarning):
    """A paper's noise was asked for by name, and it does not give, or cannot be shown to give, what the paper says."""


def check(condition: object, sentence: str) -> None:
    """Raise ``ValueError(sentence)`` unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


def refuse(sentence: str) -> Never:
    """Raise ``PrivacyError(sentence)``."""
    raise PrivacyError(sentence)


def counted(number: int, thing: str, things: str = "") -> str:
    """A number and what it counts: ``1 row``, ``2 rows``, ``1,000 copies``."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a real number of Python or NumPy; truth values, text and arrays are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def shown(value: object) -> str:
    """A setting as a sentence quotes it: in few letters, and in words where its own would be an address or a table."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, int) and abs(value) >= 10**18:
        return "a number of more than 18 digits"
    if not isinstance(value, str | bytes | int | float | complex | decimal.Decimal | PurePath | None):
        return f"a value of type {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def check_real(name: str, value: object) -> float:
    """Return a real number as a float; text and truth values are not numbers."""
    check(is_number(value), f"Expected {name} to be a number, not {shown(value)}.")
    return _float(name, value)


def check_positive(name: str, value: float) -> float:
    """Return the value as a float, or say that it must be a finite number above zero."""
    number = check_real(name, value)
    check(0 < number < float("inf"), f"Expected {name}={shown(value)} > 0 and finite.")
    return number


def _float(name: str, value: object) -> float:
    """The value in double precision; a whole number that is too large for it is refused."""
    try:
        return float(cast(float, value))
    except OverflowError:
        raise ValueError(f"Expected {name} to be below 1e308.") from None


def check_part(name: str, value: float) -> float:
    """Return a number between 0 and 1, neither of them."""
    number = check_real(name, value)
    check(0 < number < 1, f"Expected 0 < {name}={shown(value)} < 1.")
    return number


def check_range(name: str, low: float, high: float) -> None:
    """Say that a range is too far out, or too narrow, for double precision to scale numbers in it."""
    far = max(abs(low), abs(high))
    check(
        far <= 1e100 and high - low >= max(1e-9 * far, 1e-100),
        f"Expected {name} to be within 1e100, and not narrower than 1e-9 of its ends; "
        "subtract a public number from the targets, or scale them.",
    )


def check_count(name: str, value: int, most: int | None = None) -> int:
    """Return the value as an int, or say that it must be a whole number of at least one, and no more than ``most``."""
    number = check_real(name, value)
    whole = math.isfinite(number) and int(value) == value
    check(whole and value >= 1, f"Expected {name}={shown(value)} to be a whole number >= 1.")
    if most is not None:
        check(value <= most, f"Expected {name}={shown(value)} to be at most {most:,}.")
    return int(value)


def pair_of(name: str, value: object) -> tuple[float, float]:
    """Return a pair of numbers, as a tuple, a list or an array holds it."""
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    right = isinstance(listed, tuple | list) and len(listed) == 2 and all(map(is_number, listed))
    check(right, f"Expected {name} to be a pair of numbers (lower, upper), not {shown(value)}.")
    low, high = cast("tuple[float, float]", listed)
    return _float(name, low), _float(name, high)


def items_in(name: str, value: object, what: str = "names") -> tuple[Any, ...]:
    """Return what a list, or another collection, holds; a text by itself would be a list of its letters."""
    flat = isinstance(value, Iterable) and (not isinstance(value, np.ndarray) or value.ndim == 1)
    flat = flat and not isinstance(value, str | bytes)
    check(flat and not isinstance(value, Mapping), f"Expected {name} to be a list of {what}, not {shown(value)}.")
    return tuple(cast(Iterable[Any], value))


def names_in(name: str, value: object) -> tuple[str, ...]:
    """Return a list of names."""
    found = items_in(name, value)
    check(all(isinstance(text, str) for text in found), f"Expected {name} to be a list of names, all of them text.")
    return found


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Say which words there are, where the value is none of them."""
    known = tuple(choices)
    if not (isinstance(value, str) and value in known):
        raise ValueError(f"Expected {name}={shown(value)} to be {either(map(repr, known))}.")


def either(words: Iterable[str]) -> str:
    """A list in words: a, b or c."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


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
