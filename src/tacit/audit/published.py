"""Published algorithms as their papers state them, batched over runs: for evidence, never for use.

Three papers promise an epsilon for noise on the data, or for noise on some records only. Here are their algorithms
line by line for logistic regression with labels -1 and +1, rows within norm 1 (so G = 1) and the regulariser
(lambda/2)||theta||^2 that makes the loss strongly convex. Each takes ``(X, y, rng, trials)`` and gives runs x
parameters.

* ``input_perturbation``: Kang et al. 2020a, Algorithm 1, noise (9), with noise of its own for each record or one
  vector for all (the algorithm's text allows both readings);
* ``dbdp``: Kang et al. 2020b (DBDP-ERM), Algorithm 1, noise (10);
* ``dbdp_improving``: the same paper, Algorithm 2, noise (15);
* ``pidp_sgd``: Kang et al. 2023, Algorithm 1, noises of Theorem 5.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.special import expit

from tacit.types import Array

NUMBERS = 1 << 21
HESSIAN_LIPSCHITZ = 1 / (6 * math.sqrt(3))


def input_perturbation(
    X: Array,
    y: Array,
    rng: np.random.Generator,
    trials: int,
    *,
    epsilon: float,
    delta: float,
    c: float,
    noise: Literal["independent", "shared"] = "independent",
    steps: int = 10,
    rate: float = 1.0,
    regularization: float = 0.01,
) -> Array:
    """Kang et al. 2020a: ``x_i + z_i``, then T full gradient steps; sigma^2 = c G^2 T log(1/delta) / (n (n-1)
    sqrt(Delta) epsilon^2)."""
    n, d = X.shape
    scale = math.sqrt(c * steps * math.log(1 / delta) / (n * (n - 1) * math.sqrt(regularization))) / epsilon
    parts, width = [], max(1, NUMBERS // (n * d))
    for start in range(0, trials, width):
        count = min(width, trials - start)
        z = scale * rng.standard_normal((count, n if noise == "independent" else 1, d))
        seen, theta = X + z, np.zeros((count, d))
        for _ in range(steps):
            pull = y * expit(-y * np.einsum("tnd,td->tn", seen, theta))
            theta = theta + rate * (np.einsum("tn,tnd->td", pull, seen) / n - regularization * theta)
        parts.append(theta)
    return np.vstack(parts)


def dbdp(
    X: Array, y: Array, rng: np.random.Generator, trials: int, *, epsilon: float, delta: float, c: float,
    noise: Literal["independent", "shared"] = "independent", rate: float = 1.0,
) -> Array:  # fmt: skip
    """DBDP-ERM, Algorithm 1, with one step: sigma = c q G sqrt(T log(1/delta)) / epsilon, T = 1.

    Its theorem wants q of the order of 1/|B|: the batch is sqrt(n). theta_0 is zero: known to the attacker, as any
    start is.
    """
    n, d = X.shape
    batch = round(math.sqrt(n))
    scale = c * (batch / n) * math.sqrt(math.log(1 / delta)) / epsilon
    parts, width = [], max(1, NUMBERS // (batch * (d + 1)))
    for start in range(0, trials, width):
        count = min(width, trials - start)
        chosen = _subsets(rng, n, batch, count)
        b = scale * rng.standard_normal((count, batch if noise == "independent" else 1, d))
        seen, labels = X[chosen] + b, y[chosen]
        parts.append(rate * np.einsum("tb,tbd->td", 0.5 * labels, seen) / batch)
    return np.vstack(parts)


def _subsets(rng: np.random.Generator, n: int, size: int, count: int) -> Array:
    """Uniformly random subsets without repetition, by drawing again those that repeat."""
    chosen = rng.integers(0, n, (count, size))
    while True:
        ordered = np.sort(chosen, axis=1)
        bad = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not bad.size:
            return np.asarray(chosen)
        chosen[bad] = rng.integers(0, n, (bad.size, size))


def minimiser(X: Array, y: Array, regularization: float) -> tuple[Array, Array]:
    """The exact regularised minimiser and the Hessian there."""
    theta = np.zeros(X.shape[1])
    for _ in range(60):
        s = expit(-y * (X @ theta))
        gradient = -(X.T @ (y * s)) / len(y) + regularization * theta
        hessian = (X.T * (s * (1 - s))) @ X / len(y) + regularization * np.eye(len(theta))
        theta = theta - np.linalg.solve(hessian, gradient)
    return theta, hessian


def dbdp_improving(
    X: Array,
    y: Array,
    rng: np.random.Generator,
    trials: int,
    *,
    epsilon: float,
    delta: float,
    c: float,
    rounds: int = 5,
    local: int = 10,
    rate: float = 1.0,
    regularization: float = 0.01,
) -> Array:
    """DBDP-ERM, Algorithm 2: from the exact minimiser, single records, noise on a record only if its influence is
    large."""
    n, d = X.shape
    start, hessian = minimiser(X, y, regularization)
    inverse, total = np.linalg.inv(hessian), rounds * local
    held = theta = np.tile(start, (trials, 1))
    for _ in range(rounds):
        for _ in range(local):
            at = rng.integers(0, n, trials)
            x, label = X[at], y[at]
            influence = _gradient(x, label, held, regularization) @ inverse.T / n
            size = np.linalg.norm((influence + held) / held, axis=1)
            noisy = ~((math.exp(-epsilon) <= size) & (size <= math.exp(epsilon)))
            s = expit(-label * (x * theta).sum(axis=1))
            curved = (s * (1 - s))[:, None, None] * x[:, :, None] * theta[:, None, :] - (label * s)[
                :, None, None
            ] * np.eye(d)
            spread = (
                c
                * math.sqrt(total * math.log(1 / delta))
                / (np.sqrt(np.linalg.norm(curved, 2, axis=(1, 2))) * n * epsilon)
            )
            seen = x + (noisy * spread)[:, None] * rng.standard_normal((trials, d))
            theta = theta - rate * _gradient(seen, label, theta, regularization)
        held = theta
    return theta


def pidp_sgd(
    X: Array,
    y: Array,
    rng: np.random.Generator,
    trials: int,
    *,
    epsilon: float,
    delta: float,
    c: float,
    rounds: int = 1,
    local: int = 10,
    rate: float = 1.0,
    regularization: float = 0.01,
    start: Literal["minimiser", "zero"] = "minimiser",
) -> Array:
    """PIDP-SGD: as above with noise on the gradient and on the decision; budgets halved; c' = c; radius r = G/lambda.

    The start theta~ is not defined in the paper; in its predecessor it is the exact or pre-trained model, which is the
    default here.
    """
    n, d = X.shape
    half, small = epsilon / 2, delta / 2
    first, hessian = minimiser(X, y, regularization)
    largest = float(np.linalg.norm(hessian, 2))
    error = (2 * (0.25 + regularization) + HESSIAN_LIPSCHITZ / largest) / (largest * n) ** 2
    decision = c * rounds * math.sqrt(math.log(1.25 * rounds / small)) / (n * largest * half)
    scale = c * math.sqrt(rounds * local * math.log(1 / small)) / (n * half)
    limit = 2 / regularization * math.exp(half) * small / math.expm1(half)
    theta = np.tile(first if start == "minimiser" else np.zeros(d), (trials, 1))
    for _ in range(rounds):
        held = theta
        s = expit(-y * (held @ X.T))
        curved = np.einsum("tn,ni,nj->tij", s * (1 - s), X, X) / n + regularization * np.eye(d)
        inverse = np.linalg.inv(curved)
        for _ in range(local):
            at = rng.integers(0, n, trials)
            x, label = X[at], y[at]
            influence = np.einsum("tij,tj->ti", inverse, _gradient(x, label, held, regularization)) / n + error
            seen = 2 * influence + decision * rng.standard_normal((trials, d))
            inside = np.abs(seen) < limit
            loss = -np.log1p(-np.where(inside, np.abs(seen), 0.0) / limit)
            quiet = (inside & (loss <= 2 * half)).all(axis=1)
            b = scale * rng.standard_normal((trials, d)) * ~quiet[:, None]
            theta = theta - rate * (_gradient(x, label, theta, regularization) + b)
    return theta


def _gradient(x: Array, y: Array, theta: Array, regularization: float) -> Array:
    """One record's gradient for each run."""
    s = expit(-y * (x * theta).sum(axis=1))
    return np.asarray(-(y * s)[:, None] * x + regularization * theta)
