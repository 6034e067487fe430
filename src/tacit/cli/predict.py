"""``tacit predict``: a model file and a table give a table of predictions, a batch at a time."""

from __future__ import annotations

import argparse
import sys

from tacit import files
from tacit.checks import check, counted
from tacit.cli.console import check_place, progress
from tacit.cli.inputs import look, named, scanned
from tacit.cli.terminal import one_line
from tacit.files.predicting import predict_to, predictions
from tacit.files.sinks import CsvSink
from tacit.report.scored import weighted


def run(options: argparse.Namespace) -> int:
    """Predict, and write one line per row."""
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
        say(f"Predicting {counted(found.rows, 'record')}")
        if options.out:
            predict_to(model, found, options.out, proba=options.proba, keep=kept)
        else:
            sink = CsvSink(sys.stdout)
            for columns in predictions(model, found, proba=options.proba, keep=kept):
                sink.write(columns)
    if options.proba and weighted(model):
        print(f"NOTE: {weighted(model)}", file=sys.stderr)
    if options.out:
        print(f"Wrote {one_line(options.out)}.", file=sys.stderr)
    return 0
