"""Answers that a protocol does not know of: beyond the bounds of a number, or not among the values of a category.

Rows are clipped, and unknown values have a slot of their own, so that no record can break a guarantee. But who
contributes one record can correct it, and afterwards cannot: such an answer is most likely a mistake in typing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.canonical import column as target_column
from tacit.data.cells import Cells, codes_of, columns_of, key_of, numbers
from tacit.protocol.agreement import Protocol
from tacit.schema.columns import Column


def check_declared(protocol: Protocol, X: Any, y: Any) -> None:
    """Refuse records with an answer that was not declared; one that is missing was not given, and passes.

    Edges: the sentence names a column, and nothing of a record. Rows that are encoded already have no bounds to check.
    NOT PRIVATE: whether it raises tells about the records.
    """
    schema = protocol.schema
    if schema is not None and not isinstance(X, np.ndarray):
        table = {name: _listed(cells) for name, cells in X.items()} if isinstance(X, Mapping) else X
        cells = dict(zip(schema.names, columns_of(table, schema.names), strict=True))
        for one in schema.encodings:
            known = _known(one, cells[one.name], schema.missing)
            expected = "among its values" if one.values else "between its bounds"
            check(known.all(), f"An answer to {one.name!r} is not {expected}. Please correct it, or leave it out.")
    if protocol.target.classes is None:  # of classes only declared ones are ever taken
        aims = np.atleast_1d(np.asarray(target_column(y), dtype=np.float64))
        within = (aims >= float(protocol.target.lower or 0.0)) & (aims <= float(protocol.target.upper or 0.0))
        check(within.all(), f"An answer to {protocol.target.name!r} is not between its bounds. Please correct it.")


def _known(one: Column, cells: Cells, missing: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which cells are declared, or missing."""
    if not one.numeric:
        listed = tuple({key_of(value): value for value in (*one.values, *missing, "")}.values())
        return codes_of(one.name, cells, listed) < len(listed)
    values = numbers(cells, missing)
    lower, upper = (float(getattr(one, side)) for side in ("lower", "upper"))
    return np.isnan(values) | ((values >= lower) & (values <= upper))


def _listed(cells: Any) -> Any:
    """A single cell as a column of one."""
    return [cells] if cells is None or np.isscalar(cells) else cells
