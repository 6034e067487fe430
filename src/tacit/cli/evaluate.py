"""``tacit evaluate``: a model file and a private table give scores with intervals, for a price."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tacit import files
from tacit.checks import check
from tacit.cli.console import check_new, judge_unreadable, print_table, progress
from tacit.cli.inputs import check_there, is_small, look, named, scanned, whole
from tacit.cli.results import results
from tacit.cli.terminal import one_line, show
from tacit.data.cells import key_of
from tacit.data.tables import Table, numbers
from tacit.estimators.tabled import ModelRows, wanted
from tacit.evaluation import evaluate
from tacit.reading import write_whole
from tacit.schema import Schema, Target

_SEEDED = (
    "WARNING: --seed makes the noise predictable: anyone who knows the seed can remove it. Use it for experiments on "
    "public data only; never release such scores."
)


def run(options: argparse.Namespace) -> int:
    """Ask, charge, and print every score with its interval."""
    check_new(options)
    check(
        (options.person is None) == (options.rows_per_person is None),
        "--person and --rows-per-person belong together: the first names the person of each row, the second says how "
        "many rows of one person count.",
    )
    model, schema = files.load(options.model)
    name = _target_name(options, schema)
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with progress(options.progress) as say:
        say(f"Reading {named(options)}")
        read = _whole if is_small(options) else _scanned
        model, X, y, groups = read(options, model, schema, name)
        say("Predicting")
        found = evaluate(
            model, X, y, epsilon=options.epsilon, delta=options.delta,
            metrics=None if options.metrics is None else [part.strip() for part in options.metrics.split(",")],
            level=options.level, adjacency=options.adjacency, bounds=options.target_bounds,
            positive=_positive(options, model), groups=groups, rows_per_person=options.rows_per_person,
            ledger=options.ledger, label=options.label or _label(Path(options.model)), random_state=options.seed,
        )  # fmt: skip
    with results(options) as keep:
        if options.out:
            text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
            keep("The table of scores", options.out, lambda path: write_whole(path, text))
        print_table(("score", "value", "low", "high"), found.rows(), numbers=True)
        words = [f"Intervals at level {found.level:g} cover sampling and noise.", *found.remarks()]
        show("\n" + one_line(" ".join(words)), found.guarantee_)
    for note in found.guarantee_.notes:
        print(f"NOTE: {note}", file=sys.stderr)
    return 0


def _target_name(options: argparse.Namespace, schema: Schema | None) -> str:
    own = None if schema is None or schema.target is None else schema.target.name
    check(options.target or own, "Name the predicted column with --target: the model file does not.")
    return str(options.target or own)


def _positive(options: argparse.Namespace, model: Any) -> Any:
    """The class that the text names, compared as cells are; a text that names none is left for others to refuse."""
    known = getattr(model, "classes_", np.array([])).tolist() if options.positive is not None else []
    return next((label for label in known if key_of(label) == key_of(options.positive)), options.positive)


def _label(model: Path) -> str:
    """What tells the scores of one model from those of another: the file's name, and what sha256 makes of it."""
    name = "".join(sign if sign.isprintable() else "?" for sign in model.name)
    with model.open("rb") as file:
        return f"scores of {name[:150]}, sha256 {hashlib.file_digest(file, 'sha256').hexdigest()[:8]}"


def _scanned(options: argparse.Namespace, model: Any, schema: Schema | None, name: str) -> tuple[Any, Any, Any, Any]:
    """The model, the table, to be read again, and the names of the target and of whose rows they are."""
    found = scanned(options, schema)
    check_there(options, [name] if options.person is None else [name, options.person], found.names)
    look(found, allowed=options.allow_unreadable)
    return model, found, name, options.person


def _whole(options: argparse.Namespace, model: Any, schema: Schema | None, name: str) -> tuple[Any, Any, Any, Any]:
    """The model, rows, targets, and whose rows they are."""
    beside = [name] if options.person is None else [name, options.person]
    table = whole(options, [*wanted(model, schema), *beside])
    check_there(options, beside, table)
    check_there(options, wanted(model, schema), table, ", which the model was trained on")
    rows = ModelRows.of(model, schema, list(table))
    if schema is not None:
        judge_unreadable(schema.check_readable(table), allowed=options.allow_unreadable)
    return rows.model, rows(table), _truth(model, schema, name, table), table.get(options.person)


def _truth(model: Any, schema: Schema | None, name: str, table: Table) -> Any:
    """The target's column: labels as the model knows them, or numbers."""
    if not hasattr(model, "classes_"):
        return numbers(table, [name])[:, 0]
    return Target(name, tuple(model.classes_.tolist())).read(table, () if schema is None else schema.missing)
