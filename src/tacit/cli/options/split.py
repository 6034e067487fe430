"""The options of ``tacit split``."""

from __future__ import annotations

from tacit.cli.command import Command, Later
from tacit.cli.options.shared import add_overwrite_option, add_progress_option, add_table_options

_FILE = "a .csv, .csv.gz or .parquet file"


def arguments(parser: Command) -> None:
    """The table, then whose rows stay together, and the two files."""
    parser.epilog = (
        "Chance alone decides, and nothing that a row says. Both files are as private as the table. Keep the second "
        "for `tacit evaluate`: scores on rows that a model was trained on are too good."
    )
    parser.example = "tacit split visits.csv --person patient --test 0.2 --out-train train.csv --out-test heldout.csv"
    add_table_options(parser)
    parser.add_argument("--out-train", required=True, metavar="TRAIN.csv", help=f"{_FILE} to train on")
    parser.add_argument("--out-test", required=True, metavar="TEST.csv", help=f"{_FILE} to score on")
    parser.add_argument(
        "--test", type=float, default=0.2, metavar="SHARE", help="the share of the second file, about (default: 0.2)"
    )
    parser.add_argument(
        "--person", metavar="COLUMN", help="says whom each row is about; all rows of a person go to one file"
    )
    add_overwrite_option(parser)
    add_progress_option(parser)
    parser.set_defaults(run=Later("tacit.cli.split:run"))
