"""What can be audited: a method by name, a scikit-learn-style estimator, a training function, two samplers.

Each becomes one thing: a function that gives as many independent runs on a data set as are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tacit.audit.intervals import Profile, gaussian_profile
from tacit.audit.many import run_many
from tacit.audit.outcomes import Runs
from tacit.audit.pairs import Data
from tacit.audit.strangers import Estimator, Trained
from tacit.checks import check
from tacit.linear.losses import LOSSES
from tacit.linear.problem import Problem, Records
from tacit.mechanisms import Mechanism, choose_method
from tacit.mechanisms.base import Plan
from tacit.privacy import accounting
from tacit.privacy.events import Event, Gaussian, PoissonGaussian
from tacit.privacy.noise import SeededSource
from tacit.rounding import geometric, narrow
from tacit.training import calibrate
from tacit.types import Array, Budget, Calibration, Facts, Loss

_LOSSES: dict[str, Loss] = {loss.name: loss for loss in LOSSES}


class Subject(Protocol):
    """Something that trains."""

    @property
    def name(self) -> str:
        """What the result calls it."""

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Runs:
        """Independent runs on one data set; runs of other seeds are independent of these."""


@dataclass(frozen=True)
class Batched:
    """A function ``train(X, y, rng, trials) -> runs x parameters`` that trains many independent models at once."""

    train: Callable[[Array, Array, np.random.Generator, int], Array]
    name: str = "batched function"

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Runs:
        """One call."""
        runs = self.train(data.rows, data.targets, np.random.default_rng(np.random.SeedSequence(seed)), trials)
        return Runs.of(np.asarray(runs, dtype=np.float64).reshape(trials, -1))


@dataclass(frozen=True)
class Planned:
    """A method of Tacit, calibrated once for a public number of records; runs are batched."""

    plan: Plan
    loss: Loss
    clip: float
    intercept: float
    name: str

    def problem(self, data: Data) -> Problem:
        """The problem that the plan trains on."""
        rows = np.ascontiguousarray(data.rows)
        return Problem(Records.build(rows, data.targets, self.clip, self.intercept), self.loss, self.loss.outputs)

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Runs:
        """Many runs at once."""
        return Runs.of(run_many(self.plan, self.problem(data), trials, SeededSource(seed)))


def planned(
    method: str | Mechanism,
    claimed: Budget,
    *,
    loss: str | Loss = "logistic",
    records: int,
    features: int,
    clip: float = 1.0,
    intercept: float = 0.0,
    regularization: float | None = None,
    calibration: Calibration = "proven",
) -> Planned:
    """A method calibrated to the claim, for this many records and columns."""
    check(not isinstance(loss, str) or loss in _LOSSES, f"Unknown loss {loss!r}. Known: {', '.join(_LOSSES)}.")
    chosen: Loss = _LOSSES[loss] if isinstance(loss, str) else loss
    wide = features + (1 if intercept else 0)
    facts = Facts(records, wide, chosen.outputs, float(np.hypot(clip, intercept)), chosen, bool(intercept))
    decided = choose_method(method, claimed, facts, calibration)
    plan = calibrate(facts, decided, regularization, calibration)
    return Planned(plan, chosen, clip, intercept, f"{decided.name}, {chosen.name} loss")


def profile_of(events: tuple[Event, ...], claimed: Budget) -> tuple[str, Profile] | None:
    """The sharper bound that the events of a plan allow, if any: a name, and total variation distance -> epsilon.

    Gaussian events are a Gaussian mechanism. With Poisson sampling the family has the same events with all noise
    scaled; its distance is delta(0). Other events have no tight distance, and Clopper-Pearson is used.
    """
    kinds = {type(event) for event in events}
    if kinds == {Gaussian}:
        return "gaussian", gaussian_profile(claimed.delta)
    if kinds and kinds <= {Gaussian, PoissonGaussian}:
        return "profile", lambda distance: _scaled_epsilon(events, claimed, distance)
    return None


def _scaled_epsilon(events: tuple[Event, ...], claimed: Budget, distance: float) -> float:
    """Epsilon of the same events with noise scaled until their distance delta(0) is the measured one; rounded down."""
    if distance <= 0:
        return 0.0

    known = [event for event in events if isinstance(event, Gaussian | PoissonGaussian)]

    def scaled(factor: float) -> tuple[Event, ...]:
        return tuple(replace(event, scale=event.scale * factor) for event in known)

    def far(factor: float) -> bool:
        return accounting.delta(scaled(factor), 0.0, claimed.adjacency) >= distance

    if far(50.0):
        return 0.0
    factor = narrow(far, 0.02, 50.0, halvings=9, middle=geometric)[1]
    return accounting.epsilon(scaled(factor), claimed.delta, claimed.adjacency)


Known = Planned | Batched | Estimator | Trained


def subject_of(train: Any, name: str | None = None, ignore: Sequence[str] = ()) -> Known:
    """The subject that an argument of :func:`tacit.audit.audit` stands for."""
    check(not isinstance(train, type), "Expected an estimator, not its class: put () behind it.")
    check(
        not ignore or (hasattr(train, "fit") and not isinstance(train, Known)),
        "Expected ignore with an estimator only: nothing else has attributes that are compared.",
    )
    if isinstance(train, Known):
        return train
    if hasattr(train, "fit"):
        return Estimator(train, name or type(train).__name__, tuple(ignore))
    check(callable(train), "Expected a method's name, an estimator with fit, or a function train(X, y, rng).")
    return Trained(train, name or str(getattr(train, "__name__", "function")))
