"""Columns with public bounds or values, and the target: what each declares, how it encodes and describes itself.

An encoding of a column is one class that keeps the contract of :class:`Column`, and its place in ``encodings.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, is_number, shown
from tacit.data.cells import WHY_NO_NUMBER, Cells, Value, codes_of, columns_of, key_of, numbers, text_of, unreadable
from tacit.types import Array

FARTHEST, NARROWEST = 1e100, 1e-9
"""Bounds are at most FARTHEST in size, and at least NARROWEST of that apart: then numbers between them are scaled
without overflow, and to six digits or more."""


class Column(Protocol):
    """What a schema asks of a column's encoding.

    ``write`` turns each cell, by itself and by public constants alone, into numbers whose norm is at most 1; a schema's
    radius counts on that. ``ENTRIES`` are the words that describe it in a file; the first of them tells it from others.
    """

    ENTRIES: ClassVar[tuple[str, ...]]

    @property
    def name(self) -> str:
        """The column's name in the table."""

    @property
    def numeric(self) -> bool:
        """Whether its cells are numbers: text that is none then counts as missing."""

    @property
    def values(self) -> tuple[Value, ...]:
        """The cells that it knows by what they say; a marker of missing cells may not be among them."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""

    def write(self, cells: Cells, out: Array, missing: Sequence[str], centred: bool) -> None:
        """Encode the cells into the columns of ``out``, which hold zeros."""

    def to_dict(self) -> dict[str, Any]:
        """Plain entries, without the name."""

    @classmethod
    def from_dict(cls, name: str, entries: Mapping[str, Any]) -> Self:
        """The column that entries describe."""


@dataclass(frozen=True)
class Number:
    """A numeric column with public bounds: (min(max(v, lower), upper) - lower) / (upper - lower), in [0, 1].

    Centred, it is twice that minus 1, in [-1, 1].

    Edges: infinities are clipped to a bound. NaN, None, empty or unreadable text and the schema's markers are missing:
    with ``missing=True`` they fill their own slot and the number is 0, otherwise the number is the midpoint.
    """

    ENTRIES: ClassVar[tuple[str, ...]] = ("lower", "upper", "missing")
    numeric: ClassVar[bool] = True
    values: ClassVar[tuple[Value, ...]] = ()

    name: str
    lower: float
    upper: float
    missing: bool = False

    def __post_init__(self) -> None:
        check_name(self.name)
        check_bounds(f"column {self.name!r}", self.lower, self.upper)
        check(isinstance(self.missing, bool), f"Expected missing of column {self.name!r} to be true or false.")

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (self.name, f"{self.name}=<missing>") if self.missing else (self.name,)

    def write(self, cells: Cells, out: Array, missing: Sequence[str], centred: bool) -> None:
        """Encode the cells into the columns of ``out``, which hold zeros."""
        values = numbers(cells, missing)
        absent = np.isnan(values)
        lower, upper = float(self.lower), float(self.upper)
        np.clip(values, lower, upper, out=values)  # they are a copy of the cells, and become places between the bounds
        values -= lower
        values /= upper - lower
        if centred:
            values *= 2.0
            values -= 1.0
        out[:, 0] = values
        if absent.any():
            out[absent, 0] = 0.0 if self.missing or centred else 0.5
        if self.missing:
            out[:, 1] = absent

    def to_dict(self) -> dict[str, Any]:
        """Plain entries, without the name."""
        return {"lower": self.lower, "upper": self.upper} | ({"missing": True} if self.missing else {})

    @classmethod
    def from_dict(cls, name: str, entries: Mapping[str, Any]) -> Self:
        """The column that entries describe."""
        check({"lower", "upper"} <= set(entries), f"Column {name!r} needs values, or lower and upper.")
        check_keys(f"column {name!r}", entries, set(cls.ENTRIES))
        return cls(name, **entries)


@dataclass(frozen=True)
class Category:
    """A column with a public list of values, one slot each, and a last slot for everything else.

    Cells and values are compared as stripped text, numerals and truths as numbers: 1, "1", "1.0", "01" and True are
    one value.

    Edges: a missing, unknown or unreadable cell fills the last slot. Where a whole number of 2**53 or more is listed,
    a float cell of that size is refused: one missing cell makes pandas round a whole column.
    """

    ENTRIES: ClassVar[tuple[str, ...]] = ("values",)
    numeric: ClassVar[bool] = False

    name: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_values(f"values of column {self.name!r}", self.values, 1)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (*(f"{self.name}={text_of(value)}" for value in self.values), f"{self.name}=<other>")

    def write(self, cells: Cells, out: Array, missing: Sequence[str], centred: bool) -> None:
        """Encode the cells into the columns of ``out``, which hold zeros."""
        del missing, centred  # a marker is no value, so its cells are already in the last slot
        out[np.arange(len(cells)), codes_of(self.name, cells, self.values)] = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Plain entries, without the name."""
        return {"values": list(self.values)}

    @classmethod
    def from_dict(cls, name: str, entries: Mapping[str, Any]) -> Self:
        """The column that entries describe."""
        check(len(entries) == 1, f"Column {name!r} is a category; remove every entry other than values.")
        return cls(name, listed(f"values of column {name!r}", entries["values"]))


