"""The rules: every number that a user did not set, from public facts alone (n, d, loss, epsilon, delta, adjacency).

Each rule balances two sides that are known in advance: the bias of a small model (a strong regulariser, a short descent) against
the noise that a large one lets in. The constants were set once, on several data sets together, and are the same for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.accounting import gaussian_mu
from tacit.mechanisms.samplers import Disjoint, Everyone, Sampler
from tacit.solvers.descent import Average, Schedule
from tacit.types import Budget, Facts

MOST_STEPS = 300
NORM = 5.0
"""The norm that a good weight vector is expected to have, for rows of norm 1 and scores of order 1."""


def mu(budget: Budget) -> float:
    """The Gaussian-DP parameter that a budget is worth; for pure budgets that of delta = 1e-6."""
    if not budget.private:
        return 1e6
    return gaussian_mu(min(budget.epsilon, 50.0), budget.delta or 1e-6)


def spread(budget: Budget, facts: Facts, noise: str = "gaussian") -> float:
    """K: the norm of the noise that one release of a sum of gradients needs, ``S G sqrt(size) / mu``.

    For sphere noise ``S G size / epsilon``; S is 1 for add-remove and 2 for replace-one.
    """
    factor = 1.0 if budget.adjacency == "add-remove" else 2.0
    if noise == "sphere":
        return factor * facts.gradient * facts.size / min(budget.epsilon, 1e6)
    return factor * facts.gradient * math.sqrt(facts.size) / mu(budget)


def output_strength(budget: Budget, facts: Facts, noise: str) -> float:
    """Lambda that minimises ``(n beta / 2)(K / Lambda)^2 + (Lambda / 2) NORM^2``: noise against bias."""
    noisy = spread(budget, facts, noise)
    return max(1e-3, math.cbrt(2 * facts.records * facts.curvature * noisy**2 / NORM**2))


def output_time(budget: Budget, facts: Facts) -> float:
    """Learning time t (steps times step size, on the mean objective): ``NORM^2/(2t)`` against ``(beta/2)(t K / n)^2``."""
    noisy = spread(budget, facts) / facts.records
    return min(MOST_STEPS / facts.curvature, math.cbrt(NORM**2 / (2 * facts.curvature * noisy**2)))


def objective_strength(budget: Budget, facts: Facts, noise: str) -> float:
    """Lambda for objective perturbation: ``S R^2 / (epsilon (1 + epsilon))`` times the models and directions.

    At small epsilon the determinant then costs next to nothing (its share vanishes altogether from Lambda = R^2/epsilon on,
    for the logistic loss under add-remove); at large epsilon it takes a part of what is plenty.
    """
    factor = 1.25 if budget.adjacency == "add-remove" else 2.5
    epsilon = min(budget.epsilon, 1e3)
    steep = max(1.0, 4 * facts.loss.trace * facts.models)
    return factor * steep * facts.radius**2 / (epsilon * (1 + epsilon))


def margin(budget: Budget, records: int, size: int) -> float:
    """The margin of the logistic losses: 2 where noise rules, falling to 0 (plain logistic regression) as it fades.

    ``mu n / (S sqrt(size))`` is the size of a sum of aligned gradients over that of its noise.
    """
    factor = 1.0 if budget.adjacency == "add-remove" else 2.0
    signal = mu(budget) * records / (factor * math.sqrt(size))
    return 2.0 / (1.0 + signal / 1e4) if budget.private else 0.0


@dataclass(frozen=True)
class DescentRule:
    """How a noisy descent is run, but for its step size."""

    steps: int
    clip: float
    momentum: float
    schedule: Schedule
    average: Average


def descent(budget: Budget, facts: Facts, sampler: Sampler, noise: str) -> DescentRule:
    """Steps, clip, momentum and averaging."""
    clip = 0.5 * facts.radius * facts.loss.lipschitz
    if isinstance(sampler, Disjoint):
        return DescentRule(max(1, min(50, facts.records // 20)), clip, 0.0, "inverse-root", "last")
    steps = 60 if isinstance(sampler, Everyone) else 200
    return DescentRule(steps, clip, 0.9, "constant", "tail")


def step_size(
    budget: Budget, facts: Facts, steps: int, clip: float, scale: float, sampler: Sampler, noise: str
) -> float:
    """The step size on the mean gradient."""
    return 1.0


def prefer(budget: Budget, facts: Facts) -> str:
    """The method that 'auto' stands for."""
    if facts.loss.name == "squared":
        return "statistics" if facts.features <= 1000 else "gradient"
    return "objective"
