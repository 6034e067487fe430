"""``tacit schema``: a schema to fill in, from the names of a table's columns; and whether a schema is right.

Names and declared types are public and read for nothing. Cells are read only with ``--private``, for a price, and with
``--curator``, whose counts are not private and say so.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.checks import at_most, check
from tacit.cli.console import check_new, print_table, progress
from tacit.cli.inputs import check_there, declared, is_small, named, scanned, whole
from tacit.cli.results import results
from tacit.cli.terminal import one_line, show
from tacit.ledger.listening import labelled
from tacit.reading import write_whole
from tacit.schema import Schema
from tacit.schema.skeleton import CATEGORY, FIRST_LINE, NEITHER, NUMBER, TRUTH, check_header, skeleton

if TYPE_CHECKING:
    from tacit.privacy.guarantee import Guarantee
    from tacit.statistics.finding import FoundSchema

_TYPES = {
    NUMBER: ("int", "uint", "halffloat", "float", "double", "decimal"),
    TRUTH: ("bool",),
    CATEGORY: ("text",),
}
"""What columns of a declared type are, by how the type's word begins; of '' and 'null' nothing is known."""
_PAID = ("epsilon", "delta", "ledger", "label", "rows_per_person", "seed")
"""Options that --private alone has a use for."""
_WRITTEN = ("out", "overwrite", "numbers", "categories", "missing", "private", *_PAID)
"""Options that a check has no use for."""
_ALOUD = (
    "NOT PRIVATE: what follows is counted in the records without noise, and quotes them. It is only for the person who "
    "holds the records. Do not pass it on."
)
_TAKEN = (
    "NOTE: the first line of {file} was taken as the names of its columns. It must not be a record. If the schema "
    "shows somebody's answers as names, do not pass it on, and add a line with names to the file."
)
_FOUND = (
    "It was found in records, at a price of {price}. A model that is fitted with it states the price of both together."
)
_SEEDED = (
    "WARNING: --seed makes the noise predictable: anyone who knows the seed can remove it. Use it for experiments on "
    "public data only; never release such a schema."
)


def run(options: argparse.Namespace) -> int:
    """Write a schema to fill in, or one that was paid for; or look at one."""
    check_new(options)
    if options.data[0] == "check":
        return _check(options)
    check(not options.curator, "--curator can only be used with `tacit schema check`.")
    kinds_of_file = (".toml", ".json") if options.private else (".toml",)
    check(
        not options.out or Path(options.out).suffix.lower() in kinds_of_file,
        f"Expected --out {options.out} to end in {' or '.join(kinds_of_file)}.",
    )
    types = declared(options)
    unmarked = not any(types.values())  # a CSV file: its first line may be a record
    if unmarked:
        check_header(types, named(options))
    check_there(options, [] if options.person is None else [options.person], types)
    if options.private:
        return _find(options)
    _refuse(options, _PAID, "can only be used with --private.")
    check(
        options.person is None or options.person != options.target, "--person and --target must name different columns."
    )
    kinds = {name: kind for name, word in types.items() if (kind := _kind(word))}
    stated = kinds | _stated(options, list(types))
    remarks = FIRST_LINE if unmarked else ()
    text = skeleton(types, stated, options.target, named(options), options.missing, remarks, options.person)
    if unmarked:
        print(_TAKEN.format(file=named(options)), file=sys.stderr)
    if not options.out:
        print(text)
        return 0
    write_whole(options.out, text)
    print(one_line(f"Wrote {options.out}. Fill it in, then: {_next(options)}"))
    return 0


def _next(options: argparse.Namespace) -> str:
    """The command that checks the schema, for a shell: the same table, read in the same way."""
    usual = {"separator": None, "decimal": ".", "encoding": "utf-8"}
    read = [
        part for name, word in usual.items() if (given := vars(options)[name]) != word for part in (f"--{name}", given)
    ]
    return shlex.join(["tacit", "schema", "check", options.out, *options.data, *read])


