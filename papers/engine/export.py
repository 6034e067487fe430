"""A figure's points as tables that other programs read: CSV always, Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papers.engine.store import StoredCell


def columns_of(cells: Sequence[StoredCell]) -> dict[str, list[Any]]:
    """Columns, one value a point: the cell, its settings, what was measured, the version and the cell's seconds."""
    lines = [
        {"cell": cell.key[:12], **point, "version": cell.version, "cell_seconds": cell.seconds}
        for cell in cells
        for point in cell.merged()
    ]
    last = ("version", "cell_seconds")
    names = [name for name in dict.fromkeys(name for line in lines for name in line) if name not in last]
    return {name: [line.get(name) for line in lines] for name in (*names, *last)}


def write(folder: Path, name: str, cells: Sequence[StoredCell]) -> list[Path]:
    """Write the tables and return their paths."""
    columns = columns_of(cells)
    written = [folder / f"{name}.csv"]
    with written[0].open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_text(value) for value in line] for line in zip(*columns.values(), strict=True))
    if importlib.util.find_spec("pyarrow"):
        written.append(folder / f"{name}.parquet")
        _write_parquet(written[1], columns)
    return written


def _write_parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    import pyarrow
    from pyarrow import parquet

    def column(values: list[Any]) -> Any:
        try:
            return pyarrow.array(values)
        except pyarrow.ArrowException:  # values of several kinds: as text
            return pyarrow.array([None if value is None else str(_text(value)) for value in values])

    parquet.write_table(pyarrow.table({name: column(values) for name, values in columns.items()}), path)


def _text(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, dict)) else value
