"""The words of the house: what is public, what is asked for, and the contracts between the rooms.

Nothing here computes on records. ``epsilon`` and ``delta`` mean privacy and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_choice, check_real, shown

Array = NDArray[np.float64]
Adjacency = Literal["replace-one", "add-remove"]
Calibration = Literal["proven", "paper"]
Precondition = Literal["auto"] | bool | int
"""Whether rows are whitened first: by rule, or not, or yes; a number of 2 or more: columns come in runs of so many."""
Site = Literal["input", "objective", "gradient", "output"]
Status = Literal["proven", "claimed", "refuted"]

Targets = Literal["signs", "classes"] | tuple[float, float]
"""What a loss takes: -1 and +1, class numbers, or numbers within a range."""

ADJACENCIES: tuple[Adjacency, ...] = ("replace-one", "add-remove")
CUTS = ("auto", "even", "log", "round", "private")
"""Where additive models cut the range of a number into slots."""
LARGEST_EPSILON, SMALLEST_DELTA = 1e15, 1e-300
"""Beyond these, prices leave double precision; no budget that protects anybody comes near."""
RADII = (1e-50, 1e50)
"""Norms that rows may be clipped to: squares and fourth powers of them are far from where doubles end."""
MOST_ROWS_EACH = 1 << 20
"""The most rows of one person: all of them are added up in one block, on grids that are coarser for more rows."""


@dataclass(frozen=True)
class Budget:
    """What may be spent: (epsilon, delta) under one adjacency.

    ``spent`` lists what the same fit released before (events of :mod:`tacit.privacy.events`): whatever is calibrated
    to this budget is priced together with them. ``admits`` is a further limit on all of its events: a ledger's.

    Edges: ``epsilon = inf`` asks for no noise at all; ``delta = 0`` is pure differential privacy and is
    accepted only by mechanisms whose noise gives it.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency = "replace-one"
    spent: tuple[Any, ...] = ()
    admits: Callable[[tuple[Any, ...]], bool] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(check_real("epsilon", self.epsilon) > 0, f"Expected epsilon={self.epsilon} > 0.")
        check(
            self.epsilon <= LARGEST_EPSILON or self.epsilon == math.inf,
            f"Expected epsilon={shown(self.epsilon)} to be at most {LARGEST_EPSILON:g}, or inf for no noise at all.",
        )
        check(0 <= check_real("delta", self.delta) < 1, f"Expected 0 <= delta={self.delta} < 1.")
        check(
            self.delta == 0 or self.delta >= SMALLEST_DELTA,
            f"Expected delta={self.delta} to be 0 or at least {SMALLEST_DELTA:g}.",
        )
        check_choice("adjacency", self.adjacency, ADJACENCIES)

    @property
    def private(self) -> bool:
        """False when epsilon is infinite: then nothing is perturbed."""
        return math.isfinite(self.epsilon)


