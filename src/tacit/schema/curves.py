"""A number as a curve: its range in intervals, or in hat functions at knots, so that a linear model can bend.

A linear model of these slots is an additive model (Hastie and Tibshirani 1986): the sum of one curve per column, a step
function over bins, a broken line over hats. Cut points and knots are declared, or follow from the public bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from tacit.checks import check, check_real
from tacit.data.cells import Cells, Value, numbers
from tacit.schema.columns import check_bounds, check_keys, check_name, listed
from tacit.schema.cuts import SPACINGS, cut_points
from tacit.types import Array

MOST_SLOTS = 1000
"""Curves whose points are counted, not listed, have at most so many slots."""


class Curve(ABC):
    """What bins and hats share: inner points between public bounds, and a slot for missing cells where it is declared.

    Edges: infinities are clipped to a bound. Cells are missing as they are for a :class:`Number`: with ``missing=True``
    they fill their own slot and no other, otherwise they stand where the midpoint of the bounds does.
    """

    ENTRIES: ClassVar[tuple[str, ...]]
    ENDS: ClassVar[int]
    """How many more slots than inner points: one more interval than cuts, and a hat at each of both bounds."""
    numeric: ClassVar[bool] = True
    values: ClassVar[tuple[Value, ...]] = ()

    name: str
    lower: float
    upper: float
    missing: bool

    @property
    @abstractmethod
    def points(self) -> tuple[float, ...]:
        """The inner points."""

    @property
    @abstractmethod
    def slots(self) -> tuple[str, ...]:
        """Names of the slots, without that of missing cells."""

    @abstractmethod
    def _fill(self, values: Array, out: Array) -> None:
        """Encode values between the bounds into the slots."""

    @property
    def edges(self) -> tuple[float, ...]:
        """The bounds with the inner points between them."""
        return (float(self.lower), *self.points, float(self.upper))

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (*self.slots, f"{self.name}=<missing>") if self.missing else self.slots

    def write(self, cells: Cells, out: Array, missing: Sequence[str], centred: bool) -> None:
        """Encode the cells into the columns of ``out``, which hold zeros."""
        del centred  # a slot is filled or not, as a category's is
        values = numbers(cells, missing)
        absent = np.isnan(values)
        lower, upper = float(self.lower), float(self.upper)
        values[absent] = lower + (upper - lower) / 2
        self._fill(np.clip(values, lower, upper), out)
        if self.missing:
            out[absent] = 0.0
            out[absent, -1] = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Plain entries, without the name: the points themselves, also where they were counted."""
        points = {self.ENTRIES[0]: list(self.points)}
        return {"lower": self.lower, "upper": self.upper} | points | ({"missing": True} if self.missing else {})

    @classmethod
    def from_dict(cls, name: str, entries: Mapping[str, Any]) -> Self:
        """The column that entries describe: by a list of inner points, or by the number of slots and a spacing."""
        check_keys(f"column {name!r}", entries, set(cls.ENTRIES))
        word = cls.ENTRIES[0]
        check({"lower", "upper"} <= set(entries), f"Column {name!r} needs lower and upper in addition to {word}.")
        points = entries[word]
        if not isinstance(points, list | tuple):
            points = cls._counted(name, entries)
        else:
            check("spacing" not in entries, f"Column {name!r} lists its {word}; remove spacing, or give their number.")
        return cls(name, entries["lower"], entries["upper"], points, entries.get("missing", False))  # type: ignore[call-arg]

    @classmethod
    def _counted(cls, name: str, entries: Mapping[str, Any]) -> tuple[float, ...]:
        """Inner points, for as many slots as the entries ask for, or fewer, from the bounds."""
        word, lower, upper = cls.ENTRIES[0], entries["lower"], entries["upper"]
        count, spacing = entries[word], entries.get("spacing", "auto")
        check_bounds(f"column {name!r}", lower, upper)
        check(
            isinstance(count, int | np.integer) and 2 <= count <= MOST_SLOTS,
            f"Expected {word} of column {name!r} to be a list of numbers, or a whole number from 2 to {MOST_SLOTS}.",
        )
        known = isinstance(spacing, str) and spacing in SPACINGS
        check(known, f"Expected spacing of column {name!r} to be one of {', '.join(SPACINGS)}.")
        intervals = int(count) - cls.ENDS + 1
        points = cut_points(lower, upper, intervals, spacing)
        check(
            points or intervals == 1,
            f"Column {name!r} has no {spacing} number between its bounds; choose another spacing, or list its {word}.",
        )
        return points


