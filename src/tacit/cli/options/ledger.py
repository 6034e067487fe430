"""The commands of ``tacit ledger``, and their options."""

from __future__ import annotations

from tacit.cli.command import Command, Later
from tacit.cli.options.shared import add_adjacency_option

_FILE = "the ledger: a file, or postgresql://user@host/database"


def arguments(parser: Command) -> None:
    """Create, show, verify."""
    parser.example = "tacit ledger create study.sqlite --epsilon 3 --delta 1e-6"
    commands = parser.add_subparsers(required=True, metavar="create|show|verify")
    create = commands.add_parser(
        "create", help="create a ledger", description="Create a ledger. Its budget cannot be changed later."
    )
    create.example = parser.example
    create.add_argument("file", metavar="FILE", help="a new file, or postgresql://user@host/database")
    create.add_argument(
        "--epsilon", type=float, required=True, metavar="NUMBER",
        help="the budget of all releases together: 1 to 3 is usual for a study; see the page 'Choosing epsilon'",
    )  # fmt: skip
    create.add_argument(
        "--delta", type=float, required=True, metavar="NUMBER", help="for all releases together; well below 1/n"
    )
    add_adjacency_option(create)
    create.add_argument(
        "--rows-per-person", type=int, metavar="M", help="protect people with up to M rows each (default: single rows)"
    )
    create.set_defaults(run=Later("tacit.cli.ledger:run_create"))
    show = commands.add_parser(
        "show", help="show what was spent on what", description="Show every release and its share of the budget."
    )
    show.example = "tacit ledger show study.sqlite"
    show.add_argument("file", metavar="FILE", help=_FILE)
    show.set_defaults(run=Later("tacit.cli.ledger:run_show"))
    verify = commands.add_parser(
        "verify", help="recompute what was spent", description="Recompute what was spent, from the recorded events."
    )
    verify.example = "tacit ledger verify study.sqlite"
    verify.add_argument("file", metavar="FILE", help=_FILE)
    verify.add_argument("--digest", metavar="TEXT", help="a digest that you noted, of this or an earlier state")
    verify.set_defaults(run=Later("tacit.cli.ledger:run_verify"))
