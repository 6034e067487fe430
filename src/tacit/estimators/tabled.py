"""From the columns of a table to what a fitted model predicts from."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.checks import check
from tacit.data.tables import Table
from tacit.schema import Schema
from tacit.streams.reader import NumberRows, SchemaRows

_UNNAMED = (
    "This model names no columns, so a table cannot be matched to it. Give the schema that it was trained with, or "
    "predict from rows in memory, in Python: tacit.load(path).predict(rows)."
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
        """Of an additive model, by its own schema; of others, by the schema given, or by the columns' names.

        ``known``: the columns that the table has.
        """
        own = vars(model).get("schema_")
        names = vars(model).get("feature_names_in_")
        if own is not None:
            found = cls(model, own.names)
        elif schema is not None:
            found = cls(_nameless(model), schema.names, SchemaRows(schema, float(getattr(model, "clip", 1.0))))
        else:
            check(names is not None, _UNNAMED)
            columns = tuple(str(name) for name in names)
            found = cls(_nameless(model), columns, NumberRows(columns))
        absent = [name for name in found.names if name not in known]
        check(not absent, f"The table lacks the columns {absent} that the model was trained on.")
        return found

    def __call__(self, table: Table) -> Any:
        """The rows of a batch, as the model takes them."""
        picked = {name: table[name] for name in self.names}
        return picked if self.encode is None else self.encode(picked)


def _nameless(model: Any) -> Any:
    """The model without names of columns: rows are in its order already."""
    if "feature_names_in_" not in vars(model):
        return model
    plain = copy.copy(model)
    del plain.feature_names_in_
    return plain
