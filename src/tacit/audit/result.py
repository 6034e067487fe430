"""What an audit found: a lower bound on epsilon, with everything that it depends on."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tacit.checks import at_least
from tacit.types import Adjacency, Array

Verdict = Literal["consistent", "violated"]


@dataclass(frozen=True)
class AuditResult:
    """A lower bound on the epsilon of a procedure at ``delta``, valid with probability at least ``confidence``.

    ``epsilon`` is the bound and ``claimed`` what was promised. ``trials`` counts the runs a side that were scored,
    ``runs`` all runs, those for choosing and fitting included. ``bound`` is the kind of bound: 'clopper-pearson' holds
    for any procedure, 'gaussian' and 'profile' for one that is as private as some member of the stated family;
    ``clopper_pearson`` is what the first gives alone. ``ceiling`` is the largest epsilon that so many trials could
    have shown.
    """

    subject: str
    claimed: float
    delta: float
    adjacency: Adjacency
    epsilon: float
    confidence: float
    trials: int
    runs: int
    attack: str
    pair: str
    bound: str
    clopper_pearson: float
    ceiling: float
    seconds: float
    seed: int
    threshold: float = 0.0
    first: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    second: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @property
    def verdict(self) -> Verdict:
        """``violated`` when the bound exceeds the claim; ``consistent`` says no more than that none was found."""
        return "violated" if self.epsilon > self.claimed else "consistent"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the scores."""
        kept = (f.name for f in dataclasses.fields(self) if f.name not in ("first", "second"))
        return {**{name: getattr(self, name) for name in kept}, "verdict": self.verdict}

    def to_json(self) -> str:
        """The result as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def picture(self) -> str:
        """Scores under both data sets, and the trade-off of errors with the region that the claim allows, as SVG."""
        from tacit.audit.picture import draw

        return draw(self)

    def __str__(self) -> str:
        word = "VIOLATED" if self.verdict == "violated" else "consistent with the claim"
        single = self.bound == "one run"
        plain = (
            "" if single or self.bound == "clopper-pearson" else f" (Clopper-Pearson alone {self.clopper_pearson:.3g})"
        )
        scored = f"{self.trials:,} canaries" if single else f"{self.trials:,} trials a side scored"
        return (
            f"{self.subject}: epsilon >= {at_least(self.epsilon)} at delta = {self.delta:g} with "
            f"{100 * self.confidence:g}% confidence; claimed {self.claimed:g}: {word}\n"
            f"  {self.adjacency}, pair '{self.pair}', attack: {self.attack}, bound: {self.bound}{plain}\n"
            f"  {scored}, {self.runs:,} runs in all, {self.seconds:.1f} s; so many could show at most "
            f"{self.ceiling:.3g}"
        )
