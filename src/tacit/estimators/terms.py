"""The terms of an additive model: each column's curve, with the interval that the noise of the fit leaves it.

A score is ``offset + sum over columns of f_c(x_c)``. Curves are centred: the mean of ``f_c`` over the records, as far
as released sums tell it, is 0. The interval is that of the *noise* which privacy takes, 95% of it: not of sampling, and
not of what the regulariser keeps small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.data.cells import text_of
from tacit.schema import Bins, Category, Pair, Schema
from tacit.schema.columns import Column
from tacit.schema.curves import Curve
from tacit.types import Array, Spread

WIDTH = 1.959963984540054
"""Standard deviations on each side of the middle 95% of a normal distribution."""
Row = tuple[float, ...]


@dataclass(frozen=True)
class Term:
    """One column's curve, or that of a pair of columns, in the units of the score.

    ``values`` has one number per slot, which ``labels`` name. For numbers ``points`` are the knots where they stand, or
    the ends of the intervals that they hold for, with ``steps``; a last value more is that of missing cells. For pairs
    values run through the second column's slots first, and ``sides`` names both columns' slots. ``lower`` and ``upper``
    are the interval of the noise, or None where it is not known. ``of`` is the class whose score it is part of, where
    there are several.
    """

    name: str
    kind: Literal["number", "category", "pair"]
    labels: tuple[str, ...]
    points: tuple[float, ...]
    values: tuple[float, ...]
    lower: tuple[float, ...] | None
    upper: tuple[float, ...] | None
    of: Any = None
    steps: bool = False
    sides: tuple[tuple[str, ...], ...] = ()

    def __str__(self) -> str:
        head = self.name if self.of is None else f"{self.name} (score of {self.of})"
        if self.lower is None or self.upper is None:
            lines = [f"  {label}: {value:+.3f}" for label, value in zip(self.labels, self.values, strict=True)]
            return "\n".join([f"{head}, interval of the noise not known", *lines])
        rows = zip(self.labels, self.values, self.lower, self.upper, strict=True)
        lines = [f"  {label}: {value:+.3f} ({low:+.3f} to {high:+.3f})" for label, value, low, high in rows]
        return "\n".join([head, *lines])


def parts_of(schema: Schema) -> list[tuple[Column | Pair, slice]]:
    """Columns and pairs, each with the encoded columns that are its slots."""
    found: list[tuple[Column | Pair, slice]] = []
    first = 0
    parts: tuple[Column | Pair, ...] = (*schema.columns, *schema.pairs)
    for part in parts:
        last = first + len(part.features)
        found.append((part, slice(first, last)))
        first = last
    return found


def listed_slots(part: Column | Pair) -> NDArray[np.bool_]:
    """Which slots are of values that the schema lists: all but the last, "other", of a category."""
    if isinstance(part, Pair):
        return np.outer(listed_slots(part.first), listed_slots(part.second)).ravel()
    return np.arange(len(part.features)) < len(part.features) - isinstance(part, Category)


def centring(schema: Schema, masses: Array | None) -> Array:
    """For each slot the part of its column's mass that it holds: of released sums, or evenly where there are none.

    Edges: a sum below zero is noise, and counts as zero; a column of such sums alone is centred evenly. "Other" has no
    part in what is even: the values that people expect are listed.
    """
    parts = np.zeros(schema.width) if masses is None else np.maximum(masses[: schema.width], 0.0)
    for part, slots in parts_of(schema):
        held = parts[slots] if parts[slots].any() else listed_slots(part).astype(np.float64)
        parts[slots] = held / held.sum()
    return parts


def deviations(schema: Schema, weights: Array, spread: Spread | None, scale: float, columns: int) -> Array | None:
    """Standard deviations of centred slots, of the noise alone; ``scale`` is the entry of a filled slot in a row."""
    if spread is None:
        return None
    found = np.empty(schema.width)
    for _, slots in parts_of(schema):
        width = slots.stop - slots.start
        moved = np.zeros((width, columns))
        moved[:, slots] = scale * (np.eye(width) - weights[slots])
        found[slots] = np.sqrt(spread.of(moved))
    return found


def terms_of(
    schema: Schema, values: Array, weights: Array, errors: Array | None, classes: Any = None
) -> tuple[Term, ...]:
    """Terms of slot values (one row an output), centred with these weights; ``classes`` name the outputs."""
    found = []
    for part, slots in parts_of(schema):
        half = None if errors is None else WIDTH * errors[slots]
        for output, row in enumerate(values):
            middle = row[slots] - float(row[slots] @ weights[slots])
            band = (None, None) if half is None else (_plain(middle - half), _plain(middle + half))
            found.append(_term(part, _plain(middle), band, None if classes is None else classes[output]))
    return tuple(found)


def _term(part: Column | Pair, values: Row, band: tuple[Row | None, Row | None], of: Any) -> Term:
    if isinstance(part, Pair):
        sides = tuple(_labels(column) for column in part.columns)
        labels = tuple(f"{one} & {other}" for one in sides[0] for other in sides[1])
        name = " & ".join(column.name for column in part.columns)
        return Term(name, "pair", labels, (), values, *band, of, sides=sides)
    kind: Literal["number", "category"] = "number" if part.numeric else "category"
    points = part.edges if isinstance(part, Curve) else ()
    return Term(part.name, kind, _labels(part), points, values, *band, of, steps=isinstance(part, Bins))


def _plain(numbers: Array) -> Row:
    return tuple(float(number) for number in numbers)


def _labels(column: Column) -> tuple[str, ...]:
    """Names of the slots, without the column's own."""
    if isinstance(column, Category):
        return (*(text_of(value) for value in column.values), "other")
    names = tuple(feature.removeprefix(f"{column.name} ") for feature in column.features)
    return (*names[:-1], "missing") if isinstance(column, Curve) and column.missing else names
