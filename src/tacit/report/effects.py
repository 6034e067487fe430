"""What an additive model's terms say: each with how much it moves the score, in the order of that, and in whose units.

All of it is computed from the released model, and costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tacit.estimators.additive import Additive
from tacit.estimators.terms import WIDTH, Term, listed_slots, parts_of
from tacit.report.scored import outputs
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
    "Spread: how far the column moves the result from one record to another, in the unit of the pictures (the standard "
    "deviation of its curve, weighted by released sums where there are any, otherwise evenly). Values that the schema "
    "does not list, which are together called other, are left out of it: often no record has one."
)
NOISE = "Noise: how much of the spread may be due to noise alone, estimated generously."
FROM_TO = (
    "From and to are the ends of the band: with other noise the number would have come out between them, 95 times out "
    "of 100."
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
        parts = [_weights(listed_slots(part), model.slot_weights_[slots]) for part, slots in parts_of(model.schema_)]
        found = []
        for output, title, unit, start, _, sign in outputs(model, model.schema_.target, offsets.tolist()):
            terms = [_turned(term) if sign < 0 else term for term in model.terms_[output :: len(offsets)]]
            effects = [_effect(term, weights) for term, weights in zip(terms, parts, strict=True)]
            ranked = tuple(sorted(effects, key=lambda effect: -effect.spread))
            found.append(cls(title, unit, start, ranked))
        return tuple(found)

    @property
    def known(self) -> bool:
        """Whether the interval of the noise is."""
        return all(effect.noise is not None for effect in self.effects)

    @property
    def largest(self) -> float:
        """The largest spread that is a number, or 1."""
        return max((effect.spread for effect in self.effects if 0 < effect.spread < math.inf), default=1.0)


def _turned(term: Term) -> Term:
    """The term of the other one of two classes."""
    lower, upper = (None if row is None else tuple(-value for value in row) for row in (term.upper, term.lower))
    return replace(term, values=tuple(-value for value in term.values), lower=lower, upper=upper)


def _weights(listed: NDArray[np.bool_], weights: Array) -> Array:
    """The weights of the slots that the schema lists, which add up to 1; evenly where they have none."""
    kept = np.where(listed, weights, 0.0) if weights[listed].any() else listed.astype(np.float64)
    return np.asarray(kept / kept.sum())


def _effect(term: Term, weights: Array) -> Effect:
    values, noise = np.array(term.values), None
    if term.upper is not None:
        noise = _root((np.array(term.upper) - values) / WIDTH, weights)
    with np.errstate(all="ignore"):
        return Effect(term, _root(values - weights @ values, weights), noise)


def _root(values: Array, weights: Array) -> float:
    """Root mean square. Edges: infinite where a square is beyond all numbers."""
    with np.errstate(all="ignore"):
        found = math.sqrt(weights @ values**2)
    return found if found >= 0 else math.inf
