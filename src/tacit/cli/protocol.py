"""The command line of the three parties: ``tacit protocol``, ``contribute``, ``collect`` and ``train``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import files
from tacit.checks import at_most, check
from tacit.cli.console import check_place
from tacit.data import tables
from tacit.data.cells import exact
from tacit.privacy.noise import SeededSource, SystemSource
from tacit.protocol.agreement import Protocol
from tacit.protocol.database import AGAIN, Database
from tacit.schema import Schema

_SEEDED = "WARNING: --seed makes the noise predictable: whoever knows the seed can remove it. For experiments only."


def _protocol(options: argparse.Namespace) -> int:
    check_place(options)
    check(
        options.force or not Path(options.out).exists(),
        f"{options.out} exists, and submissions may have been made for it; use another name, or --force to replace it.",
    )
    protocol = Protocol.create(
        epsilon=options.epsilon, delta=options.delta, cohort=options.cohort, schema=Schema.load(options.schema),
        record_epsilon=options.record_epsilon, radius=options.radius, clip=options.clip, surrogate=options.surrogate,
        honest=options.honest, calibration=options.calibration, purpose=options.purpose,
    )  # fmt: skip
    protocol.save(options.out)
    print(f"{protocol}\n\nWrote {options.out}.")
    return 0


def _contribute(options: argparse.Namespace) -> int:
    check_place(options)
    protocol = Protocol.load(options.protocol)
    schema = protocol.schema
    if schema is None:
        raise ValueError("This protocol has no schema, so a table cannot be matched to it. Contribute from Python.")
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    table = tables.read_table(options.data, [protocol.target.name, *schema.names])
    check(protocol.target.name in table, f"The table has no column {protocol.target.name!r}.")
    size, name = len(table[protocol.target.name]), Path(options.data).name
    schema.check_readable(table, every=True)  # whoever contributes can correct the cell
    kept, targets = _readable(protocol, table, np.arange(size))
    check(len(kept), f"No row of {name} has a target that can be read and is declared: there is nothing to contribute.")
    source = SystemSource() if options.seed is None else SeededSource(options.seed)
    part = {name: exact(column)[kept] for name, column in table.items()}
    protocol.perturb_table(part, targets, source=source).save(options.out)
    print(f"Wrote {options.out}: {len(kept):,} submissions for protocol {protocol.fingerprint}.")
    if len(kept) < size:
        print(
            f"{size - len(kept):,} rows left out: their target is missing, unreadable or not declared.", file=sys.stderr
        )
    record = protocol.record_guarantee()
    print(
        f"Each record, whoever sees its submission: epsilon = {at_most(record.epsilon, 6)} "
        f"at delta = {at_most(record.delta, 3)}."
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
        return rows, schema.encode_target({name: exact(table[name])[rows]})
    except ValueError:
        if len(rows) == 1:
            return rows[:0], np.array([])
    half = len(rows) // 2
    parts = [_readable(protocol, table, part) for part in (rows[:half], rows[half:])]
    kept = [part for part in parts if len(part[0])]
    if not kept:
        return rows[:0], np.array([])
    return np.concatenate([part[0] for part in kept]), np.concatenate([part[1] for part in kept])


def _collect(options: argparse.Namespace) -> int:
    check(options.files or options.status, "Name files of submissions, or ask for --status.")
    check(options.files or Path(options.database).is_file(), f"There is no database {options.database}.")
    protocol, failed = Protocol.load(options.protocol), False
    readable = Path(options.database).is_file() or any(Path(path).is_file() for path in options.files)
    check(readable, f"None of {', '.join(options.files)} is a file: there is nothing to collect.")
    with Database(protocol, options.database) as database:
        for path in options.files:
            try:
                receipt = database.add_file(path)
            except OSError as error:
                print(f"{path}: cannot be read ({error.strerror}).", file=sys.stderr)
                failed = True
                continue
            print(f"{path}: {receipt}")
            if not receipt.added and AGAIN not in receipt.refused:
                print(f"{path}: nothing in it belongs to this protocol.", file=sys.stderr)
                failed = True
        print(database.status())
    return 1 if failed else 0


def _train(options: argparse.Namespace) -> int:
    check_place(options)
    check(Path(options.database).is_file(), f"There is no database {options.database}.")
    protocol = Protocol.load(options.protocol)
    with Database(protocol, options.database) as database:
        before = len(database.trainings)
        model = database.train(
            short=options.short, accept_record_guarantee=options.accept_record_guarantee, ledger=options.ledger
        )
        again, count = len(database.trainings) == before, len(database)
    files.save(model, options.out, protocol.schema)
    record = Path(options.out).with_suffix(".record.json")
    record.write_text(model.record_guarantee_.to_json(), encoding="utf-8")
    stated = dict.fromkeys(str(guarantee) for guarantee in (model.guarantee_, model.record_guarantee_))
    print(*stated, f"Wrote {options.out} and {record} (the record's guarantee).", sep="\n\n")
    if count < protocol.numbers.cohort:
        print(
            f"{count:,} contributors are fewer than the {protocol.numbers.cohort:,} that the protocol is calibrated "
            "for: the database added the missing noise."
        )
    if again:
        print("Nothing new was released: this is the model of the earlier training.")
    return 0


def protocol_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tacit protocol``."""
    parser.add_argument("--schema", required=True, metavar="SCHEMA.toml", help="public bounds, with a target")
    parser.add_argument("--epsilon", type=float, required=True, help="of the model")
    parser.add_argument("--delta", type=float, required=True)
    parser.add_argument("--cohort", type=int, required=True, help="the smallest number of contributors")
    parser.add_argument("--record-epsilon", type=float, help="what contributors ask for their own record")
    parser.add_argument(
        "--honest", type=float, metavar="FRACTION",
        help="of the contributors, whose noise the model's guarantee counts on; default: 0.9; 1 counts on everyone",
    )  # fmt: skip
    parser.add_argument("--radius", type=float, help="bound on the weights' norm; default: by rule")
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--surrogate", choices=("paper", "least-squares"), default="paper")
    parser.add_argument("--calibration", choices=("proven", "paper"), default="proven")
    parser.add_argument("--purpose", default="", help="a sentence for those who are asked to contribute")
    parser.add_argument("--out", required=True, metavar="PROTOCOL.json")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.set_defaults(run=_protocol)


