"""``tacit fit``: a table with declared bounds gives a private model in a file."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tacit import files
from tacit.checks import check
from tacit.cli.console import Say, add_progress_option, check_place, epsilon_or_rest, progress, warn_unreadable
from tacit.cli.inputs import add_table_options, is_small, look, named, scanned, whole
from tacit.cli.tasks import (
    PRECONDITIONS,
    TASKS,
    add_additive_options,
    add_people_options,
    estimator,
    extra_columns,
    whose_rows,
)
from tacit.data import tables
from tacit.schema import Schema, Target
from tacit.types import ADJACENCIES

_NO_SCORE = (
    "No accuracy is printed: a score computed on private records is a release of its own, with a price of its own. To "
    "see how good a model is, use `tacit evaluate` on records that were set aside: its scores are charged, and have "
    "intervals."
)
_SEEDED = (
    "WARNING: --seed makes the noise predictable: whoever knows the seed can remove it. Use it for experiments on "
    "public data only; never release such a model."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _NO_SCORE
    add_progress_option(parser)
    add_table_options(parser)
    parser.add_argument(
        "--epsilon",
        type=epsilon_or_rest,
        required=True,
        help="the privacy budget, or 'rest': all that the ledger has left",
    )
    parser.add_argument("--out", required=True, metavar="MODEL.json")
    parser.add_argument(
        "--schema", metavar="SCHEMA.toml", help="public bounds and categories of the columns (.toml or .json)"
    )
    parser.add_argument("--target", help="the column to predict; taken from the schema when it names one")
    parser.add_argument("--classes", type=_labels, metavar="A,B", help="the labels of the target, declared")
    parser.add_argument(
        "--target-bounds", type=float, nargs=2, metavar=("LOWER", "UPPER"), help="the range of the target, declared"
    )
    parser.add_argument("--task", choices=TASKS, help="default: as the target says")
    parser.add_argument("--quantile", type=float, help="with --task quantile: which one; default: 0.5, the median")
    parser.add_argument("--typical", type=float, help="with --task poisson: a usual count; default: a tenth of UPPER")
    parser.add_argument("--delta", type=float, help="default: the ledger's, or n**-1.5")
    parser.add_argument("--ledger", metavar="FILE", help="charge this ledger first (`tacit ledger create`)")
    parser.add_argument("--method", default="auto", help="a name from `tacit methods`; default: auto")
    parser.add_argument("--calibration", choices=("proven", "paper"), default="proven")
    parser.add_argument("--adjacency", choices=ADJACENCIES, default="replace-one")
    parser.add_argument(
        "--precondition", choices=tuple(PRECONDITIONS), default="auto",
        help="whether a part of the budget pays for whitened rows; default: auto, by a rule from public facts",
    )  # fmt: skip
    parser.add_argument("--clip", type=float, default=1.0, help="longer rows are shrunk to this norm; default: 1")
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="read the files on the workers of this scheduler, such as tcp://host:8786"
    )
    parser.add_argument("--seed", type=int, help="predictable noise, for experiments on public data only")
    parser.add_argument(
        "--report",
        metavar="PAGE.html",
        help="also write a page for the curator: guarantees, the curves of --additive and, with --method individual, "
        "each record's own epsilon",
    )
    add_people_options(parser)
    add_additive_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Train, write the model, and print its guarantee."""
    check_place(options)
    check_place(options, "report")
    if options.report:
        same = Path(options.report).resolve() == Path(options.out).resolve()
        check(not same, "--out and --report name one file. Give two names.")
    schema, target = _declared(options)
    model = estimator(options, schema, target)
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with progress(options.progress) as say:
        say(f"Reading {named(options)}")
        names = (_fit_whole if is_small(options) else _fit_scanned)(options, model, schema, target, say)
    if schema is None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    _save(model, options, vars(model).get("schema_", schema))  # an additive model's has its curves
    if options.report:
        from tacit.report.page import write_model_report

        write_model_report(options.report, model, f"Model {Path(options.out).name}")
    also = f" and {options.report}" if options.report else ""
    print(f"{model.guarantee_}\n\nWrote {options.out}{also}.")
    for note in model.guarantee_.notes:
        print(f"NOTE: {note}", file=sys.stderr)
    return 0


def _fit_whole(options: argparse.Namespace, model: Any, schema: Schema | None, target: Target, say: Say) -> list[str]:
    """Train on a small file, which is read whole; the columns that predict, where there is no schema."""
    own = extra_columns(options)
    table = whole(options, None if schema is None else [target.name, *schema.names, *own])
    check(target.name in table, f"The table has no column {target.name!r} to predict.")
    given = whose_rows(options, table)
    names = [name for name in table if name not in (target.name, *own)]
    say("Encoding")
    targets = target.read(table, () if schema is None else schema.missing)
    rows: Any
    if schema is None:
        rows = tables.numbers(table, names)
    else:
        warn_unreadable(schema.check_readable(table))
        rows = table if options.additive else schema.encode(table, options.clip)
    say(f"Training on {len(targets):,} records")
    model.fit(rows, targets, **given)
    return names


def _fit_scanned(options: argparse.Namespace, model: Any, schema: Schema | None, target: Target, say: Say) -> list[str]:
    """Train on a table that is read again for every pass."""
    found = scanned(options, schema)
    check(target.name in found.names, f"The table has no column {target.name!r} to predict.")
    look(found)
    say(f"Training on {found.rows:,} records")
    model.fit(found, target.name, groups=options.person, sample_weight=options.weight)
    return [name for name in found.names if name not in (target.name, *extra_columns(options))]


def _save(model: Any, options: argparse.Namespace, schema: Schema | None) -> None:
    """Write the model. What it cost is spent by now, also where there is no room for it."""
    try:
        files.save(model, options.out, schema)
    except OSError as error:
        raise ValueError(f"{options.out}: {error.strerror or error}. The model is lost.") from None


def _declared(options: argparse.Namespace) -> tuple[Schema | None, Target]:
    """The schema, and the target with its public classes or bounds: from the schema, or from the options."""
    schema = Schema.load(options.schema) if options.schema else None
    if schema is not None and schema.target is not None:
        stated = options.classes is not None or options.target_bounds is not None
        check(
            not stated, "The schema declares its target. Leave out --classes and --target-bounds, or change the schema."
        )
        check(
            options.target in (None, schema.target.name),
            f"The schema's target is {schema.target.name!r}. Leave out --target, or change the schema.",
        )
        return schema, schema.target
    check(options.target, "Name the column to predict with --target, or in the schema.")
    check(
        (options.classes is None) != (options.target_bounds is None),
        "Declare what is public about the target: --classes A,B for labels, --target-bounds LOWER UPPER for numbers.",
    )
    target = Target(options.target, options.classes, *(options.target_bounds or (None, None)))
    return (None if schema is None else dataclasses.replace(schema, target=target)), target


def _labels(text: str) -> tuple[str | int, ...]:
    parts = [part.strip() for part in text.split(",")]
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        return tuple(parts)
