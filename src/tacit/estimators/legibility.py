"""Columns of a scan that should be numbers and are text: looked for piece by piece, for the curator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice

from tacit.data.curator import FEW
from tacit.estimators.streaming import engine_of
from tacit.linear.streamed import Taken, run_each
from tacit.schema.legible import Legible, note_textual
from tacit.streams.pieces import Piece
from tacit.streams.scanned import Scan

_NUMBERS = ("int", "uint", "halffloat", "float", "double", "decimal", "bool", "null")
"""Types of columns in which there is no text, by how their words begin."""


@dataclass(frozen=True)
class Looking:
    """The task of looking for cells that are not numbers in a piece, or at its beginning."""

    legible: Legible
    beginning: bool = False

    def __call__(self, piece: Piece, taken: Taken = None) -> Legible:
        """What is known of it."""
        return self.legible.seen(islice(piece.tables(self.legible.names), 1 if self.beginning else None))


def open_columns(found: Scan, legible: Legible) -> Legible:
    """Those of the columns whose type allows text: all of a CSV file, and mostly none of others."""
    texts = (name for name in legible.names if not found.source.types.get(name, "").startswith(_NUMBERS))
    return replace(legible, names=tuple(texts))


def looked_through(found: Scan, legible: Legible, pieces: Iterable[Piece], *, beginning: bool = False) -> Legible:
    """What these pieces say about the columns."""
    engine = engine_of(found.engine, found.source.pieces)
    parts: list[Legible] = run_each(engine, Looking(legible, beginning), tuple(pieces))
    return reduce(Legible.plus, parts)


def note_scan(found: Scan, legible: Legible | None = None) -> None:
    """Tell the curator of columns of a scan in which no cell is a number. NOT PRIVATE, and nothing is kept of it.

    ``legible`` names the columns, else the schema of the scan does. One batch is read; only where it shows no number in
    a column, which is rare, all of that column is.
    """
    if legible is None and found.schema is not None:
        legible = found.schema.legible()
    asked = None if legible is None else open_columns(found, legible)
    if asked is None or not asked.names or found.rows < FEW:
        return
    doubtful = asked.doubtful(looked_through(found, asked, found.source.pieces[:1], beginning=True))
    if doubtful.names:
        note_textual(looked_through(found, doubtful, found.source.pieces).textual)
