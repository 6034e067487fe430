"""One list of instances drives all contract tests: a new loss or mechanism gets its tests by adding its row."""

import numpy as np
from oracles import problem_of

from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared

LOSSES = [
    Logistic(),
    Logistic(margin=2.0),
    HuberHinge(),
    HuberHinge(0.01),
    Squared(),
    Squared(3.0),
    Softmax(2),
    Softmax(3),
    Softmax(7, margin=1.0),
]
"""Every loss, with settings at both ends."""

MAIN_LOSSES = [Logistic(), Softmax(3), HuberHinge(), Squared()]
"""One of each kind, for what is slow."""


def label(value):
    """Short test ids."""
    extra = [getattr(value, name, None) for name in ("margin", "smoothing", "bound", "classes")]
    return "-".join([value.name, *(f"{x:g}" for x in extra if x)])


def outputs_of(loss):
    return loss.classes if loss.coupled else 1


def targets_of(loss, n, rng):
    """Targets that the loss accepts, as a column."""
    if loss.coupled:
        return rng.integers(0, loss.classes, size=(n, 1)).astype(float)
    if loss.name == "squared":
        return rng.uniform(-loss.bound, loss.bound, size=(n, 1))
    return rng.choice([-1.0, 1.0], size=(n, 1))


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
    if loss.coupled:
        z = np.zeros((2 * len(ends), loss.classes))
        z[:, 0] = np.repeat(ends, 2)
        z[1::2, 1] = -z[1::2, 0]
        return z, (np.arange(len(z)) % loss.classes)[:, None].astype(float)
    targets = [-loss.bound, 0.0, loss.bound] if loss.name == "squared" else [-1.0, 1.0]
    z, y = np.meshgrid(ends, targets)
    return z.reshape(-1, 1), y.reshape(-1, 1)
