"""What can be audited: a method by name, a scikit-learn-style estimator, a training function, two samplers.

Each becomes one thing: a function that gives as many independent runs on a data set as are asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from tacit import accounting
from tacit.audit.bounds import Profile, gaussian_profile
from tacit.audit.many import run_many
from tacit.audit.pairs import Data
from tacit.checks import check, refuse
from tacit.events import Event, Gaussian, PoissonGaussian
from tacit.fit import RefutedWarning
from tacit.losses import HuberHinge, Logistic, Softmax, Squared
from tacit.mechanisms import Mechanism, choose_method
from tacit.mechanisms.base import Plan
from tacit.noise import SeededSource
from tacit.problem import Problem, Records
from tacit.types import Array, Budget, Calibration, Facts, Loss

Train = Callable[[Array, Array, np.random.Generator], Any]
NO_NUMBER = 1e30
"""What stands for NaN in a run's parameters."""
LOSSES: dict[str, Callable[[], Loss]] = {
    "logistic": Logistic, "huber-hinge": HuberHinge, "squared": Squared, "softmax": lambda: Softmax(3),
}  # fmt: skip


class Subject(Protocol):
    """Something that trains."""

    @property
    def name(self) -> str:
        """What the result calls it."""

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Array:
        """Independent runs on one data set, as rows of parameters; runs of other seeds are independent of these."""


@dataclass(frozen=True)
class Trained:
    """A function ``train(X, y, rng) -> parameters``, called once a run."""

    train: Train
    name: str

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Array:
        """Call it with a fresh generator for each run."""
        seeds = np.random.SeedSequence(seed).spawn(trials)
        runs = [_flat(self.train(data.rows, data.targets, np.random.default_rng(s))) for s in seeds]
        sizes = {len(run) for run in runs}
        check(len(sizes) == 1 and 0 not in sizes, "Expected the function to return as many parameters in every run.")
        return _finite(np.stack(runs))


@dataclass(frozen=True)
class Batched:
    """A function ``train(X, y, rng, trials) -> runs x parameters`` that trains many independent models at once."""

    train: Callable[[Array, Array, np.random.Generator, int], Array]
    name: str = "batched function"

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Array:
        """One call."""
        runs = self.train(data.rows, data.targets, np.random.default_rng(np.random.SeedSequence(seed)), trials)
        return _finite(np.asarray(runs, dtype=np.float64).reshape(trials, -1))


@dataclass(frozen=True)
class Estimator:
    """An estimator with ``fit`` and, once fitted, ``coef_`` and perhaps ``intercept_``: ours or a stranger's."""

    model: Any
    name: str

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Array:
        """Clone and fit for each run; seeded where it takes a ``random_state``, else with its own randomness."""
        states = np.random.SeedSequence(seed).generate_state(trials)
        seeded = "random_state" in self.model.get_params() if hasattr(self.model, "get_params") else False
        runs = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for state in states:
                model = clone(self.model)
                if seeded:
                    model.set_params(random_state=int(state))
                model.fit(data.rows, data.targets)
                check(hasattr(model, "coef_"), "Expected the fitted estimator to have coef_. Audit a function instead.")
                runs.append(np.r_[_flat(model.coef_), _flat(getattr(model, "intercept_", ()))])
        return _finite(np.stack(runs))


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
        outputs = self.loss.classes if isinstance(self.loss, Softmax) else 1
        rows = np.ascontiguousarray(data.rows)
        return Problem(Records.build(rows, data.targets, self.clip, self.intercept), self.loss, outputs)

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Array:
        """Many runs at once."""
        return run_many(self.plan, self.problem(data), trials, SeededSource(seed))


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
    chosen: Loss = LOSSES[loss]() if isinstance(loss, str) else loss
    outputs = chosen.classes if isinstance(chosen, Softmax) else 1
    wide = features + (1 if intercept else 0)
    facts = Facts(records, wide, outputs, float(np.hypot(clip, intercept)), chosen, bool(intercept))
    name, mechanism, budget = choose_method(method, claimed, facts)
    unmet = mechanism.needs(facts, calibration)
    if unmet:
        refuse(unmet)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefutedWarning)
        plan = mechanism.calibrate(budget, facts, regularization, calibration)
    return Planned(plan, chosen, clip, intercept, f"{name}, {chosen.name} loss")


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

    low, high = 0.02, 50.0  # factors: delta(0) falls in them
    if accounting.delta(scaled(high), 0.0, claimed.adjacency) >= distance:
        return 0.0
    for _ in range(9):
        middle = float(np.sqrt(low * high))
        low, high = (
            (middle, high) if accounting.delta(scaled(middle), 0.0, claimed.adjacency) >= distance else (low, middle)
        )
    return accounting.epsilon(scaled(high), claimed.delta, claimed.adjacency)


def subject_of(train: Any, name: str | None = None) -> Subject:
    """The subject that an argument of :func:`tacit.audit.audit` stands for."""
    if isinstance(train, Planned | Trained | Batched | Estimator):
        return train
    if hasattr(train, "fit"):
        return Estimator(train, name or type(train).__name__)
    check(callable(train), "Expected a method's name, an estimator with fit, or a function train(X, y, rng).")
    return Trained(train, name or str(getattr(train, "__name__", "function")))


def _flat(parameters: Any) -> Array:
    try:
        return np.asarray(parameters, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        kind = type(parameters).__name__
    raise ValueError(f"Expected an array of numbers as the result of training, not {kind}: the parameters that go out.")


def _finite(runs: Array) -> Array:
    """NaN and infinity as far-away numbers: that a run gives them is an outcome like others, and may tell."""
    return np.nan_to_num(runs, nan=NO_NUMBER, posinf=NO_NUMBER, neginf=-NO_NUMBER)
