"""Scores on tables that are not in memory: the model is asked about a batch at a time, and what it adds is summed.

What a row adds depends on that row alone, so it does not matter which batch it is in: Tacit's linear and additive
models and pipelines of its own steps compute each row by itself, and every other model is asked about one row a call,
for a longer cell of one record may move all later rows to other batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_count
from tacit.data.curator import of_a_batch
from tacit.data.tables import Table
from tacit.estimators.streaming import Asked, engine_of
from tacit.estimators.tabled import ModelRows
from tacit.evaluation.answers_alone import Answers
from tacit.evaluation.judged import (
    NO_PEOPLE,
    Judged,
    JudgedLabels,
    JudgedNumbers,
    codes_of,
    in_range,
    needed,
    people_words,
    said_of_labels,
)
from tacit.evaluation.summary import Layout
from tacit.evaluation.tally import Tally, added_up
from tacit.linear.streamed import Streamed, stream
from tacit.schema import Target
from tacit.streams.pieces import Piece
from tacit.streams.reader import Chunk, Reader
from tacit.types import Array

MOST_RANKED = 2**23
"""Rows of which an area under the curve is told: all their scores are in memory at once."""


@dataclass(frozen=True, eq=False)
class LabelAnswers:
    """For each row the number of the predicted class, then the score and probabilities, as far as they are needed."""

    rows: ModelRows
    wanted: frozenset[str]
    positive: int

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        scores, chances = needed(self.rows.model, set(self.wanted))
        return 1 + scores + chances * len(self.rows.model.classes_)

    def __call__(self, table: Table) -> Array:
        """Ask the model."""
        with of_a_batch():
            said = said_of_labels(_answers(self.rows, table), set(self.wanted))
        parts = [said.predicted.astype(np.float64), said.scores, said.chances]
        return np.column_stack([part for part in parts if part is not None])

    def judged(self, said: Array, truth: Array, weights: Array) -> Judged:
        """Rows as they were asked about, beside the truth."""
        scores, chances = needed(self.rows.model, set(self.wanted))
        return JudgedLabels(
            weights, 0, truth.astype(np.intp), said[:, 0].astype(np.intp), len(self.rows.model.classes_),
            said[:, 1].copy() if scores else None, said[:, 1 + scores :] if chances else None, self.positive,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class NumberAnswers:
    """For each row the prediction, in units of the declared range."""

    rows: ModelRows
    bounds: tuple[float, float]
    width: int = 1

    def __call__(self, table: Table) -> Array:
        """Ask the model."""
        with of_a_batch():
            return in_range(_answers(self.rows, table).of("predict", (), np.float64), self.bounds)[:, None]

    def judged(self, said: Array, truth: Array, weights: Array) -> Judged:
        """Rows as they were asked about, beside the truth."""
        return JudgedNumbers(weights, 0, truth, said[:, 0])


@dataclass(frozen=True, eq=False)
class Truth:
    """The column that is predicted: class numbers, or numbers in units of the declared range."""

    read: Callable[[Table], NDArray[Any]]
    classes: Any = None
    bounds: tuple[float, float] = (0.0, 1.0)

    def __call__(self, table: Table) -> Array:
        """A row each."""
        found = self.read(table)
        coded = in_range(found, self.bounds) if self.classes is None else codes_of(found, self.classes)
        return np.asarray(coded, dtype=np.float64)[:, None]


@dataclass(frozen=True, eq=False)
class Judging:
    """The task of a pass: what is sent to where a piece is."""

    reader: Reader
    layout: Layout

    def __call__(self, piece: Piece, taken: Any) -> Tally:
        """What the rows of a piece add."""
        nothing = self._tally(self.reader.nothing())
        return added_up([nothing, *map(self._tally, self.reader.chunks(piece))])

    def _tally(self, chunk: Chunk) -> Tally:
        weights = chunk.shares.weights
        weights = np.ones(len(chunk.rows)) if weights is None else weights
        answers: Any = self.reader.encode
        judged: Judged = answers.judged(chunk.rows, chunk.targets[:, 0], weights)
        return judged.tally(self.layout)


@dataclass(frozen=True, eq=False)
class Batches:
    """A table in pieces and a model: people, the most rows of one, what a guarantee says, the sums of a pass."""

    streamed: Streamed
    most: int | None
    words: tuple[str, ...]

    @classmethod
    def of(
        cls,
        model: Any,
        asked: Asked,
        wanted: set[str],
        bounds: tuple[float, float],
        positive: int,
        most: Any,
        counted: bool,
    ) -> Batches:
        """Of the rows of a scan. ``most``: rows per person; ``counted``: the number of people is public."""
        found = asked.scan
        rows = ModelRows.of(model, found.schema, found.names)
        classes = getattr(rows.model, "classes_", None)
        check(
            "auc" not in wanted or found.rows <= MOST_RANKED,
            f"An area under the curve needs all scores in memory: of {MOST_RANKED:,} rows at most. Leave out 'auc', or "
            "give fewer rows.",
        )
        if asked.person is None:
            check(most is None, NO_PEOPLE)
        else:
            check(most is not None, "Declare rows_per_person: a public number, how many rows of one person count.")
            most = check_count("rows_per_person", most)
        declared = (
            Target(asked.target, lower=bounds[0], upper=bounds[1])
            if classes is None
            else Target(asked.target, tuple(np.asarray(classes).tolist()))
        )
        answers = NumberAnswers(rows, bounds) if classes is None else LabelAnswers(rows, frozenset(wanted), positive)
        reader = Reader(
            answers, Truth(asked.declared(declared), classes, bounds), (*rows.names, asked.target), answers.width,
            clip=1.0, intercept=0.0, person=asked.person, rows_per_person=most,
        )  # fmt: skip
        words = () if asked.person is None else people_words(most, counted)
        return cls(stream(found.source, reader, engine_of(found.engine, found.source.pieces)), most, words)

    @property
    def people(self) -> int:
        """How many there are, or rows."""
        return self.streamed.count

    def sums(self, layout: Layout) -> Array:
        """One pass: the model is asked about every row."""
        pieces = self.streamed.pieces
        task = Judging(self.streamed.changed.reader, layout)
        found = dict(self.streamed.engine.run(task, pieces, [None] * len(pieces)))
        check(len(found) == len(pieces), "A piece of the table was not added up. Evaluate again.")
        return added_up(found[place] for place in sorted(found)).sums(layout, self.people)


def _answers(rows: ModelRows, table: Table) -> Answers:
    """The model and a batch, whose rows have no fixed places."""
    return Answers(rows.model, rows(table), len(next(iter(table.values()))), slice(None), fixed=False)
