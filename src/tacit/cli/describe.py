"""``tacit describe``: a first table of private records, for one price."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from tacit.checks import check
from tacit.cli.console import add_progress_option, check_place, print_table, progress
from tacit.cli.inputs import add_table_options, is_small, named, scanned, whole
from tacit.cli.tasks import whose_rows
from tacit.reading import write_whole
from tacit.schema import Schema
from tacit.statistics.describe import describe
from tacit.statistics.description import HEADER
from tacit.types import ADJACENCIES

_SEEDED = (
    "WARNING: --seed makes the noise predictable: whoever knows the seed can remove it. Use it for experiments on "
    "public data only; never release such a table."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_progress_option(parser)
    add_table_options(parser)
    parser.add_argument("--epsilon", type=float, required=True, help="the privacy budget; smaller is more private")
    parser.add_argument("--out", metavar="TABLE.json", help="write numbers, schema and guarantee here too")
    parser.add_argument(
        "--schema", metavar="SCHEMA.toml",
        help="public bounds and categories (.toml or .json); without it they are found for a part of the budget",
    )  # fmt: skip
    parser.add_argument("--write-schema", metavar="FOUND.json", help="write what was found, for tacit fit --schema")
    parser.add_argument("--target", help="the column that a model will predict, for --write-schema")
    parser.add_argument("--missing", action="append", default=[], metavar="MARKER", help="text of missing cells")
    parser.add_argument("--delta", type=float, help="default: n**-1.5; needed under add-remove neighbours")
    parser.add_argument("--adjacency", choices=ADJACENCIES, default="replace-one")
    parser.add_argument(
        "--person", metavar="COLUMN", help="names the person of each row, who is the unit of privacy then"
    )
    parser.add_argument("--rows-per-person", type=int, metavar="M", help="with --person: how many rows of one count")
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals; default: 0.95")
    parser.add_argument("--ledger", metavar="STUDY.sqlite", help="the ledger that the release is charged to")
    parser.add_argument("--seed", type=int, help="predictable noise, for experiments on public data only")
    parser.set_defaults(run=run, weight=None)


def run(options: argparse.Namespace) -> int:
    """Release the table, print it with its guarantee, and write it."""
    check_place(options)
    check_place(options, "write_schema")
    check(not (options.schema and options.write_schema), "A declared schema is not written again; drop --write-schema.")
    check(not options.target or options.write_schema, "--target goes with --write-schema.")
    check(
        (options.person is None) == (options.rows_per_person is None),
        "--person and --rows-per-person go together: whose rows they are, and how many of one person count.",
    )
    check(
        options.person is None or options.person != options.target, "--person names people, --target what to predict."
    )
    schema = Schema.load(options.schema) if options.schema else None
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with progress(options.progress) as say:
        say(f"Reading {named(options)}")
        looked, given = (_whole if is_small(options) else _scanned)(options, schema)
        say("Counting")
        found = describe(
            looked, epsilon=options.epsilon, schema=schema, missing=options.missing, delta=options.delta,
            adjacency=options.adjacency, ledger=options.ledger, random_state=options.seed, level=options.level,
            target=options.target, rows_per_person=options.rows_per_person, **given,
        )  # fmt: skip
    print_table(HEADER, found.rows())
    print(f"\n{100 * options.level:g}% intervals, in brackets, cover the noise; {found.caution}.\n\n{found.guarantee}")
    schema_found = None if found.schema is None else found.schema.to_dict()
    for place, content in ((options.out, found.to_dict()), (options.write_schema, schema_found)):
        if place and content is not None:
            write_whole(place, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
            print(f"Wrote {place}.")
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
    return found, {} if options.person is None else {"groups": options.person}


def _check_target(options: argparse.Namespace, names: Any) -> None:
    check(not options.target or options.target in names, f"The table has no column {options.target!r} to predict.")
