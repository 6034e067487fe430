"""What a report shows: scores of methods over epsilons, guarantees, and how much of a budget records spent."""

from __future__ import annotations

import base64
import math
import statistics
from dataclasses import dataclass

import numpy as np

from tacit.checks import at_most
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
class Row:
    """One method of a study: its scores (one a repetition) and its guarantee at every epsilon.

    Rows of one ``group`` share a picture; a row without a group is in the table only.
    """

    name: str
    group: str
    scores: tuple[tuple[float, ...], ...]
    statements: tuple[Statement, ...]

    @property
    def means(self) -> tuple[float, ...]:
        """Mean score at every epsilon."""
        return tuple(statistics.fmean(scores) for scores in self.scores)

    @property
    def spreads(self) -> tuple[float, ...]:
        """Standard deviation over the repetitions, at every epsilon."""
        return tuple(statistics.pstdev(scores) for scores in self.scores)


@dataclass(frozen=True)
class Study:
    """Methods times epsilons on one data set. ``plain`` is the score without privacy, ``guess`` that without data."""

    title: str
    about: str
    score: str
    epsilons: tuple[float, ...]
    rows: tuple[Row, ...]
    plain: tuple[str, float]
    guess: tuple[str, float]

    def cell(self, row: Row, position: int) -> str:
        """Mean and spread, as text."""
        return f"{row.means[position]:.1f} ± {row.spreads[position]:.1f}"

    def learned(self, mean: float) -> float:
        """How far the score has come from the guess (0) to the model without privacy (1)."""
        span = self.plain[1] - self.guess[1]
        return min(1.0, max(0.0, (mean - self.guess[1]) / span)) if span else 0.0

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """A header and rows of text: the methods, then the two references in the first column of scores."""
        rows = [[row.name, *(self.cell(row, place) for place in range(len(self.epsilons)))] for row in self.rows]
        rows += [[name, f"{value:.1f}"] for name, value in (self.plain, self.guess)]
        return ["", *(f"epsilon = {epsilon:g}" for epsilon in self.epsilons)], rows
