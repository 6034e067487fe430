"""What an additive model's terms say: each with how much it moves the score, in the order of that, and in whose units.

All of it is computed from the released model, and costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tacit.estimators.additive import Additive
from tacit.estimators.terms import WIDTH, Term, parts_of
from tacit.linear.losses import probabilities
from tacit.types import Array

MOST_PICTURES = 60
"""Terms that are drawn; those that matter less are in the tables alone."""
BAND = (
    "The band around a curve, or the bar around a dot, covers 95% of the noise that was added for privacy, estimated "
    "generously: where other noise would have put the curve, on the same records. It does not show how another sample "
    "of people would have come out."
)
NO_BAND = (
    "There are no bands: for this method it is not known how far the noise that was added for privacy moves the curves."
)
CARE = (
    "Columns that carry the same information share one effect, and how they share it may change from fit to fit: read "
    "their curves together. A curve shows what the model does, not what causes what."
)
SPREAD = (
    "Spread: how far the column moves the score from one record to another (the standard deviation of its curve, "
    "weighted by released sums where there are any, otherwise evenly over its slots). Noise: how much of that may be "
    "due to noise alone, estimated generously."
)


@dataclass(frozen=True)
class Effect:
    """A term, the standard deviation of its curve over the records, and that of the noise in it where it is known."""

    term: Term
    spread: float
    noise: float | None

    @property
    def lines(self) -> Iterator[tuple[str, float, float | None, float | None]]:
        """Label, value and interval of each slot."""
        term = self.term
        nothing = (None,) * len(term.values)
        return zip(term.labels, term.values, term.lower or nothing, term.upper or nothing, strict=True)


@dataclass(frozen=True)
class Effects:
    """The terms of one output of a model, those first that matter most."""

    title: str
    unit: str
    start: str
    """What the score is where all terms are 0, in words."""
    effects: tuple[Effect, ...]

    @classmethod
    def of(cls, model: Additive) -> tuple[Self, ...]:
        """Of each output of a fitted model: one, or one per class where there are more than two."""
        offsets = np.atleast_1d(model.offset_)
        parts = [model.slot_weights_[slots] for _, slots in parts_of(model.schema_)]
        found = []
        for output, offset in enumerate(offsets):
            terms = model.terms_[output :: len(offsets)]
            effects = [_effect(term, weights) for term, weights in zip(terms, parts, strict=True)]
            ranked = tuple(sorted(effects, key=lambda effect: -effect.spread))
            found.append(cls(*_words(model, output, float(offset)), ranked))
        return tuple(found)

    @property
    def known(self) -> bool:
        """Whether the interval of the noise is."""
        return all(effect.noise is not None for effect in self.effects)

    @property
    def largest(self) -> float:
        """The largest spread that is a number, or 1."""
        return max((effect.spread for effect in self.effects if 0 < effect.spread < math.inf), default=1.0)


def _words(model: Any, output: int, offset: float) -> tuple[str, str, str]:
    """Title, unit and start. A score is the log odds where the loss has no margin, and only there."""
    classes = vars(model).get("classes_")
    if classes is None:
        target = model.schema_.target
        name = "the target" if target is None else target.name
        return "", f"adds to {name}", f"Every prediction starts at {offset:.4g}, in the units of {name}."
    label = classes[output if len(classes) > 2 else 1]
    start = f"Every record starts at the score {offset:+.2f}"
    if len(classes) > 2:
        return f"Score of {label}", f"score of {label}", f"{start}. The class with the largest score is predicted."
    scores = np.array([offset, -2.0, -1.0, 1.0, 2.0])
    chances = probabilities(np.stack([-scores / 2, scores / 2], axis=1), model.margin_)[:, 1]
    first, *others = (f"{chance:.0%}" for chance in chances)
    start += f", a probability of {first} for {label}, and each column adds to the score. "
    start += f"Scores of -2, -1, 1 and 2 are probabilities of {', '.join(others[:3])} and {others[3]}."
    return "", f"score of {label}" if model.margin_ else f"log odds of {label}", start


def _effect(term: Term, weights: Array) -> Effect:
    noise = None
    if term.upper is not None:
        noise = _deviation((np.array(term.upper) - np.array(term.values)) / WIDTH, weights)
    return Effect(term, _deviation(np.array(term.values), weights), noise)


def _deviation(values: Array, weights: Array) -> float:
    """Root mean square: curves have mean 0. Edges: infinite where a square is beyond all numbers."""
    with np.errstate(all="ignore"):
        found = math.sqrt(weights @ values**2)
    return found if found >= 0 else math.inf
