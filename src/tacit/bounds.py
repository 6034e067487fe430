"""Public bounds, clipping, encoding: the only module that edits records.

Every constant here is declared by the caller; nothing is learned from the table. Each encoded row depends on its own
record and on the schema alone, so a changed record changes its own row, and never the shape of the result.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.checks import check, check_positive
from tacit.rows import row_scales
from tacit.types import Array

Value = str | int | float | bool
_BLOCK = 2**17
LAYOUTS = ("auto", "rows", "box")
_NUMERIC = (str, bytes, int, float, Decimal, Fraction, np.integer, np.floating, np.bool_)
_WHOLE = re.compile(r"([+-]?\d+)\.0*")


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
        values = _numbers(cells, markers)
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

    Cells and values are compared as stripped text; whole numbers as integers, so 1, 1.0, "1" and "1.0" are one value.

    Edges: a missing, unknown or unreadable cell fills the last slot.
    """

    name: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        _check_values(f"values of column {self.name!r}", self.values, 1)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return (*(f"{self.name}={_text(value)}" for value in self.values), f"{self.name}=<other>")

    def write(self, cells: NDArray[Any], out: Array, markers: Array, centred: bool) -> None:
        """Encode the cells into the columns of ``out``, which hold zeros."""
        del markers, centred  # a marker is no value, so its cells are already in the last slot
        out[np.arange(len(cells)), _codes(cells, self.values)] = 1.0


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
        markers = {_text(marker) for marker in self.missing}
        for column in self.columns:
            both = markers.intersection(map(_text, column.values)) if isinstance(column, Category) else ()
            check(not both, f"Column {column.name!r} lists {sorted(both)} as values and as missing; remove one.")

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """A schema from plain entries: ``columns`` (name -> lower and upper, or values), ``target``, ``missing``."""
        _check_keys("the schema", entries, {"columns", "target", "missing", "layout"})
        columns = entries.get("columns", {})
        check(isinstance(columns, Mapping), "Expected columns of the schema to be a table with one entry a column.")
        target = entries.get("target")
        return cls(
            columns=tuple(_column(name, column) for name, column in columns.items()),
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
        """Plain entries that JSON and TOML can hold; ``from_dict`` gives the same schema back."""
        entries: dict[str, Any] = {"missing": list(self.missing), "layout": self.layout}
        if self.target is not None:
            bounds = {"lower": self.target.lower, "upper": self.target.upper}
            entries["target"] = {"name": self.target.name} | (
                bounds if self.target.classes is None else {"classes": list(self.target.classes)}
            )
        entries["columns"] = {
            column.name: {"values": list(column.values)}
            if isinstance(column, Category)
            else {"lower": column.lower, "upper": column.upper} | ({"missing": True} if column.missing else {})
            for column in self.columns
        }
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
        columns = _cells(table, [column.name for column in self.columns])
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

    def encode_target(self, table: Any) -> NDArray[Any]:
        """Labels as the declared class values, or numbers clipped to the declared bounds.

        Edges: a label outside the classes, or a missing number, raises; the sentence does not quote it.
        """
        if self.target is None:
            raise ValueError("The schema has no target; add one, with a name and classes, or lower and upper.")
        (cells,) = _cells(table, [self.target.name])
        if self.target.classes is None:
            values = _numbers(cells, self._markers())
            check(
                not np.isnan(values).any(),
                f"Target {self.target.name!r} has missing or unreadable numbers; remove those rows first.",
            )
            return np.clip(values, self.target.lower, self.target.upper)
        codes = _codes(cells, self.target.classes)
        check(
            (codes < len(self.target.classes)).all(),
            f"Target {self.target.name!r} has a label outside classes={list(self.target.classes)}; add it to the "
            "classes, or remove those rows.",
        )
        return np.asarray(self.target.classes)[codes]

    def _markers(self) -> Array:
        numbers = np.array([_number(marker) for marker in self.missing], dtype=np.float64)
        return numbers[~np.isnan(numbers)]


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


def _cells(table: Any, names: Sequence[str]) -> list[NDArray[Any]]:
    """The named columns as one-dimensional arrays of equal length, each cell as it came."""
    present = getattr(table, "column_names", None)  # pyarrow, whose ``columns`` are the data themselves
    if present is None:
        present = getattr(table, "columns", None)
    if present is None:
        check(isinstance(table, Mapping), "Expected a table with named columns: pandas, polars, pyarrow or a dict.")
        present = table.keys()
    known = set(present)
    absent = [name for name in names if name not in known]
    check(not absent, f"The table lacks the columns {absent} that the schema names; add them, or change the schema.")
    columns = [_array(name, table[name]) for name in names]
    lengths = {len(column) for column in columns}
    check(len(lengths) == 1, f"Expected the columns {list(names)} to have the same length.")
    return columns


def _array(name: str, column: Any) -> NDArray[Any]:
    check(not isinstance(column, str | bytes), f"Expected column {name!r} to be a sequence of cells, not one text.")
    if isinstance(column, np.ma.MaskedArray):
        column = np.ma.filled(column.astype(object), None)
    # A plain sequence stays one of objects: numpy would choose one type for all, and one record would edit others.
    array = np.asarray(column) if hasattr(column, "__array__") else np.fromiter(column, dtype=object)
    check(array.ndim == 1, f"Expected column {name!r} once in the table, with one cell a row.")
    check(
        array.dtype.kind in "biufOUST",
        f"Column {name!r} holds dates or other cells that are neither numbers nor text; convert it first.",
    )
    return array


def _numbers(cells: NDArray[Any], markers: Array) -> Array:
    """Cells as float64, NaN where missing."""
    if cells.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            values = cells.astype(np.float64)
    else:
        values = np.fromiter(map(_number, cells.tolist()), np.float64, len(cells))
    if len(markers):
        values[np.isin(values, markers)] = np.nan
    return values


def _number(cell: Any) -> float:
    if not isinstance(cell, _NUMERIC):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):
        return math.nan


