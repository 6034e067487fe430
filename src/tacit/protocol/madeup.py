"""Made-up people: rows of a protocol's own schema and outcomes of a known rule, to try a study before it exists.

They are drawn once, with a written seed, from public facts alone: they are nobody's data. What is assumed of them:

* their rows look like rows of the schema: every number is uniform between its bounds, every category takes each of its
  declared values equally often, no cell is missing, and columns do not depend on each other; without a schema, rows
  have full length and an even direction;
* the outcome follows a plane over the encoded columns whose slopes are even draws, so that every column matters;
* of two classes, a person is in that of their side of the plane, except for a fraction ``unexplained`` of people, drawn
  at random, who are in the other one: who knew the plane would be right for all others, and nobody can do better;
* a number is the plane's height plus what nothing explains: uniform, with the fraction ``unexplained`` of the variance.
  The heights lie so that all numbers fill the target's bounds.

Real people are different. Where columns say less about the outcome, or are missing, or lie near one end of their
bounds, the model is worse than on made-up ones; where few columns matter, and much, it may be better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.checks import check
from tacit.data.rows import Design
from tacit.privacy.noise import SeededSource, Source, gaussian, uniform
from tacit.schema import Schema, Target
from tacit.types import Array

PEOPLE = 2048
"""How many are made up: a crowd is drawn from them, with repetitions."""
SEED = 16
UNEXPLAINED = 0.2
"""Two answers in ten cannot be explained, unless another fraction is chosen."""
ALL = 1 << 15
"""A crowd of at least so many is taken to be like all made-up people, each as often as the others."""


@dataclass(frozen=True, eq=False)
class People:
    """Public rows with a constant, and the part of their outcome that the rows explain, scaled to [-1, 1].

    ``rest`` is the chance of the other class, or the standard deviation of what nothing explains.
    """

    table: Any
    design: Array
    explained: Array
    rest: float
    target: Target

    @property
    def half(self) -> float:
        """Half the width of the target's bounds: what 1 stands for; 1 for classes."""
        return 1.0 if self.target.classes else 0.5 * (float(self.target.upper or 0) - float(self.target.lower or 0))

    def outcomes(self, places: Any, source: Source) -> Array:
        """Outcomes in [-1, 1] of the people at these places, with what nothing explains drawn anew."""
        luck = uniform(source, len(places))
        if self.target.classes:
            return np.asarray(np.where(luck < self.rest, -1.0, 1.0) * self.explained[places])
        return np.asarray(self.explained[places] + math.sqrt(12) * self.rest * (luck - 0.5))

    def moments(self, count: int, source: Source) -> tuple[Array, Array]:
        """Sums of ``x x^T`` and ``y x`` of a crowd of ``count`` people; the cost is the same for all large ones."""
        if count >= ALL:
            mean = (1 - 2 * self.rest) * self.explained if self.target.classes else self.explained
            share = count / len(self.design)
            return share * self.design.T @ self.design, share * self.design.T @ mean
        places = np.floor(len(self.design) * uniform(source, count)).astype(np.intp)
        often = np.bincount(places, minlength=len(self.design)).astype(np.float64)
        sums = np.bincount(places, weights=self.outcomes(places, source), minlength=len(self.design))
        return (self.design.T * often) @ self.design, self.design.T @ sums

    def quality(self, weights: Array) -> float:
        """The expected accuracy of a model on these people, or its root mean square error in the target's units."""
        scores = self.design @ weights
        if self.target.classes:
            right = float(np.mean((scores > 0) == (self.explained > 0)))
            return (1 - self.rest) * right + self.rest * (1 - right)
        missed = np.clip(scores, -1, 1) - self.explained
        return self.half * math.sqrt(float(np.mean(missed**2)) + self.rest**2)

    @property
    def guess(self) -> float:
        """The same without a model: the more frequent class for everyone, or the mean."""
        if self.target.classes:
            share = float(np.mean(self.explained > 0))
            one = (1 - self.rest) * share + self.rest * (1 - share)
            return max(one, 1 - one)
        return self.half * math.sqrt(float(np.var(self.explained)) + self.rest**2)


@lru_cache(maxsize=32)
def made_up(
    schema: Schema | None, columns: int, target: Target, clip: float, constant: float, unexplained: float
) -> People:
    """The people of a protocol with these public facts: always the same ones."""
    most = 0.5 if target.classes else 1.0
    check(0 <= unexplained <= most, f"Expected unexplained={unexplained} to be from 0 to {most:g}.")
    source = SeededSource((SEED, 1))
    if schema is None:
        table: Any = gaussian(source, (PEOPLE, columns))
        table *= clip / np.linalg.norm(table, axis=1, keepdims=True)
        rows = table
    else:
        table = _table(schema, source)
        rows = schema.encode(table, clip)
    bounded = Design(rows, clip, constant)
    rows = bounded.dense(slice(None))[:, : bounded.columns]
    heights = rows @ gaussian(SeededSource((SEED, 2)), (rows.shape[1],))
    heights -= heights.mean()
    design = np.hstack([rows, np.full((PEOPLE, 1 if constant else 0), constant)])
    if target.classes:
        return People(table, design, np.where(heights > 0, 1.0, -1.0), unexplained, target)
    spread = float(np.std(heights))
    heights *= math.sqrt(1 - unexplained) / spread if spread else 0.0
    widest = float(np.abs(heights).max()) + math.sqrt(3 * unexplained)  # the rest is within sqrt(3) deviations
    return People(table, design, heights / (widest or 1.0), math.sqrt(unexplained) / (widest or 1.0), target)


def _table(schema: Schema, source: Source) -> dict[str, list[Any]]:
    """Cells of every column that the schema encodes, by itself or in a pair."""
    table: dict[str, list[Any]] = {}
    for column in schema.encodings:
        if column.name in table:
            continue
        luck = uniform(source, PEOPLE)
        if column.values:
            table[column.name] = [column.values[int(place)] for place in np.floor(luck * len(column.values))]
        else:
            entries = column.to_dict()
            low, high = float(entries["lower"]), float(entries["upper"])
            table[column.name] = (low + (high - low) * luck).tolist()
    return table
