"""``tacit evaluate``: a model file and a private table give scores with intervals, for a price."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from tacit import files
from tacit.checks import check
from tacit.cli.console import (
    add_progress_option,
    check_place,
    epsilon_or_rest,
    print_table,
    progress,
    warn_unreadable,
)
from tacit.cli.inputs import add_table_options, is_small, look, named, scanned, whole
from tacit.data.tables import Table, numbers
from tacit.estimators.tabled import ModelRows
from tacit.evaluation import evaluate
from tacit.reading import write_whole
from tacit.schema import Schema, Target
from tacit.types import ADJACENCIES

_SEEDED = (
    "WARNING: --seed makes the noise predictable: whoever knows the seed can remove it. Use it for experiments on "
    "public data only; never release such scores."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = (
        "Intervals cover sampling and noise. They tell about new records only if the model was not trained on these."
    )
    add_progress_option(parser)
    parser.add_argument("model", metavar="MODEL.json")
    add_table_options(parser)
    parser.add_argument(
        "--epsilon", type=epsilon_or_rest, required=True,
        help="what the scores may cost, or 'rest': all that the ledger has left",
    )  # fmt: skip
    parser.add_argument("--delta", type=float, help="default: the ledger's, else n**-1.5 (none under add-remove)")
    parser.add_argument("--metrics", metavar="A,B", help="names of scores; default: a usual choice")
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals; default: 0.95")
    parser.add_argument("--adjacency", choices=ADJACENCIES, default="replace-one")
    parser.add_argument(
        "--target", help="the column that is predicted; taken from the model's schema when it names one"
    )
    parser.add_argument(
        "--target-bounds", type=float, nargs=2, metavar=("LOWER", "UPPER"), help="the range of the target, declared"
    )
    parser.add_argument(
        "--person", metavar="COLUMN", help="names the person of each row, who is the unit of privacy then"
    )
    parser.add_argument("--groups", dest="person", help=argparse.SUPPRESS)  # what it was called at first
    parser.add_argument("--rows-per-person", type=int, metavar="M", help="with --person: how many rows of one count")
    parser.add_argument("--ledger", metavar="LEDGER", help="charge this ledger")
    parser.add_argument("--seed", type=int, help="predictable noise, for experiments on public data only")
    parser.add_argument("--out", metavar="SCORES.json", help="also write the scores and their guarantee")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Ask, charge, and print every score with its interval."""
    check_place(options)
    model, schema = files.load(options.model)
    name = _target_name(options, schema)
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with progress(options.progress) as say:
        say(f"Reading {named(options)}")
        read = _whole if is_small(options) else _scanned
        X, y, groups = read(options, model, schema, name)
        say("Predicting")
        found = evaluate(
            model, X, y, epsilon=options.epsilon, delta=options.delta,
            metrics=None if options.metrics is None else [part.strip() for part in options.metrics.split(",")],
            level=options.level, adjacency=options.adjacency, bounds=options.target_bounds, groups=groups,
            rows_per_person=options.rows_per_person, ledger=options.ledger, random_state=options.seed,
        )  # fmt: skip
    print_table(("score", "value", "low", "high"), found.rows(), numbers=True)
    print(f"\nIntervals at level {found.level:g} cover sampling and noise.\n\n{found.guarantee_}")
    if options.out:
        write_whole(options.out, json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
        print(f"\nWrote {options.out}.")
    for note in found.guarantee_.notes:
        print(f"NOTE: {note}", file=sys.stderr)
    return 0


def _target_name(options: argparse.Namespace, schema: Schema | None) -> str:
    own = None if schema is None or schema.target is None else schema.target.name
    check(options.target or own, "Name the column that is predicted with --target: the model file does not.")
    return str(options.target or own)


def _scanned(options: argparse.Namespace, model: Any, schema: Schema | None, name: str) -> tuple[Any, Any, Any]:
    """The table, to be read again, and the names of the target and of whose rows they are."""
    found = scanned(options, schema)
    look(found)
    return found, name, options.person


def _whole(options: argparse.Namespace, model: Any, schema: Schema | None, name: str) -> tuple[Any, Any, Any]:
    """Rows, targets, and whose rows they are."""
    beside = [name] if options.person is None else [name, options.person]
    wanted = schema.names if schema is not None else vars(model).get("feature_names_in_", ())
    table = whole(options, [*wanted, *beside])
    absent = [column for column in beside if column not in table]
    check(not absent, f"The table has no columns {absent}.")
    rows = ModelRows.of(model, schema, list(table))
    if schema is not None:
        warn_unreadable(schema.check_readable(table))
    vars(model).pop("feature_names_in_", None)  # they did their work: the rows are in the model's order
    return rows(table), _truth(model, schema, name, table), table.get(options.person)


def _truth(model: Any, schema: Schema | None, name: str, table: Table) -> Any:
    """The target's column: labels as the model knows them, or numbers."""
    if not hasattr(model, "classes_"):
        return numbers(table, [name])[:, 0]
    return Target(name, tuple(model.classes_.tolist())).read(table, () if schema is None else schema.missing)
