"""Counts over rows that are read again: each record's cell in every table, added up piece by piece.

Counts of whole records, and of shares in whole multiples of 2**-24, are exact in any order: so they are what they would
be in memory, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.checks import check
from tacit.data.cells import columns_of
from tacit.data.tables import Table
from tacit.estimators.coded_targets import LabelCodes, ScaledTargets
from tacit.estimators.survey import ANSWERS, QUARTERS, Survey, number_cells
from tacit.linear.streamed import Streamed, Taken
from tacit.mechanisms.counts import Cells, Tables
from tacit.streams.pieces import Piece
from tacit.streams.reader import Reader
from tacit.types import Array

MOST_SHARED = 2**29
"""Of so many records, sums of shares in multiples of 2**-24 are exact in double precision."""


@dataclass(frozen=True)
class Counting:
    """The task of counting; the reader gives each row's cells in all tables for its numbers."""

    reader: Reader
    tables: Tables

    def __call__(self, piece: Piece, taken: Taken) -> Array:
        """The weighted counts of one piece."""
        total = np.zeros(sum(self.tables.sizes))
        for chunk in self.reader.chunks(piece):
            total += self.tables.count(list(chunk.rows.T), chunk.shares.weights)
        return total


def streamed_counts(records: Streamed, reader: Reader, tables: Tables) -> Array:
    """The weighted counts of all records, read by a reader of cells, in one pass."""
    shared = reader.person is not None or reader.weighted
    check(
        not shared or records.count <= MOST_SHARED,
        f"Counts of more than {MOST_SHARED:,} people, or of weighted rows, are not exact. Use class_weight=None, cuts "
        "that are public and pairs that are named.",
    )
    return np.asarray(sum(records.each(Counting(reader, tables))))


@dataclass(frozen=True, eq=False)
class ClassCells:
    """Rows by their class; those from ``most`` on count as one."""

    answer: LabelCodes
    most: int | None = None

    def __call__(self, table: Table) -> Cells:
        """A column of cells."""
        return np.minimum(self.answer.numbers(table), (self.most or len(self.answer.classes)) - 1)[:, None]


@dataclass(frozen=True, eq=False)
class NumberCells:
    """Rows by which part of its range their target is in."""

    read: Callable[[Table], Array]
    low: float
    high: float

    def __call__(self, table: Table) -> Cells:
        """A column of cells."""
        return number_cells(self.read(table), self.low, self.high)[:, None]


def answer_cells(answer: LabelCodes | ScaledTargets) -> tuple[ClassCells | NumberCells, int]:
    """Who finds each row's cell of the target, and how many cells there are."""
    if isinstance(answer, ScaledTargets):
        return NumberCells(answer.read, *answer.bounds), QUARTERS
    most = min(len(answer.classes), ANSWERS)
    return ClassCells(answer, most), most


@dataclass(frozen=True, eq=False)
class SurveyCells:
    """Rows by their cells in the tables of a survey; ``answers`` has those of the target, where pairs are asked for."""

    survey: Survey
    names: tuple[str, ...]
    missing: tuple[str, ...]
    answers: ClassCells | NumberCells | None

    def __call__(self, table: Table) -> Cells:
        """A column of cells for each table."""
        columns = dict(zip(self.names, columns_of(table, self.names), strict=True))
        rows = len(columns[self.names[0]])
        answers = np.zeros(rows, dtype=np.intp) if self.answers is None else self.answers(table)[:, 0]
        return np.stack(self.survey.cells(columns, self.missing, answers), axis=1)
