"""Losses of the raw prediction, with the constants that sensitivity proofs need.

Scalar losses treat the columns of z independently. Labels of classifiers are -1 and +1; softmax takes class numbers.

Each loss has a ``change``: the slope at z + u less the slope at z, with an error of a few ulps of *u*, however small u
is next to z. The difference of two computed slopes has an error of ulps of the slopes themselves. A solver that works
with changes is not stopped by the rounding of the scores.

| loss | slope at most | curvature at most | trace |
| --- | --- | --- | --- |
| Logistic | 1 | 1/4 | 1/4 |
| HuberHinge, smoothing h | 1 | 1/(2h) | 1/(2h) |
| Squared, targets within B | 2B | 1 | 1 |
| Softmax, K classes | sqrt(2) | 1/2 | 1 - 1/K |
"""

from __future__ import annotations

from tacit.linear.losses import classification, regression
from tacit.linear.losses.classification import HuberHinge, Logistic, Softmax, probabilities
from tacit.linear.losses.regression import Squared
from tacit.types import Loss

LOSSES: tuple[Loss, ...] = (*classification.LOSSES, *regression.LOSSES)
"""Every kind of loss once: what methods are asked about, and what contract tests run over."""

__all__ = ["LOSSES", "HuberHinge", "Logistic", "Softmax", "Squared", "probabilities"]
