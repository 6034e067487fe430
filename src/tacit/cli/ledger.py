"""``tacit ledger``: make a ledger, show what was spent on what, and recompute it from its events."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tacit.checks import PrivacyError, at_most, check
from tacit.cli.console import print_table
from tacit.ledger.book import Ledger
from tacit.ledger.store import store_at
from tacit.types import ADJACENCIES

_CAUTION = (
    "This confirms that the recorded releases keep the budget together, and that no entry was changed or removed in "
    "between. That every release was charged, and that the noise was drawn, is for the curator to say; whoever can "
    "write to the ledger could write another one from the start. Keep the digest elsewhere: --digest finds that."
)
_BAR = 30


def arguments(parser: argparse.ArgumentParser) -> None:
    """The three commands and their options."""
    commands = parser.add_subparsers(required=True, metavar="create|show|verify", parser_class=argparse.ArgumentParser)
    create = commands.add_parser("create", help="make a ledger", description="Make a ledger with a budget for good.")
    create.add_argument("file", metavar="FILE", help="a new file, or postgresql://user@host/database")
    create.add_argument("--epsilon", type=float, required=True, help="for all releases together")
    create.add_argument("--delta", type=float, required=True, help="for all releases together; well below 1/n")
    create.add_argument("--adjacency", choices=ADJACENCIES, default="replace-one")
    create.add_argument(
        "--rows-per-person", type=int, metavar="M", help="protect people with up to M rows; default: rows"
    )
    create.set_defaults(run=run_create)
    show = commands.add_parser("show", help="what was spent on what", description="Print and draw what was spent.")
    show.add_argument("file", metavar="FILE")
    show.set_defaults(run=run_show)
    verify = commands.add_parser(
        "verify", help="recompute all of it", description="Recompute a ledger from its events."
    )
    verify.add_argument("file", metavar="FILE")
    verify.add_argument("--digest", help="one that was noted, of this or an earlier state")
    verify.set_defaults(run=run_verify)


def run_create(options: argparse.Namespace) -> int:
    """Make a ledger where there is none."""
    store = store_at(options.file)
    check(not store.exists(), f"{store.name} is there already. Give another name.")
    ledger = Ledger(options.file, options.epsilon, options.delta, options.adjacency, options.rows_per_person)
    print(ledger.balance())
    return 0


def run_show(options: argparse.Namespace) -> int:
    """Print every entry with a bar: its part of the budget."""
    ledger = Ledger(options.file)
    entries = ledger.entries
    road, parts = ledger.settings.roads.shares([entry.price for entry in entries])
    rows = [
        [
            f"{entry.number}", entry.time, entry.label or "-", entry.guarantee.method,
            at_most(entry.guarantee.epsilon_at(delta=ledger.delta)), "SEEDED" if entry.guarantee.seeded else "",
            *_drawn(part),
        ]
        for entry, part in zip(entries, parts, strict=True)
    ]  # fmt: skip
    if rows:
        rows.append(["", "", "all", "", at_most(ledger.spent()), "", *_drawn(sum(parts))])
        alone = f"epsilon at {ledger.delta:.3g}"
        print_table(["", "time", "label", "method", alone, "", "part", f"of the budget ({road} filter)"], rows)
        print()
    print(ledger.balance())
    return 0


def _drawn(part: float) -> tuple[str, str]:
    """A part of the budget as a number and as a bar; a first release may take more than a filter has, and all of it."""
    whole = min(part, 1.0)
    return f"{100 * whole:.3g}%", "█" * max(1, round(_BAR * whole))


def run_verify(options: argparse.Namespace) -> int:
    """Verify a ledger: 1 when it does not hold."""
    try:
        balance = Ledger(options.file).verify(options.digest)
    except PrivacyError as error:
        print(f"tacit: NOT VERIFIED. {error}", file=sys.stderr)
        return 1
    print(f"{balance}\n\nVERIFIED. {_CAUTION}")
    return 0


def is_ledger(file: str) -> bool:
    """Whether this names a ledger: the address of a server, or a file of SQLite."""
    if "://" in file:
        return True
    path = Path(file)
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(15) == b"SQLite format 3"
