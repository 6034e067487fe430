"""The contract of a mechanism: settings and a budget go in, a plan comes out; only a plan can touch records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tacit.linear.problem import Problem
from tacit.privacy.events import Event
from tacit.privacy.noise import Source
from tacit.types import Budget, Calibration, Facts, Site, Solution


class Plan(Protocol):
    """A mechanism calibrated to a budget. Everything but :meth:`run` is public."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What :meth:`run` will release; empty when the budget is infinite."""

    @property
    def theorem(self) -> str:
        """Key of the theorem that the price rests on."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was enforced or chosen, in words."""

    def run(self, problem: Problem, source: Source) -> Solution:
        """Train on the records; the weights are what may be released."""


@runtime_checkable
class Mechanism(Protocol):
    """One way to train privately. A frozen dataclass of settings: compose, never override."""

    @property
    def site(self) -> Site:
        """Where the noise enters."""

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """A sentence saying which need is not met, or the empty string."""

    def calibrate(self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration) -> Plan:
        """Choose every public number of the run: noise scales, regularisation, steps."""


@dataclass(frozen=True)
class Method:
    """A mechanism under the name that users, tables and guarantees call it by."""

    name: str
    mechanism: Mechanism
    paper: str
    losses: tuple[str, ...]
    about: str
    calibrations: tuple[Calibration, ...] = ("proven",)
