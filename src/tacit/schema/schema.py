"""Schema: public bounds, clipping, encoding of a whole table.

Every constant is declared by the caller; nothing is learned from the table. Each encoded row depends on its own record
and on the schema alone, so a changed record changes its own row, and never the shape of the result.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_positive
from tacit.data.cells import Cells, columns_of, key_of
from tacit.data.curator import FEW, note
from tacit.data.rows import row_scales
from tacit.schema.columns import Category, Column, Number, Target, check_keys, listed
from tacit.schema.encodings import column_from_dict, columns_from_list
from tacit.schema.interactions import MOST_SLOTS, Pair
from tacit.schema.legible import Legible
from tacit.types import Array

_BLOCK = 2**20
"""Encoded numbers that are made at a time: 8 MB, which most processors keep at hand."""
LAYOUTS = ("auto", "rows", "box")
CURVES = ("bins", "knots")


@dataclass(frozen=True)
class Schema:
    """Public bounds and categories that turn a mixed table into rows of bounded norm.

    ``layout`` 'rows': numbers in [0, 1], categories one-hot, then x_i <- x_i min(1, clip / ||x_i||): most signal for a
    classifier. 'box': numbers centred in [-1, 1], categories one-hot, all times the public constant clip / radius: a
    linear map, so that linear relations stay linear. 'auto' is 'box' for a target with bounds, else 'rows'. ``missing``
    lists the markers that stand for a missing cell beside NaN, None and empty text; a numeric marker holds for every
    number. ``pairs`` are encoded after the columns, and need not be of these.

    Edges: a table without rows gives a matrix without rows; columns that the schema does not name are ignored.
    """

    columns: tuple[Column, ...]
    target: Target | None = None
    missing: tuple[str, ...] = ()
    layout: str = "auto"
    pairs: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        check(self.layout in LAYOUTS, f"Expected layout={self.layout!r} to be one of {', '.join(LAYOUTS)}.")
        names = [column.name for column in self.columns] + ([self.target.name] if self.target else [])
        check(self.columns, "Expected a schema with at least one column.")
        check(len(set(names)) == len(names), "Expected each column of the schema, the target included, only once.")
        self._check_pairs()
        markers = {key_of(marker) for marker in self.missing}
        for column in self.encodings:
            both = markers.intersection(map(key_of, column.values))
            check(not both, f"Column {column.name!r} lists {sorted(both)} as values and as missing; remove one.")

    def _check_pairs(self) -> None:
        kinds = {frozenset(column.name for column in pair.columns) for pair in self.pairs}
        check(len(kinds) == len(self.pairs), "Expected each pair of columns of the schema only once.")
        name = None if self.target is None else self.target.name
        check(not any(name in kind for kind in kinds), f"Expected the target {name!r} in no pair of the schema.")
        slots = sum(pair.width for pair in self.pairs)
        check(slots <= MOST_SLOTS, f"Expected pairs of the schema to have at most {MOST_SLOTS:,} slots, not {slots:,}.")

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """A schema from plain entries: ``columns`` (name -> what describes it), ``target``, ``missing``, ``pairs``.

        ``columns`` may also be a list of [name, entries], which keeps its order wherever it is written; a pair is a
        list of two such.
        """
        check_keys("the schema", entries, {"columns", "target", "missing", "layout", "pairs"})
        target = entries.get("target")
        return cls(
            columns=columns_from_list("columns of the schema", entries.get("columns", {})),
            target=None if target is None else Target.from_dict(target),
            missing=tuple(str(marker) for marker in listed("missing", entries.get("missing", ()))),
            layout=str(entries.get("layout", "auto")),
            pairs=tuple(Pair.from_list(pair) for pair in listed("pairs of the schema", entries.get("pairs", ()))),
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A schema from a ``.toml`` or ``.json`` file."""
        readers = {".toml": tomllib.loads, ".json": json.loads}
        suffix = Path(path).suffix.lower()
        check(suffix in readers, f"Expected the schema {str(path)!r} to end in .toml or .json.")
        try:
            entries = readers[suffix](Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"The schema {str(path)!r} is not valid {suffix[1:].upper()}: {error}") from error
        return cls.from_dict(entries)

    def to_dict(self) -> dict[str, Any]:
        """Plain entries that JSON can hold; ``from_dict`` gives the same schema back.

        Columns are a list of [name, entries]: their order is that of the model's coefficients, and a checksum of
        plain entries does not see the order of a mapping.
        """
        return {
            "missing": list(self.missing),
            "layout": self.layout,
            **({} if self.target is None else {"target": self.target.to_dict()}),
            "columns": [[column.name, column.to_dict()] for column in self.columns],
            **({"pairs": [pair.to_list() for pair in self.pairs]} if self.pairs else {}),
        }

    def additive(
        self, counts: Mapping[str, int] | int, kind: Literal["bins", "knots"] = "bins", spacing: str = "auto"
    ) -> Self:
        """The same schema with bins or hats, at most so many slots each, in place of its numbers.

        Edges: numbers that a mapping does not name stay as they are, and so does every other column.
        """
        check(kind in CURVES, f"Expected kind={kind!r} to be one of {', '.join(CURVES)}.")
        plain = [column.name for column in self.columns if isinstance(column, Number)]
        wanted = counts if isinstance(counts, Mapping) else dict.fromkeys(plain, counts)
        unknown = sorted(set(wanted) - set(plain))
        check(not unknown, f"Expected counts of columns that the schema has as numbers; {unknown} are none of these.")
        curves = {
            column.name: column_from_dict(
                column.name, {**column.to_dict(), kind: wanted[column.name], "spacing": spacing}
            )
            for column in self.columns
            if column.name in wanted
        }
        return replace(self, columns=tuple(curves.get(column.name, column) for column in self.columns))

    @property
    def encodings(self) -> tuple[Column, ...]:
        """Every encoding of a column: by itself, then in pairs."""
        return (*self.columns, *(column for pair in self.pairs for column in pair.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that a table must have, each once, without the target."""
        return tuple(dict.fromkeys(column.name for column in self.encodings))

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns, in order."""
        parts: tuple[Column | Pair, ...] = (*self.columns, *self.pairs)
        return tuple(feature for part in parts for feature in part.features)

    @property
    def boxed(self) -> bool:
        """Whether rows are scaled by a public constant rather than clipped one by one."""
        bounded = self.target is not None and self.target.classes is None
        return self.layout == "box" or (self.layout == "auto" and bounded)

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.features)

    @property
    def radius(self) -> float:
        """Largest norm that an encoded row can have before it is clipped or scaled."""
        return math.sqrt(len(self.columns) + len(self.pairs)) * (1 + (self.width + 9) * 2.0**-52)

    def encode(self, table: Any, clip: float = 1.0) -> Array:
        """Rows of norm at most ``clip`` from a pandas, polars or pyarrow table, or a mapping of sequences."""
        check_positive("clip", clip)
        cells = dict(zip(self.names, columns_of(table, self.names), strict=True))
        width, scale = self.width, clip / self.radius
        rows = np.zeros((len(cells[self.names[0]]), width))
        step = max(1024, _BLOCK // width)
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            self._write({name: column[start : start + step] for name, column in cells.items()}, block)
            block *= scale if self.boxed else row_scales(block, clip)[:, None]
        self._note_unmatched(rows)
        return rows

    def _note_unmatched(self, rows: Array) -> None:
        """Tell the curator of categories of which no row has a declared value. NOT PRIVATE, and not a part of rows."""
        last = 0
        for column in self.columns:
            last += len(column.features)
            other = rows[:, last - 1]
            if isinstance(column, Category) and len(rows) >= FEW and other[0] and other.all():
                note(
                    f"no row has a declared value in column {column.name!r}: all are <other>. Are the values of the "
                    "schema spelt as in the table?"
                )

    def _write(self, cells: Mapping[str, Cells], rows: Array) -> None:
        first = 0
        for column in self.columns:
            last = first + len(column.features)
            column.write(cells[column.name], rows[:, first:last], self.missing, self.boxed)
            first = last
        for pair in self.pairs:
            last = first + pair.width
            both = cells[pair.first.name], cells[pair.second.name]
            pair.write(both, rows[:, first:last], self.missing, self.boxed)
            first = last

    def check_readable(self, table: Any, *, every: bool = False) -> tuple[str, ...]:
        """The numeric columns with cells that are not numbers though they say something; :meth:`encode` counts them as
        missing.

        A column without a single readable number raises, and with ``every`` one such cell does. NOT PRIVATE: the answer
        tells about the records.
        """
        return self.legible().seen([table]).judged(every=every)

    def legible(self) -> Legible:
        """For :meth:`check_readable` of a table in parts. NOT PRIVATE: what it has seen tells about the records."""
        numeric = dict.fromkeys(column.name for column in self.encodings if column.numeric)
        return Legible(tuple(numeric), self.missing)

    def encode_target(self, table: Any) -> NDArray[Any]:
        """The target as :meth:`Target.read` gives it; a schema without one raises."""
        if self.target is None:
            raise ValueError("The schema has no target; add one, with a name and classes, or lower and upper.")
        return self.target.read(table, self.missing)
