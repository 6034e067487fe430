"""The options of the commands about what files promise: ``tacit verify`` and ``tacit statement``."""

from __future__ import annotations

from tacit.cli.command import Command, Later

CAUTION = (
    "This confirms that the recorded noise gives the recorded epsilon. It cannot show that the noise was drawn or that "
    "the records were clipped; for that you have to trust whoever trained the model. The checksum detects damage, but "
    "it is not a signature."
)


def verify_arguments(parser: Command) -> None:
    """The options of ``tacit verify``."""
    parser.epilog = CAUTION
    parser.example = "tacit verify model.json"
    parser.add_argument(
        "file", nargs="+", metavar="FILE",
        help="a model, pipeline, network, guarantee, ledger, or what `tacit evaluate` or `tacit describe` wrote; "
        "several of them, or a pattern in quotes: 'models/*.json'",
    )  # fmt: skip
    parser.set_defaults(run=Later("tacit.cli.verify:run"))


def statement_arguments(parser: Command) -> None:
    """The options of ``tacit statement``."""
    parser.epilog = "If anything speaks against a release, the statement begins with it, and the exit code is 1."
    parser.example = "tacit statement model.json --html statement.html"
    parser.add_argument(
        "file", nargs="+", metavar="FILE",
        help="a model, a network, a guarantee or a ledger; or several of them, or a pattern in quotes: 'models/*.json'",
    )  # fmt: skip
    parser.add_argument("--html", metavar="PAGE.html", help="write a page, to print or to pass on, instead of the text")
    parser.add_argument("--json", action="store_true", help="print JSON, with the fields of the deployments registry")
    parser.set_defaults(run=Later("tacit.cli.statement:run"))
