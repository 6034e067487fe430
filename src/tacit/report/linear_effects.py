r"""The coefficients of a linear model, in the units of the table's own columns where they have such units.

A schema with the layout 'box' encodes a number v between its bounds l and u as ``s (2 (v - l) / (u - l) - 1)``, s the
clip over the radius, and a value of a category as s in its slot. So with the weights w of the model a score is::

    intercept + sum over numbers of 2 s w / (u - l) * (v - (l + u) / 2) + sum over categories of s w of their value

Every row has one value of each category. So the mean of s w over the listed values may be taken from all of them and
added to the intercept: then what a value adds is told beside the other values, and the start is that of a usual record.

With the layout 'rows' each row is scaled by its own norm, and no coefficient has a fixed size in a column's units.
All of it is computed from the released model, and costs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tacit.estimators.terms import parts_of
from tacit.readable import plain
from tacit.report.scored import outputs
from tacit.schema import Category, Number, Schema

OTHER = "=<other>"
"""How the name of a category's last slot ends: of values that the schema does not list."""
MOST_ROWS = 200
"""Coefficients that are listed: the largest."""
NOISY = (
    "These numbers contain the noise that was added for privacy: with other noise they would have come out "
    "differently, and small ones may be nothing but noise. In Python, inference=True gives intervals for them."
)
_LISTED = (
    "Of a category, the listed values have the mean 0. Values that the schema does not list are together called "
    "<other>: often no record has one, and then the number is nothing but noise."
)
_BOX = (
    "A number adds its coefficient for each unit above the middle of its range, and takes it away for each unit below. "
    "The bar shows the difference between both ends of the range. A value of a category adds what stands beside it. "
)
_ROWS = (
    "A number counts from 0 at its lower bound to 1 at its upper one, and a value of a category counts 1. Each row was "
    "then scaled to norm {clip}, so these weights have no fixed size in the units of the columns: compare them with "
    'each other. With layout = "box" in the schema they have units. '
)
_BARE = "Each column adds its coefficient for each unit, in rows of norm at most {clip}; longer ones are scaled to it."


@dataclass(frozen=True)
class Coefficient:
    """What one encoded column adds: for each unit, where it has one, and from one end of its range to the other."""

    name: str
    unit: float | None
    across: float

    @property
    def listed(self) -> bool:
        """Whether it is of what the schema lists."""
        return not self.name.endswith(OTHER)


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of one output of a model; ``left_out`` is how many smaller ones there are."""

    title: str
    heading: str
    start: str
    rule: str
    lines: tuple[Coefficient, ...]
    left_out: int

    @classmethod
    def of(cls, model: Any, schema: Schema | None) -> tuple[Self, ...]:
        """Of each output of a fitted linear model whose rows this schema made, or nobody did."""
        weights, offsets = np.array(np.atleast_2d(model.coef_)), np.array(np.atleast_1d(model.intercept_))
        target, fixed = (None, True) if schema is None else (schema.target, schema.boxed)
        if schema is not None:
            weights *= float(model.clip) / schema.radius if fixed else 1.0
            for part, slots in parts_of(schema):
                if isinstance(part, Category):
                    means = weights[:, slots][:, :-1].mean(axis=1)
                    weights[:, slots] -= means[:, None]
                    offsets += means
        found = []
        for output, title, unit, start, sides, sign in outputs(model, target, offsets.tolist()):
            lines = _lines(model, schema, sign * weights[output])
            sizes = np.array([abs(line.across) for line in lines])
            kept = np.sort(np.argsort(-sizes, kind="stable")[:MOST_ROWS])
            shown = tuple(lines[place] for place in kept.tolist())
            words = start if fixed else sides
            found.append(cls(title, unit, words, _rule(model, schema), shown, len(lines) - len(shown)))
        return tuple(found)

    @property
    def units(self) -> bool:
        """Whether some have a size in units of their column that is not their size across."""
        return any(line.unit is not None for line in self.lines)

    @property
    def largest(self) -> float:
        """The largest size of what the schema lists, or 1."""
        return max((abs(line.across) for line in self.lines if line.listed), default=1.0) or 1.0


def _rule(model: Any, schema: Schema | None) -> str:
    words = _BARE if schema is None else _BOX if schema.boxed else _ROWS
    if schema is not None and any(isinstance(column, Category) for column in schema.columns):
        words += _LISTED
    return words.format(clip=plain(float(model.clip)))


def _lines(model: Any, schema: Schema | None, weights: Any) -> list[Coefficient]:
    if schema is None:
        given = vars(model).get("feature_names_in_")
        names = [f"column {place + 1}" for place in range(len(weights))] if given is None else given.tolist()
        return [Coefficient(str(name), None, float(weight)) for name, weight in zip(names, weights, strict=True)]
    plainly = {
        column.name: column.upper - column.lower
        for column in schema.columns
        if schema.boxed and isinstance(column, Number)
    }
    found = []
    for name, weight in zip(schema.features, weights.tolist(), strict=True):
        width = plainly.get(name)
        across = weight if width is None else 2 * weight
        found.append(Coefficient(name, None if width is None else across / width, across))
    return found
