"""The command line: thin over the Python API. Errors are one sentence on stderr and exit code 2."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Never, TextIO

import numpy as np

from tacit import files
from tacit._version import __version__
from tacit.checks import PrivacyError, at_most, check, refuse
from tacit.cli import audit as audit_command
from tacit.cli import protocol as protocol_commands
from tacit.data import tables
from tacit.estimators import LinearRegression, LinearSVC, LogisticRegression
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.theorems import THEOREMS
from tacit.published import PUBLISHED
from tacit.report import catalogue as survey
from tacit.report import demo
from tacit.report import page as report
from tacit.schema import Number, Schema, Target
from tacit.training import RefutedWarning
from tacit.types import ADJACENCIES, Array

_NO_SCORE = (
    "No accuracy is printed: a score computed on private records is a release of its own, with a price of its own. To "
    "see how good a model is, use `tacit predict` on records that are public, or that you set aside and whose score "
    "you keep to yourself."
)
_SEEDED = (
    "WARNING: --seed makes the noise predictable: whoever knows the seed can remove it. Use it for experiments on "
    "public data only; never release such a model."
)
_CAUTION = (
    "This confirms that the recorded noise gives the recorded epsilon. That the noise was drawn, and the records were "
    "clipped, is for whoever trained the model to say: the checksum finds damage, it is not a signature."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0, 1 when a guarantee does not hold, 2 for an error."""
    options = _parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter("always", RefutedWarning)
        warnings.showwarning = lambda message, *rest: print(f"WARNING: {message}", file=sys.stderr)
        try:
            code: int = options.run(options)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone; say no more
            return 2
        except OSError as error:
            print(f"tacit: {error.filename or 'file'}: {error.strerror or error}.", file=sys.stderr)
            return 2
        except (ValueError, ArithmeticError, RecursionError, MemoryError) as error:
            print(f"tacit: {error or type(error).__name__}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("tacit: interrupted.", file=sys.stderr)
            return 130
    return code


def _demo(options: argparse.Namespace) -> int:
    _check_place(options.out)
    say = _progress(options)
    started = time.monotonic()
    studies = demo.run(progress=lambda done, total: say(f"{done} of {total} methods trained"))
    words = demo.summary(studies)
    for study in studies:
        print(f"\n{study.title}\n{study.about}\n\n{study.score}\n{study.table()}")
    print(f"\n{words}\n")
    report.write_report(options.out, "Private models on public data", summary=words, studies=studies)
    print(f"Wrote {options.out} with pictures and guarantees, {time.monotonic() - started:.0f} seconds in all.")
    return 0


def _fit(options: argparse.Namespace) -> int:
    _check_place(options.out)
    if options.report:
        _check_place(options.report, "--report")
        same = Path(options.report).resolve() == Path(options.out).resolve()
        check(not same, "--out and --report name one file. Give two names.")
    schema, target = _declared(options)
    say = _progress(options)
    if options.seed is not None:
        print(_SEEDED, file=sys.stderr)
    say(f"Reading {options.data}")
    wanted = None if schema is None else [target.name, *(column.name for column in schema.columns)]
    table = _read(options.data, wanted)
    check(target.name in table, f"The table has no column {target.name!r} to predict.")
    names = [name for name in table if name != target.name]
    # Only the target of this schema is used when none is given: then the columns are numbers as they stand.
    reader = schema or Schema((Number(f"not {target.name}", 0, 1),), target)
    say("Encoding")
    targets = reader.encode_target(table)
    rows = tables.numbers(table, names) if schema is None else _encode(schema, table, options.clip)
    model = _estimator(options, target)
    say(f"Training on {len(rows):,} records")
    model.fit(rows, targets)
    if schema is None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    files.save(model, options.out, schema)
    if options.report:
        report.write_model_report(options.report, model, f"Model {Path(options.out).name}")
    also = f" and {options.report}" if options.report else ""
    print(f"{model.guarantee_}\n\nWrote {options.out}{also}.")
    for note in model.guarantee_.notes:
        print(f"NOTE: {note}", file=sys.stderr)
    return 0


def _predict(options: argparse.Namespace) -> int:
    if options.out:
        _check_place(options.out)
    model, schema = files.load(options.model)
    say = _progress(options)
    check(
        not options.proba or hasattr(model, "predict_proba"),
        f"{type(model).__name__} has no probabilities. Leave out --proba.",
    )
    say(f"Reading {options.data}")
    names: list[str] = list(getattr(model, "feature_names_in_", ()))
    kept = list(dict.fromkeys(options.keep or ()))
    if schema is not None:
        table = _read(options.data, [*(column.name for column in schema.columns), *kept])
        rows = _encode(schema, table, model.clip)
    else:
        check(
            names,
            "This model file names no columns, so a table cannot be matched to it. Predict from Python.",
        )
        table = _read(options.data, [*names, *kept])
        absent = [name for name in names if name not in table]
        check(not absent, f"The table lacks the columns {absent} that the model was trained on.")
        rows = tables.numbers(table, names)
        del model.feature_names_in_  # they did their work: the rows are in the model's order
    say(f"Predicting {len(rows):,} records")
    unknown = [name for name in kept if name not in table]
    check(not unknown, f"The table lacks the columns {unknown} of --keep.")
    header, columns = [*kept, "prediction"], [*(_listed(table[name]) for name in kept), model.predict(rows).tolist()]
    if options.proba:
        header += [f"probability of {label}" for label in model.classes_.tolist()]
        columns += model.predict_proba(rows).T.tolist()
    if not options.out:
        _write_csv(sys.stdout, header, columns)
        return 0
    with Path(options.out).open("w", encoding="utf-8", newline="") as file:
        _write_csv(file, header, columns)
    print(f"Wrote {options.out}.", file=sys.stderr)
    return 0


def _read(path: str, columns: list[str] | None) -> tables.Table:
    """The table, which must have rows; a name that it lacks is left out."""
    table = tables.read_table(path, columns)
    check(not table or len(next(iter(table.values()))) > 0, f"{path} has no rows.")
    return table


def _encode(schema: Schema, table: tables.Table, clip: float) -> Array:
    """Rows by the schema; on stderr, in which columns text was taken for missing numbers."""
    for name in schema.check_readable(table):
        print(
            f"WARNING: some cells of {name!r} are not numbers and count as missing (NOT PRIVATE: this message tells "
            "about the records).",
            file=sys.stderr,
        )
    return schema.encode(table, clip)


def _listed(column: Any) -> list[Any]:
    """A column's cells as they stand: a list from CSV, a pyarrow column from Parquet."""
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _verify(options: argparse.Namespace) -> int:
    stated: tuple[Guarantee, ...] = ()
    try:
        stated = files.stated(options.file)
        for guarantee in stated:
            guarantee.verify()
    except PrivacyError as error:
        if stated:
            print("NOT VERIFIED. What the file says:\n", *stated, sep="\n")
        print(f"tacit: NOT VERIFIED. {error}", file=sys.stderr)
        return 1
    print(*stated, sep="\n\n")
    print("\nRecomputed from the recorded events alone:")
    for guarantee, adjacency in itertools.product(stated, ADJACENCIES):
        lead = f"  {guarantee.protects}: " if len(stated) > 1 else "  "
        try:
            epsilon = guarantee.epsilon_at(adjacency=adjacency)
            less = adjacency == guarantee.adjacency and f"{epsilon:.6g}" != f"{guarantee.epsilon:.6g}"
            most = f" (at most the promised {guarantee.epsilon:.6g})" if less else ""
            print(
                f"{lead}epsilon = {at_most(epsilon, 6)} at delta = {guarantee.delta:.6g}, {adjacency} neighbours{most}"
            )
        except PrivacyError:
            print(f"{lead}{adjacency} neighbours are not covered by this method's analysis")
    print(f"\nVERIFIED. {_CAUTION}")
    return 0


def _methods(options: argparse.Namespace) -> int:
    print(survey.table())
    return 0


def _declared(options: argparse.Namespace) -> tuple[Schema | None, Target]:
    """The schema, and the target with its public classes or bounds: from the schema, or from the options."""
    schema = Schema.load(options.schema) if options.schema else None
    bounds = options.target_bounds or (None, None)
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
    target = Target(options.target, options.classes, *bounds)
    return (None if schema is None else dataclasses.replace(schema, target=target)), target


def _estimator(options: argparse.Namespace, target: Target) -> Any:
    """The estimator of the task, which the target decides unless it is named."""
    labels, bounds = target.classes is not None, (target.lower, target.upper)
    task = options.task or ("classification" if labels else "regression")
    check(
        labels == (task != "regression"),
        f"--task {task} needs {'bounds' if task == 'regression' else 'classes'}, and {target.name!r} has none.",
    )
    common: dict[str, Any] = {
        "delta": options.delta, "method": options.method, "calibration": options.calibration,
        "adjacency": options.adjacency, "clip": options.clip, "random_state": options.seed,
    }  # fmt: skip
    if options.method in PUBLISHED:
        _refuse_published(options.method)
    if task == "regression":
        return LinearRegression(options.epsilon, target_bound=bounds, **common)  # type: ignore[arg-type]
    kind = LogisticRegression if task == "classification" else LinearSVC
    return kind(options.epsilon, classes=list(target.classes or ()), **common)


def _refuse_published(name: str) -> Never:
    """Methods of papers that leave a constant open are objects which take it; no option of the command line does."""
    entry = PUBLISHED[name]
    refuse(
        f"The noise of {name!r} has a constant that the paper leaves open, so it runs from Python only, as an object: "
        f"method={entry.call}, calibration='paper'. {THEOREMS[name].status.upper()}: {entry.about}; proven form: "
        f"{entry.proven_form!r}."
    )


def _check_place(path: str, option: str = "--out") -> None:
    """Say that the result could not be written before anything is spent on it."""
    folder = Path(path).resolve().parent
    check(folder.is_dir(), f"The folder of {option} {path} does not exist.")
    check(not Path(path).is_dir() and os.access(folder, os.W_OK), f"Cannot write to {option} {path}.")


def _write_csv(file: TextIO, header: list[str], columns: list[list[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(zip(*columns, strict=True))


def _progress(options: argparse.Namespace) -> Callable[[str], None]:
    """Says what is under way, on stderr, when someone is looking or asked for it."""
    if not (options.progress or sys.stderr.isatty()):
        return lambda text: None
    return lambda text: print(text, file=sys.stderr, flush=True)


def _labels(text: str) -> tuple[str | int, ...]:
    parts = [part.strip() for part in text.split(",")]
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        return tuple(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tacit", description="Linear models under differential privacy.")
    parser.add_argument("--version", action="version", version=f"tacit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[argparse.Namespace], int], about: str, more: str = ""
    ) -> argparse.ArgumentParser:
        part = commands.add_parser(name, help=about, description=about, epilog=more)
        part.set_defaults(run=run)
        if name in ("demo", "fit", "predict"):
            part.add_argument(
                "--progress", action="store_true", help="say what is under way even when not on a terminal"
            )
        return part

    part = command(
        "demo", _demo, "Train every central method on data that ships with scikit-learn, and write a report."
    )
    part.add_argument("--out", default="report.html", metavar="REPORT.html")

    part = command("fit", _fit, "Train a private model on a CSV or Parquet table.", _NO_SCORE)
    part.add_argument("data", help="a CSV file with a header, or a .parquet file (pip install 'tacit[parquet]')")
    part.add_argument("--epsilon", type=float, required=True, help="the privacy budget; smaller is more private")
    part.add_argument("--out", required=True, metavar="MODEL.json")
    part.add_argument(
        "--schema", metavar="SCHEMA.toml", help="public bounds and categories of the columns (.toml or .json)"
    )
    part.add_argument("--target", help="the column to predict; taken from the schema when it names one")
    part.add_argument("--classes", type=_labels, metavar="A,B", help="the labels of the target, declared")
    part.add_argument(
        "--target-bounds", type=float, nargs=2, metavar=("LOWER", "UPPER"), help="the range of the target, declared"
    )
    part.add_argument("--task", choices=("classification", "svm", "regression"), help="default: as the target says")
    part.add_argument("--delta", type=float, help="default: n**-1.5")
    part.add_argument("--method", default="auto", help="a name from `tacit methods`; default: auto")
    part.add_argument("--calibration", choices=("proven", "paper"), default="proven")
    part.add_argument("--adjacency", choices=ADJACENCIES, default="replace-one")
    part.add_argument("--clip", type=float, default=1.0, help="longer rows are shrunk to this norm; default: 1")
    part.add_argument("--seed", type=int, help="predictable noise, for experiments on public data only")
    part.add_argument(
        "--report",
        metavar="PAGE.html",
        help="also write a page for the curator: guarantees and, with --method individual, each record's own epsilon",
    )

    part = command("predict", _predict, "Predict the rows of a table with a model file.")
    part.add_argument("model", metavar="MODEL.json")
    part.add_argument("data")
    part.add_argument("--out", metavar="PREDICTIONS.csv", help="default: standard output")
    part.add_argument(
        "--keep", action="append", metavar="COLUMN",
        help="copy this column of the table beside the predictions, to join them by; may be given more than once",
    )  # fmt: skip
    part.add_argument("--proba", action="store_true", help="add a column with the probability of every class")

    part = command("verify", _verify, "Recompute the guarantee of a model or network file, or of one alone.", _CAUTION)
    part.add_argument("file", metavar="MODEL.json")

    command("methods", _methods, "List the methods: paper, place of the noise, losses, status, adjacencies.")
    audit_command.add_parser(commands)
    protocol_commands.add_parser(commands)
    return parser
