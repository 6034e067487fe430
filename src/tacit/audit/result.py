"""What an audit found: a lower bound on epsilon, with everything that it depends on."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tacit.audit.chart import Scores, draw
from tacit.checks import at_least
from tacit.types import Adjacency, Array

Verdict = Literal["consistent", "violated", "violated if gaussian"]


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """A lower bound on the epsilon of a procedure at ``delta``, valid with probability at least ``confidence``.

    ``epsilon`` is the bound and ``claimed`` what was promised. ``trials`` counts the runs a side that were scored,
    ``runs`` all runs, those for choosing and fitting included. ``bound`` is the kind of bound: 'clopper-pearson', 'one
    run' and 'sequential' hold for any procedure, 'gaussian', 'sequential, gaussian' and 'profile' for one that is
    known to be as private as some member of the family; ``clopper_pearson`` is what shows without the family.
    ``if_gaussian`` is a second bound, for a procedure of which nothing is known: it holds *if* that is as private as
    some Gaussian mechanism. Each of the two is wrong with probability at most 1 - confidence by itself. ``ceiling`` is
    the largest epsilon that so many trials could have shown. ``about`` says in words what the pair is, ``notes`` are
    sentences on what else was seen.
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
    if_gaussian: float | None = None
    about: str = ""
    notes: tuple[str, ...] = ()
    first: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    second: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @property
    def verdict(self) -> Verdict:
        """``violated`` when the bound exceeds the claim, ``violated if gaussian`` when only the bound does that assumes
        a Gaussian mechanism; ``consistent`` says no more than that no violation was found."""
        if self.epsilon > self.claimed:
            return "violated"
        return "violated if gaussian" if (self.if_gaussian or 0.0) > self.claimed else "consistent"

    def noting(self, sentence: str) -> AuditResult:
        """The same with a sentence more."""
        return dataclasses.replace(self, notes=(*self.notes, sentence))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the scores."""
        kept = (f.name for f in dataclasses.fields(self) if f.name not in ("first", "second"))
        return {**{name: getattr(self, name) for name in kept}, "verdict": self.verdict}

    def to_json(self) -> str:
        """The result as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def picture(self) -> str:
        """Scores under both data sets, and the trade-off of errors with the region that the claim allows, as SVG."""
        scores = Scores(
            first=self.first, second=self.second, attack=self.attack,
            threshold=None if self.bound == "one run" else self.threshold, epsilon=self.claimed, delta=self.delta,
        )  # fmt: skip
        return draw(
            scores,
            f"{self.subject}: epsilon >= {self.epsilon:.3g} ({100 * self.confidence:g}% confidence), claimed "
            f"{self.claimed:g}: {self.verdict}",
        )

    def __str__(self) -> str:
        words = {"consistent": "consistent with the claim", "violated": "VIOLATED"}
        word = words.get(self.verdict, "VIOLATED if its noise is Gaussian")
        single = self.bound == "one run"
        family = self.bound in ("gaussian", "profile", "sequential, gaussian")
        plain = f" (without the family {at_least(self.clopper_pearson)})" if family else ""
        scored = f"{self.trials:,} canaries" if single else f"{self.trials:,} trials per side scored"
        lines = [
            f"{self.subject}: epsilon >= {at_least(self.epsilon)} at delta = {self.delta:g} with "
            f"{100 * self.confidence:g}% confidence; claimed {self.claimed:g}: {word}",
            f"  {self.adjacency}, pair '{self.pair}', attack: {self.attack}, bound: {self.bound}{plain}",
        ]
        if self.about:
            lines.append(f"  the pair: {self.about}")
        if self.if_gaussian is not None:
            lines += [
                f"  assumption-free (holds whatever the procedure): at least {at_least(self.epsilon)}"
                f"{': VIOLATED' if self.epsilon > self.claimed else ''}",
                f"  if its noise is Gaussian (it is as private as some Gaussian mechanism): at least "
                f"{at_least(self.if_gaussian)}{': VIOLATED' if self.if_gaussian > self.claimed else ''}",
            ]
        lines.append(
            f"  {scored}, {self.runs:,} runs in all, {self.seconds:.1f} s; this many runs could show at most "
            f"{self.ceiling:.3g}{' without assumptions' if self.if_gaussian is not None else ''}"
        )
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])
