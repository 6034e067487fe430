"""The options of a collection's commands: ``tacit protocol``, ``contribute``, ``collect`` and ``train``."""

from __future__ import annotations

import argparse

from tacit.cli.command import Command, Later
from tacit.cli.options.shared import (
    EPSILON,
    LEDGER,
    SEED,
    add_csv_options,
    add_overwrite_option,
    add_progress_option,
)


def protocol_arguments(parser: Command) -> None:
    """The options of ``tacit protocol``."""
    parser.example = "tacit protocol --schema schema.toml --epsilon 1 --delta 1e-6 --cohort 20000 --out protocol.json"
    parser.add_argument(
        "--schema", required=True, metavar="SCHEMA.toml", help="public bounds and categories, with a target"
    )
    parser.add_argument(
        "--epsilon", type=float, required=True, metavar="NUMBER", help=f"the privacy budget of the model: {EPSILON}"
    )
    parser.add_argument(
        "--delta", type=float, required=True, metavar="NUMBER", help="the delta of the model; well below 1/n"
    )
    parser.add_argument(
        "--cohort", type=int, required=True, metavar="N", help="the smallest number of contributors that you rely on"
    )
    parser.add_argument("--out", required=True, metavar="PROTOCOL.json", help="the file to write the protocol to")
    parser.add_argument(
        "--record-epsilon", type=float, metavar="NUMBER",
        help="protect each record this much even from the collector; smaller values need a larger crowd",
    )  # fmt: skip
    parser.add_argument(
        "--honest", type=float, metavar="SHARE",
        help="share of contributors whose noise the model's guarantee relies on (default: 0.9; 1 relies on everyone)",
    )  # fmt: skip
    parser.add_argument(
        "--radius", type=float, metavar="NORM", help="bound on the norm of the weights (default: chosen by a rule)"
    )
    parser.add_argument(
        "--clip", type=float, default=1.0, metavar="NORM", help="longer rows are scaled down to this norm (default: 1)"
    )
    parser.add_argument(
        "--surrogate", choices=("paper", "least-squares"), default="paper",
        help="the quadratic that stands in for the loss (default: paper)",
    )  # fmt: skip
    parser.add_argument(
        "--calibration", choices=("proven", "paper"), default="proven",
        help="the noise that a proof asks for, or that a paper prints, which may not hold (default: proven)",
    )  # fmt: skip
    parser.add_argument(
        "--withdrawal", action="store_true", help="let contributors withdraw a submission until the model is trained"
    )
    parser.add_argument("--purpose", default="", metavar="TEXT", help="a sentence for the people who are asked")
    add_overwrite_option(parser)
    parser.add_argument("--force", action="store_true", dest="overwrite", help=argparse.SUPPRESS)  # its first name
    parser.set_defaults(run=Later("tacit.cli.protocol:protocol"))


def contribute_arguments(parser: Command) -> None:
    """The options of ``tacit contribute``."""
    parser.example = "tacit contribute mine.csv --protocol protocol.json --out submissions.jsonl"
    parser.add_argument("data", metavar="DATA", help="a CSV or Parquet table, one row per person")
    parser.add_argument("--protocol", required=True, metavar="PROTOCOL.json", help="the protocol of the collection")
    parser.add_argument(
        "--out", required=True, metavar="SUBMISSIONS.parquet", help="a .parquet file, or .jsonl for lines of JSON"
    )
    add_overwrite_option(parser)
    add_progress_option(parser)
    parser.add_argument("--seed", type=int, metavar="NUMBER", help=SEED)
    add_csv_options(parser)
    parser.set_defaults(run=Later("tacit.cli.protocol:contribute"))


def collect_arguments(parser: Command) -> None:
    """The options of ``tacit collect``."""
    parser.example = "tacit collect submissions.jsonl --protocol protocol.json --database collection.sqlite"
    parser.add_argument("files", nargs="*", metavar="SUBMISSIONS", help="files that `tacit contribute` wrote")
    parser.add_argument("--protocol", required=True, metavar="PROTOCOL.json", help="the protocol of the collection")
    parser.add_argument(
        "--database", required=True, metavar="DATABASE.sqlite", help="the database that they are added to"
    )
    parser.add_argument("--status", action="store_true", help="show what is in the database; needs no files")
    add_progress_option(parser)
    parser.set_defaults(run=Later("tacit.cli.protocol:collect"))


def train_arguments(parser: Command) -> None:
    """The options of ``tacit train``."""
    parser.example = "tacit train --protocol protocol.json --database collection.sqlite --out model.json"
    parser.add_argument("--protocol", required=True, metavar="PROTOCOL.json", help="the protocol of the collection")
    parser.add_argument(
        "--database", required=True, metavar="DATABASE.sqlite", help="the database that `tacit collect` filled"
    )
    parser.add_argument(
        "--out", required=True, metavar="MODEL.json",
        help="the file to write the model to; the guarantee of one record is written beside it, to MODEL.record.json",
    )  # fmt: skip
    add_overwrite_option(parser)
    parser.add_argument(
        "--short", choices=("top-up", "refuse"), default="top-up",
        help="with too few contributors: add the missing noise, or refuse (default: top-up)",
    )  # fmt: skip
    parser.add_argument(
        "--accept-record-guarantee", action="store_true",
        help="train a changed database again; all its models together then have the guarantee of one record only",
    )  # fmt: skip
    parser.add_argument("--ledger", metavar="FILE", help=LEDGER)
    add_progress_option(parser)
    parser.set_defaults(run=Later("tacit.cli.protocol:train"))
