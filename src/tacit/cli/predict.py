"""``tacit predict``: a model file and a table give a CSV of predictions."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any, TextIO

from tacit import files
from tacit.checks import check
from tacit.cli.console import add_progress_option, check_place, progress, warn_unreadable
from tacit.data import tables
from tacit.schema import Schema


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_progress_option(parser)
    parser.add_argument("model", metavar="MODEL.json")
    parser.add_argument("data")
    parser.add_argument("--out", metavar="PREDICTIONS.csv", help="default: standard output")
    parser.add_argument(
        "--keep", action="append", metavar="COLUMN",
        help="copy this column of the table beside the predictions, to join them by; may be given more than once",
    )  # fmt: skip
    parser.add_argument("--proba", action="store_true", help="add a column with the probability of every class")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Predict, and write a line a row."""
    if options.out:
        check_place(options.out)
    model, schema = files.load(options.model)
    check(
        not options.proba or hasattr(model, "predict_proba"),
        f"{type(model).__name__} has no probabilities. Leave out --proba.",
    )
    kept = list(dict.fromkeys(options.keep or ()))
    with progress(options.progress) as say:
        say(f"Reading {options.data}")
        table, rows = rows_of(options.data, model, schema, kept)
        say(f"Predicting {len(next(iter(table.values()))):,} records")
        unknown = [name for name in kept if name not in table]
        check(not unknown, f"The table lacks the columns {unknown} of --keep.")
        header = [*kept, "prediction"]
        columns = [*(_cells(table[name]) for name in kept), model.predict(rows).tolist()]
        if options.proba:
            header += [f"probability of {label}" for label in model.classes_.tolist()]
            columns += model.predict_proba(rows).T.tolist()
    if not options.out:
        _write_csv(sys.stdout, header, columns)
        return 0
    with Path(options.out).open("w", encoding="utf-8", newline="") as file:
        _write_csv(file, header, columns)
    print(f"Wrote {options.out}.", file=sys.stderr)
    return 0


def rows_of(path: str, model: Any, schema: Schema | None, kept: list[str]) -> tuple[tables.Table, Any]:
    """The table with the columns that the model needs, and its rows as the model takes them."""
    if schema is not None:
        table = tables.read_table(path, [*schema.names, *kept])
        warn_unreadable(schema.check_readable(table))
        return table, table if hasattr(model, "schema_") else schema.encode(table, model.clip)
    names: list[str] = list(vars(model).get("feature_names_in_", ()))
    check(
        names,
        "This model file names no columns, so a table cannot be matched to it. Predict from Python, with tacit.load.",
    )
    table = tables.read_table(path, [*names, *kept])
    absent = [name for name in names if name not in table]
    check(not absent, f"The table lacks the columns {absent} that the model was trained on.")
    del model.feature_names_in_  # they did their work: the rows are in the model's order
    return table, tables.numbers(table, names)


def _cells(column: Any) -> list[Any]:
    """A column's cells as they stand: a list from CSV, a pyarrow column from Parquet."""
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _write_csv(file: TextIO, header: list[str], columns: list[list[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))
