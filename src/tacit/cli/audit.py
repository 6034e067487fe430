"""``tacit audit``: one method, or the table of all."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tacit.audit.all_methods import audit_all, audit_method, markdown, to_json
from tacit.audit.canaries import CANARIES, NETWORKS
from tacit.checks import check, check_count
from tacit.types import ADJACENCIES, Budget

_ABOUT = (
    "Measures a lower bound on the epsilon of a method, by training it thousands of times on two data sets that differ "
    "in one record and telling the results apart. 'violated' is a proof, at the stated confidence, that a claim is "
    "false; 'consistent' is not a proof that it is true. A network (mlp; it needs the extra 'torch') is trained "
    "once, with many canaries of which a random half is in."
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to ``tacit``."""
    part = commands.add_parser("audit", help="Measure the epsilon of a method by experiment.", description=_ABOUT)
    part.add_argument("method", nargs="?", help=f"a name from `tacit methods`, or {', '.join(NETWORKS)}")
    part.add_argument(
        "--all", action="store_true", help="audit every method under both adjacencies and write the table"
    )
    part.add_argument("--epsilon", type=float, default=1.0, help="the claim; default: 1")
    part.add_argument("--delta", type=float, default=1e-5, help="default: 1e-5; 0 is used for pure methods")
    part.add_argument("--adjacency", choices=ADJACENCIES, default="replace-one")
    part.add_argument("--loss", help="one loss only; default: all that the method takes")
    part.add_argument(
        "--seconds", type=float, default=None, help="time for one audit; default: 1.8 (with --all: 8); not for networks"
    )
    part.add_argument("--canaries", type=int, default=CANARIES, help=f"for networks; default: {CANARIES}")
    part.add_argument("--confidence", type=float, default=0.999)
    part.add_argument("--seed", type=int, help="makes an audit repeatable")
    part.add_argument("--workers", type=int, default=1, help="with --all: audits at a time; default: 1")
    part.add_argument(
        "--out",
        metavar="FILE",
        action="append",
        help="write the table as text or .json, or the picture of one audit as .svg; may be given more than once",
    )
    part.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run it: 0 when all claims are consistent with what was measured, 1 when one is violated, also if only for a
    trainer that is Gaussian."""
    check(options.all != (options.method is not None), "Name a method, or give --all.")
    claimed = Budget(options.epsilon, options.delta, options.adjacency)
    if options.all:
        rows = audit_all(
            claimed, seconds=options.seconds or 8.0, confidence=options.confidence, seed=options.seed, say=_say,
            workers=check_count("workers", options.workers),
        )  # fmt: skip
    else:
        losses = [options.loss] if options.loss else None
        rows = [
            audit_method(
                options.method, claimed, losses=losses, seconds=options.seconds or 1.8, confidence=options.confidence,
                seed=options.seed, say=_say, progress=_bar if sys.stderr.isatty() else None,
                canaries=options.canaries,
            )
        ]  # fmt: skip
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
    print(f"{text:<78}" if sys.stderr.isatty() else text, file=sys.stderr, flush=True)


def _bar(stage: str, part: float) -> None:
    """A progress bar that overwrites itself."""
    done = int(30 * part)
    end = "" if part < 1 else "\r"
    print(f"\r[{'#' * done}{'.' * (30 - done)}] {stage:<40}", end=end, file=sys.stderr, flush=True)
