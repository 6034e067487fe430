"""``tacit ledger``: make a ledger, show what was spent on what, and recompute it from its events."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tacit.checks import PrivacyError, at_most, check
from tacit.cli.console import print_table, width
from tacit.cli.terminal import show
from tacit.ledger.book import Ledger
from tacit.ledger.store import store_at

_CAUTION = (
    "This confirms that the recorded releases keep the budget together, and that no entry was changed or removed in "
    "between. The curator has to vouch that every release was charged and that the noise was drawn."
)
_UNNOTED = (
    "Anyone who can write to the ledger could rewrite it from the start; to detect this, keep the digest elsewhere and "
    "check it with --digest."
)
_NOTED = "The ledger went through the state with the digest that you gave: what was recorded until then is unchanged."
_BAR = 30
_WIDE, _NARROW = 110, 72
"""Columns of a terminal that are enough for the bars, and too few for a table."""


def run_create(options: argparse.Namespace) -> int:
    """Make a ledger where there is none."""
    store = store_at(options.file)
    check(not store.exists(), f"{store.name} already exists. Choose another name.")
    ledger = Ledger(options.file, options.epsilon, options.delta, options.adjacency, options.rows_per_person)
    show(ledger.balance())
    return 0


def run_show(options: argparse.Namespace) -> int:
    """Print every entry with a bar: its part of the budget."""
    ledger = Ledger(options.file)
    entries, balance = ledger.entries, ledger.balance()
    used, parts = ledger.settings.filters.shares([entry.price for entry in entries])
    rows = [
        [
            f"{entry.number}", entry.time.replace("T", " ").removesuffix("+00:00"),
            (entry.label or "-") + (" (SEEDED)" if entry.guarantee.seeded else ""), entry.guarantee.method,
            at_most(entry.epsilon_at(ledger.delta)), *_drawn(part),
        ]
        for entry, part in zip(entries, parts, strict=True)
    ]  # fmt: skip
    if rows:
        rows.append(["", "", "all", "", balance.spent_in_digits, *_drawn(sum(parts))])
        header = ["", "time (UTC)", "label", "method", "epsilon", "part", "of the budget"]
        shown = len(header) if width() >= _WIDE else len(header) - 1  # without the bar
        print_table(header[:shown], [row[:shown] for row in rows], lines_below=_NARROW)
        show(
            f"\nepsilon: of each release alone, at delta = {ledger.delta:.3g}.\n"
            f"part: of the budget, as the ledger's filter counts it ({used}). Parts add up; epsilons do not.\n"
            "left: the largest epsilon that one more release may have; it also depends on the kinds of those above.\n"
        )
    show(balance)
    return 0


def _drawn(part: float) -> tuple[str, str]:
    """A part of the budget as a number and as a bar; a first release may take more than a filter has, and all of it."""
    whole = min(part, 1.0)
    return f"{100 * whole:.3g}%" if whole == 1 or whole < 0.9995 else ">99.9%", "█" * max(1, round(_BAR * whole))


def run_verify(options: argparse.Namespace) -> int:
    """Verify a ledger: 1 when it does not hold."""
    return verify_ledger(options.file, options.digest)


def verify_ledger(file: str, digest: str | None = None) -> int:
    """Verify a ledger, and that it went through the state with this digest."""
    try:
        balance = Ledger(file).verify(digest)
    except PrivacyError as error:
        print(f"tacit: NOT VERIFIED. {error}", file=sys.stderr)
        return 1
    show(balance, f"VERIFIED. {_CAUTION} {_UNNOTED if digest is None else _NOTED}")
    return 0


def named_files(names: Sequence[str]) -> list[str]:
    """Each file once: those of a pattern, those that are named, and addresses of servers."""
    from tacit.streams.opened import found  # brings all of streams along, which no other ledger command needs

    return list(
        dict.fromkeys(
            place
            for name in names
            for place in ([name] if "://" in name or Path(name).exists() else map(str, found(name)))
        )
    )


def is_ledger(file: str) -> bool:
    """Whether this names a ledger: the address of a server, or a file of SQLite."""
    if "://" in file:
        return True
    path = Path(file)
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(15) == b"SQLite format 3"
