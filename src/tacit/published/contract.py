"""What a published algorithm declares beyond a mechanism: the constants that its paper leaves open, and what to use."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol

from tacit.checks import check_positive, refuse
from tacit.linear.losses import LOSSES
from tacit.mechanisms.base import Mechanism
from tacit.privacy.events import Claimed, Event
from tacit.types import Budget, Calibration, Facts

LAMBDA = 0.01
"""The papers regularise ("most of the algorithms are regularized") and do not say how much."""


class Published(Mechanism, Protocol):
    """A mechanism whose theorem is false, or not known to hold: it runs with ``calibration='paper'`` only."""

    proven_form: ClassVar[str]
    """The method with a proof for the same idea."""
    open_constants: ClassVar[tuple[str, ...]]
    """Settings that stand for a "constant c" of the paper: None until they are given."""


@dataclass(frozen=True, kw_only=True)
class PublishedMethod:
    """A published mechanism under the name that tables and guarantees call it by; ``about`` says what it does."""

    name: str
    mechanism: Published
    paper: str
    about: str

    @property
    def proven_form(self) -> str:
        """The method with a proof for the same idea."""
        return self.mechanism.proven_form

    @property
    def open_constants(self) -> tuple[str, ...]:
        """Settings that the paper leaves open."""
        return self.mechanism.open_constants

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses that meet its needs once its constants are given, asked one by one."""
        mechanism: Any = self.mechanism
        whole = replace(mechanism, **dict.fromkeys(self.open_constants, 1.0))
        return tuple(loss.name for loss in LOSSES if not whole.needs(Facts.example(loss), "paper"))

    @property
    def call(self) -> str:
        """How the mechanism is written in Python, its open constants to be filled in."""
        mechanism: Any = self.mechanism
        chosen = [(field.name, getattr(mechanism, field.name), field.default) for field in fields(mechanism)]
        words = [f"{name}={value!r}" for name, value, usual in chosen if value != usual]
        return f"{type(mechanism).__name__}({', '.join([*words, *(f'{name}=...' for name in self.open_constants)])})"


def unmet(name: str, mechanism: Published, facts: Facts, calibration: Calibration) -> str:
    """Which need of a published algorithm is not met, or the empty string."""
    if calibration != "paper":
        proven = f"method={mechanism.proven_form!r}"
        return f"{name} has no proof that holds. Use {proven}, or ask for the published noise: calibration='paper'."
    missing = ", ".join(f"{word}=..." for word in mechanism.open_constants if getattr(mechanism, word) is None)
    if missing:
        return f"The noise of {name} holds 'for some constant', which the paper does not give. Pass {missing}."
    if facts.outputs != 1 or facts.loss.coupled or not math.isfinite(facts.loss.smoothness * facts.loss.lipschitz):
        return f"{name} is built for one score and a smooth loss of bounded slope. Use two classes and a logistic loss."
    return ""


def given(name: str, constant: float | None) -> float:
    """An open constant, which must have been given."""
    return check_positive(name, 0.0 if constant is None else constant)


def claims(budget: Budget, theorem: str) -> tuple[Event, ...]:
    """What the paper says is released; nothing where nothing is perturbed."""
    if budget.delta == 0:
        refuse("The published noise needs delta > 0.")
    return (Claimed(budget.epsilon, budget.delta, theorem),) if budget.private else ()
