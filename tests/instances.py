"""One list of instances drives all contract tests: a new loss or mechanism gets its tests by adding its row."""

import numpy as np
from oracles import problem_of

from tacit import estimators
from tacit.estimators.additive import Additive
from tacit.estimators.base import PrivateLinear
from tacit.estimators.classification import PrivateClassifier
from tacit.linear import losses
from tacit.linear.losses import HuberHinge, Logistic, Pinball, PoissonLoss, Softmax, Squared

MAIN_LOSSES = list(losses.LOSSES)
"""One of each kind, for what is slow."""

LOSSES = [
    *MAIN_LOSSES, Logistic(margin=2.0), HuberHinge(0.01), Squared(3.0), Softmax(2), Softmax(7, margin=1.0),
    PoissonLoss(1.0), PoissonLoss(1e-6), Pinball(0.5, 2.0), Pinball(0.01, 0.01),
]  # fmt: skip
"""Every loss, with settings at both ends."""


ESTIMATORS = [
    kind
    for kind in (getattr(estimators, name) for name in estimators.__all__)
    if issubclass(kind, PrivateLinear) and not issubclass(kind, Additive)  # which takes tables: test_additive.py
]
CLASSIFIERS = [kind for kind in ESTIMATORS if issubclass(kind, PrivateClassifier)]
REGRESSORS = [kind for kind in ESTIMATORS if kind not in CLASSIFIERS]
"""Every linear model that users import."""


def loss_of(kind, classes=2):
    """The loss that an estimator minimises."""
    return kind()._loss(classes) if kind in CLASSIFIERS else kind()._loss()


def label(value):
    """Short test ids."""
    extra = [getattr(value, name, None) for name in ("margin", "quantile", "smoothing", "bound", "start", "classes")]
    return "-".join([value.name, *(f"{x:g}" for x in extra if x)])


def outputs_of(loss):
    return loss.outputs


def end_targets(loss):
    """All targets that the loss takes, or both ends and the middle of their range: highest first."""
    if loss.targets == "classes":
        return [float(k) for k in reversed(range(loss.outputs))]
    low, high = (-1.0, 1.0) if loss.targets == "signs" else loss.targets
    return [high, low] if loss.targets == "signs" else [high, 0.5 * (low + high), low]


def targets_of(loss, n, rng):
    """Targets that the loss accepts, as a column."""
    if isinstance(loss.targets, str):
        return rng.choice(sorted(end_targets(loss)), size=(n, 1))
    return rng.uniform(*loss.targets, size=(n, 1))


def random_problem(loss, rng, *, n=40, d=4, clip=1.0, intercept=0.5, scale=1.0):
    """Rows that a clip shortens in part."""
    return problem_of(
        scale * rng.normal(size=(n, d)), targets_of(loss, n, rng), loss,
        clip=clip, intercept=intercept, outputs=outputs_of(loss),
    )  # fmt: skip


def random_weights(problem, rng, scale=1.0):
    return scale * rng.normal(size=(problem.records.features, problem.outputs))


def extreme_scores(loss):
    """Scores and targets at which careless formulas overflow, underflow or cancel."""
    sizes = np.array([0.0, 1e-300, 1e-16, 1e-8, 0.5, 1.0, 1.5, 20.0, 37.0, 745.0, 1e4, 1e100, 1e300])
    ends = np.concatenate([-sizes[::-1], sizes])
    targets = end_targets(loss)
    if loss.coupled:
        z = np.zeros((2 * len(ends), loss.outputs))
        z[:, 0] = np.repeat(ends, 2)
        z[1::2, 1] = -z[1::2, 0]
        return z, np.resize(targets, (len(z), 1))
    z, y = np.meshgrid(ends, targets)
    return z.reshape(-1, 1), y.reshape(-1, 1)


def bend(loss, y):
    """Scores at which the slope is half way between its ends, where a loss of one score has its curvature."""
    low, high = np.full_like(y, -64.0), np.full_like(y, 64.0)
    goal = 0.5 * (loss.slope(low, y) + loss.slope(high, y))
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = loss.slope(middle, y) < goal
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low
