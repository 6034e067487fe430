"""``tacit describe``: a first table of private records, for one price."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tacit.checks import check
from tacit.cli.console import check_new, print_table, progress
from tacit.cli.inputs import check_there, is_small, named, scanned, whole
from tacit.cli.results import results
from tacit.cli.tasks import extra_columns, whose_rows
from tacit.cli.terminal import show
from tacit.ledger.listening import labelled
from tacit.reading import write_whole
from tacit.schema import Schema
from tacit.statistics.describe import describe
from tacit.statistics.description import HEADER

_WIDE = 150
"""Columns of a terminal from which on the table is readable as one."""
_SEEDED = (
    "WARNING: --seed makes the noise predictable: anyone who knows the seed can remove it. Use it for experiments on "
    "public data only; never release such a table."
)


def run(options: argparse.Namespace) -> int:
    """Release the table, print it with its guarantee, and write it."""
    check_new(options)
    check_new(options, "write_schema")
    check(
        not options.out
        or not options.write_schema
        or Path(options.out).resolve() != Path(options.write_schema).resolve(),
        "--out and --write-schema name the same file. Choose different names.",
    )
    check(
        not (options.schema and options.write_schema),
        "A declared schema is not written again. Leave out --write-schema.",
    )
    check(
        not options.write_schema or Path(options.write_schema).suffix.lower() in (".toml", ".json"),
        "--write-schema needs a name that ends in .toml or .json.",
    )
    check(not options.target or options.write_schema, "--target can only be used with --write-schema.")
    check(
        (options.person is None) == (options.rows_per_person is None),
        "--person and --rows-per-person belong together: the first names the person of each row, the second says how "
        "many rows of one person count.",
    )
    check(
        options.person is None or options.person != options.target, "--person and --target must name different columns."
    )
    schema = Schema.load(options.schema) if options.schema else None
    if schema is not None:
        schema.check_beside(options.person)
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with labelled(options.label), progress(options.progress) as say:
        say(f"Reading {named(options)}")
        looked, given = (_whole if is_small(options) else _scanned)(options, schema)
        say("Counting")
        found = describe(
            looked, epsilon=options.epsilon, schema=schema, missing=options.missing, delta=options.delta,
            adjacency=options.adjacency, ledger=options.ledger, random_state=options.seed, level=options.level,
            target=options.target, rows_per_person=options.rows_per_person, **given,
        )  # fmt: skip
    with results(options) as keep:
        if options.out:
            text = json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
            keep("The table", options.out, lambda path: write_whole(path, text))
        if options.write_schema and found.schema is not None:
            keep("The schema", options.write_schema, found.schema.save)
        print_table(HEADER, found.rows(), lines_below=_WIDE)
        words = f"\n{100 * options.level:g}% intervals, in brackets, cover the noise; {found.caution}."
        show(words, found.guarantee)
    return 0


def _whole(options: argparse.Namespace, schema: Schema | None) -> tuple[Any, dict[str, Any]]:
    """The table without the column of whose rows they are, and that column."""
    table = whole(options)
    _check_target(options, table)
    given = whose_rows(options, table)
    return {name: column for name, column in table.items() if name != options.person}, given


def _scanned(options: argparse.Namespace, schema: Schema | None) -> tuple[Any, dict[str, Any]]:
    """The table, to be read a batch at a time, and the name of the column of whose rows they are."""
    found = scanned(options, schema)
    _check_target(options, found.names)
    check_there(options, extra_columns(options), found.names)
    check_there(options, schema.names if schema else (), found.names, ", which the schema names")
    return found, {} if options.person is None else {"groups": options.person}


def _check_target(options: argparse.Namespace, names: Any) -> None:
    check_there(options, [options.target] if options.target else [], names, " to predict")
