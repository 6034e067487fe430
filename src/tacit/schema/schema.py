"""Public bounds, clipping, encoding: the only module that edits records.

Every constant here is declared by the caller; nothing is learned from the table. Each encoded row depends on its own
record and on the schema alone, so a changed record changes its own row, and never the shape of the result.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.checks import check, check_positive
from tacit.data.cells import Value, codes_of, columns_of, key_of, number, numbers, text_of, unreadable
from tacit.data.rows import row_scales
from tacit.types import Array

_BLOCK = 2**17
_HINT = "Is there a decimal comma, or a unit in the cell? Correct it, or declare the text as missing in the schema."
LAYOUTS = ("auto", "rows", "box")
FARTHEST, NARROWEST = 1e100, 1e-9
"""Bounds are at most FARTHEST in size, and at least NARROWEST of that apart: then numbers between them are scaled
without overflow, and to six digits or more."""


@dataclass(frozen=True)
class Number:
    """A numeric column with public bounds: (min(max(v, lower), upper) - lower) / (upper - lower), in [0, 1].

    Centred, it is twice that minus 1, in [-1, 1].

    Edges: infinities are clipped to a bound. NaN, None, empty or unreadable text and the schema's markers are missing:
    with ``missing=True`` they fill a slot of their own and the number is 0, otherwise the number is the midpoint.
    """

    name: str
    lower: float
    upper: float
    missing: bool = False

    def __post_init__(self) -> None:
        _check_bounds(f"column {self.name!r}", self.lower, self.upper)
        check(isinstance(self.missing, bool), f"Expected missing of column {self.name!r} to be true or false.")

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (self.name, f"{self.name}=<missing>") if self.missing else (self.name,)

    def write(self, cells: NDArray[Any], out: Array, markers: Array, centred: bool) -> None:
        """Encode the cells into the columns of ``out``, which hold zeros."""
        values = numbers(cells, markers)
        absent = np.isnan(values)
        lower, upper = float(self.lower), float(self.upper)
        places = (np.clip(values, lower, upper) - lower) / (upper - lower)
        out[:, 0] = 2.0 * places - 1.0 if centred else places
        out[absent, 0] = 0.0 if self.missing or centred else 0.5
        if self.missing:
            out[:, 1] = absent


@dataclass(frozen=True)
class Category:
    """A column with a public list of values, one slot each, and a last slot for everything else.

    Cells and values are compared as stripped text, numerals and truths as numbers: 1, "1", "1.0", "01" and True are
    one value.

    Edges: a missing, unknown or unreadable cell fills the last slot. Where a whole number of 2**53 or more is listed,
    a float cell of that size is refused: one missing cell makes pandas round a whole column.
    """

    name: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        _check_values(f"values of column {self.name!r}", self.values, 1)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (*(f"{self.name}={text_of(value)}" for value in self.values), f"{self.name}=<other>")

    def write(self, cells: NDArray[Any], out: Array, markers: Array, centred: bool) -> None:
        """Encode the cells into the columns of ``out``, which hold zeros."""
        del markers, centred  # a marker is no value, so its cells are already in the last slot
        out[np.arange(len(cells)), codes_of(self.name, cells, self.values)] = 1.0


@dataclass(frozen=True)
class Target:
    """The column to predict: either a public tuple of classes, or public bounds."""

    name: str
    classes: tuple[Value, ...] | None = None
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        bounded = self.lower is not None or self.upper is not None
        check(
            (self.classes is not None) != bounded,
            f"Expected target {self.name!r} to have either classes, or lower and upper.",
        )
        if self.classes is None:
            _check_bounds(f"target {self.name!r}", self.lower, self.upper)
        else:
            _check_values(f"classes of target {self.name!r}", self.classes, 2)
            kinds = {"text" if isinstance(value, str) else "number" for value in self.classes}
            check(len(kinds) == 1, f"Expected classes of target {self.name!r} to be all text or all numbers.")


@dataclass(frozen=True)
class Schema:
    """Public bounds and categories that turn a mixed table into rows of bounded norm.

    ``layout`` 'rows': numbers in [0, 1], categories one-hot, then x_i <- x_i min(1, clip / ||x_i||): most signal for a
    classifier. 'box': numbers centred in [-1, 1], categories one-hot, all times the public constant clip / radius: a
    linear map, so that linear relations stay linear. 'auto' is 'box' for a target with bounds, else 'rows'. ``missing``
    lists the markers that stand for a missing cell beside NaN, None and empty text; a numeric marker holds for every
    number.

    Edges: a table without rows gives a matrix without rows; columns that the schema does not name are ignored.
    """

    columns: tuple[Number | Category, ...]
    target: Target | None = None
    missing: tuple[str, ...] = ()
    layout: str = "auto"

    def __post_init__(self) -> None:
        check(self.layout in LAYOUTS, f"Expected layout={self.layout!r} to be one of {', '.join(LAYOUTS)}.")
        names = [column.name for column in self.columns] + ([self.target.name] if self.target else [])
        check(self.columns, "Expected a schema with at least one column.")
        check(len(set(names)) == len(names), "Expected each column of the schema, the target included, only once.")
        markers = {key_of(marker) for marker in self.missing}
        for column in self.columns:
            both = markers.intersection(map(key_of, column.values)) if isinstance(column, Category) else ()
            check(not both, f"Column {column.name!r} lists {sorted(both)} as values and as missing; remove one.")

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """A schema from plain entries: ``columns`` (name -> lower and upper, or values), ``target``, ``missing``.

        ``columns`` may also be a list of [name, entries], which keeps its order wherever it is written.
        """
        _check_keys("the schema", entries, {"columns", "target", "missing", "layout"})
        listed = entries.get("columns", {})
        columns = list(listed.items()) if isinstance(listed, Mapping) else listed
        check(
            isinstance(columns, list | tuple)
            and all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in columns),
            "Expected columns of the schema to be a table with one entry a column, or a list of names with entries.",
        )
        target = entries.get("target")
        return cls(
            columns=tuple(_column(name, column) for name, column in columns),
            target=None if target is None else _target(target),
            missing=tuple(str(marker) for marker in _listed("missing", entries.get("missing", ()))),
            layout=str(entries.get("layout", "auto")),
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
        entries: dict[str, Any] = {"missing": list(self.missing), "layout": self.layout}
        if self.target is not None:
            bounds = {"lower": self.target.lower, "upper": self.target.upper}
            entries["target"] = {"name": self.target.name} | (
                bounds if self.target.classes is None else {"classes": list(self.target.classes)}
            )
        entries["columns"] = [
            [
                column.name,
                {"values": list(column.values)}
                if isinstance(column, Category)
                else {"lower": column.lower, "upper": column.upper} | ({"missing": True} if column.missing else {}),
            ]
            for column in self.columns
        ]
        return entries

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns, in order."""
        return tuple(feature for column in self.columns for feature in column.features)

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
        return math.sqrt(len(self.columns)) * (1 + (self.width + 9) * 2.0**-52)

    def encode(self, table: Any, clip: float = 1.0) -> Array:
        """Rows of norm at most ``clip`` from a pandas, polars or pyarrow table, or a mapping of sequences."""
        check_positive("clip", clip)
        columns = columns_of(table, [column.name for column in self.columns])
        markers = self._markers()
        widths = [len(column.features) for column in self.columns]
        rows = np.zeros((len(columns[0]), sum(widths)))
        step = max(1024, _BLOCK // sum(widths))
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            first = 0
            for column, cells, width in zip(self.columns, columns, widths, strict=True):
                column.write(cells[start : start + step], block[:, first : first + width], markers, self.boxed)
                first += width
            block *= clip / self.radius if self.boxed else row_scales(block, clip)[:, None]
        return rows

    def check_readable(self, table: Any, *, every: bool = False) -> tuple[str, ...]:
        """The numeric columns with cells that are not numbers though they say something; :meth:`encode` counts them as
        missing.

        A column without a single readable number raises, and with ``every`` one such cell does. NOT PRIVATE: the answer
        tells about the records.
        """
        named = [column.name for column in self.columns if isinstance(column, Number)]
        found = []
        for name, cells in zip(named, columns_of(table, named) if named else (), strict=True):
            wrong = unreadable(cells, self.missing)
            if not wrong.any():
                continue
            none = bool(np.isnan(numbers(cells, self._markers())).all())
            check(not none, f"Column {name!r} has no cell that is a number. {_HINT}")
            check(not every, f"Column {name!r} has a cell that is not a number. {_HINT}")
            found.append(name)
        return tuple(found)

    def encode_target(self, table: Any) -> NDArray[Any]:
        """Labels as the declared class values, or numbers clipped to the declared bounds.

        Edges: a label outside the classes, or a missing number, raises; the sentence does not quote it.
        """
        if self.target is None:
            raise ValueError("The schema has no target; add one, with a name and classes, or lower and upper.")
        (cells,) = columns_of(table, [self.target.name])
        if self.target.classes is None:
            values = numbers(cells, self._markers())
            check(
                not unreadable(cells, self.missing).any(),
                f"Target {self.target.name!r} has cells that are not numbers. Is there a decimal comma, or a unit in "
                "the cell? Correct them, or remove those rows.",
            )
            check(
                not np.isnan(values).any(), f"Target {self.target.name!r} has missing numbers; remove those rows first."
            )
            return np.clip(values, self.target.lower, self.target.upper)
        codes = codes_of(self.target.name, cells, self.target.classes)
        empty = np.flatnonzero(codes == len(self.target.classes))
        markers = {text_of(marker) for marker in self.missing} | {""}
        check(
            not any(text_of(cell) in markers for cell in cells[empty].tolist()),
            f"Target {self.target.name!r} has a missing label; remove those rows first.",
        )
        check(
            (codes < len(self.target.classes)).all(),
            f"Target {self.target.name!r} has a label outside classes={list(self.target.classes)}; add it to the "
            "classes, or remove those rows.",
        )
        return np.asarray(self.target.classes)[codes]

    def _markers(self) -> Array:
        values = np.array([number(marker) for marker in self.missing], dtype=np.float64)
        return values[~np.isnan(values)]


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A schema as the first step of a scikit-learn Pipeline; ``fit`` learns nothing."""

    def __init__(self, schema: Schema, clip: float = 1.0) -> None:
        self.schema = schema
        self.clip = clip

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the encoder unchanged."""
        return self

    def transform(self, X: Any) -> Array:
        """Encode the table with the schema."""
        return self.schema.encode(X, self.clip)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the encoded columns."""
        return np.asarray(self.schema.features, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _column(name: str, entries: Any) -> Number | Category:
    _check_keys(f"column {name!r}", entries, {"lower", "upper", "missing", "values"})
    if "values" in entries:
        check(len(entries) == 1, f"Column {name!r} is a category; remove every entry beside values.")
        return Category(name, tuple(_listed(f"values of column {name!r}", entries["values"])))
    check({"lower", "upper"} <= set(entries), f"Column {name!r} needs values, or lower and upper.")
    return Number(name, entries["lower"], entries["upper"], entries.get("missing", False))


def _target(entries: Any) -> Target:
    _check_keys("target", entries, {"name", "classes", "lower", "upper"})
    check("name" in entries, "The target of the schema needs a name: the column to predict.")
    classes = entries.get("classes")
    return Target(
        name=entries["name"],
        classes=None if classes is None else tuple(_listed("classes of the target", classes)),
        lower=entries.get("lower"),
        upper=entries.get("upper"),
    )


def _listed(what: str, entries: Any) -> Sequence[Any]:
    check(isinstance(entries, list | tuple), f"Expected {what} to be a list.")
    return list(entries)


def _check_keys(what: str, entries: Any, known: set[str]) -> None:
    check(isinstance(entries, Mapping), f"Expected {what} to be a table of entries.")
    unknown = sorted(set(entries) - known)
    check(not unknown, f"Unknown entries {unknown} in {what}; expected some of {sorted(known)}.")


def _check_bounds(what: str, lower: Any, upper: Any) -> None:
    real = all(isinstance(bound, int | float | np.integer | np.floating) for bound in (lower, upper))
    check(real, f"Expected lower and upper of {what} to be numbers.")
    # NumPy's numbers as plain ones, which are compared without being cast to the narrower type
    least, most = (bound.item() if isinstance(bound, np.generic) else bound for bound in (lower, upper))
    check(
        least < most and max(abs(least), abs(most)) <= FARTHEST,
        f"Expected lower={lower} < upper={upper} for {what}, neither beyond {FARTHEST:g} in size.",
    )
    low, high = float(least), float(most)
    check(
        high - low >= max(NARROWEST * max(abs(low), abs(high)), 1 / FARTHEST),
        f"Expected lower={lower} and upper={upper} of {what} to be at least {1 / FARTHEST:g}, and {NARROWEST:g} of the "
        "larger of the two, apart; subtract a public number from the column, or change its unit.",
    )


def _check_values(what: str, values: tuple[Value, ...], fewest: int) -> None:
    texts = [text_of(value) for value in values]
    check(len(texts) >= fewest, f"Expected at least {fewest} entries in {what}.")
    check(all(texts), f"Expected {what} to be text or numbers, none empty; missing cells have a slot of their own.")
    check(
        len(set(map(key_of, texts))) == len(texts),
        f"Expected {what} to be distinct as stripped text, numerals and true and false as numbers.",
    )
