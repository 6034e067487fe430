"""How the cells of a table fit a schema: what falls outside the bounds, is not listed, or says nothing.

NOT PRIVATE: all of it is counted without noise, and values are quoted. It is for whoever holds the records, and belongs
in no report, file or message to others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.checks import counted
from tacit.data.cells import Cells, codes_of, columns_of, numbers, text_of, unreadable
from tacit.data.spelling import near
from tacit.data.texts import Texts
from tacit.schema.columns import Column
from tacit.schema.encodings import column_of
from tacit.schema.schema import Schema

HEADER = ("column", "cells", "missing", "not numbers", "below", "above", "not listed")
MOST_TEXTS = 1000
"""Different texts of a column that are counted; a column with more of them is no category."""
_QUOTED = 3
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_THOUSANDS = (
    "{name} has cells with exactly three digits behind the decimal mark, and others are without a mark. If the mark "
    "separates thousands, as in 3.617 for 3617, remove it: as it is, such a cell is read as a little more than 3."
)


@dataclass
class Seen:
    """What was counted in one column so far."""

    column: Column
    predicted: bool = False
    cells: int = 0
    missing: int = 0
    wrong: int = 0
    below: int = 0
    above: int = 0
    unlisted: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    kinds: set[Any] = field(default_factory=set)
    """Two at most of the different values that cells have once they are moved to the bounds or to <other>."""
    marks: set[str] = field(default_factory=set)
    """Of texts that are numbers: 'grouped', with three digits behind the mark; 'marked', with others; 'whole'."""

    def see(self, cells: Cells, markers: tuple[str, ...]) -> None:
        """Count more cells."""
        self.cells += len(cells)
        (self._see_numbers if self.column.numeric else self._see_values)(cells, markers)

    def _see_numbers(self, cells: Cells, markers: tuple[str, ...]) -> None:
        entries = self.column.to_dict()
        values, wrong = numbers(cells, markers), unreadable(cells, markers)
        absent = np.isnan(values)
        self.wrong += int(wrong.sum())
        self.missing += int((absent & ~wrong).sum())
        self.below += int((values < entries["lower"]).sum())
        self.above += int((values > entries["upper"]).sum())
        self._count(text_of(cell) for cell in cells[wrong].tolist())
        if cells.dtype.kind in "OUS":
            self.marks |= {_mark(text) for text in _numerals(cells[~absent])}
        ends = np.clip(values[~absent], entries["lower"], entries["upper"])
        self._note({None} if absent.any() else set())
        self._note({ends.min(), ends.max()} if len(ends) else set())

    def _see_values(self, cells: Cells, markers: tuple[str, ...]) -> None:
        known = {text_of(marker) for marker in markers} | {""}
        codes = codes_of(self.column.name, cells, self.column.values)
        others = [text_of(cell) for cell in cells[codes == len(self.column.values)].tolist()]
        unlisted = [text for text in others if text not in known]
        self.missing += len(others) - len(unlisted)
        self.unlisted += len(unlisted)
        self._count(unlisted)
        self._note(set(np.unique(codes).tolist()))

    def _count(self, texts: Any) -> None:
        for text in texts:
            if text in self.texts or len(self.texts) < MOST_TEXTS:
                self.texts[text] += 1

    def _note(self, kinds: set[Any]) -> None:
        self.kinds |= set(sorted(kinds, key=repr)[: 2 - len(self.kinds)]) if len(self.kinds) < 2 else set()

    def row(self) -> list[str]:
        """Its line of the table; what does not apply to its kind is left blank."""
        bounds = [self.wrong, self.below, self.above] if self.column.numeric else ["", "", ""]
        rest = "" if self.column.numeric else self.unlisted
        counts = [self.cells, self.missing, *bounds, rest]
        return [self.column.name, *(f"{count:,}" if isinstance(count, int) else count for count in counts)]

    @property
    def refused(self) -> bool:
        """Whether a fit would be refused: a target must be there in every row, and cells of numbers be numbers."""
        return self.wrong > 0 or (self.predicted and self.missing + self.unlisted > 0)

    def remarks(self) -> list[str]:
        """What to look at, in sentences that quote cells."""
        name, found = repr(self.column.name), []
        if self.wrong + self.unlisted:
            quoted = [f"{text!r} in {count:,}{self._meant(text)}" for text, count in self.texts.most_common(_QUOTED)]
            more = ", ..." if len(self.texts) > _QUOTED else ""
            what = "not numbers" if self.column.numeric else "not among its values"
            found.append(f"{name} has cells that are {what}: {', '.join(quoted)}{more}.")
        if self.below + self.above:
            found.append(f"{name} has cells beyond its bounds ({self.below + self.above:,}): moved to the bounds.")
        if self.marks == {"grouped", "whole"}:
            found.append(_THOUSANDS.format(name=name))
        if self.predicted and self.missing:
            found.append(f"{name} is the target, and missing in {counted(self.missing, 'row')}: remove them first.")
        if self.cells and self.missing + self.wrong + self.unlisted == self.cells:
            found.append(f"{name} has no cell that the schema describes: to the model it says nothing.")
        elif self.cells > 1 and len(self.kinds) < 2:
            found.append(f"{name} is the same in every row, once encoded: to the model it says nothing.")
        return found

    def _meant(self, text: str) -> str:
        other = None if self.column.numeric else near(text, map(text_of, self.column.values))
        return "" if other is None else f" (did you mean {other!r}?)"


def _numerals(cells: Cells) -> set[str]:
    """The different texts among these cells, with a point as the decimal mark."""
    texts = {text_of(cell) for cell in cells.tolist() if isinstance(cell, str)}
    return {cells.numeral(text) for text in texts} if isinstance(cells, Texts) else texts


def _mark(text: str) -> str:
    return "grouped" if _GROUPED.fullmatch(text) else "marked" if "." in text else "whole"


@dataclass
class Inspection:
    """Every column of a schema, the target among them, as far as a table was seen."""

    schema: Schema
    seen: tuple[Seen, ...]

    @classmethod
    def of(cls, schema: Schema, known: Collection[str] | None = None) -> Inspection:
        """Nothing seen yet, of all columns, or of those that the table has (``known``)."""
        target = [] if schema.target is None else [column_of(schema.target)]
        alone = {column.name: column for column in reversed((*target, *schema.encodings))}
        names = [
            name for name in (*(column.name for column in target), *schema.names) if known is None or name in known
        ]
        own = {column.name for column in target}
        return cls(schema, tuple(Seen(alone[name], name in own) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are looked at."""
        return tuple(one.column.name for one in self.seen)

    def sentences(self) -> list[str]:
        """What to look at, of all columns; that there is nothing; and whether a fit would be refused."""
        absent = any(one.missing for one in self.seen)
        fits = f"In these columns, every cell{' that is not missing' if absent else ''} fits."
        refused = ", ".join(repr(one.column.name) for one in self.seen if one.refused)
        some = any(one.refused and not one.predicted and one.missing + one.wrong < one.cells for one in self.seen)
        allowed = " With --allow-unreadable, cells that are not numbers count as missing." if some else ""
        last = [f"A fit would be refused because of {refused}.{allowed}"] if refused else []
        return [*([remark for one in self.seen for remark in one.remarks()] or [fits]), *last]

    def see(self, table: Any) -> None:
        """Look at a table, or at a part of it."""
        for one, cells in zip(self.seen, columns_of(table, self.names), strict=True):
            one.see(cells, self.schema.missing)
