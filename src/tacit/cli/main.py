"""The command line: thin over the Python API. Errors are one sentence on stderr and exit code 2.

A command's module is imported when the command runs or shows its help, so ``tacit --version`` loads next to nothing.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tacit._version import __version__

COMMANDS = {
    "demo": (
        "tacit.cli.demo:arguments",
        "Train every central method on data that ships with scikit-learn, and write a report.",
    ),
    "describe": ("tacit.cli.describe:arguments", "Look at a CSV or Parquet table, for a price: a first table."),
    "fit": ("tacit.cli.fit:arguments", "Train a private model on a CSV or Parquet table."),
    "predict": ("tacit.cli.predict:arguments", "Predict the rows of a table with a model file."),
    "evaluate": ("tacit.cli.evaluate:arguments", "Score a model on a private table: what it costs, and intervals."),
    "verify": (
        "tacit.cli.verify:arguments",
        "Recompute the guarantee of a model or network file, or of one alone.",
    ),
    "statement": (
        "tacit.cli.statement:arguments",
        "State what a file promises, and what not, for whoever decides about its release.",
    ),
    "methods": (
        "tacit.cli.methods:arguments",
        "List the methods: paper, place of the noise, losses, status, adjacencies.",
    ),
    "audit": ("tacit.cli.audit:arguments", "Measure the epsilon of a method by experiment."),
    "ledger": ("tacit.cli.ledger:arguments", "Make, show or verify a ledger: one budget for many releases."),
    "protocol": (
        "tacit.cli.protocol:protocol_arguments",
        "Fix a collection's public numbers, and say what it will guarantee.",
    ),
    "contribute": (
        "tacit.cli.protocol:contribute_arguments",
        "Perturb the records of a table: what may leave their owners.",
    ),
    "collect": ("tacit.cli.protocol:collect_arguments", "Add files of submissions to a database."),
    "train": ("tacit.cli.protocol:train_arguments", "Train a model on what a database holds."),
}
"""Every command: the function that gives a parser its options, ``run`` among its defaults, and what it does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0, 1 when a guarantee does not hold, 2 for an error."""
    charged: list[Any] = []
    try:
        options = _parser().parse_args(argv)  # which imports the command's module, and takes a while
        with _heard(charged):
            code: int = options.run(options)
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone; say no more
        return 2
    except OSError as error:
        sentence, code = f"{error.filename or 'file'}: {error.strerror or error}.", 2
    except (ValueError, ArithmeticError, ImportError, RecursionError, MemoryError) as error:
        sentence, code = str(error) or type(error).__name__, 2
    except KeyboardInterrupt:
        sentence, code = "interrupted.", 130
    spent = " The ledger has been charged." if charged else ""
    print(f"tacit: {sentence}{spent}", file=sys.stderr)
    return code


@contextmanager
def _heard(charged: list[Any]) -> Iterator[None]:
    """Warnings on stderr, and what ledgers are charged for in the list."""
    from tacit.ledger.listening import charges  # not at the top: --version and --help need none of what it brings
    from tacit.training import RefutedWarning

    with warnings.catch_warnings(), charges(charged):
        warnings.simplefilter("always", RefutedWarning)
        warnings.showwarning = lambda message, *rest: print(f"WARNING: {message}", file=sys.stderr)
        yield


class _Command(argparse.ArgumentParser):
    """The parser of one command, which learns its options from the command's module when it is first used."""

    def __init__(self, *, place: str, **settings: Any) -> None:
        super().__init__(**settings)
        self.place = place

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, or show the help, after the options were added."""
        place, self.place = self.place, ""
        if place:
            pkgutil.resolve_name(place)(self)
        return super().parse_known_args(args, namespace)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "tacit", description="Learning from private data, with a guarantee that anyone can check."
    )
    parser.add_argument("--version", action="version", version=f"tacit {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Command)
    for name, (place, about) in COMMANDS.items():
        commands.add_parser(name, help=about, description=about, place=place)
    return parser
