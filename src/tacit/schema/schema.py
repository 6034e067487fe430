"""Schema: public bounds, clipping, encoding of a whole table.

Every constant is declared by the caller; nothing is learned from the table. Each encoded row depends on its own record
and on the schema alone, so a changed record changes its own row, and never the shape of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_choice, check_positive, shown
from tacit.data.cells import Cells, columns_of, key_of
from tacit.data.curator import FEW
from tacit.data.origins import note_origin
from tacit.data.rows import row_scales
from tacit.data.spelling import meant
from tacit.schema.columns import Category, Column, Number, Target, check_keys, listed
from tacit.schema.encodings import column_from_dict, column_of, named_entries, target_of
from tacit.schema.interactions import MOST_SLOTS, Pair
from tacit.schema.legible import Legible, note_textual, note_unlisted
from tacit.schema.paid import check_found, read_found
from tacit.schema.skeleton import CATEGORY, NUMBER, left_open, skeleton
from tacit.schema.toml_text import read_entries, write_entries
from tacit.settings import described
from tacit.types import Array

_BLOCK = 2**20
"""Encoded numbers that are made at a time: 8 MB, which most processors keep at hand."""
LAYOUTS = ("auto", "rows", "box")
CURVES = ("bins", "knots")
_NO_SCHEMA = (
    "Expected a schema: a tacit.Schema, a dict of its entries, or the name of a .toml or .json file. "
    "tacit.Schema.skeleton, and `tacit schema` on the command line, write one to fill in."
)


@described
@dataclass(frozen=True)
class Schema:
    """Public bounds and categories that turn a mixed table into rows of bounded norm.

    Edges: a table without rows gives a matrix without rows; columns that the schema does not name are ignored.

    Parameters
    ----------
    columns : tuple of columns
        What each column of the table contains: :class:`Number`, :class:`Category`, :class:`Bins` or :class:`Hats`.
    target : Target or None
        The column to predict, with its classes or bounds.
    missing : tuple of str
        Markers that stand for a missing cell, beside NaN, None and empty text; a numeric marker holds for every number.
    layout : {'auto', 'rows', 'box'}
        'rows': numbers in [0, 1], categories one-hot, then x_i <- x_i min(1, clip / ||x_i||): most signal for a
        classifier. 'box': numbers centred in [-1, 1], categories one-hot, all times the public constant clip / radius:
        a linear map, so that linear relations stay linear. 'auto' is 'box' for a target with bounds, else 'rows'.
    pairs : tuple of Pairs
        Products of two columns, encoded after ``columns``, which need not list the two.
    found : dict or None
        Of a schema that was found in records: what the finding cost, as plain entries (the ``guarantee`` and the
        columns that it ``left_out``). Models that are trained with the schema state the price of both.
    """

    columns: tuple[Column, ...]
    target: Target | None = None
    missing: tuple[str, ...] = ()
    layout: str = "auto"
    pairs: tuple[Pair, ...] = ()
    found: Mapping[str, Any] | None = field(default=None, hash=False, repr=False)

    def __post_init__(self) -> None:
        check_choice("layout", self.layout, LAYOUTS)
        for column in listed("columns", self.columns):
            check(hasattr(type(column), "write"), f"Expected columns such as Number and Category, not {shown(column)}.")
        for pair in listed("pairs", self.pairs):
            check(isinstance(pair, Pair), f"Expected pairs to be a list of Pair(first, second), not of {shown(pair)}.")
        known = self.target is None or isinstance(self.target, Target)
        check(known, f"Expected target to be a Target or None, not {shown(self.target)}.")
        listed("missing", self.missing)
        names = [column.name for column in self.columns] + ([self.target.name] if self.target else [])
        check(self.columns, "Expected a schema with at least one column.")
        check(len(set(names)) == len(names), "Expected each column of the schema, the target included, only once.")
        self._check_pairs()
        check_found(self.found)
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
        list of two such. A name with dots may be quoted, as in ``[columns."capital.gain"]``, or not.

        Edges: a skeleton that was not filled in raises, and the sentence names what it leaves open.
        """
        check_keys("the schema", entries, {"columns", "target", "missing", "layout", "pairs", "found"})
        target, columns = entries.get("target"), named_entries("columns of the schema", entries.get("columns", {}))
        unfilled = left_open(columns, target)
        check(
            not unfilled,
            f"The schema leaves open what is known about {', '.join(unfilled)}. Give lower and upper for numbers, "
            "values for categories, classes for a target with labels; or remove the column, which leaves it out.",
        )
        return cls(
            columns=tuple(column_from_dict(name, column) for name, column in columns),
            target=None if target is None else Target.from_dict(target),
            missing=tuple(str(marker) for marker in listed("missing", entries.get("missing", ()))),
            layout=str(entries.get("layout", "auto")),
            pairs=tuple(Pair.from_list(pair) for pair in listed("pairs of the schema", entries.get("pairs", ()))),
            found=read_found(entries.get("found")),
        )

    @classmethod
    def of(cls, given: Any) -> Schema:
        """A schema as it is, from plain entries, or from a file."""
        if isinstance(given, Schema):
            return given
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        check(isinstance(given, str | PathLike), _NO_SCHEMA)
        return cls.load(given)

    @staticmethod
    def skeleton(
        columns: Any, *, numbers: Sequence[str] = (), categories: Sequence[str] = (), target: str | Target | None = None
    ) -> str:
        """The text of a TOML file to fill in, from the names of columns: a list, or a table whose cells stay unread.

        ``numbers`` and ``categories`` say what kind these columns are; the others get both forms to choose from.
        """
        names = getattr(columns, "column_names", getattr(columns, "columns", columns))
        check(
            isinstance(names, Iterable) and not isinstance(names, str | bytes),
            "Expected the names of columns, or a table. For a file: `tacit schema FILE` on the command line.",
        )
        both = sorted({*numbers} & {*categories})
        check(not both, f"Expected {both} either among the numbers or among the categories.")
        return skeleton(names, dict.fromkeys(numbers, NUMBER) | dict.fromkeys(categories, CATEGORY), target)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A schema from a ``.toml`` or ``.json`` file."""
        return cls.from_dict(read_entries(path))

    def save(self, path: str | PathLike[str], remarks: Sequence[str] = ()) -> None:
        """Write a ``.toml`` or ``.json`` file; :meth:`load` gives the same schema back. TOML has room for remarks.

        What it cost to find the schema in records, if that is where it is from, is written too.
        """
        write_entries(path, self.to_dict(), remarks)

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
            **({} if self.found is None else {"found": dict(self.found)}),
        }

    def additive(
        self, counts: Mapping[str, int] | int, kind: Literal["bins", "knots"] = "bins", spacing: str = "auto"
    ) -> Self:
        """The same schema with bins or hat functions, at most this many slots each, in place of its numbers.

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

    def with_target(self, target: str | Target, *, keep: bool = False) -> Self:
        """The same schema to predict another column: one of its own, whose bounds or values it then takes, or any.

        The column, and pairs that hold it, no longer predict. The earlier target is left out: it is often an outcome
        too, and not known when the model is used. ``keep`` makes an ordinary column of it.
        """
        if isinstance(target, str):
            if self.target is not None and target == self.target.name:
                return self
            target = self._as_target(target)
        name = target.name
        pairs = tuple(pair for pair in self.pairs if name not in (pair.first.name, pair.second.name))
        columns = tuple(column for column in self.columns if column.name != name)
        if keep and self.target is not None and self.target.name != name:
            columns = (*columns, column_of(self.target))
        return replace(self, columns=columns, target=target, pairs=pairs)

    def _as_target(self, name: str) -> Target:
        """One of the columns as what is to be predicted."""
        names = [column.name for column in self.columns]
        check(
            name in names,
            f"The schema says nothing about {name!r}. Declare it as the target, with classes, or with lower and upper."
            f"{meant([name], names)}",
        )
        return target_of(self.columns[names.index(name)])

    @property
    def encodings(self) -> tuple[Column, ...]:
        """Every encoding of a column: by itself, then in pairs."""
        return (*self.columns, *(column for pair in self.pairs for column in pair.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that a table must have, each once, without the target."""
        return tuple(dict.fromkeys(column.name for column in self.encodings))

    def check_beside(self, person: Any = None, weight: Any = None) -> None:
        """Refuse to learn from the column that says whose rows they are, or how much they count, where it is named.

        Edges: what is not the name of a column says nothing.
        """
        for name, what in ((person, "says whose rows they are"), (weight, "says how much rows count")):
            check(
                not isinstance(name, str) or name not in self.names,
                f"The schema has {name!r} as a column to learn from, but it {what}. Remove it from the schema, also "
                "from its pairs.",
            )

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
        if len(rows) >= FEW:
            note_unlisted(self.unlisted(rows))
            note_textual(self.legible().textual_in(cells))
        if self.found is not None:
            note_origin(rows, (self,))
        return rows

    def unlisted(self, rows: Array) -> list[str]:
        """Of encoded rows, the categories of which none has a declared value. NOT PRIVATE."""
        last, found = 0, []
        for column in self.columns:
            last += len(column.features)
            other = rows[:, last - 1]
            if isinstance(column, Category) and len(rows) and other[0] and other.all():
                found.append(column.name)
        return found

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
        """The numeric columns with cells that are neither numbers nor missing; :meth:`encode` counts them as missing.

        A column without a single readable number raises, and with ``every`` one such cell does. NOT PRIVATE: the answer
        reveals something about the records.
        """
        return self.legible().seen([table]).judged(every=every)

    def legible(self) -> Legible:
        """:meth:`check_readable` for a table in parts. NOT PRIVATE: it depends on the records."""
        numeric = dict.fromkeys(column.name for column in self.encodings if column.numeric)
        return Legible(tuple(numeric), self.missing)

    def encode_target(self, table: Any) -> NDArray[Any]:
        """The target as :meth:`Target.read` gives it; a schema without one raises."""
        if self.target is None:
            raise ValueError("The schema has no target; add one, with a name and classes, or lower and upper.")
        return self.target.read(table, self.missing)
