"""The options of ``tacit demo``."""

from __future__ import annotations

from tacit.cli.command import Command, Later
from tacit.cli.options.shared import add_progress_option


def arguments(parser: Command) -> None:
    """The page, and how much is said meanwhile."""
    parser.example = "tacit demo --out report.html"
    parser.add_argument(
        "--out", default="report.html", metavar="REPORT.html",
        help="the page to write; the made-up table, hospital.csv, and its schema go beside it (default: report.html)",
    )  # fmt: skip
    add_progress_option(parser)
    parser.set_defaults(run=Later("tacit.cli.demo:run"))
