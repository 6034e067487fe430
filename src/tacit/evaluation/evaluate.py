"""How good a model is: all scores that are asked for, by one release, each with an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from tacit.arguments import checked
from tacit.checks import check, check_range, check_real
from tacit.data.canonical import column
from tacit.data.curator import FEW, note
from tacit.estimators.base import budget_of, source_from
from tacit.estimators.regression import PrivateRegressor
from tacit.estimators.streaming import Asked
from tacit.estimators.tabled import last_step
from tacit.evaluation import amounts, ratios
from tacit.evaluation.asked import IN_UNITS, asked, layout_of, positive_of
from tacit.evaluation.in_batches import Batches
from tacit.evaluation.judged import judged_labels, judged_numbers, kind_of, taken
from tacit.evaluation.scores import Evaluation, Score
from tacit.evaluation.summary import Layout, Summary, calibrate_summary, check_rows
from tacit.ledger import Ledger, ledger_of
from tacit.ledger.listening import labelled
from tacit.privacy.theorems import SCORES
from tacit.settings import described
from tacit.streams.scanned import is_stream
from tacit.training import Prepared, state, train
from tacit.types import ADJACENCIES, Adjacency, Array

_SCORES: dict[str, Callable[[Summary, float], Score]] = {
    "accuracy": ratios.accuracy, "balanced_accuracy": ratios.balanced_accuracy, "recall": ratios.recall,
    "precision": ratios.precision, "auc": ratios.auc, "log_loss": amounts.log_loss,
    "calibration": ratios.calibration, "confusion": ratios.confusion, "rmse": amounts.rmse,
    "mae": amounts.mae, "bias": amounts.bias, "r2": amounts.r2,
}  # fmt: skip
Range = tuple[float, float]
ALONE = "the model predicts each row from that row and public facts alone"
_HANDFUL = "scores of {records} records: with fewer than {few}, they are mostly noise, or protect hardly anyone."
_NO_DELTA = (
    "Under add-remove neighbours the number of records is private, so delta does not follow from it: give delta=, well "
    "below one over the number of people you expect, or a ledger."
)


@described
@checked
def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: float | Literal["rest"],
    delta: float | None = None,
    metrics: Any = None,
    level: float = 0.95,
    adjacency: Adjacency = "replace-one",
    bounds: tuple[float, float] | None = None,
    positive: Any = None,
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    label: str = "",
    random_state: Any = None,
) -> Evaluation:
    """Score a fitted model on private records: one release for all scores, each with an interval.

    If the model was trained on the same records, the costs of both releases add up. Under 'add-remove' the number of
    records is private: give ``delta``, or a ledger. There, and with ``groups``, a model that is neither one of
    Tacit's linear or additive ones nor a pipeline of Tacit's own steps is asked about one row at a time.

    Edges: mistakes are refused before anything is spent. Where a denominator is lost in the noise, the interval is the
    whole range, and the value is NaN: unknown.

    Parameters
    ----------
    model : fitted estimator
        A model of Tacit, or any other that has ``predict``.
    X : array-like, data frame, :func:`tacit.scan` or files
        The rows, as for ``fit``.
    y : array-like, name of a column or None
        The targets, as for ``fit``. For files and scans the name of a column; None: the schema's target.
    metrics : sequence of str or None
        Names among 'accuracy', 'balanced_accuracy', 'recall', 'precision', 'auc', 'log_loss', 'calibration' and
        'confusion' for classes, 'rmse', 'mae', 'bias' and 'r2' for numbers. None: the usual ones for the model.
    level : float
        The level of the intervals, which cover the model's expected score on the population that the records were drawn
        from: sampling and noise together. They have that meaning only for records that the model was not trained on.
    bounds : pair of floats or None
        The declared range of targets that are numbers. None: the ``target_bound`` of a model of Tacit.
    positive : label or None
        Which of two classes recall, precision and calibration are of. None: the last of the model's ``classes_``, which
        are sorted. The price does not depend on it.
    groups : array-like, name of a column or None
        The person whom each row is about; scores are then means over people. For files and scans the name of a column,
        and the table is sorted by it.
    """
    check(0 < check_real("level", level) < 1, f"Expected level={level} to be between 0 and 1, as in 0.95.")
    kind = kind_of(model)
    names = asked(metrics, kind)
    classes = None if kind.classes is None else tuple(np.asarray(model.classes_).tolist())
    sought = positive_of(positive, classes)
    check(adjacency in ADJACENCIES, f"Expected adjacency={adjacency!r} to be one of {ADJACENCIES}.")
    counted = adjacency == "replace-one"
    check(counted or delta is not None or ledger_of(ledger) is not None, _NO_DELTA)
    low, high = _range(model, bounds) if kind.classes is None else (0.0, 1.0)
    check(
        kind.classes is None or bounds is None,
        "bounds= is the range of targets that are numbers; this model predicts classes.",
    )
    layout = layout_of(names, kind, adjacency)
    open_table = _streamed if is_stream(X) and not isinstance(X, np.memmap) else _in_memory
    question = _Question(model, rows_per_person, adjacency, set(names), (low, high), sought)
    given = open_table(question, X, y, groups)
    budget, source = budget_of(epsilon, delta, adjacency, given.people, ledger), source_from(random_state)
    cut = (f"targets and predictions clipped to [{low:g}, {high:g}]",) if kind.classes is None else ()
    plan = calibrate_summary(layout, budget, (ALONE, *given.words, *cut))
    prepared = state(
        plan, given.people if counted else 0, budget, method="evaluation", seeded=source.seeded,
        rows_per_person=given.most, protects=SCORES,
    )  # fmt: skip
    sums = given.sums(layout)  # before anything is spent: a row may be refused
    with labelled(label):
        solution = train(prepared, lambda released: sums, source, _nothing, ledger=ledger)
    if given.people < FEW:
        note(_HANDFUL.format(records=given.people, few=FEW))
    summary = Summary(plan, solution.weights, given.people if counted else None, sought)
    quantile = float(ndtri(0.5 + 0.5 * level))
    scores = {name: _SCORES[name](summary, quantile) for name in names}
    scores |= {name: scores[name].times(high - low) for name in IN_UNITS if name in scores}
    named = classes[sought] if classes is not None and len(classes) == 2 else None
    return Evaluation(scores, float(level), prepared.guarantee, classes, named)


class _Question(NamedTuple):
    """What is asked of a table: which scores of which model, between which bounds, for rows or for people."""

    model: Any
    rows_per_person: Any
    adjacency: Adjacency
    metrics: set[str]
    bounds: Range
    sought: int


class _Table(NamedTuple):
    """A table and a model: how many people, the most rows of one, words about them, and the sums of a layout."""

    people: int
    most: int | None
    words: tuple[str, ...]
    sums: Callable[[Layout], Array]


def _in_memory(question: _Question, X: Any, y: Any, groups: Any) -> _Table:
    y = _one_column(y)
    check_rows(len(y))
    given, model = taken(groups, len(y), question.rows_per_person, question.adjacency), question.model
    sums: Callable[[Layout], Array] = (
        judged_labels(model, X, y, question.metrics, given, question.sought)
        if hasattr(model, "classes_")
        else judged_numbers(model, X, y, question.bounds, given)
    )
    return _Table(given.people, given.most, given.words, sums)


def _streamed(question: _Question, X: Any, y: Any, groups: Any) -> _Table:
    named = Asked.of(X, y, groups, None)
    check_rows(named.scan.rows)
    found = Batches.of(
        question.model, named, question.metrics, question.bounds, question.sought, question.rows_per_person,
        question.adjacency == "replace-one",
    )  # fmt: skip
    return _Table(found.people, found.most, found.words, found.sums)


def _one_column(y: Any) -> Any:
    """Labels or numbers, one per row."""
    found = np.asarray(column(y))
    found = found.ravel() if found.ndim == 2 and found.shape[1] == 1 else found
    check(found.ndim == 1, "Expected y to contain one label or number for each row.")
    return found


def _range(model: Any, bounds: Any) -> tuple[float, float]:
    """The declared range of the targets: given here, or when the model was made, alone or at a pipeline's end."""
    last = last_step(model)
    if bounds is None and isinstance(last, PrivateRegressor):
        return last._range()
    check(bounds is not None, "Declare the range of the targets: bounds=(lower, upper), public numbers, not from y.")
    check(np.shape(bounds) == (2,), "Expected bounds=(lower, upper), two numbers.")
    low, high = (check_real("each of bounds", end) for end in bounds)
    check(low < high, f"Expected bounds=({low:g}, {high:g}) to be lower < upper.")
    check_range(f"bounds=({low:g}, {high:g})", low, high)
    return low, high


def _nothing(prepared: Prepared) -> None:
    """The guarantee is handed over with the scores; a ledger has it before they exist."""
