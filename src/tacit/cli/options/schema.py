"""The options of ``tacit schema``."""

from __future__ import annotations

from tacit.cli.command import Command, Later
from tacit.cli.options.shared import (
    DATA,
    EPSILON,
    LABEL,
    LEDGER,
    SEED,
    add_adjacency_option,
    add_csv_options,
    add_overwrite_option,
    add_progress_option,
    add_unit_options,
    epsilon_or_rest,
)


def arguments(parser: Command) -> None:
    """The options of the command."""
    parser.epilog = (
        "A schema to fill in is written from the first line alone: no cell is read. `tacit schema check SCHEMA.toml "
        "[DATA ...]` checks what you filled in, and `--private` finds bounds and categories in the table, for a price."
    )
    parser.example = "tacit schema people.csv --numbers age,income --target ill --out people.toml"
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help=f"{DATA}; or the word 'check', then a schema and, if you like, a table"
    )
    parser.add_argument("--out", metavar="SCHEMA.toml", help="a new file (default: standard output)")
    add_overwrite_option(parser)
    parser.add_argument("--numbers", action="append", metavar="A,B", help="columns of numbers")
    parser.add_argument("--categories", action="append", metavar="C,D", help="columns of categories")
    parser.add_argument("--target", metavar="COLUMN", help="the column that a model will predict")
    parser.add_argument(
        "--missing", action="append", default=[], metavar="TEXT",
        help="text that means a missing cell, such as n/a; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--curator", action="store_true",
        help="with check: also count the cells that do not fit. NOT PRIVATE: only for whoever holds the records",
    )  # fmt: skip
    add_progress_option(parser)
    group = parser.add_argument_group("finding bounds and categories in the table, for a part of the budget")
    group.add_argument("--private", action="store_true", help="fill in the schema from noisy counts of the records")
    group.add_argument(
        "--epsilon", type=epsilon_or_rest, metavar="NUMBER",
        help=f"the privacy budget: {EPSILON}; 'rest' is all that the ledger has left",
    )  # fmt: skip
    group.add_argument(
        "--delta", type=float, metavar="NUMBER",
        help="the small probability that epsilon does not cover (default: the ledger's, or n**-1.5; without a ledger, "
        "add-remove needs it)",
    )  # fmt: skip
    group.add_argument("--ledger", metavar="FILE", help=LEDGER)
    group.add_argument("--label", metavar="TEXT", help=LABEL)
    group.add_argument("--seed", type=int, metavar="NUMBER", help=SEED)
    add_unit_options(group)
    add_adjacency_option(group)
    add_csv_options(parser)
    parser.set_defaults(run=Later("tacit.cli.schema:run"), weight=None)
