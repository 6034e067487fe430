"""What a browser needs to know of a protocol, as plain JSON: it computes the same whole numbers as Python does.

Every double is written so that it is read back to the last bit. Derived numbers are here too, where a formula for them
needs functions whose last digit differs from machine to machine; a browser only adds, multiplies, divides and takes
roots, which all round alike. The client checks these facts, prices its own noise, and trusts none of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.checks import check
from tacit.data.cells import EXACT, Value, key_of, number
from tacit.data.rows import Design
from tacit.protocol.agreement import Protocol
from tacit.schema import Schema, Target
from tacit.schema.columns import Category, Column, Number
from tacit.schema.curves import Bins, Hats

FORMAT = "tacit-facts"
VERSION = 1
MOST_FEATURES = 2**17
"""Numbers of a row that the browser's client draws noise for at once."""
_KINDS: dict[type[Any], str] = {Number: "number", Bins: "bins", Hats: "hats"}


def facts(protocol: Protocol) -> dict[str, Any]:
    """Everything public that a browser needs to make a submission of this protocol.

    Edges: a protocol that a browser cannot serve to the last bit raises, and says why.
    """
    n = protocol.numbers
    check(n.features <= MOST_FEATURES, f"A browser makes submissions of at most {MOST_FEATURES:,} numbers per part.")
    parts = zip(("row", "cross"), (n.row_scale, n.cross_scale), n.steps, n.limits, strict=True)
    return {
        "format": FORMAT, "version": VERSION, "protocol": protocol.fingerprint, "delta": protocol.delta,
        "features": n.features, "width": protocol.columns, "clip": float(n.clip), "intercept": float(n.intercept),
        "curvature": float(n.curvature), "root": math.sqrt(n.curvature), "slope": float(n.slope),
        **{name: {"scale": float(scale), "step": step, "limit": limit} for name, scale, step, limit in parts},
        "rounding": _grid(protocol.columns, n.clip, n.intercept), "predicting": _grid(protocol.columns, n.clip, 0.0),
        "encoding": None if protocol.schema is None else _encoding(protocol.schema, n.clip),
        "target": _target(protocol.target),
    }  # fmt: skip


def _grid(columns: int, clip: float, intercept: float) -> dict[str, float]:
    """The step of a design's grid, and the norm that its rows are clipped to before they are rounded."""
    step = Design(np.zeros((1, columns)), clip, intercept).step
    return {"step": step, "limit": _lowered(clip - 0.5 * math.sqrt(columns) * step, columns)}


def _lowered(clip: float, columns: int) -> float:
    """The clip less what rounding of a row's norm may add: as :func:`tacit.data.rows.row_scales` has it."""
    return clip * (1 - (columns + 8) * 2.0**-52)


def _encoding(schema: Schema, clip: float) -> dict[str, Any]:
    markers = [number(marker) for marker in schema.missing]
    return {
        "boxed": schema.boxed, "factor": clip / schema.radius, "limit": _lowered(clip, schema.width),
        "markers": [marker for marker in markers if math.isfinite(marker)],
        "columns": [_column(column) for column in schema.columns],
        "pairs": [[_column(column) for column in pair.columns] for pair in schema.pairs],
    }  # fmt: skip


def _column(column: Column) -> dict[str, Any]:
    about = {"name": column.name, "width": len(column.features)}
    if isinstance(column, Category):
        values = [_plain(value) for value in column.values]
        return {"kind": "category", **about, "values": values, "keys": [_key(value) for value in column.values]}
    kind = _KINDS.get(type(column))
    if kind is None or not isinstance(column, Number | Bins | Hats):
        raise ValueError(f"A browser cannot encode column {column.name!r}.")
    about |= {"lower": float(column.lower), "upper": float(column.upper), "missing": column.missing}
    return {"kind": kind, **about} | ({} if isinstance(column, Number) else {"points": list(column.points)})


def _plain(value: Value) -> Value:
    """A declared value as JSON has it; whole numbers that a double does not tell apart are refused."""
    value = value.item() if isinstance(value, np.generic) else value
    near = isinstance(value, str) or abs(value) < EXACT
    check(near, "A browser cannot distinguish whole numbers of 2**53 or more; declare them as text.")
    return value


def _key(value: Value) -> float | str:
    """What equal values share: numerals of all spellings are one number, and everything else is its text."""
    key = key_of(value)
    value = number(key)
    return value if key_of(value) == key and abs(value) < EXACT else key


def _target(target: Target) -> dict[str, Any]:
    """Classes in the order that a protocol gives them (-1, then 1), or bounds with their middle and half width."""
    if target.classes is not None:
        classes = np.unique(np.asarray(target.classes)).tolist()
        return {"name": target.name, "classes": [_plain(value) for value in classes]}
    low, high = float(target.lower or 0.0), float(target.upper or 0.0)
    return {"name": target.name, "lower": low, "upper": high, "centre": 0.5 * (low + high), "half": 0.5 * (high - low)}
