"""What an evaluation gives: each score with its interval, and the guarantee of all of them together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.checks import shown
from tacit.evaluation.asked import ONE_SIDED, SHARES
from tacit.privacy.guarantee import Guarantee
from tacit.types import Array


@dataclass(frozen=True, eq=False)
class Score:
    """A score and the ends of its interval: numbers, or for a confusion matrix and a calibration curve arrays.

    A value of NaN is unknown: all that noise left of it is the interval.
    """

    value: float | Array
    low: float | Array
    high: float | Array

    @classmethod
    def stacked(cls, scores: list[Score], shape: tuple[int, ...]) -> Score:
        """Many scores as one, in arrays of this shape."""
        columns = ([getattr(score, name) for score in scores] for name in ("value", "low", "high"))
        return cls(*(np.reshape(np.asarray(column, dtype=np.float64), shape) for column in columns))

    def times(self, unit: float) -> Score:
        """In units of its own."""
        return Score(self.value * unit, self.low * unit, self.high * unit)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; an end that is infinite, and a value that is unknown, is None."""
        return {name: _plain(getattr(self, name)) for name in ("value", "low", "high")}


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Scores by name, each with an interval at ``level``; all are one release, whose price is ``guarantee_``.

    ``classes`` are the model's, in the order of a confusion matrix (rows are the truth, columns the predictions; the
    cells are shares of all records); None for numbers. Recall, precision and calibration are of the class
    ``positive``, None where there are not two. A calibration curve has one cell for each tenth of the predicted
    probability of this class: its share among the records in it.
    """

    scores: Mapping[str, Score]
    level: float
    guarantee_: Guarantee
    classes: tuple[Any, ...] | None = None
    positive: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the guarantee."""
        return {
            "level": self.level,
            "classes": None if self.classes is None else list(self.classes),
            "positive": self.positive,
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
            "guarantee": self.guarantee_.to_dict(),
        }

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, with the class where a score is about one, value and both ends as text: one line per number."""
        return [
            (name, "unknown" if math.isnan(value) else f"{value:.4g}", f"{low:.4g}", f"{high:.4g}")
            for name, value, low, high in self._lines()
        ]

    def remarks(self) -> list[str]:
        """What to know of scores that look like facts and are none: a sentence for each kind."""
        found = [(self._named(name), self.scores[name]) for name in self.scores if name in SHARES]
        cut = [name for name, score in found if self.guarantee_.events and score.value in (0.0, 1.0)]
        wide = [name for name, score in found if np.max(score.high - score.low) > 0.5]
        sentences = (
            (
                cut,
                "The noise put these beyond the end of their range, where they are shown: {names}. Read the interval.",
            ),
            (wide, "These intervals are too wide to tell much: {names}. More records or a larger epsilon narrow them."),
        )
        return [words.format(names=", ".join(names)) for names, words in sentences if names]

    def _lines(self) -> Iterator[tuple[str, float, float, float]]:
        for name, score in self.scores.items():
            columns = (np.ravel(part).tolist() for part in (score.value, score.low, score.high))
            labels = [self._named(name)] if np.ndim(score.value) == 0 else self._labels(name)
            yield from zip(labels, *columns, strict=True)

    def _named(self, name: str) -> str:
        return f"{name} of {shown(self.positive)}" if name in ONE_SIDED else name

    def _labels(self, name: str) -> list[str]:
        if name == "calibration":
            return [f"{self._named(name)}, {cell / 10:.1f} to {(cell + 1) / 10:.1f}" for cell in range(10)]
        labels = self.classes or ()
        return [f"{name} {truth} as {predicted}" for truth in labels for predicted in labels]

    def __repr__(self) -> str:
        rows = [("score", "value", "low", "high"), *self.rows()]
        first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join([f"{name:<{first}}", *(f"{text:>{width}}" for text, width in zip(rest, others, strict=True))])
            for name, *rest in rows
        ]
        made = self.guarantee_
        price = f"epsilon={made.epsilon:g}, delta={made.delta:.3g}, {made.adjacency}"
        if made.records:
            price += f", {made.records:,} {'people' if made.unit == 'person' else 'records'}"
        return "\n".join([*lines, *self.remarks(), f"intervals at level {self.level:g}: sampling and noise; {price}"])


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(part) for part in value]
    return float(value) if math.isfinite(value) else None
