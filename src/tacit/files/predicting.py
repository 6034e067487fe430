"""Predictions for tables that need not fit into memory: a batch in, a batch out, rows in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arguments import checked
from tacit.checks import check, names_in
from tacit.data.curator import of_a_batch
from tacit.data.spelling import meant
from tacit.estimators.tabled import ModelRows
from tacit.files.sinks import table_sink
from tacit.settings import described
from tacit.streams.scanned import Scan, scan
from tacit.streams.watching import watch_pass

PREDICTION = "prediction"


@described
@checked
def predict_to(model: Any, source: Any, path: str | Path, *, proba: bool = False, keep: Sequence[str] = ()) -> int:
    """Predict the rows of a table, and write the predictions to a ``.parquet`` or ``.csv`` file; how many there are.

    Rows keep their order, and only a batch of them is in memory.

    Edges: the file appears once it is whole. Whatever goes wrong before leaves what was there.

    Parameters
    ----------
    model : fitted estimator
        What predicts.
    source : :func:`tacit.scan`, files or a query
        The rows, with the schema that the model was trained with, if any.
    path : path
        The file to write.
    proba : bool
        Add a column with the probability of every class.
    keep : sequence of str
        Columns of the table to copy beside the predictions, to join by.
    """
    found = source if isinstance(source, Scan) else scan(source)
    batches = predictions(model, found, proba=proba, keep=keep)
    with table_sink(path) as sink:
        for columns in batches:
            sink.write(columns)
    return found.rows


def predictions(model: Any, found: Scan, *, proba: bool = False, keep: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The columns of predictions, a batch at a time; what is wrong with names is told before the first."""
    check(hasattr(model, "predict"), f"Expected a fitted model with a method predict, not {type(model).__name__}.")
    check(
        not proba or hasattr(model, "predict_proba"),
        f"{type(model).__name__} has no probabilities: leave out proba.",
    )
    keep = names_in("keep", keep)
    unknown = [name for name in keep if name not in found.names]
    check(not unknown, f"The table lacks the columns {unknown} that are to be kept.{meant(unknown, found.names)}")
    labels = [f"probability of {label}" for label in model.classes_.tolist()] if proba else []
    twice = [name for name in keep if name in (PREDICTION, *labels)]
    check(not twice, f"A column {next(iter(twice), '')!r} is written already; rename the one that is to be kept.")
    return _batches(ModelRows.of(model, found.schema, found.names), found, labels, list(dict.fromkeys(keep)))


def _batches(rows: ModelRows, found: Scan, labels: list[str], kept: list[str]) -> Iterator[dict[str, Any]]:
    with watch_pass(found.rows) as done:
        for piece in found.source.pieces:
            for table in piece.tables(list(dict.fromkeys([*rows.names, *kept]))):
                try:
                    batch = rows(table)
                    with of_a_batch():
                        said = {PREDICTION: np.asarray(rows.model.predict(batch))}
                        chances = rows.model.predict_proba(batch) if labels else None
                except ValueError as error:
                    sentence = str(error)
                else:
                    said |= {} if chances is None else dict(zip(labels, np.asarray(chances).T, strict=True))
                    yield {**{name: table[name] for name in kept}, **said}
                    continue
                raise ValueError(f"{piece.key}: {sentence}")
            done(piece.rows)
