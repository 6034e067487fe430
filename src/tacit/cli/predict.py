"""``tacit predict``: a model file and a table give a table of predictions, a batch at a time."""

from __future__ import annotations

import argparse
import sys

from tacit import files
from tacit.checks import check
from tacit.cli.console import add_progress_option, check_place, progress
from tacit.cli.inputs import add_table_options, look, named, scanned
from tacit.files.predicting import predict_to, predictions
from tacit.files.sinks import CsvSink


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_progress_option(parser)
    parser.add_argument("model", metavar="MODEL.json")
    add_table_options(parser)
    parser.add_argument("--out", metavar="FILE", help="a .csv or .parquet file; default: CSV to standard output")
    parser.add_argument(
        "--keep", action="append", metavar="COLUMN",
        help="copy this column of the table beside the predictions, to join them by; may be given more than once",
    )  # fmt: skip
    parser.add_argument("--proba", action="store_true", help="add a column with the probability of every class")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Predict, and write a line a row."""
    check_place(options)
    model, schema = files.load(options.model)
    check(
        not options.proba or hasattr(model, "predict_proba"),
        f"{type(model).__name__} has no probabilities. Leave out --proba.",
    )
    kept = list(dict.fromkeys(options.keep or ()))
    with progress(options.progress) as say:
        say(f"Reading {named(options)}")
        found = scanned(options, schema)
        look(found)
        say(f"Predicting {found.rows:,} records")
        if options.out:
            predict_to(model, found, options.out, proba=options.proba, keep=kept)
        else:
            sink = CsvSink(sys.stdout)
            for columns in predictions(model, found, proba=options.proba, keep=kept):
                sink.write(columns)
    if options.out:
        print(f"Wrote {options.out}.", file=sys.stderr)
    return 0
