"""``tacit audit``: one method, or the table of all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tacit.audit.all_methods import audit_all, audit_method, markdown, to_json
from tacit.audit.canaries import CANARIES
from tacit.checks import check, check_count
from tacit.cli.console import progress
from tacit.types import Budget


def run(options: argparse.Namespace) -> int:
    """Run it: 0 when all claims are consistent with what was measured, 1 when one is violated, also if only for a
    trainer that is Gaussian."""
    check(options.all != (options.method is not None), "Name a method, or give --all.")
    claimed = Budget(options.epsilon, options.delta, options.adjacency)
    with progress(options.progress) as show:
        show(f"Auditing {options.method or 'all methods'}")
        if options.all:
            rows = audit_all(
                claimed, seconds=options.seconds or 8.0, confidence=options.confidence, seed=options.seed, say=_say,
                workers=check_count("workers", options.workers), progress=show,
            )  # fmt: skip
        else:
            losses = [options.loss] if options.loss else None
            row = audit_method(
                options.method, claimed, losses=losses, seconds=options.seconds or 1.8, confidence=options.confidence,
                seed=options.seed, say=_say, progress=show,
                canaries=CANARIES if options.canaries is None else options.canaries,
            )  # fmt: skip
            rows = [row]
    if not options.all:
        for result in rows[0].results:
            print(result)
        if rows[0].exact is not None:
            print(f"exact epsilon over one-dimensional pairs: {rows[0].exact:.4g}")
    table = markdown(rows, claimed, options.confidence)
    for place in options.out or ():
        text = table
        if place.endswith(".json"):
            text = to_json(rows, claimed, options.confidence)
        elif place.endswith(".svg"):
            check(not options.all, "A picture is of one method. Leave out --all, or write a .md or .json file.")
            text = rows[0].worst.picture()
        Path(place).write_text(text, encoding="utf-8")
        print(f"Wrote {place}.", file=sys.stderr)
    if options.all:
        print(table)
    return int(any(result.verdict != "consistent" for row in rows for result in row.results))


def _say(text: str) -> None:
    """What is under way, on a line of its own."""
    print(text, file=sys.stderr, flush=True)
