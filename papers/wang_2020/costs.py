"""What smoothing adds to a step of DP-SGD, in time and memory, for logistic regression with m weights."""

import functools

import numpy as np
from scipy.special import expit

from papers.engine.figure import Finding
from papers.shared import costs
from tacit.linear.smoothing import smooth

BATCH = 128
"""The paper's batch for logistic regression."""
STEP, PLAIN, FOURIER, DENSE = "DP-SGD step", "gradient alone", "smoothing (FFT)", "smoothing (dense inverse)"
NEGLIGIBLE = 0.1
"""'Negligible': at most a tenth of a step of DP-SGD, or of the memory that it holds."""


def measure(m, run):
    """The parts in turn; the dense inverse where it can be held."""
    design, rng = costs.Design.of(BATCH, m, run), np.random.default_rng(run)
    weights, noisy = rng.standard_normal(m) / np.sqrt(m), rng.standard_normal(m)
    labels = rng.choice([-1.0, 1.0], BATCH)
    calls = {
        STEP: functools.partial(_step, design, labels, weights, rng),
        PLAIN: functools.partial(_gradient, design, labels, weights),
        FOURIER: functools.partial(smooth, noisy, 1.0),
    }
    if m <= costs.LARGEST:
        inverse = np.linalg.inv(np.eye(m) * 3 - np.eye(m, k=1) - np.eye(m, k=-1) - _corners(m))
        calls[DENSE] = functools.partial(np.matmul, inverse, noisy)
    kept = {STEP: BATCH * m, DENSE: m * m, FOURIER: m / 2}  # numbers held all the time: batch, matrix, cached factors
    return costs.cost(m, calls, kept)


def show(points):
    """Shares of a step of DP-SGD."""
    return costs.show(points, STEP)


def check(points, expected):
    """'Negligible' in time and memory, at every m from a thousand on; and how both grow."""
    said = expected["costs"]
    time = costs.shares(points, FOURIER, STEP)
    memory = costs.shares(points, FOURIER, STEP, "bytes")
    grows = {what: costs.power(points, what) for what in (STEP, FOURIER)}
    dense = costs.power(points, DENSE, least=costs.FEW)
    held = costs.power(points, FOURIER, "bytes")
    return [
        Finding(said["time"], _judged(time, NEGLIGIBLE),
            f"Smoothing takes {costs.span(time)} of a step of DP-SGD on logistic regression, batches of {BATCH}. Each "
            "weight is used once a record there; a convolution uses its weights many times, so the share is smaller."),
        Finding(said["memory"], _judged(memory, NEGLIGIBLE),
            f"It holds {costs.span(memory)} of what a step of DP-SGD holds at its peak, the batch included."),
        Finding(said["fourier"], grows[FOURIER].near(1.0, 0.5),
            f"FFT: {grows[FOURIER]} in time, {held} in memory; step of DP-SGD: {grows[STEP]}; product with a dense "
            f"inverse: {dense}."),
    ]  # fmt: skip


def _judged(values, most):
    """True below the mark at every m, False above it at every m, None between."""
    if not values:
        return None
    return True if max(values.values()) <= most else False if min(values.values()) > most else None


def _gradient(design, labels, weights):
    return design.sums(-labels * expit(-labels * design.scores(weights)))


def _step(design, labels, weights, rng):
    """Rows have norm 1, so that no record's gradient is longer than 1: nothing is left to clip."""
    noisy = _gradient(design, labels, weights) + rng.standard_normal(len(weights))
    return weights - 0.1 / BATCH * noisy


def _corners(m):
    corners = np.zeros((m, m))
    corners[0, -1] = corners[-1, 0] = 1.0
    return corners
