"""The command line of the three parties: ``tacit protocol``, ``contribute``, ``collect`` and ``train``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import files
from tacit.checks import at_most, check, counted
from tacit.cli.console import Say, check_new, progress
from tacit.cli.inputs import dialect
from tacit.cli.results import results
from tacit.cli.terminal import one_line, show
from tacit.data import tables
from tacit.data.cells import exact
from tacit.data.texts import Texts
from tacit.privacy.noise import SeededSource, SystemSource
from tacit.protocol.agreement import Protocol
from tacit.protocol.database import AGAIN, Database, Receipt
from tacit.reading import write_whole
from tacit.schema import Schema

_SEEDED = "WARNING: --seed makes the noise predictable: anyone who knows the seed can remove it. For experiments only."


def protocol(options: argparse.Namespace) -> int:
    """Fix the public numbers of a collection, and print what it guarantees."""
    check_new(options)
    protocol = Protocol.create(
        epsilon=options.epsilon, delta=options.delta, cohort=options.cohort, schema=Schema.load(options.schema),
        record_epsilon=options.record_epsilon, radius=options.radius, clip=options.clip, surrogate=options.surrogate,
        honest=options.honest, calibration=options.calibration, purpose=options.purpose,
        withdrawal=options.withdrawal,
    )  # fmt: skip
    protocol.save(options.out)
    print(f"{protocol}\n\nWrote {options.out}.")
    return 0


def contribute(options: argparse.Namespace) -> int:
    """Perturb the rows of a table, and write what may leave their owners."""
    check_new(options)
    protocol = Protocol.load(options.protocol)
    schema = protocol.schema
    if schema is None:
        raise ValueError("This protocol has no schema, so a table cannot be matched to it. Contribute from Python.")
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    with progress(options.progress) as say:
        say(f"Reading {options.data}")
        table = tables.read_table(options.data, [protocol.target.name, *schema.names], **dialect(options))
        check(protocol.target.name in table, f"The table has no column {protocol.target.name!r}.")
        size, name = len(table[protocol.target.name]), Path(options.data).name
        schema.check_readable(table, every=True)  # whoever contributes can correct the cell
        kept, targets = _readable(protocol, table, np.arange(size))
        check(
            len(kept),
            f"No row of {name} has a target that can be read and is declared: there is nothing to contribute.",
        )
        say(f"Adding noise to {counted(len(kept), 'record')}")
        source = SystemSource() if options.seed is None else SeededSource(options.seed)
        part = {name: _picked(column, kept) for name, column in table.items()}
        protocol.perturb_table(part, targets, source=source).save(options.out)
    print(f"Wrote {options.out}: {counted(len(kept), 'submission')} for protocol {protocol.fingerprint}.")
    if len(kept) < size:
        left = counted(size - len(kept), "row")
        print(f"{left} left out: the target is missing, unreadable or not declared.", file=sys.stderr)
    record = protocol.record_guarantee()
    print(
        f"Each record, against anyone who sees its submission: epsilon = {at_most(record.epsilon, 6)} at delta = "
        f"{at_most(record.delta, 3)}."
    )
    _warn(protocol.caution())
    return 0


def _warn(sentence: str) -> None:
    if sentence:
        print(sentence, file=sys.stderr)


def _readable(protocol: Protocol, table: tables.Table, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """The rows whose target can be read, and those targets; halves are tried until the unreadable ones are alone."""
    name, schema = protocol.target.name, protocol.schema
    assert schema is not None  # for the type checker
    try:
        return rows, schema.encode_target({name: _picked(table[name], rows)})
    except ValueError:
        if len(rows) == 1:
            return rows[:0], np.array([])
    half = len(rows) // 2
    parts = [_readable(protocol, table, part) for part in (rows[:half], rows[half:])]
    kept = [part for part in parts if len(part[0])]
    if not kept:
        return rows[:0], np.array([])
    return np.concatenate([part[0] for part in kept]), np.concatenate([part[1] for part in kept])


def _picked(column: Any, rows: NDArray[np.intp]) -> Any:
    """Some cells of a column; of a CSV file, with the decimal mark that they are read by."""
    return column[rows] if isinstance(column, Texts) else exact(column)[rows]


def _write(model: Any, schema: Schema | None, options: argparse.Namespace, record: Path) -> None:
    """Write the model and the guarantee of one record; print what they promise."""
    text = model.record_guarantee_.to_json()
    with results(options) as keep:
        place = keep("The model", options.out, lambda path: files.save(model, path, schema))
        keep("The guarantee of one record", str(record), lambda path: write_whole(path, text))
        if place is not None:
            show(*{str(one): one for one in files.stated(place)}.values())


def collect(options: argparse.Namespace) -> int:
    """Add files of submissions to a database: 1 when one could not be used."""
    check(options.files or options.status, "Name files of submissions, or ask for --status.")
    check(options.files or Path(options.database).is_file(), f"There is no database {options.database}.")
    protocol, failed = Protocol.load(options.protocol), False
    readable = Path(options.database).is_file() or any(Path(path).is_file() for path in options.files)
    check(readable, f"None of {', '.join(options.files)} is a file: there is nothing to collect.")
    with Database(protocol, options.database) as database:
        with progress(options.progress) as say:
            receipts = [*_receipts(database, options.files, say)]
        for path, receipt in receipts:
            if isinstance(receipt, OSError):
                print(f"{one_line(path)}: cannot be read ({receipt.strerror}).", file=sys.stderr)
                failed = True
                continue
            print(f"{one_line(path)}: {receipt}")
            if not receipt.added and AGAIN not in receipt.refused:
                print(f"{one_line(path)}: nothing in it belongs to this protocol.", file=sys.stderr)
                failed = True
        print(database.status())
    return 1 if failed else 0


def _receipts(database: Database, paths: Sequence[str], say: Say) -> Iterator[tuple[str, Receipt | OSError]]:
    """For every file what was added and refused, or why it cannot be read."""
    for number, path in enumerate(paths):
        say(f"Adding {path}", number / len(paths))
        try:
            yield path, database.add_file(path)
        except OSError as error:
            yield path, error


def train(options: argparse.Namespace) -> int:
    """Train on what the database holds, and write the model and both guarantees."""
    check_new(options)
    record = Path(options.out).with_suffix(".record.json")
    check_new(options, beside=record)
    check(Path(options.database).is_file(), f"There is no database {options.database}.")
    protocol = Protocol.load(options.protocol)
    with progress(options.progress) as say, Database(protocol, options.database) as database:
        say(f"Training on {counted(len(database), 'submission')}")
        before = len(database.trainings)
        model = database.train(
            short=options.short, accept_record_guarantee=options.accept_record_guarantee, ledger=options.ledger
        )
        again, count = len(database.trainings) == before, len(database)
    _write(model, protocol.schema, options, record)
    if count < protocol.numbers.cohort:
        print(
            f"{counted(count, 'contributor')} took part, fewer than the {protocol.numbers.cohort:,} that the protocol "
            "is calibrated for: the database added the missing noise."
        )
    if again:
        print("Nothing new was released: this is the model of the earlier training.")
    return 0
