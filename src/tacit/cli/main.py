"""The command line: thin over the Python API. Errors are one sentence on stderr and exit code 2.

A command's options are loaded when it is parsed or shows its help, and what it runs when it runs: ``tacit --version``
and ``tacit fit --help`` load next to nothing.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tacit._version import __version__
from tacit.cli.command import Command
from tacit.cli.interrupts import Interrupts
from tacit.cli.terminal import one_line, ready_streams

COMMANDS = {
    "demo": (
        "tacit.cli.options.demo:arguments",
        "Train private models on made-up hospital records, and write a report; takes a minute at most.",
    ),
    "schema": (
        "tacit.cli.options.schema:arguments",
        "Write a schema to fill in from the names of a table's columns, or check one.",
    ),
    "split": (
        "tacit.cli.options.split:arguments",
        "Divide a table into one to train on and one to score on, with each person in one of them.",
    ),
    "describe": ("tacit.cli.options.describe:arguments", "Take a first look at a CSV or Parquet table, privately."),
    "fit": ("tacit.cli.options.fit:arguments", "Train a private model on a CSV or Parquet table."),
    "predict": (
        "tacit.cli.options.predict:arguments",
        "Predict the target for each row of a table, with a model file.",
    ),
    "evaluate": ("tacit.cli.options.evaluate:arguments", "Score a model on private records, for a price."),
    "verify": ("tacit.cli.options.promises:verify_arguments", "Recompute the guarantees in files."),
    "statement": (
        "tacit.cli.options.promises:statement_arguments",
        "State in words what a file guarantees and what it does not, for whoever decides about its release.",
    ),
    "methods": ("tacit.cli.methods:arguments", "List all methods: paper, losses, status of the proof."),
    "audit": ("tacit.cli.options.audit:arguments", "Measure the epsilon of a method by experiment."),
    "ledger": (
        "tacit.cli.options.ledger:arguments",
        "Create, show or verify a ledger, which keeps one budget for many releases.",
    ),
    "protocol": (
        "tacit.cli.options.protocol:protocol_arguments",
        "Plan a collection: fix its public numbers, and say what it will guarantee.",
    ),
    "contribute": (
        "tacit.cli.options.protocol:contribute_arguments",
        "Add noise to your records, so that you can hand them in.",
    ),
    "collect": ("tacit.cli.options.protocol:collect_arguments", "Add files of submissions to a database."),
    "train": ("tacit.cli.options.protocol:train_arguments", "Train a model on the submissions in a database."),
    "serve": ("tacit.cli.serve:arguments", "Run a web service where people contribute with a browser."),
    "study": ("tacit.cli.study:arguments", "Create and run the studies of a web service from scripts."),
    "account": ("tacit.cli.account:arguments", "Manage who may sign in to a web service as a curator."),
    "completion": ("tacit.cli.completion:arguments", "Print a script that completes commands in bash, zsh or fish."),
}
"""Every command: the function that gives a parser its options, ``run`` among its defaults, and what it does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0, 1 when a guarantee does not hold, 2 for an error, 130 after Ctrl-C,
    143 after SIGTERM.

    Without arguments it is the process's own command, and Ctrl-C stays silent after it; with them, signals are as
    they were.
    """
    if argv is None:
        ready_streams()
    charged: list[Any] = []
    interrupts = Interrupts(lambda: _words("interrupted.", charged))
    try:
        interrupts.begin()
        code = _answer(argv, charged, interrupts)
        interrupts.over = True
        return code
    except KeyboardInterrupt:
        print(_words("interrupted.", charged), file=sys.stderr, flush=True)
        return interrupts.code
    finally:
        interrupts.end(process=argv is None)


def _answer(argv: Sequence[str] | None, charged: list[Any], interrupts: Interrupts) -> int:
    """The command's exit code, or that of an error, which is told in a sentence."""
    try:
        options = build_parser().parse_args(argv)  # which imports the options of the command
        with _heard(charged):
            code: int = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone; say no more
        return 2
    except OSError as error:
        sentence = f"{error.filename or 'file'}: {error.strerror or error}."
    except (ValueError, ArithmeticError, ImportError, RecursionError, MemoryError, Warning) as error:
        sentence = str(error) or type(error).__name__
    except Exception:
        if not interrupts.pressed:
            raise
    if interrupts.pressed:  # what broke, broke for that: a pool of processes, an import
        raise KeyboardInterrupt
    print(_words(sentence, charged), file=sys.stderr)
    return 2


def _words(sentence: str, charged: list[Any]) -> str:
    """The one line of a command that did not end well."""
    return f"tacit: {one_line(sentence)}{' The ledger has been charged.' if charged else ''}"


@contextmanager
def _heard(charged: list[Any]) -> Iterator[None]:
    """Warnings on stderr, and what ledgers are charged for in the list."""
    from tacit.checks import RefutedWarning  # not at the top: --version and --help need none of what it brings
    from tacit.ledger.listening import charges

    with warnings.catch_warnings(), charges(charged):
        warnings.simplefilter("always", RefutedWarning)
        warnings.showwarning = lambda message, *rest: print(f"WARNING: {one_line(str(message))}", file=sys.stderr)
        yield


def build_parser() -> Command:
    """The parser of all commands, each of which learns its options when it is used."""
    parser = Command(
        prog="tacit",
        description="Learn from private data, with a guarantee that anyone can check.",
        epilog="`tacit COMMAND --help` explains a command and its options.",
        example="tacit fit people.csv --schema schema.toml --epsilon 1 --out model.json",
    )
    parser.add_argument(
        "--version", action="version", version=f"tacit {__version__}", help="print the version and exit"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for name, (place, about) in COMMANDS.items():
        commands.add_parser(name, help=about, description=about, place=place)
    return parser
