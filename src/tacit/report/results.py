"""What reports show: scores of methods over epsilons, certificates, and what was spent of a budget on what."""

from __future__ import annotations

import base64
import math
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from tacit.checks import at_least, at_most
from tacit.ledger import Balance
from tacit.mechanisms.spending import Spent
from tacit.privacy.guarantee import Guarantee


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """How many records spent how much of one fit's budget. NOT PRIVATE: computed from the records, for the curator.

    Edges: no counts where the model was fitted without noise, or was read from a file that does not hold the accounts.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    median: float
    largest: float
    epsilon: float
    delta: float

    @classmethod
    def of(cls, spent: Spent, guarantee: Guarantee, bins: int = 20) -> Accounts:
        """The histogram of the records' own epsilons, at the delta of the guarantee."""
        own = spent.epsilon(guarantee.delta)
        if not own.size or not np.isfinite(own).all():
            return cls(
                edges=(), counts=(), median=math.nan, largest=math.nan, epsilon=guarantee.epsilon, delta=guarantee.delta
            )
        counts, edges = spent.histogram(guarantee.delta, bins)
        return cls(
            edges=tuple(edges.tolist()),
            counts=tuple(counts.tolist()),
            median=float(np.median(own)),
            largest=float(own.max()),
            epsilon=guarantee.epsilon,
            delta=guarantee.delta,
        )

    @property
    def total(self) -> int:
        """Records."""
        return sum(self.counts)

    @property
    def most(self) -> int:
        """Records in the fullest bin."""
        return max(self.counts)

    @property
    def largest_rounded_up(self) -> str:
        """The largest account, as text that is never too small."""
        return at_most(self.largest)

    def bins(self) -> list[tuple[float, float, int]]:
        """Lower edge, upper edge and count of every bin."""
        return list(zip(self.edges[:-1], self.edges[1:], self.counts, strict=True))


@dataclass(frozen=True)
class Statement:
    """A guarantee in words, and as the JSON that ``tacit verify`` checks."""

    words: str
    certificate: str

    @classmethod
    def of(cls, guarantee: Guarantee) -> Statement:
        """Both forms of a guarantee."""
        return cls(str(guarantee), guarantee.to_json())

    @property
    def encoded(self) -> str:
        """The certificate as base64, for a link that holds it."""
        return base64.b64encode(self.certificate.encode()).decode()


@dataclass(frozen=True)
class Marks:
    """How well a model does on records that it was not trained on: accuracy in percent, and area under the curve."""

    accuracy: float
    auc: float


@dataclass(frozen=True)
class Row:
    """One method: the marks of its models at every epsilon, and the certificate of one of them."""

    name: str
    marks: tuple[tuple[Marks, ...], ...]
    statement: Statement

    @property
    def means(self) -> tuple[Marks, ...]:
        """The mean at every epsilon."""
        return tuple(
            Marks(fmean(one.accuracy for one in models), fmean(one.auc for one in models)) for models in self.marks
        )


@dataclass(frozen=True, kw_only=True)
class Study:
    """Methods times epsilons on one public table; ``place`` is that of the epsilon to speak of.

    ``curves`` and ``weights``: the private additive and the private linear model, by the default method; ``others``:
    linear models by all methods; ``plain_curves`` and ``plain_weights``: the same without privacy; ``guess``: the
    accuracy of always giving the more frequent answer, in percent.
    """

    epsilons: tuple[float, ...]
    place: int
    curves: Row
    weights: Row
    others: tuple[Row, ...]
    plain_curves: Marks
    plain_weights: Marks
    guess: float
    trained: int
    held_out: int

    @property
    def epsilon(self) -> float:
        """The one to speak of."""
        return self.epsilons[self.place]

    @property
    def private(self) -> Marks:
        """The mean of the private additive models at that epsilon."""
        return self.curves.means[self.place]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All private models: the two defaults first."""
        return (self.curves, self.weights, *self.others)

    @property
    def headline(self) -> str:
        """The result, in a line."""
        return f"{self.private.accuracy:.1f}% correct with privacy, {self.plain_curves.accuracy:.1f}% without"

    @property
    def result(self) -> str:
        """The result, in two sentences."""
        lost = round(self.plain_curves.accuracy, 1) - round(self.private.accuracy, 1)
        compared = f"{abs(lost):.1f} percentage points {'less' if lost > 0 else 'more'} than"
        if abs(lost) < 0.05:
            compared = "as much as"
        return (
            f"A model that was trained on {self.trained:,} patients with a privacy guarantee (epsilon = "
            f"{self.epsilon:g}) answers correctly for {self.private.accuracy:.1f}% of patients it has never seen. That "
            f"is {compared} without privacy, and {self.private.accuracy - self.guess:.1f} points more than by always "
            "giving the more frequent answer."
        )

    def learned(self, accuracy: float) -> float:
        """How far an accuracy has come from the guess (0) to the additive model without privacy (1)."""
        span = self.plain_curves.accuracy - self.guess
        return min(1.0, max(0.0, (accuracy - self.guess) / span)) if span else 0.0


@dataclass(frozen=True)
class Shape:
    """The true shape of a column: what it adds to the log odds at points, or for values; of mean 0 over the records."""

    points: tuple[Any, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Step:
    """One release of a job: what was done, what came out, and its own epsilon."""

    did: str
    found: str
    epsilon: float


@dataclass(frozen=True)
class Job:
    """Releases that were charged to one ledger, and where the ledger stands."""

    steps: tuple[Step, ...]
    balance: Balance

    def rows(self) -> list[tuple[str, str, str, float]]:
        """What was done, what came out, its epsilon, and that as a part of the budget; then all, and what is left."""
        whole, spent, left = self.balance.epsilon, self.balance.spent, self.balance.left
        return [
            *((step.did, step.found, at_most(step.epsilon), step.epsilon / whole) for step in self.steps),
            ("All together", "", at_most(spent, 3), spent / whole),
            (f"Left of {whole:g}", "for one more release", at_least(left), left / whole),
        ]
