"""``tacit audit``: one method, or the table of all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tacit.audit.all_methods import audit_all, audit_method, markdown, to_json
from tacit.audit.canaries import CANARIES, NETWORKS
from tacit.checks import check, check_count
from tacit.cli.console import progress
from tacit.types import ADJACENCIES, Budget

_ABOUT = (
    "Measures a lower bound on the epsilon of a method, by training it thousands of times on two data sets that differ "
    "in one record and telling the results apart. 'violated' is a proof, at the stated confidence, that a claim is "
    "false; 'consistent' is not a proof that it is true. A network (mlp; it needs the extra 'torch') is trained "
    "once, with many canaries of which a random half is in."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.description = _ABOUT
    parser.add_argument("method", nargs="?", help=f"a name from `tacit methods`, or {', '.join(NETWORKS)}")
    parser.add_argument(
        "--all", action="store_true", help="audit every method under both adjacencies and write the table"
    )
    parser.add_argument("--epsilon", type=float, default=1.0, help="the claim; default: 1")
    parser.add_argument("--delta", type=float, default=1e-5, help="default: 1e-5; 0 is used for pure methods")
    parser.add_argument("--adjacency", choices=ADJACENCIES, default="replace-one")
    parser.add_argument("--loss", help="one loss only; default: all that the method takes")
    parser.add_argument(
        "--seconds", type=float, default=None, help="time for one audit; default: 1.8 (with --all: 8); not for networks"
    )
    parser.add_argument("--canaries", type=int, default=CANARIES, help=f"for networks; default: {CANARIES}")
    parser.add_argument("--confidence", type=float, default=0.999)
    parser.add_argument("--seed", type=int, help="makes an audit repeatable")
    parser.add_argument("--workers", type=int, default=1, help="with --all: audits at a time; default: 1")
    parser.add_argument(
        "--out",
        metavar="FILE",
        action="append",
        help="write the table as text or .json, or the picture of one audit as .svg; may be given more than once",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run it: 0 when all claims are consistent with what was measured, 1 when one is violated, also if only for a
    trainer that is Gaussian."""
    check(options.all != (options.method is not None), "Name a method, or give --all.")
    claimed = Budget(options.epsilon, options.delta, options.adjacency)
    with progress() as show:
        show(f"Auditing {options.method or 'all methods'}")
        if options.all:
            rows = audit_all(
                claimed, seconds=options.seconds or 8.0, confidence=options.confidence, seed=options.seed, say=_say,
                workers=check_count("workers", options.workers),
            )  # fmt: skip
        else:
            losses = [options.loss] if options.loss else None
            row = audit_method(
                options.method, claimed, losses=losses, seconds=options.seconds or 1.8, confidence=options.confidence,
                seed=options.seed, say=_say, progress=show, canaries=options.canaries,
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