def _checked(curve: Curve, fewest: int) -> tuple[float, ...]:
    """The inner points as plain floats, or a sentence about what is wrong with the column."""
    check_name(curve.name)
    where = f"column {curve.name!r}"
    check_bounds(where, curve.lower, curve.upper)
    check(isinstance(curve.missing, bool), f"Expected missing of {where} to be true or false.")
    word = curve.ENTRIES[0]
    given = listed(f"{word} of {where}", curve.points)
    points = tuple(check_real(f"each of the {word} of {where}", point) for point in given)
    check(len(points) >= fewest, f"Expected {word} of {where} to list at least {fewest} point.")
    edges = (float(curve.lower), *points, float(curve.upper))
    check(
        all(before < after for before, after in pairwise(edges)),
        f"Expected {word} of {where} to rise strictly between lower={curve.lower} and upper={curve.upper}.",
    )
    return points


@dataclass(frozen=True)
class Bins(Curve):
    """A number's range cut into intervals, one slot each: 1 in the slot of its interval, 0 in the others.

    An interval contains its left end and not its right one; the last contains the upper bound too.
    """

    ENTRIES: ClassVar[tuple[str, ...]] = ("bins", "lower", "upper", "missing", "spacing")
    ENDS: ClassVar[int] = 1

    name: str
    lower: float
    upper: float
    cuts: tuple[float, ...]
    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "cuts", _checked(self, fewest=1))

    @property
    def points(self) -> tuple[float, ...]:
        """The cut points."""
        return self.cuts

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the intervals."""
        texts = [_text(cut) for cut in self.cuts]
        inner = (f"{self.name} {left} to {right}" for left, right in pairwise(texts))
        return (f"{self.name} below {texts[0]}", *inner, f"{self.name} from {texts[-1]}")

    def _fill(self, values: Array, out: Array) -> None:
        out[np.arange(len(values)), np.searchsorted(self.cuts, values, side="right")] = 1.0


@dataclass(frozen=True)
class Hats(Curve):
    """A number as hat functions at the bounds and the knots between them: a linear model of these is a piecewise linear
    curve.

    Between two neighbours a <= v <= b it has the weight 1 - t at a and t at b, t = (v - a) / (b - a), and 0 elsewhere;
    (1 - t)^2 + t^2 <= 1.
    """

    ENTRIES: ClassVar[tuple[str, ...]] = ("knots", "lower", "upper", "missing", "spacing")
    ENDS: ClassVar[int] = 2

    name: str
    lower: float
    upper: float
    knots: tuple[float, ...]
    missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "knots", _checked(self, fewest=0))

    @property
    def points(self) -> tuple[float, ...]:
        """The inner knots."""
        return self.knots

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the knots, the bounds among them."""
        return tuple(f"{self.name} at {_text(knot)}" for knot in self.edges)

    def _fill(self, values: Array, out: Array) -> None:
        edges, rows = np.array(self.edges), np.arange(len(values))
        left = np.searchsorted(edges[1:-1], values, side="right")  # the last interval holds the upper bound too
        along = (values - edges[left]) / (edges[left + 1] - edges[left])
        out[rows, left] = 1.0 - along
        out[rows, left + 1] = along


def _text(point: float) -> str:
    return repr(float(point)).removesuffix(".0")
