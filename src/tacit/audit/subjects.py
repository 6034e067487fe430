"""What can be audited: methods (:mod:`tacit.audit.planned`), functions, two samplers, and black boxes that are watched
first (:mod:`tacit.audit.observed`).

Each becomes one thing: a function that gives as many independent runs on a data set as are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arguments import check_fields
from tacit.audit.blackbox import BlackBox, Estimator, Trained
from tacit.audit.outcomes import Runs
from tacit.audit.pairs import Data, Pair
from tacit.checks import check, shown
from tacit.types import Array

Seed = tuple[int, ...]


class Subject(ABC):
    """Something that trains. ``name`` is what the result calls it."""

    name: str

    @abstractmethod
    def draw(self, data: Data, trials: int, seed: Seed) -> Runs:
        """Independent runs on one data set; runs of other seeds are independent of these."""

    def draw_both(self, pair: Pair, trials: int, seeds: tuple[Seed, Seed]) -> tuple[Runs, Runs]:
        """So many runs on each side."""
        return self.draw(pair.first, trials, seeds[0]), self.draw(pair.second, trials, seeds[1])

    def direction(self, pair: Pair) -> Array:
        """Where, in the space of the runs' first numbers, the two sides of a pair should differ."""
        return pair.direction

    def unchanging(self, first: Runs, second: Runs) -> tuple[str, ...]:
        """Names of what showed no noise where users would see it; see :class:`tacit.audit.observed.Observed`."""
        return ()


@dataclass(frozen=True)
class Batched(Subject):
    """A function ``train(X, y, rng, trials) -> runs x parameters`` that trains many independent models at once."""

    train: Callable[[Array, Array, np.random.Generator, int], Array]
    name: str = "batched function"

    def __post_init__(self) -> None:
        check_fields(self)
        check(
            callable(self.train), f"Expected train to be a function train(X, y, rng, trials), not {shown(self.train)}."
        )

    def draw(self, data: Data, trials: int, seed: Seed) -> Runs:
        """One call."""
        runs = self.train(data.rows, data.targets, np.random.default_rng(np.random.SeedSequence(seed)), trials)
        return Runs.of(np.asarray(runs, dtype=np.float64).reshape(trials, -1))


RecordSampler = Callable[[np.random.Generator, int], Array]
_FIRST, _SECOND = Data(np.zeros((1, 1)), np.zeros(1)), Data(np.ones((1, 1)), np.zeros(1))
TWO_RECORDS = Pair("two records", "", _FIRST, _SECOND, np.zeros(1))
"""Stands for the two records that a pair of samplers privatises, which only they know."""


def of_samplers(first: RecordSampler, second: RecordSampler) -> Batched:
    """Two functions, each of which draws so many outputs for one record, as a subject to be run on ``TWO_RECORDS``."""

    for name, draw in (("first", first), ("second", second)):
        check(callable(draw), f"Expected {name} to be a function draw(rng, trials), not {shown(draw)}.")

    def train(rows: Array, targets: Array, rng: np.random.Generator, trials: int) -> Array:
        return (second if rows[0, 0] else first)(rng, trials)

    return Batched(train, "local")


def subject_of(train: Any, name: str | None = None, ignore: Sequence[str] = ()) -> Subject | BlackBox:
    """What an argument of :func:`tacit.audit.audit` stands for."""
    check(not isinstance(train, type), "Expected train to be an estimator, not its class: add () after it.")
    given, fits = isinstance(train, Subject | BlackBox), hasattr(train, "fit")
    check(
        not ignore or (fits and not given),
        "Expected ignore with an estimator only: nothing else has attributes that are compared.",
    )
    if isinstance(train, Subject | BlackBox):
        return train
    if fits:
        return Estimator(train, name or type(train).__name__, tuple(ignore))
    check(
        callable(train), "Expected train to be a method's name, an estimator with fit, or a function train(X, y, rng)."
    )
    return Trained(train, name or str(getattr(train, "__name__", "function")))
