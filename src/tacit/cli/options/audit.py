"""The options of ``tacit audit``."""

from __future__ import annotations

from tacit.cli.command import Command, Later
from tacit.cli.options.shared import add_adjacency_option, add_progress_option

_ABOUT = (
    "Measures a lower bound on the epsilon of a method: it trains the method thousands of times on two data sets that "
    "differ in one record, and tries to distinguish the results. 'violated' is evidence, at the stated confidence, "
    "that a claim is false; 'consistent' is not a proof that it is true. A network (mlp, with the extra 'torch') is "
    "trained once, with many canaries, of which a random half is in the data."
)


def arguments(parser: Command) -> None:
    """What is audited, then the claim, and how long it takes."""
    parser.description = _ABOUT
    parser.example = "tacit audit output --epsilon 1 --seconds 10"
    parser.add_argument("method", nargs="?", metavar="METHOD", help="a name from `tacit methods`, or mlp")
    parser.add_argument(
        "--all", action="store_true", help="audit every method under both adjacencies, and print the table"
    )
    parser.add_argument("--epsilon", type=float, default=1.0, metavar="NUMBER", help="the claim (default: 1)")
    parser.add_argument(
        "--delta",
        type=float,
        default=1e-5,
        metavar="NUMBER",
        help="the delta of the claim (default: 1e-5; 0 for pure methods)",
    )
    add_adjacency_option(parser)
    parser.add_argument(
        "--loss", metavar="NAME", help="audit with this loss only (default: all that the method accepts)"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="NUMBER",
        help="time for one audit, except that of a network (default: 1.8; with --all: 8)",
    )  # fmt: skip
    parser.add_argument("--canaries", type=int, metavar="N", help="for networks (default: 1000)")
    parser.add_argument(
        "--confidence", type=float, default=0.999, metavar="SHARE", help="confidence of the bound (default: 0.999)"
    )
    parser.add_argument("--seed", type=int, metavar="NUMBER", help="makes the audit repeatable")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="with --all: audits at a time (default: 1)")
    parser.add_argument(
        "--out", metavar="FILE", action="append",
        help="write the table as text or .json, or the picture of one audit as .svg; may be repeated",
    )  # fmt: skip
    add_progress_option(parser)
    parser.set_defaults(run=Later("tacit.cli.audit:run"))