def _refuse(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    for name in names:
        value = vars(options)[name]
        given = value is not None and value is not False and value != []  # 0 is given
        check(not given, f"--{name.replace('_', '-')} {why}")


def _kind(word: str) -> str | None:
    """What a column of this declared type holds; None where the type does not say."""
    if word in ("", "null"):
        return None
    return next((kind for kind, starts in _TYPES.items() if word.startswith(starts)), NEITHER)


def _stated(options: argparse.Namespace, names: Sequence[str]) -> dict[str, str]:
    """The kinds that --numbers and --categories state, by column."""
    found: dict[str, str] = {}
    for kind, given in ((NUMBER, options.numbers), (CATEGORY, options.categories)):
        for text in given or ():
            for name in [text] if text in names else [part.strip() for part in text.split(",")]:
                check_there(options, [name], names)
                check(found.get(name, kind) == kind, f"{name!r} is among --numbers and --categories. Choose one.")
                found[name] = kind
    return found


def _find(options: argparse.Namespace) -> int:
    """Fill in the schema by a release, and say what it cost."""
    check(options.epsilon is not None, "--private needs --epsilon, the privacy budget of the bounds and categories.")
    check(options.out, "--private needs --out, so that what the budget paid for is kept.")
    check(
        (options.person is None) == (options.rows_per_person is None),
        "--person and --rows-per-person belong together: the first names the person of each row, the second says how "
        "many rows of one person count.",
    )
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with labelled(options.label), progress(options.progress) as say:
        say(f"Reading {named(options)}")
        found = _paid_for(options)
    guarantee = found.guarantee
    assert guarantee is not None  # for the type checker
    remarks = [
        f"Found in {named(options)}, at a price of {_price(guarantee)}.",
        "This is a release about these people, and adds to all others. The entry found, at the end of the file, keeps",
        "the price: a model that is fitted with this file states the price of both together.",
        *([] if options.person is None else [f"Left out, because it says whose rows they are: {options.person!a}"]),
        *(f"Left out, because nothing stood out from the noise: {name!a}" for name in found.left_out),
    ]
    with results(options) as keep:
        keep("The schema", options.out, lambda path: found.save(path, remarks))
        show(guarantee)
        print("", *remarks[1:], sep="\n")
    return 0


def _paid_for(options: argparse.Namespace) -> FoundSchema:
    from tacit.cli.tasks import whose_rows
    from tacit.statistics import private_schema

    table: Any
    given: dict[str, Any]
    if is_small(options):
        table = whole(options)
        given = whose_rows(options, table)
        table = {name: column for name, column in table.items() if name != options.person}
        names = list(table)
    else:
        table = scanned(options)
        given = {} if options.person is None else {"groups": options.person}
        names = [name for name in table.names if name != options.person]
    words = {NUMBER: "number", CATEGORY: "text"}
    kinds = {name: words[kind] for name, kind in _stated(options, names).items()}
    return private_schema(
        table, epsilon=options.epsilon, target=options.target, kinds=kinds, missing=options.missing,
        delta=options.delta, adjacency=options.adjacency, rows_per_person=options.rows_per_person,
        ledger=options.ledger, random_state=options.seed, **given,
    )  # fmt: skip


def _price(guarantee: Guarantee) -> str:
    return f"epsilon = {at_most(guarantee.epsilon)} and delta = {at_most(guarantee.delta, 3)}"


def _check(options: argparse.Namespace) -> int:
    """Say what a schema declares and, of a table, which columns do not agree; 1 where a fit would be refused."""
    from tacit.schema.comparison import HEADER, compared, declared_rows, sentences

    check(len(options.data) > 1, "Name the schema: tacit schema check SCHEMA.toml [DATA ...]")
    _, place, *options.data = options.data
    check(options.data or not options.curator, "--curator looks at a table. Name it after the schema.")
    _refuse(options, _WRITTEN, "cannot be used with check.")
    schema = Schema.load(place)
    schema = schema if options.target is None else schema.with_target(options.target)
    print(*map(one_line, [f"{place} is a valid schema.", *_cost(schema), *sentences(schema)]), sep="\n", end="\n\n")
    print_table(HEADER, declared_rows(schema))
    refused = _person_predicts(options, schema)
    if not options.data:
        return 1 if refused else 0
    names = list(declared(options))
    check_there(options, [] if options.person is None else [options.person], names)
    lacks, beside = compared(schema, names, options.person)
    print("", *(lacks or [f"{named(options)} has all the columns that the schema names."]), *beside, sep="\n")
    if options.curator:
        refused |= _inspect(options, schema, names)
    return 1 if lacks or refused else 0


def _person_predicts(options: argparse.Namespace, schema: Schema) -> bool:
    """Say so where the schema has the column that says whose rows they are: a fit would be refused."""
    try:
        schema.check_beside(options.person)
    except ValueError as error:
        print(f"\n{one_line(str(error))} A fit would be refused.")
        return True
    return False


def _cost(schema: Schema) -> list[str]:
    """What a schema cost that was found in records."""
    if schema.found is None:
        return []
    from tacit.estimators.earlier import schema_guarantee  # brings scikit-learn along, which other schemas do without

    guarantee = schema_guarantee(schema)
    assert guarantee is not None  # for the type checker
    return [_FOUND.format(price=_price(guarantee))]


def _inspect(options: argparse.Namespace, schema: Schema, names: Sequence[str]) -> bool:
    """Count the cells that do not fit, in the columns that are there; whether a fit would be refused for them."""
    from tacit.schema.inspection import HEADER, Inspection

    inspection = Inspection.of(schema, names)
    check(inspection.seen, "The table has none of the columns that the schema names: there is nothing to count.")
    with progress(options.progress) as say:
        say(f"Reading {named(options)}")
        for piece in scanned(options, schema).source.pieces:
            for table in piece.tables(inspection.names):
                inspection.see(table)
    print(f"\n{_ALOUD}\n")
    print_table(HEADER, [one.row() for one in inspection.seen], numbers=True)
    print("", *inspection.sentences(), sep="\n")
    return any(one.refused for one in inspection.seen)
