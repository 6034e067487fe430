"""The options of ``tacit evaluate``."""

from __future__ import annotations

import argparse

from tacit.cli.command import Command, Later
from tacit.cli.options.shared import (
    EPSILON,
    LABEL,
    LEDGER,
    SEED,
    add_adjacency_option,
    add_overwrite_option,
    add_progress_option,
    add_table_options,
    add_unit_options,
    add_unreadable_option,
    epsilon_or_rest,
)


def arguments(parser: Command) -> None:
    """The model and the table, then what the scores may cost, and which they are."""
    parser.epilog = (
        "Intervals account for sampling and noise. They are valid only for records that the model was not trained on."
    )
    parser.example = "tacit evaluate model.json others.csv --epsilon 0.5"
    parser.add_argument("model", metavar="MODEL", help="a file that `tacit fit` or tacit.save wrote")
    add_table_options(parser)
    parser.add_argument(
        "--epsilon", type=epsilon_or_rest, required=True, metavar="NUMBER",
        help=f"the privacy budget of the scores: {EPSILON}; 'rest' is all that the ledger has left",
    )  # fmt: skip
    parser.add_argument(
        "--metrics", metavar="A,B", help="the scores to compute (default: the usual ones for the model)"
    )
    parser.add_argument(
        "--positive", metavar="LABEL",
        help="which of two classes recall, precision and calibration are of (default: the last in alphabetical or "
        "numerical order)",
    )  # fmt: skip
    parser.add_argument(
        "--level", type=float, default=0.95, metavar="SHARE", help="confidence of the intervals (default: 0.95)"
    )
    parser.add_argument("--out", metavar="SCORES.json", help="also write the scores and their guarantee to this file")
    add_overwrite_option(parser)
    add_unreadable_option(parser)
    parser.add_argument(
        "--target", metavar="COLUMN", help="the column that the model predicts (default: the schema's target)"
    )
    parser.add_argument(
        "--target-bounds", type=float, nargs=2, metavar=("LOWER", "UPPER"), help="the range of a numeric target"
    )
    parser.add_argument(
        "--delta", type=float, metavar="NUMBER",
        help="the small probability that epsilon does not cover (default: the ledger's, or n**-1.5; without a ledger, "
        "add-remove needs it)",
    )  # fmt: skip
    add_adjacency_option(parser)
    add_unit_options(parser)
    parser.add_argument("--groups", dest="person", help=argparse.SUPPRESS)  # what it was called at first
    parser.add_argument("--ledger", metavar="FILE", help=LEDGER)
    parser.add_argument("--label", metavar="TEXT", help=f"{LABEL} (default: the model's file and its checksum)")
    add_progress_option(parser)
    parser.add_argument("--seed", type=int, metavar="NUMBER", help=SEED)
    parser.set_defaults(run=Later("tacit.cli.evaluate:run"))