def contribute_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tacit contribute``."""
    parser.add_argument("data", help="a CSV or Parquet table, one row a person")
    parser.add_argument("--protocol", required=True, metavar="PROTOCOL.json")
    parser.add_argument("--out", required=True, metavar="SUBMISSIONS.parquet", help="Parquet, or lines of JSON")
    parser.add_argument("--seed", type=int, help="predictable noise, for experiments on public data only")
    parser.set_defaults(run=_contribute)


def collect_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tacit collect``."""
    parser.add_argument("files", nargs="*", metavar="SUBMISSIONS")
    parser.add_argument("--status", action="store_true", help="say what the database holds; needs no files")
    parser.add_argument("--protocol", required=True, metavar="PROTOCOL.json")
    parser.add_argument("--database", required=True, metavar="DATABASE.sqlite")
    parser.set_defaults(run=_collect)


def train_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``tacit train``."""
    parser.add_argument("--protocol", required=True, metavar="PROTOCOL.json")
    parser.add_argument("--database", required=True, metavar="DATABASE.sqlite")
    parser.add_argument("--out", required=True, metavar="MODEL.json")
    parser.add_argument("--short", choices=("top-up", "refuse"), default="top-up", help="with too few contributors")
    parser.add_argument(
        "--accept-record-guarantee", action="store_true",
        help="train a changed database again; for all its models only the guarantee of one record then holds",
    )  # fmt: skip
    parser.add_argument("--ledger", metavar="FILE", help="charge this ledger first (`tacit ledger create`)")
    parser.set_defaults(run=_train)
