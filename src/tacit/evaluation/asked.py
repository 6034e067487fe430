"""Which scores there are, which of them a model can have, and what has to be released for those that are asked for.

One table serves several scores, and weights follow from how far one unit of noise moves a score: an area under the
curve by 4/n and a log loss by 4.6/n where a share of all records moves by 1/n, so their sums weigh twice as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.checks import check, names_in, shown
from tacit.evaluation.summary import Layout, Part
from tacit.types import Adjacency

TENTHS = 10
"""Cells of the predicted probability in a calibration curve."""
_ANY, _TWO, _RANKED, _LIKELY = "two or more classes", "two classes", "two classes and a score", "probabilities"
_TWO_LIKELY, _NUMBERS = "two classes and probabilities", "numbers"
METRICS = {
    "accuracy": _ANY, "balanced_accuracy": _ANY, "recall": _TWO, "precision": _TWO, "auc": _RANKED,
    "log_loss": _LIKELY, "calibration": _TWO_LIKELY, "confusion": _ANY, "rmse": _NUMBERS, "mae": _NUMBERS,
    "bias": _NUMBERS, "r2": _NUMBERS,
}  # fmt: skip
"""Every score, and what a model must give for it to have a meaning."""
ONE_SIDED = ("recall", "precision", "calibration")
"""Scores of one of two classes, the positive one. An area under the curve is the same for both."""
SHARES = ("accuracy", "balanced_accuracy", "recall", "precision", "auc")
"""Scores between 0 and 1, one number each."""
IN_UNITS = ("rmse", "mae", "bias")
"""Scores in the units of the target."""
_OF_TABLE = {"recall", "precision", "balanced_accuracy", "confusion"}
_MOMENTS = (
    Part.number("y", 0.5, -0.5, 0.5),
    Part.number("y2", 2.0, -0.125, 0.125),
    Part.number("y3", 1.0, -0.125, 0.125),
    Part.number("y4", 1.0, 0.0, 0.0625),
    Part.number("y_error", 0.5, -0.5, 0.5),
    Part.number("y2_error", 1.0, 0.0, 0.25),
)
"""Of the target in units of its range, for R^2; those of higher order tell its sampling variance, roughly."""


@dataclass(frozen=True)
class Kind:
    """What a model gives: how many classes (None: numbers), a score of the second class, probabilities."""

    classes: int | None
    ranked: bool = False
    likely: bool = False

    def gives(self, need: str) -> bool:
        """Whether scores with this need have a meaning for the model."""
        two = self.classes == 2
        found = {
            _ANY: self.classes is not None, _TWO: two, _RANKED: two and self.ranked, _LIKELY: self.likely,
            _TWO_LIKELY: two and self.likely, _NUMBERS: self.classes is None,
        }  # fmt: skip
        return found[need]

    def default(self) -> tuple[str, ...]:
        """Scores for somebody who asks for none."""
        if self.classes is None:
            return ("rmse", "r2")
        if self.classes > 2:
            return ("accuracy", "balanced_accuracy")
        return ("accuracy", "recall", "precision", *(("auc",) if self.ranked else ()))


def asked(metrics: Any, kind: Kind) -> tuple[str, ...]:
    """The names of the scores, each once, or a sentence that says which cannot be had."""
    if metrics is None:
        return kind.default()
    names = tuple(dict.fromkeys(names_in("metrics", [metrics] if isinstance(metrics, str) else metrics)))
    check(names, "Expected at least one name in metrics, as in ['accuracy', 'auc'].")
    for name in names:
        check(name in METRICS, f"There is no score {shown(name)}. Choose metrics among {', '.join(METRICS)}.")
        fitting = [other for other, need in METRICS.items() if kind.gives(need)]
        check(
            kind.gives(METRICS[name]),
            f"The score {name!r} is for models with {METRICS[name]}. This one can have {', '.join(fitting)}.",
        )
    return names


def positive_of(positive: Any, classes: Any) -> int:
    """The place among a model's classes of the one that recall, precision and calibration are of; None: the last."""
    if positive is None:
        return len(classes or ()) - 1
    check(
        classes is not None and len(classes) == 2,
        "positive= chooses one of two classes, and this model does not have two. Leave it out.",
    )
    found = isinstance(positive, str | int | float | np.generic | type(classes[0])) and positive in classes
    known = " and ".join(map(shown, classes))
    check(found, f"Expected positive={shown(positive)} to be one of the model's classes, {known}.")
    return int(classes.index(positive))


def layout_of(names: tuple[str, ...], kind: Kind, adjacency: Adjacency) -> Layout:
    """The parts that these scores need, from public facts alone."""
    wanted, classes = set(names), kind.classes or 0
    whole = "confusion" in wanted or (classes == 2 and bool(wanted & _OF_TABLE))
    parts: list[Part] = []
    if whole:
        parts.append(Part.table("confusion", classes**2, 1.0))
    elif "balanced_accuracy" in wanted:
        parts.append(Part.table("recalls", 2 * classes, 1.0))
    if "accuracy" in wanted and not (whole and classes == 2):
        parts.append(Part.table("right", 2, 1.0))
    if "auc" in wanted:
        parts += [Part("ranks", 1, 2.0, 1.0, 0.625), Part("ranks_squared", 1, 2.0, 1 / 3, 1 / 3)]
        parts += [] if whole else [Part.table("classes", 2, 1.0)]
    if "calibration" in wanted:
        parts.append(Part.table("calibration", 2 * TENTHS, 2.0))
    if "log_loss" in wanted:
        parts += _mean("loss", 2.0)
    if wanted & {"rmse", "r2"}:
        parts += _mean("error", 1.0)
    if "mae" in wanted:
        parts += _mean("absolute", 1.0)
    if "bias" in wanted:
        parts += _mean("bias", 1.0)
    if "r2" in wanted:
        parts += _MOMENTS
    if adjacency == "add-remove" and wanted & {"log_loss", "rmse", "mae", "bias", "r2"}:
        parts.append(Part("count", 1, 0.5, 0.0, 1.0))
    return tuple(parts)


def _mean(name: str, weight: float) -> tuple[Part, Part]:
    """Of numbers in [0, 1], measured from the middle: their sum, and that of their squares for its variance."""
    return Part.number(name, weight, -0.5, 0.5), Part.number(f"{name}_squared", weight, 0.0, 0.25)
