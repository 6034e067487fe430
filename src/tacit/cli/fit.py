"""``tacit fit``: a table with declared bounds gives a private model in a file."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any, Never

import numpy as np

from tacit import files
from tacit.checks import check, refuse
from tacit.cli.console import add_progress_option, check_place, progress, warn_unreadable
from tacit.data import tables
from tacit.estimators import LinearRegression, LinearSVC, LogisticRegression, PoissonRegressor, QuantileRegressor
from tacit.privacy.theorems import THEOREMS
from tacit.published import PUBLISHED
from tacit.schema import Schema, Target
from tacit.types import ADJACENCIES

_NO_SCORE = (
    "No accuracy is printed: a score computed on private records is a release of its own, with a price of its own. To "
    "see how good a model is, use `tacit predict` on records that are public, or that you set aside and whose score "
    "you keep to yourself."
)
_SEEDED = (
    "WARNING: --seed makes the noise predictable: whoever knows the seed can remove it. Use it for experiments on "
    "public data only; never release such a model."
)
_CLASSIFIERS = {"classification": LogisticRegression, "svm": LinearSVC}
_REGRESSORS = {"regression": LinearRegression, "poisson": PoissonRegressor, "quantile": QuantileRegressor}
_OWN = {"poisson": "typical", "quantile": "quantile"}
"""Settings that one task alone has."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _NO_SCORE
    add_progress_option(parser)
    parser.add_argument("data", help="a CSV file with a header, or a .parquet file (pip install 'tacit[parquet]')")
    parser.add_argument("--epsilon", type=float, required=True, help="the privacy budget; smaller is more private")
    parser.add_argument("--out", required=True, metavar="MODEL.json")
    parser.add_argument(
        "--schema", metavar="SCHEMA.toml", help="public bounds and categories of the columns (.toml or .json)"
    )
    parser.add_argument("--target", help="the column to predict; taken from the schema when it names one")
    parser.add_argument("--classes", type=_labels, metavar="A,B", help="the labels of the target, declared")
    parser.add_argument(
        "--target-bounds", type=float, nargs=2, metavar=("LOWER", "UPPER"), help="the range of the target, declared"
    )
    parser.add_argument("--task", choices=(*_CLASSIFIERS, *_REGRESSORS), help="default: as the target says")
    parser.add_argument("--quantile", type=float, help="with --task quantile: which one; default: 0.5, the median")
    parser.add_argument("--typical", type=float, help="with --task poisson: a usual count; default: a tenth of UPPER")
    parser.add_argument("--delta", type=float, help="default: n**-1.5")
    parser.add_argument("--method", default="auto", help="a name from `tacit methods`; default: auto")
    parser.add_argument("--calibration", choices=("proven", "paper"), default="proven")
    parser.add_argument("--adjacency", choices=ADJACENCIES, default="replace-one")
    parser.add_argument("--clip", type=float, default=1.0, help="longer rows are shrunk to this norm; default: 1")
    parser.add_argument("--seed", type=int, help="predictable noise, for experiments on public data only")
    parser.add_argument(
        "--report",
        metavar="PAGE.html",
        help="also write a page for the curator: guarantees and, with --method individual, each record's own epsilon",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Train, write the model, and print its guarantee."""
    check_place(options.out)
    if options.report:
        check_place(options.report, "--report")
        same = Path(options.report).resolve() == Path(options.out).resolve()
        check(not same, "--out and --report name one file. Give two names.")
    schema, target = _declared(options)
    model = _estimator(options, target)
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with progress(options.progress) as say:
        say(f"Reading {options.data}")
        wanted = None if schema is None else [target.name, *schema.names]
        table = tables.read_table(options.data, wanted)
        check(target.name in table, f"The table has no column {target.name!r} to predict.")
        names = [name for name in table if name != target.name]
        say("Encoding")
        targets = target.read(table, () if schema is None else schema.missing)
        if schema is None:
            rows = tables.numbers(table, names)
        else:
            warn_unreadable(schema.check_readable(table))
            rows = schema.encode(table, options.clip)
        say(f"Training on {len(rows):,} records")
        model.fit(rows, targets)
    if schema is None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    files.save(model, options.out, schema)
    if options.report:
        from tacit.report.page import write_model_report

        write_model_report(options.report, model, f"Model {Path(options.out).name}")
    also = f" and {options.report}" if options.report else ""
    print(f"{model.guarantee_}\n\nWrote {options.out}{also}.")
    for note in model.guarantee_.notes:
        print(f"NOTE: {note}", file=sys.stderr)
    return 0


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


def _estimator(options: argparse.Namespace, target: Target) -> Any:
    """The estimator of the task, which the target decides unless it is named."""
    if options.method in PUBLISHED:
        _refuse_published(options.method)
    kinds: dict[str, Any] = _REGRESSORS if target.classes is None else _CLASSIFIERS
    task = options.task or next(iter(kinds))
    needs = "bounds" if task in _REGRESSORS else "classes"
    check(task in kinds, f"--task {task} needs {needs}, and {target.name!r} has none.")
    facts: dict[str, Any] = (
        {"target_bound": (target.lower, target.upper)} if target.classes is None else {"classes": list(target.classes)}
    )
    if task == "poisson":
        check(target.lower == 0, f"--task poisson counts from 0; declare the bounds of {target.name!r} as 0 and UPPER.")
        facts["target_bound"] = target.upper
    for kind, name in _OWN.items():
        given = getattr(options, name)
        check(given is None or kind == task, f"--{name} goes with --task {kind}.")
        facts |= {name: given} if given is not None else {}
    return kinds[task](
        options.epsilon, delta=options.delta, method=options.method, calibration=options.calibration,
        adjacency=options.adjacency, clip=options.clip, random_state=options.seed, **facts,
    )  # fmt: skip


def _refuse_published(name: str) -> Never:
    """Methods of papers that leave a constant open are objects which take it; no option of the command line does."""
    entry = PUBLISHED[name]
    refuse(
        f"The noise of {name!r} has a constant that the paper leaves open, so it runs from Python only, as an object: "
        f"method={entry.call}, calibration='paper'. {THEOREMS[name].status.upper()}: {entry.about}; proven form: "
        f"{entry.proven_form!r}."
    )


def _labels(text: str) -> tuple[str | int, ...]:
    parts = [part.strip() for part in text.split(",")]
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        return tuple(parts)