@runtime_checkable
class Loss(Protocol):
    """A loss of the raw prediction z (n rows, k outputs) and the target y.

    For scalar losses the k columns are k independent models (one-vs-rest, or a batch of trials);
    for coupled losses (softmax) they are the k scores of one model.
    """

    @property
    def name(self) -> str:
        """The loss's name, as it stands in guarantees and tables."""

    @property
    def geometry(self) -> str:
        """Which slopes one record can have.

        'logistic', 'monotone', 'two-sided' or 'simplex' (:mod:`tacit.privacy.minimisers`).
        """

    @property
    def lipschitz(self) -> float:
        """Largest Euclidean norm of the slope of one record (of one column, for scalar losses)."""

    @property
    def smoothness(self) -> float:
        """Largest eigenvalue of the second derivative; ``inf`` when the loss is not smooth."""

    @property
    def at_zero(self) -> float:
        """Largest loss of the prediction 0; no loss is below 0."""

    @property
    def trace(self) -> float:
        """Largest trace of the second derivative; equals ``smoothness`` for scalar losses."""

    @property
    def directions(self) -> int:
        """Dimension of the subspace that one record's slope lives in: 1, or K-1 for softmax."""

    @property
    def coupled(self) -> bool:
        """True when the columns of z belong to one model."""

    @property
    def outputs(self) -> int:
        """Columns of z of one model: 1, or the number of classes for coupled losses."""

    @property
    def targets(self) -> Targets:
        """What y holds."""

    def value(self, z: Array, y: Array) -> Array:
        """Loss of each row (and of each column, for scalar losses)."""

    def slope(self, z: Array, y: Array) -> Array:
        """Derivative with respect to z, in the shape of z."""

    def curve(self, z: Array, y: Array, u: Array) -> Array:
        """Second derivative applied to u, in the shape of z."""

    def change(self, z: Array, y: Array, u: Array) -> Array:
        """The slope at z + u less that at z, with an error of ulps of u, however small u is next to z."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything public about a training run, and nothing else: the head of the public river.

    ``records`` is n, declared public: rows, or with ``rows_per_person`` people, each with up to so many rows, which
    together weigh as much as one. ``features`` counts the columns of the design, the intercept among them.
    ``outputs`` is the number of columns of the parameter matrix. ``radius`` bounds the norm of every design row,
    the intercept's ``constant`` coordinate included.
    """

    records: int
    features: int
    outputs: int
    radius: float
    loss: Loss
    intercept: bool = False
    constant: float = 0.0
    rows_per_person: int | None = None

    def __post_init__(self) -> None:
        least, most = RADII
        check(
            least <= self.radius <= most, f"Expected rows of norm {self.radius:g} to be between {least:g} and {most:g}."
        )
        check(
            (self.rows_per_person or 1) <= MOST_ROWS_EACH,
            f"Expected rows_per_person={self.rows_per_person} to be at most {MOST_ROWS_EACH:,}.",
        )

    @classmethod
    def example(cls, loss: Loss, records: int = 1000) -> Facts:
        """Facts of a plain run with this loss, to ask methods about it."""
        return cls(records=records, features=10, outputs=loss.outputs, radius=1.0, loss=loss)

    @property
    def models(self) -> int:
        """Independent models that share the records: the columns of a scalar loss, or 1."""
        return 1 if self.loss.coupled else self.outputs

    @property
    def size(self) -> int:
        """Number of released parameters."""
        return self.features * self.outputs

    @property
    def gradient(self) -> float:
        """G: the largest norm of one record's gradient over all columns together."""
        return self.radius * self.loss.lipschitz * math.sqrt(self.models)

    @property
    def curvature(self) -> float:
        """beta: the largest eigenvalue of one record's Hessian."""
        return self.radius**2 * self.loss.smoothness


@dataclass(frozen=True)
class Spread:
    """How far a run's noise alone moves its weights, as far as public and released numbers tell.

    Weights move by ``basis @ u`` with independent coordinates u of these ``variances``; no basis is the identity. Every
    output of a model moves by itself, and as far. ``masses`` are released sums of the design's columns over all rows.
    """

    variances: Array
    basis: Array | None = None
    masses: Array | None = None

    def of(self, combinations: Array) -> Array:
        """The variances of linear combinations of one output's weights, one per row."""
        parts = combinations if self.basis is None else combinations @ self.basis
        return np.asarray(parts**2 @ self.variances)


@dataclass(frozen=True)
class Solution:
    """What a solver or a plan gives: the point, a certified bound on the gradient norm there, and the steps taken.

    ``extras`` is whatever else the run produced, by name: an estimator shows each as an attribute with a trailing
    underscore. ``spread`` works out how noisy the point is, when it is called; None where nobody knows.
    """

    weights: Array
    gap: float = math.inf
    steps: int = 0
    extras: Mapping[str, object] = field(default_factory=dict)
    spread: Callable[[], Spread | None] | None = None
