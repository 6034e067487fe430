"""Scores that are means of bounded losses, and R^2: each by inverting a test on released sums."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit.evaluation.inversion import interval, unsure
from tacit.evaluation.judged import WORST
from tacit.evaluation.ratios import ratio
from tacit.evaluation.scores import Score
from tacit.evaluation.summary import Summary
from tacit.types import Array


def mean(summary: Summary, name: str, quantile: float) -> Score:
    """The mean of numbers t in [0, 1], from the sums of ``t - 1/2`` and of its square.

    Their variance is never above theta (1 - theta) where theta is their mean. Losses are not negative, and next to
    never nothing: where noise leaves no positive sum, the value is unknown.
    """
    total, squares, count = summary.amount(name), summary.amount(f"{name}_squared"), summary.count
    number = count.value
    spread = squares.value / number - (total.value**2 - total.deviation**2) / number**2

    def gap(theta: Array) -> Array:
        return total.value - (theta - 0.5) * number

    def variance(theta: Array) -> Array:
        noise = total.deviation**2 + (theta - 0.5) ** 2 * count.deviation**2
        most = number * theta * (1 - theta)
        doubt = squares.deviation**2 + (2 * theta - 1) ** 2 * total.deviation**2
        return unsure(noise + np.clip(number * spread, 0.0, most), np.minimum(doubt, most**2 / 4), quantile)

    above = total.value + 0.5 * number
    found = ratio(above, number, gap, variance, quantile)
    return found if above > 0 or total.deviation == 0 else replace(found, value=math.nan)


def log_loss(summary: Summary, quantile: float) -> Score:
    """The mean of minus the logarithm of the true class's probability, at most that of one percent."""
    return mean(summary, "loss", quantile).times(WORST)


def rmse(summary: Summary, quantile: float) -> Score:
    """The root of the mean squared error, of targets and predictions cut to a range, in units of its width."""
    found = mean(summary, "error", quantile)
    return Score(*(math.sqrt(float(part)) for part in (found.value, found.low, found.high)))


def mae(summary: Summary, quantile: float) -> Score:
    """The mean size of the error, in units of the range's width."""
    return mean(summary, "absolute", quantile)


def bias(summary: Summary, quantile: float) -> Score:
    """The mean of prediction minus target, in units of the range's width: that of ``(error + 1)/2``, from -1 to 1."""
    found = mean(summary, "bias", quantile)
    return Score(*(2.0 * part - 1.0 for part in (found.value, found.low, found.high)))


def r2(summary: Summary, quantile: float) -> Score:
    """One less the mean squared error over the variance of the target.

    With ``u = 1 / (1 + variance/error)`` in [0, 1] the gap is ``u sum (y - m)^2 - (1 - u) sum e^2``, linear in both
    sums; R^2 is ``1 - u/(1 - u)``, and minus infinity where the target's variance may be nothing. The value is unknown
    there, and where noise leaves no positive sum of squared errors.
    """
    count, y, second = summary.count, summary.amount("y"), summary.amount("y2")
    number, error = count.value, summary.amount("error")
    middle = y.value / number
    errors = error.value + 0.5 * number
    squares = second.value + 0.125 * number - (y.value**2 - y.deviation**2) / number
    moments, doubt = _central(summary, number, middle, errors), _doubts(summary, middle)

    def gap(u: Array) -> Array:
        return u * squares - (1 - u) * errors

    def variance(u: Array) -> Array:
        counted = u * (0.125 + middle**2) - 0.5 * (1 - u)
        noise = u**2 * (second.deviation**2 + 4 * middle**2 * y.deviation**2) + (1 - u) ** 2 * error.deviation**2
        sampling = u**2 * moments[0] - 2 * u * (1 - u) * moments[1] + (1 - u) ** 2 * moments[2]
        both = noise + counted**2 * count.deviation**2 + np.maximum(sampling, 0.0)
        doubts = u**4 * doubt[0] + 4 * (u * (1 - u)) ** 2 * doubt[1] + (1 - u) ** 4 * doubt[2]
        return unsure(both, doubts, quantile)

    above, below = max(errors, 0.0), max(squares, 0.0)
    point = above / (above + below) if above + below > 0 else 0.5
    low, high = interval(gap, variance, quantile, point, (0.0, 1.0))
    known = high < 1 and (errors > 0 or error.deviation == 0)
    value = _of_part(min(max(point, low), high)) if known else math.nan
    return Score(value, _of_part(high), _of_part(low))


def _central(summary: Summary, number: float, middle: float, errors: float) -> tuple[float, float, float]:
    """Sums over records of (y - m)^4, of (y - m)^2 e^2 and of e^4."""
    second, third, fourth, crossed, both = (
        summary.amount(name).value for name in ("y2", "y3", "y4", "y_error", "y2_error")
    )
    squares = second + 0.125 * number
    quartic = fourth - 4 * middle * third + 6 * middle**2 * squares - 3 * middle**4 * number
    mixed = both - 2 * middle * crossed + middle**2 * errors
    return quartic, mixed, summary.amount("error_squared").value + errors - 0.25 * number


def _doubts(summary: Summary, middle: float) -> tuple[float, float, float]:
    """The variances of the noise in these sums, without what the noise in m adds."""
    second, third, fourth, crossed, both, error, squared = (
        summary.amount(name).deviation ** 2
        for name in ("y2", "y3", "y4", "y_error", "y2_error", "error", "error_squared")
    )
    quartic = fourth + (4 * middle) ** 2 * third + (6 * middle**2) ** 2 * second
    return quartic, both + (2 * middle) ** 2 * crossed, squared + error


def _of_part(u: float) -> float:
    return 1.0 - u / (1.0 - u) if u < 1 else -math.inf
