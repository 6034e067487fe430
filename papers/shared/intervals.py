"""Two-sided judgement: a 95% interval of a difference of means, and what many of them say together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy import stats

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean, and the ends of its interval; both NaN where one run says nothing about its spread."""

    mean: float
    low: float
    high: float

    def above(self, limit: float) -> bool | None:
        """Whether the value is above; None where the interval holds the limit, or there is none."""
        return True if self.low > limit else False if self.high <= limit else None

    def __neg__(self) -> Interval:
        return Interval(-self.mean, -self.high, -self.low)


def mean(values: Sequence[float], level: float = LEVEL) -> Interval:
    """Of one sample, by Student's t."""
    return combined([(1.0, values)], level)


def paired(parts: Sequence[tuple[float, Sequence[float]]], level: float = LEVEL) -> Interval:
    """A weighted sum of means of samples whose i-th values belong together, such as runs on one split."""
    weights = [weight for weight, _ in parts]
    rows = zip(*(values for _, values in parts), strict=True)
    sums = [math.fsum(w * value for w, value in zip(weights, row, strict=True)) for row in rows]
    return mean(sums, level)


def difference(one: Sequence[float], other: Sequence[float], level: float = LEVEL) -> Interval:
    """The mean of one minus that of the other, by Welch's t: variances may differ."""
    return combined([(1.0, one), (-1.0, other)], level)


def combined(parts: Sequence[tuple[float, Sequence[float]]], level: float = LEVEL) -> Interval:
    """A weighted sum of means of independent samples; degrees of freedom by Welch and Satterthwaite.

    Edges: samples without any spread, such as a method without noise, have an interval of length 0.
    """
    middle = math.fsum(weight * statistics.fmean(values) for weight, values in parts)
    if any(len(values) < 2 for _, values in parts):
        return Interval(middle, math.nan, math.nan)
    pieces = [weight**2 * statistics.variance(values) / len(values) for weight, values in parts]
    total = math.fsum(pieces)
    if not total > 0:
        return Interval(middle, middle, middle)
    freedom = total**2 / math.fsum(
        piece**2 / (len(values) - 1) for piece, (_, values) in zip(pieces, parts, strict=True)
    )
    half = float(stats.t.ppf(0.5 + level / 2, freedom)) * math.sqrt(total)
    return Interval(middle, middle - half, middle + half)


def deviation(values: Sequence[float], level: float = LEVEL) -> Interval:
    """The standard deviation of one sample, with its interval by chi-square."""
    if len(values) < 2:
        return Interval(math.nan, math.nan, math.nan)
    freedom, found = len(values) - 1, statistics.stdev(values)
    low, high = (found * math.sqrt(freedom / stats.chi2.ppf(q, freedom)) for q in (0.5 + level / 2, 0.5 - level / 2))
    return Interval(found, float(low), float(high))


@dataclass(frozen=True)
class Count:
    """How many answers are yes, no, and undecided."""

    yes: int
    no: int
    open: int

    @classmethod
    def of(cls, answers: Iterable[bool | None]) -> Count:
        """Of answers."""
        given = list(answers)
        return cls(given.count(True), given.count(False), given.count(None))

    @property
    def total(self) -> int:
        """All."""
        return self.yes + self.no + self.open

    def more_than(self, share: float) -> bool | None:
        """Whether yes holds in more than that share; None where the undecided ones would decide it."""
        needed = share * self.total
        return True if self.yes > needed else False if self.yes + self.open <= needed else None

    @property
    def all(self) -> bool | None:
        """Whether yes holds in all."""
        return False if self.no else None if self.open else True

    @property
    def any(self) -> bool | None:
        """Whether yes holds in one at least."""
        return True if self.yes else None if self.open else False

    def told(self, things: str) -> str:
        """How many of these things say yes, in words."""
        return f"{self.yes} of {self.total} {things}" + (f" ({self.open} undecided)" if self.open else "")