@dataclass(frozen=True)
class Target:
    """The column to predict: either a public tuple of classes, or public bounds."""

    name: str
    classes: tuple[Value, ...] | None = None
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        bounded = self.lower is not None or self.upper is not None
        check(
            (self.classes is not None) != bounded,
            f"Expected target {self.name!r} to have either classes, or lower and upper.",
        )
        if self.classes is None:
            check_bounds(f"target {self.name!r}", self.lower, self.upper)
        else:
            _check_values(f"classes of target {self.name!r}", self.classes, 2)
            kinds = {"text" if isinstance(value, str) else "number" for value in self.classes}
            check(len(kinds) == 1, f"Expected classes of target {self.name!r} to be all text or all numbers.")

    def read(self, table: Any, missing: Sequence[str] = ()) -> NDArray[Any]:
        """Its column of a table: labels as the declared class values, or numbers clipped to the declared bounds.

        Edges: a label outside the classes, or a missing number, raises; the sentence does not quote it.
        """
        (cells,) = columns_of(table, [self.name])
        return self._numbers(cells, missing) if self.classes is None else self._labels(cells, missing, self.classes)

    def _numbers(self, cells: Cells, missing: Sequence[str]) -> Array:
        check(
            not unreadable(cells, missing).any(),
            f"Target {self.name!r} has cells that are not numbers. {WHY_NO_NUMBER} Correct them, or remove those rows.",
        )
        values = numbers(cells, missing)
        check(not np.isnan(values).any(), f"Target {self.name!r} has missing numbers; remove those rows first.")
        return np.clip(values, self.lower, self.upper)

    def _labels(self, cells: Cells, missing: Sequence[str], classes: tuple[Value, ...]) -> NDArray[Any]:
        codes = codes_of(self.name, cells, classes)
        others = cells[codes == len(classes)].tolist()
        markers = {text_of(marker) for marker in missing} | {""}
        check(
            not any(text_of(cell) in markers for cell in others),
            f"Target {self.name!r} has a missing label; remove those rows first.",
        )
        check(
            not others,
            f"Target {self.name!r} has a label outside classes={list(classes)}; add it to the classes, or remove "
            "those rows.",
        )
        return np.asarray(classes)[codes]

    def to_dict(self) -> dict[str, Any]:
        """Plain entries."""
        if self.classes is not None:
            return {"name": self.name, "classes": list(self.classes)}
        return {"name": self.name, "lower": self.lower, "upper": self.upper}

    @classmethod
    def from_dict(cls, entries: Any) -> Self:
        """The target that plain entries describe."""
        check_keys("target", entries, {"name", "classes", "lower", "upper"})
        check("name" in entries, "The target of the schema needs a name: the column to predict.")
        classes = entries.get("classes")
        stated = {} if classes is None else {"classes": listed("classes of the target", classes)}
        return cls(**{**entries, **stated})


def listed(what: str, entries: Any) -> tuple[Any, ...]:
    """The entries of a list."""
    check(isinstance(entries, list | tuple), f"Expected {what} to be a list.")
    return tuple(entries)


def check_keys(what: str, entries: Any, known: set[str]) -> None:
    """Refuse what is no table of entries, and words that mean nothing."""
    check(isinstance(entries, Mapping), f"Expected {what} to be a table of entries.")
    unknown = sorted(set(entries) - known)
    check(not unknown, f"Unknown entries {unknown} in {what}; expected some of {sorted(known)}.")


def check_name(name: Any) -> None:
    """Refuse a name of a column that is not text."""
    check(isinstance(name, str), f"Expected the name of a column to be text, not {shown(name)}.")


def check_bounds(what: str, lower: Any, upper: Any) -> None:
    """Refuse bounds between which numbers cannot be scaled."""
    check(is_number(lower) and is_number(upper), f"Expected lower and upper of {what} to be numbers.")
    # NumPy's numbers as plain ones, which are compared without being cast to the narrower type
    least, most = (bound.item() if isinstance(bound, np.generic) else bound for bound in (lower, upper))
    check(not least >= most, f"The lower bound of {what} must be below the upper; found lower={lower}, upper={upper}.")
    check(
        least < most and max(abs(least), abs(most)) <= FARTHEST,
        f"Expected lower={lower} < upper={upper} for {what}, neither beyond {FARTHEST:g} in size.",
    )
    low, high = float(least), float(most)
    check(
        high - low >= max(NARROWEST * max(abs(low), abs(high)), 1 / FARTHEST),
        f"Expected lower={lower} and upper={upper} of {what} to be at least {1 / FARTHEST:g}, and {NARROWEST:g} of the "
        "larger of the two, apart; subtract a public number from the column, or change its unit.",
    )


def _check_values(what: str, values: tuple[Value, ...], fewest: int) -> None:
    check(isinstance(values, tuple | list), f"Expected {what} to be a list, not {shown(values)}.")
    texts = [text_of(value) for value in values]
    check(len(texts) >= fewest, f"Expected at least {fewest} entries in {what}.")
    check(all(texts), f"Expected {what} to be text or numbers, none empty; missing cells have their own slot.")
    check(
        len(set(map(key_of, texts))) == len(texts),
        f"Expected {what} to be distinct as stripped text, numerals and true and false as numbers.",
    )
