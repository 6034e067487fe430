"""The contract of a mechanism: settings and a budget go in, a plan comes out; only a plan can touch records.

``regularization`` is lambda of the mean objective, ``strength`` is Lambda = n lambda of the sum: everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tacit.linear.losses import LOSSES
from tacit.privacy.events import Event
from tacit.privacy.noise import Source
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution


@dataclass(frozen=True)
class Released:
    """What leaves one person, where people perturb their own records, and the theorem that prices it."""

    events: tuple[Event, ...]
    theorem: str


@dataclass(frozen=True, kw_only=True)
class Plan(ABC):
    """A mechanism calibrated to a budget. Its fields are public; only :meth:`run` and :meth:`run_many` see records.

    ``events`` is what a run releases (nothing when the budget is infinite), ``theorem`` the key of what its price rests
    on, ``assumptions`` what was enforced or chosen, in words. ``record`` is what each person releases by themselves.
    """

    events: tuple[Event, ...]
    theorem: str
    assumptions: tuple[str, ...] = ()
    record: Released | None = None

    @abstractmethod
    def run(self, problem: Any, source: Source) -> Solution:
        """Train on the records (a :class:`~tacit.linear.problem.Problem`; networks have their own)."""

    def variances(self, curvature: Array) -> Array | None:
        """Of the noise in the weights, in coordinates in which the sum of losses has this curvature.

        None where it is not known. From public numbers alone.
        """
        return None

    def at_once(self, problem: Any) -> int:
        """How many predictions :meth:`run_many` is best made to hold at once; 0 where it runs one after the other."""
        return 0

    def run_many(self, problem: Any, trials: int, source: Source) -> Array:
        """Independent runs, one per row, for audits; plans that can train all of them at once do so."""
        return np.stack([self.run(problem, source).weights.ravel() for _ in range(trials)])


@runtime_checkable
class Mechanism(Protocol):
    """One way to train privately. A frozen dataclass of settings: compose, never override."""

    @property
    def site(self) -> Site:
        """Where the noise enters."""

    @property
    def pure(self) -> bool:
        """Whether its noise gives pure differential privacy, delta = 0."""

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """A sentence saying which need is not met, or the empty string."""

    def calibrate(self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration) -> Plan:
        """Choose every public number of the run: noise scales, regularisation, steps."""


@dataclass(frozen=True, kw_only=True)
class Method:
    """A mechanism under the name that users, tables and guarantees call it by."""

    name: str
    mechanism: Mechanism
    paper: str
    about: str
    calibrations: tuple[Calibration, ...] = ("proven",)

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses that meet its needs, asked one by one."""
        return tuple(loss.name for loss in LOSSES if not self.mechanism.needs(Facts.example(loss), "proven"))


@dataclass(frozen=True)
class Chosen:
    """The method of a run, decided once: its name, its mechanism, and the budget (of delta 0 for pure methods)."""

    name: str
    mechanism: Mechanism
    budget: Budget
