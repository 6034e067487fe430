"""Scores that are shares of counts, and the area under the curve: each by inverting a test on released sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.evaluation.asked import TENTHS
from tacit.evaluation.inversion import interval, unsure
from tacit.evaluation.ranking import PLUS
from tacit.evaluation.scores import Score
from tacit.evaluation.summary import Cells, Summary
from tacit.types import Array

_UNIT = (0.0, 1.0)


def share(cells: Cells, hits: Any, misses: Any, quantile: float) -> Score:
    """``hits / (hits + misses)``, where each is the sum of some counts.

    Of b records in either, the gap ``(1 - theta) hits - theta misses`` has the sampling variance b theta (1 - theta):
    exactly for records of one row, and at most that where a person's rows are averaged.
    """
    part, whole = np.zeros((2, len(cells.counts)))
    part[hits] = whole[hits] = whole[misses] = 1.0
    above, below = float(cells.counts @ part), float(cells.counts @ whole)
    first, crossed, last = cells.noise(part, part), cells.noise(part, whole), cells.noise(whole, whole)

    def gap(theta: Array) -> Array:
        return above - theta * below

    def variance(theta: Array) -> Array:
        noise = first - 2 * theta * crossed + theta**2 * last
        return np.asarray(noise + max(below, 0.0) * theta * (1 - theta))

    return ratio(above, below, gap, variance, quantile)


def ratio(above: float, below: float, gap: Any, variance: Any, quantile: float) -> Score:
    """A score in [0, 1]; unknown where the denominator is lost in noise, or the interval is the whole range."""
    point = min(max(above / below, 0.0), 1.0) if below > 0 else 0.5
    low, high = interval(gap, variance, quantile, point, _UNIT)
    known = below > 0 and (low > 0 or high < 1)
    return Score(min(max(point, low), high) if known else math.nan, low, high)


def accuracy(summary: Summary, quantile: float) -> Score:
    """The share of records whose class is predicted."""
    if summary.has("right"):
        return share(summary.cells("right"), [1], [0], quantile)
    return share(summary.cells("confusion"), [0, 3], [1, 2], quantile)


def recall(summary: Summary, quantile: float) -> Score:
    """Of the positive class p, the share that is predicted to be of it; cell 2t + s counts truth t that is called s."""
    p = summary.positive
    return share(summary.cells("confusion"), [3 * p], [1 + p], quantile)


def precision(summary: Summary, quantile: float) -> Score:
    """Of those predicted to be of the positive class p, the share that is."""
    p = summary.positive
    return share(summary.cells("confusion"), [3 * p], [2 - p], quantile)


def balanced_accuracy(summary: Summary, quantile: float) -> Score:
    """The mean of all classes' recalls; the ends are put together from those of the recalls.

    The distances from the estimates to the ends add up as independent errors do: the method of variance estimates
    recovery (Zou & Donner 2008). They are independent: no record is in two classes, and counts keep their own noise. A
    recall of which nothing is known may be 0 or 1, and then so is the mean's value unknown.
    """
    cells = summary.cells("recalls" if summary.has("recalls") else "confusion", apart=True)
    rows, met = _by_class(summary, len(cells.counts))
    parts = [share(cells, [row[k]], np.delete(row, k), quantile) for row, k in zip(rows, met, strict=True)]
    value, low, high = (np.array([getattr(part, name) for part in parts]) for name in ("value", "low", "high"))
    lost = np.isnan(value)
    known = float(value[~lost].sum())
    down, up = (float(np.linalg.norm((end - value)[~lost])) for end in (low, high))
    least, most = (known - down) / len(rows), (known + up + lost.sum()) / len(rows)
    return Score(float(value.mean()), max(least, 0.0), min(most, 1.0))


def _by_class(summary: Summary, cells: int) -> tuple[NDArray[np.intp], list[int]]:
    """The cells of each true class, one class a row, and which of them holds the records that were recognised."""
    if summary.has("recalls"):
        return np.arange(cells).reshape(-1, 2), [1] * (cells // 2)
    side = math.isqrt(cells)
    return np.arange(cells).reshape(side, side), list(range(side))


def confusion(summary: Summary, quantile: float) -> Score:
    """Of all records, the share of each true class (a row) that is predicted as each class (a column)."""
    cells = summary.cells("confusion")
    every = np.arange(len(cells.counts))
    side = math.isqrt(len(every))
    return Score.stacked([share(cells, [k], np.delete(every, k), quantile) for k in every], (side, side))


def calibration(summary: Summary, quantile: float) -> Score:
    """In each tenth of the predicted probability, the share of the positive class."""
    cells = summary.cells("calibration")
    return Score.stacked([share(cells, [2 * k + 1], [2 * k], quantile) for k in range(TENTHS)], (TENTHS,))


def auc(summary: Summary, quantile: float) -> Score:
    """The chance that a record of the second class has a larger score than one of the first, ties counted as halves.

    With b = n1 n0 / n the gap is ``D - (theta - 1/2) b``; the gradient of b by the counts of both classes is the square
    of the other's share, and the square of normal noise varies by twice its mean squared. The sampling variance of D
    about its line is ``Q - (auc - 1/2)^2 b`` at the estimate, elsewhere in proportion to theta (1 - theta), and never
    above ``b max(n1, n0)/n theta (1 - theta)`` (Birnbaum & Klose 1957).
    """
    ranks, squares = summary.amount("ranks"), summary.amount("ranks_squared")
    cells = summary.cells("classes" if summary.has("classes") else "confusion")
    second = np.where(np.arange(len(cells.counts)) < len(cells.counts) // 2, 0.0, 1.0)
    one, total = float(cells.counts @ second), max(float(cells.counts.sum()), 1.0)
    square = -cells.noise(second, 1 - second) / total  # what b lacks on average: the square of the noise in n1, over n
    below = one * (total - one) / total + square
    part = min(max(one / total, 0.0), 1.0)
    gradient = second * (1 - part) ** 2 + (1 - second) * part**2
    counted = cells.noise(gradient, gradient) + 2 * square**2
    point = min(max(0.5 + ranks.value / below, 0.0), 1.0) if below > 0 else 0.5
    spread = squares.value * ((total + PLUS) / total) ** 2 - (point - 0.5) ** 2 * max(below, 0.0)

    doubt = squares.deviation**2 + 4 * (point - 0.5) ** 2 * ranks.deviation**2

    def gap(theta: Array) -> Array:
        return ranks.value - (theta - 0.5) * below

    def variance(theta: Array) -> Array:
        alike = theta * (1 - theta)
        most = max(below, 0.0) * max(part, 1 - part) * alike
        sampling = np.clip(spread * alike / max(point * (1 - point), 1e-9), 0.0, most)
        return unsure(
            ranks.deviation**2 + (theta - 0.5) ** 2 * counted + sampling, np.minimum(doubt, most**2 / 4), quantile
        )

    return ratio(ranks.value + 0.5 * below, below, gap, variance, quantile)
