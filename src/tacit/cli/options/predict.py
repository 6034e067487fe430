"""The options of ``tacit predict``."""

from __future__ import annotations

from tacit.cli.command import Command, Later
from tacit.cli.options.shared import add_progress_option, add_table_options


def arguments(parser: Command) -> None:
    """The model and the table, then what is written."""
    parser.example = "tacit predict model.json new.csv --out predictions.csv"
    parser.add_argument("model", metavar="MODEL", help="a file that `tacit fit`, `tacit train` or tacit.save wrote")
    add_table_options(parser)
    parser.add_argument("--out", metavar="FILE", help="a .csv, .csv.gz or .parquet file (default: print CSV)")
    parser.add_argument(
        "--keep", action="append", metavar="COLUMN",
        help="copy this column next to the predictions, so that they can be joined; may be repeated",
    )  # fmt: skip
    parser.add_argument("--proba", action="store_true", help="add a column 'probability of CLASS' for each class")
    add_progress_option(parser)
    parser.set_defaults(run=Later("tacit.cli.predict:run"))
