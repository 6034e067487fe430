"""Losses of the raw prediction, with the constants that sensitivity proofs need.

Scalar losses treat the columns of z independently. Labels of classifiers are -1 and +1; softmax takes class numbers.

Each loss has a ``change``: the slope at z + u less the slope at z, with an error of a few ulps of *u*, however small u
is next to z. The difference of two computed slopes has an error of ulps of the slopes themselves. A solver that works
with changes is not stopped by the rounding of the scores.

Slopes, curvatures and traces are bounded in each class, and side by side on the docs' page "Losses".
"""

from __future__ import annotations

from tacit.linear.losses import classification, regression
from tacit.linear.losses.classification import *  # noqa: F403
from tacit.linear.losses.regression import *  # noqa: F403
from tacit.types import Loss

LOSSES: tuple[Loss, ...] = (*classification.LOSSES, *regression.LOSSES)
"""Every kind of loss once: what methods are asked about, and what contract tests run over."""

__all__ = ["LOSSES", *classification.__all__, *regression.__all__]  # noqa: PLE0604
