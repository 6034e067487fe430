"""From the columns of a table to what a fitted model, or a pipeline that ends in one, predicts from."""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.checks import check, counted
from tacit.data.spelling import meant
from tacit.data.tables import Table
from tacit.schema import Schema
from tacit.schema.encoder import SchemaEncoder
from tacit.streams.reader import NumberRows, SchemaRows

_UNNAMED = (
    "This model does not store column names, so a table cannot be matched to it. Give the schema that it was trained "
    "with, or predict from rows in memory, in Python: tacit.load(path).model.predict(rows)."
)


@dataclass(frozen=True)
class ModelRows:
    """A fitted model, the columns that it needs, and how a batch of them becomes its rows.

    What a model says about a row then depends on that row alone, if it does for rows in memory.
    """

    model: Any
    names: tuple[str, ...]
    encode: Any = None

    @classmethod
    def of(cls, model: Any, schema: Schema | None, known: Sequence[str]) -> ModelRows:
        """Of an additive model, by its own schema; of a pipeline, by that of its encoder; of others, by the
        schema given, or by the columns' names.

        ``known``: the columns that the table has.
        """
        own, names = schema_within(model), wanted(model, schema)
        if own is not None:
            found = cls(model, own.names)
        elif schema is not None:
            found = cls(nameless(model), schema.names, SchemaRows(schema, float(getattr(model, "clip", 1.0))))
        else:
            check(names, _UNNAMED)
            found = cls(nameless(model), names, NumberRows(names))
        absent = [name for name in found.names if name not in known]
        check(not absent, f"The table lacks the columns {absent} that the model was trained on.{meant(absent, known)}")
        return found

    def __call__(self, table: Table) -> Any:
        """The rows of a batch, as the model takes them."""
        picked = {name: table[name] for name in self.names}
        return picked if self.encode is None else self.encode(picked)


def with_names(X: Any, schema: Schema) -> Any:
    """A table as it is; an array of as many columns as the schema has, by their names in order."""
    if not isinstance(X, np.ndarray):
        return X
    names = schema.names
    check(
        X.ndim == 2 and X.shape[1] == len(names),
        f"An array has no column names: expected one with {counted(len(names), 'column')}, in the schema's order, or a "
        "table.",
    )
    return dict(zip(names, X.T, strict=True))


def steps_of(model: Any) -> list[tuple[str, Any]]:
    """The steps of a scikit-learn pipeline; none of anything else."""
    known = sys.modules.get("sklearn.pipeline")  # slow to load; who has a pipeline has loaded it
    return model.steps if known is not None and isinstance(model, known.Pipeline) else []


def last_step(model: Any) -> Any:
    """The model at the end of a pipeline, or the model itself."""
    return steps_of(model)[-1][1] if steps_of(model) else model


def schema_within(model: Any) -> Schema | None:
    """The schema by which a model reads tables itself: an additive model's, or that of a pipeline's first step."""
    front = _front(model)
    found: Schema | None = front.declared() if isinstance(front, SchemaEncoder) else vars(front).get("schema_")
    return found


def wanted(model: Any, schema: Schema | None) -> tuple[str, ...]:
    """The columns of a table that a model predicts from; none where it names none."""
    known = schema_within(model) or schema
    return tuple(map(str, vars(_front(model)).get("feature_names_in_", ()))) if known is None else known.names


def nameless(model: Any) -> Any:
    """The model without names of columns: rows are in its order already."""
    if steps_of(model):
        plain, front = copy.copy(model), _front(model)
        plain.steps = [(name, nameless(step) if step is front else step) for name, step in model.steps]
        return plain
    if "feature_names_in_" not in vars(model):
        return model
    plain = copy.copy(model)
    del plain.feature_names_in_
    return plain


def _front(model: Any) -> Any:
    """What takes the table: the model, or the first step of a pipeline that does something."""
    return next((step for _, step in steps_of(model) if not (step is None or isinstance(step, str))), model)
