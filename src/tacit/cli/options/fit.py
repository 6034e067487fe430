"""The options of ``tacit fit``."""

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
    add_unreadable_option,
    epsilon_or_rest,
)
from tacit.types import CUTS

TASKS = ("classification", "svm", "regression", "poisson", "quantile")
PRECONDITIONS = ("auto", "yes", "no")
_NO_SCORE = (
    "No accuracy is printed, because a score computed on private records is a separate release with its own price. To "
    "see how good the model is, use `tacit evaluate` on held-out records; its scores are charged and have intervals."
)


def arguments(parser: Command) -> None:
    """What is trained on comes first, then the target, privacy, the method, and the rest."""
    parser.epilog = _NO_SCORE
    parser.example = "tacit fit people.csv --schema schema.toml --epsilon 1 --out model.json"
    add_table_options(parser)
    parser.add_argument(
        "--epsilon", type=epsilon_or_rest, required=True, metavar="NUMBER",
        help=f"the privacy budget: {EPSILON}; 'rest' is all that the ledger has left",
    )  # fmt: skip
    parser.add_argument("--out", required=True, metavar="MODEL.json", help="the file to write the model to")
    add_overwrite_option(parser)
    add_unreadable_option(parser)
    parser.add_argument(
        "--schema", metavar="SCHEMA.toml", help="public bounds and categories of the columns, a .toml or .json file"
    )
    parser.add_argument("--target", metavar="COLUMN", help="the column to predict (default: the schema's target)")
    parser.add_argument("--classes", type=_labels, metavar="A,B", help="all labels that the target may have (public)")
    parser.add_argument(
        "--target-bounds", type=float, nargs=2, metavar=("LOWER", "UPPER"), help="the range of a numeric target"
    )
    parser.add_argument(
        "--delta", type=float, metavar="NUMBER",
        help="the small probability that epsilon does not cover (default: the ledger's, or n**-1.5)",
    )  # fmt: skip
    add_adjacency_option(parser)
    parser.add_argument("--ledger", metavar="FILE", help=LEDGER)
    parser.add_argument("--label", metavar="TEXT", help=LABEL)
    parser.add_argument(
        "--report", metavar="PAGE.html",
        help="also write a page for the curator: guarantees, coefficients or the curves of --additive and, with "
        "--method individual, each record's own epsilon",
    )  # fmt: skip
    add_progress_option(parser)
    parser.add_argument("--seed", type=int, metavar="NUMBER", help=SEED)
    group = parser.add_argument_group("method")
    group.add_argument(
        "--task", choices=TASKS,
        help="the kind of model (default: classification for labels, regression for numbers)",
    )  # fmt: skip
    group.add_argument(
        "--quantile", type=float, metavar="Q", help="with --task quantile: between 0 and 1 (default: 0.5, the median)"
    )
    group.add_argument(
        "--typical", type=float, metavar="COUNT", help="with --task poisson: a typical count (default: UPPER / 10)"
    )
    group.add_argument("--method", default="auto", metavar="NAME", help="one of `tacit methods` (default: auto)")
    group.add_argument(
        "--calibration", choices=("proven", "paper"), default="proven",
        help="use the noise that a proof requires, or that of a paper, which may be too little (default: proven)",
    )  # fmt: skip
    group.add_argument(
        "--precondition", choices=PRECONDITIONS, default="auto",
        help="spend a part of the budget on whitening the rows (default: auto, a rule that uses public facts only)",
    )  # fmt: skip
    group.add_argument(
        "--clip", type=float, default=1.0, metavar="NORM", help="longer rows are scaled down to this norm (default: 1)"
    )
    group.add_argument("--dask", metavar="ADDRESS", help="read on the workers of this Dask scheduler: tcp://host:8786")
    _add_people_options(parser)
    _add_additive_options(parser)
    parser.set_defaults(run=Later("tacit.cli.fit:run"))


def _add_people_options(parser: Command) -> None:
    """Whose rows they are, and how much each counts."""
    group = parser.add_argument_group("people and weights")
    add_unit_options(group)
    group.add_argument("--weight", metavar="COLUMN", help="says how much each row counts")
    group.add_argument(
        "--weight-bound", type=float, default=1.0, metavar="NUMBER", help="larger weights are cut to this (default: 1)"
    )
    group.add_argument(
        "--class-weight",
        metavar="A=W,B=W",
        help="declared weights of the classes, as in yes=5,no=1; or 'balanced': all classes weigh the same, and "
        "counting them is charged",
    )


def _add_additive_options(parser: Command) -> None:
    """The options of additive models; what is not given is left to the estimator."""
    group = parser.add_argument_group(
        "additive models", "models with one curve for each column; columns and bounds are those of --schema"
    )
    group.add_argument("--additive", action="store_true", help="train a curve for each column instead of a line")
    group.add_argument("--kind", choices=("knots", "bins"), help="straight pieces or steps (default: knots)")
    group.add_argument(
        "--slots", type=int, metavar="N", help="pieces of each curve (default: a rule from n, epsilon and the columns)"
    )
    group.add_argument(
        "--cuts",
        choices=CUTS,
        help="where curves are cut into pieces; 'private' is charged (default: auto, which may choose 'private')",
    )
    group.add_argument(
        "--pairs", metavar="A:B,C:D", help="add these pairs of columns, or a number of pairs to find, which is charged"
    )


def _labels(text: str) -> tuple[str | int, ...]:
    parts = [part.strip() for part in text.split(",")]
    try:
        return tuple(int(part) for part in parts)
    except ValueError:
        return tuple(parts)