def _codes(cells: NDArray[Any], values: Sequence[Value]) -> NDArray[np.intp]:
    """Position of every cell among the values; ``len(values)`` for everything else."""
    positions = {_text(value): position for position, value in enumerate(values)}
    if cells.dtype.kind in "biuf":
        distinct, inverse = np.unique(cells, return_inverse=True)
        codes = [positions.get(_text(cell), len(values)) for cell in distinct.tolist()]
        return np.array(codes, dtype=np.intp)[inverse]
    texts = [cell if type(cell) is str else _text(cell) for cell in cells.tolist()]
    known = {text: positions.get(_text(text), len(values)) for text in set(texts)}
    return np.fromiter(map(known.__getitem__, texts), np.intp, len(texts))


def _text(cell: Any) -> str:
    """What a category cell says; empty when it is missing or unreadable."""
    try:
        if isinstance(cell, bytes):
            cell = cell.decode()
        if isinstance(cell, bool | np.bool_):
            return str(bool(cell))
        if isinstance(cell, int | np.integer):
            return str(int(cell))
        if isinstance(cell, float | np.floating):
            number = float(cell)
            return str(int(number)) if number.is_integer() else "" if math.isnan(number) else repr(number)
        if not isinstance(cell, str | Decimal):
            return ""
    except (TypeError, ValueError):
        return ""
    text = str(cell).strip()
    whole = _WHOLE.fullmatch(text)
    return whole.group(1) if whole else text


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
    check(
        lower < upper and math.isfinite(float(upper) - float(lower)),
        f"Expected lower={lower} < upper={upper} for {what}, both finite.",
    )


def _check_values(what: str, values: tuple[Value, ...], fewest: int) -> None:
    texts = [_text(value) for value in values]
    check(len(texts) >= fewest, f"Expected at least {fewest} entries in {what}.")
    check(all(texts), f"Expected {what} to be text or numbers, none empty; missing cells have a slot of their own.")
    check(len(set(texts)) == len(texts), f"Expected {what} to be distinct as stripped text.")
