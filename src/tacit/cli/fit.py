"""``tacit fit``: a table with declared bounds gives a private model in a file."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tacit import files
from tacit.checks import check, counted
from tacit.cli.console import Say, check_new, check_place, judge_unreadable, progress
from tacit.cli.inputs import check_named, check_there, is_small, look, named, scanned, whole
from tacit.cli.results import results
from tacit.cli.tasks import estimator, extra_columns, whose_rows
from tacit.cli.terminal import one_line, show
from tacit.data import tables
from tacit.data.spelling import meant
from tacit.estimators.earlier import schema_guarantee
from tacit.ledger.listening import labelled
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.together import Together
from tacit.schema import Schema, Target

_NO_SCHEMA = (
    "without --schema the numbers of a row are taken as they are, and the row is scaled down to norm {clip:g}: a "
    "column of large numbers outweighs all others. `tacit schema {data}` writes a schema to fill in."
)
_UNITS = (
    "The schema was found in the records, and the model would not protect what the schema protects: one protects rows, "
    "the other people. Use --person and --rows-per-person for both, or for neither."
)
_NEIGHBOURS = "The schema was found in the records under {adjacency} neighbours. Use --adjacency {adjacency} here too."
_SEEDED = (
    "WARNING: --seed makes the noise predictable: anyone who knows the seed can remove it. Use it for experiments on "
    "public data only; never release such a model."
)


def run(options: argparse.Namespace) -> int:
    """Train, write the model, and print its guarantee."""
    check_new(options)
    check_place(options, "report")
    if options.report:
        same = Path(options.report).resolve() == Path(options.out).resolve()
        check(not same, "--out and --report name the same file. Choose different names.")
    schema, target = _declared(options)
    _check_found(options, schema)
    _check_beside(options, schema, target)
    model = estimator(options, schema, target)
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with labelled(options.label or _label(options.out, model)), progress(options.progress) as say:
        say(f"Reading {named(options)}")
        names = (_fit_whole if is_small(options) else _fit_scanned)(options, model, schema, target, say)
    if schema is None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    _write(model, options, schema)
    notes = [] if schema is not None else [_NO_SCHEMA.format(clip=options.clip, data=shlex.quote(options.data[0]))]
    for note in (*model.guarantee_.notes, *notes):
        print(f"NOTE: {one_line(note)}", file=sys.stderr)
    return 0


def _label(out: str, model: Any) -> str:
    """What the ledger calls the model: the name of its file, and what kind it is."""
    name = "".join(sign if sign.isprintable() else "?" for sign in Path(out).name)
    return f"{name[:150]}, {type(model).__name__}"


def _check_found(options: argparse.Namespace, schema: Schema | None) -> None:
    """Refuse, before anything is paid for, a found schema that has no price together with the model."""
    found = schema_guarantee(schema)
    if found is not None:
        check((found.unit == "person") == (options.person is not None), _UNITS)
        check(found.adjacency == options.adjacency, _NEIGHBOURS.format(adjacency=found.adjacency))


def _check_beside(options: argparse.Namespace, schema: Schema | None, target: Target) -> None:
    """Refuse a column that is to be two things: whose rows they are, how much they count, what is predicted, a cause.

    Both are known from the options and the schema, before a record is read.
    """
    named = [("--person", options.person), ("--weight", options.weight), ("--target", target.name)]
    given = [(option, name) for option, name in named if name is not None]
    for place, (option, name) in enumerate(given):
        same = [other for other, word in given[:place] if word == name]
        check(not same, f"{', '.join(same)} and {option} must name different columns.")
    if schema is not None:
        schema.check_beside(options.person, options.weight)


def _fit_whole(options: argparse.Namespace, model: Any, schema: Schema | None, target: Target, say: Say) -> list[str]:
    """Train on a small file, which is read whole; the columns that predict, where there is no schema."""
    own = extra_columns(options)
    table = whole(options, None if schema is None else [target.name, *schema.names, *own])
    check_there(options, [target.name], table, " to predict")
    given = whose_rows(options, table)
    names = [name for name in table if name not in (target.name, *own)]
    if schema is None:
        check_named(names)
    else:
        check_there(options, schema.names, table, ", which the schema names")
    say("Encoding")
    targets = target.read(table, () if schema is None else schema.missing)
    rows: Any
    if schema is None:
        rows = tables.numbers(table, names)
    else:
        judge_unreadable(schema.check_readable(table), allowed=options.allow_unreadable)
        rows = table if options.additive else schema.encode(table, options.clip)
    say(f"Training on {counted(len(targets), 'record')}")
    model.fit(rows, targets, **given)
    return names


def _fit_scanned(options: argparse.Namespace, model: Any, schema: Schema | None, target: Target, say: Say) -> list[str]:
    """Train on a table that is read again for every pass."""
    found = scanned(options, schema)
    check_there(options, [target.name], found.names, " to predict")
    check_there(options, extra_columns(options), found.names)
    names = [name for name in found.names if name not in (target.name, *extra_columns(options))]
    if schema is None:
        check_named(names)
    look(found, allowed=options.allow_unreadable)
    say(f"Training on {counted(found.rows, 'record')}")
    model.fit(found, target.name, groups=options.person, sample_weight=options.weight)
    return names


def _write(model: Any, options: argparse.Namespace, schema: Schema | None) -> None:
    """Write the model, whose price is paid by now, and its report; print what it promises."""
    whole = vars(model).get("schema_", schema)  # an additive model's has its curves
    with results(options) as keep:
        place = keep("The model", options.out, lambda path: files.save(model, path, whole))
        if place is None:
            return
        promise = files.stated(place)[0]
        if options.report:
            also = None if isinstance(promise, Guarantee) else promise
            keep("The report", options.report, lambda path: _report(path, model, place, also, schema), overwrite=True)
        show(promise)


def _report(path: Path, model: Any, place: str, whole: Together | None, schema: Schema | None) -> None:
    from tacit.report.page import write_model_report

    write_model_report(path, model, f"Model {Path(place).name}", whole, schema)


def _declared(options: argparse.Namespace) -> tuple[Schema | None, Target]:
    """The schema, and the target with its public classes or bounds: from the schema, or from the options."""
    schema = Schema.load(options.schema) if options.schema else None
    own = "" if schema is None or schema.target is None else schema.target.name
    name: str = options.target or own
    stated = options.classes is not None or options.target_bounds is not None
    check(name, "Name the column to predict with --target, or in the schema.")
    check(
        options.classes is None or options.target_bounds is None,
        "--classes are for labels, and --target-bounds for numbers. Give one of the two.",
    )
    check(
        not (stated and name == own),
        "The schema declares its target. Leave out --classes and --target-bounds, or change the schema.",
    )
    if stated:
        target = Target(name, options.classes, *(options.target_bounds or (None, None)))
        return (None if schema is None else schema.with_target(target)), target
    names = [] if schema is None else [own, *(column.name for column in schema.columns)]
    check(
        name in names,
        "Declare what is public about the target: --classes A,B for labels, --target-bounds LOWER UPPER for numbers."
        f"{meant([name], names)}",
    )
    assert schema is not None  # for the type checker
    other = schema.with_target(name)
    assert other.target is not None
    return other, other.target
