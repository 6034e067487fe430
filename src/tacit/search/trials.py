"""The run of a search: trials until a coin says stop; the best by its noisy score is all that leaves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context

from tacit.checks import PrivacyError, refuse
from tacit.data.people import People
from tacit.ledger import suspended
from tacit.ledger.listening import heard_by
from tacit.mechanisms.base import Plan
from tacit.privacy.events import Event
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Source, add_gaussian, choose, permutation
from tacit.search.accepted import name_of
from tacit.search.candidates import Settings, made
from tacit.search.scoring import summed
from tacit.types import Array, Solution

Events = tuple[Event, ...]


class Heard(Exception):
    """What a fit is about to release, raised in its place: a rehearsal ends with it, and nothing went wrong."""

    def __init__(self, guarantee: Guarantee) -> None:
        super().__init__()
        self.guarantee = guarantee


@dataclass(frozen=True)
class Trials:
    """The records, and what is tried on them; ``people``: whose rows ``groups`` says that they are."""

    estimator: Any
    candidates: tuple[Settings, ...]
    X: Any
    y: Any
    score: Callable[[Any, Any, Any], Array]
    groups: Any = None
    people: People | None = None

    @property
    def count(self) -> int:
        """Number of records, which is public: people, or rows."""
        return len(self.y) if self.people is None else self.people.count

    def fit(self, model: Any) -> None:
        """Fit a model to all records. Groups go to the private step, however scikit-learn routes them elsewhere."""
        own = {} if self.people is None else {name_of(model, "groups"): self.groups}
        with config_context(enable_metadata_routing=False):
            model.fit(self.X, self.y, **own)

    def exact(self, model: Any) -> float:
        """The exact score of a model: to be released with noise only."""
        return summed(self.score(model, self.X, self.y), self.people)

    def rehearsed(self, place: int, epsilon: float, delta: float) -> Guarantee:
        """What a candidate would promise with this budget: its fit ends where it would be charged."""

        def stop(guarantee: Guarantee) -> None:
            raise Heard(guarantee)

        model = made(self.estimator, self.candidates[place], epsilon=epsilon, delta=delta)
        try:
            with suspended(), heard_by(stop):
                self.fit(model)
        except Heard as heard:
            return heard.guarantee
        except PrivacyError as error:
            raise PrivacyError(f"The candidate {self.candidates[place]} has no such fit: {error}") from error
        refuse("This estimator states no guarantee before it trains. Use a private model of Tacit.")

    def fitted(self, place: int, epsilon: float, delta: float, source: Source, priced: Events) -> Any:
        """A candidate, fitted; ended before it releases anything but what was priced, once."""
        told: list[Events] = []

        def compare(guarantee: Guarantee) -> None:
            told.append(guarantee.events)
            if told != [priced]:
                refuse("A candidate is about to release something other than what this search was priced with.")

        seed = int(source.words(1)[0]) >> 1 if source.seeded else None
        model = made(self.estimator, self.candidates[place], epsilon=epsilon, delta=delta, random_state=seed)
        with suspended(), heard_by(compare):
            self.fit(model)
        if told != [priced]:
            refuse("A candidate has released nothing of what this search was priced with.")
        return model


class Best(NamedTuple):
    """The trial that is released."""

    place: int
    model: Any
    score: float


@dataclass(frozen=True, kw_only=True)
class SelectionPlan(Plan):
    """A calibrated search. ``fits`` are the candidates' own events; ``scale`` is the noise of a score, 0: no score."""

    fits: tuple[Events, ...]
    stop: float
    epsilon: float
    delta: float
    scale: float

    def run(self, problem: Trials, source: Source) -> Solution:
        """Trials until a coin of probability ``stop``; of equal scores the first stands, as a coin would have it.

        How many there were is not priced, so nothing may tell it: warnings are silenced, whatever they are about. What
        they say of settings was said in the rehearsals.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._trials(problem, source)

    def _trials(self, problem: Trials, source: Source) -> Solution:
        best: Best | None = None
        while True:
            place = int(permutation(source, len(self.fits))[0])
            model = problem.fitted(place, self.epsilon, self.delta, source, self.fits[place])
            found = Best(place, model, self._noisy(problem, model, source))
            best = found if best is None or found.score > best.score else best
            if choose(source, 1, self.stop)[0]:
                return Solution(np.array([best.score]), extras={"best": best})

    def _noisy(self, problem: Trials, model: Any, source: Source) -> float:
        """The score that a trial releases; a search of one trial has none."""
        if self.stop == 1:
            return float("nan")
        exact = np.array([problem.exact(model)])
        return float(add_gaussian(exact, self.scale, source)[0]) if self.scale else float(exact[0])
