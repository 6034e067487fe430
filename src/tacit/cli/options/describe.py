"""The options of ``tacit describe``."""

from __future__ import annotations

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
    epsilon_or_rest,
)


def arguments(parser: Command) -> None:
    """The table and the price, then what is known of the columns, and the rest."""
    parser.example = "tacit describe people.csv --schema schema.toml --epsilon 1"
    add_table_options(parser)
    parser.add_argument(
        "--epsilon", type=epsilon_or_rest, required=True, metavar="NUMBER",
        help=f"the privacy budget: {EPSILON}; 'rest' is all that the ledger has left",
    )  # fmt: skip
    parser.add_argument("--out", metavar="TABLE.json", help="also write numbers, schema and guarantee to this file")
    parser.add_argument(
        "--schema", metavar="SCHEMA.toml",
        help="public bounds and categories, a .toml or .json file; without it, they are found for a part of the budget",
    )  # fmt: skip
    parser.add_argument(
        "--write-schema", metavar="FOUND.toml", help="write the schema that was found, for `tacit fit --schema`"
    )
    add_overwrite_option(parser)
    parser.add_argument("--target", metavar="COLUMN", help="with --write-schema: the column that a model will predict")
    parser.add_argument(
        "--missing", action="append", default=[], metavar="TEXT",
        help="stands for a missing cell, such as n/a; may be given more than once",
    )  # fmt: skip
    parser.add_argument(
        "--level", type=float, default=0.95, metavar="SHARE", help="confidence of the intervals (default: 0.95)"
    )
    parser.add_argument(
        "--delta", type=float, metavar="NUMBER",
        help="the small probability that epsilon does not cover (default: the ledger's, or n**-1.5; without a ledger, "
        "add-remove needs it)",
    )  # fmt: skip
    add_adjacency_option(parser)
    add_unit_options(parser)
    parser.add_argument("--ledger", metavar="FILE", help=LEDGER)
    parser.add_argument("--label", metavar="TEXT", help=LABEL)
    add_progress_option(parser)
    parser.add_argument("--seed", type=int, metavar="NUMBER", help=SEED)
    parser.set_defaults(run=Later("tacit.cli.describe:run"), weight=None)
