r"""What a protocol is expected to cost, before anything is collected: bounds, a simulation, and the alpha trade-off.

``risk`` is the mean of the quadratic loss over the records, ``J(w) = (1/n) sum (q.w)^2/2 - p.w``; the excess is J of
the private model minus J of the best weights in the ball.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from tacit.linear.solvers.ball import minimise
from tacit.mechanisms.input import InputNumbers, record_epsilon
from tacit.mechanisms.input_plan import Setting, proven, published
from tacit.privacy.noise import SeededSource, Source, gaussian, uniform
from tacit.types import Array, Budget, Calibration


def risk(second: Array, cross: Array, count: int, weights: Array) -> float:
    """J(w) from the sums of q q^T and p."""
    return float(weights @ second @ weights / 2 - cross @ weights) / count


def noisy_second(second: Array, count: int, scale: float, source: Source) -> Array:
    """A draw of ``(Q + U)^T (Q + U)``, U Gaussian with standard deviation ``scale``, from Q^T Q alone; exact in law.

    Q = V S W^T; Z = V^T U is d x d Gaussian, and the rest of U adds a Wishart matrix of n - d degrees, made by
    Bartlett's decomposition. The cost does not depend on n.
    """
    d = len(second)
    values, vectors = np.linalg.eigh(second)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T  # root^T root = Q^T Q
    inside = root + scale * gaussian(source, (d, d))
    degrees = max(count - d, 0) - np.arange(d, dtype=np.float64)
    lower = np.tril(gaussian(source, (d, d)), -1)
    lower[np.diag_indices(d)] = np.sqrt(chdtri(np.maximum(degrees, 1.0), uniform(source, d)))
    outside = scale * lower.T if count >= 2 * d else scale * gaussian(source, (max(count - d, 0), d))
    return np.asarray(inside.T @ inside + outside.T @ outside)


def draw(numbers: InputNumbers, second: Array, cross: Array, count: int, source: Source) -> Array:
    """The weights that ``count`` contributors, all honest, with these sums would give: one draw, without the grid."""
    noisy = noisy_second(second, count, numbers.row_scale, source)
    pull = cross + numbers.expected_scale(count) * gaussian(source, (numbers.features,))
    quadratic = noisy + numbers.minimum(count).ridge * np.eye(numbers.features)
    weights = minimise(quadratic, pull, numbers.radius).weights
    return weights + numbers.hidden(count).scale * gaussian(source, (numbers.features,))


def excess_bound(numbers: InputNumbers, count: int) -> float:
    r"""A bound on the expected excess risk of ``count`` honest contributors: ours, for the proven calibration.

    The noisy objective is the plain one plus ``R(w) = w.E.w/2 + b.w``, so the excess of its minimiser over the ball is
    at most ``R(w_best) - R(w_in) <= 2 eta ||b|| + eta^2 ||E||``, divided by n, with ``E||b|| <= sigma_b sqrt(d)`` and
    ``E||E|| <= |n s_u^2 + Delta_in| + s_u^2 (2 sqrt(n d) + d + 1) + 2 s_u sqrt(n d) B_q``.
    """
    d, s = numbers.features, numbers.row_scale
    root = math.sqrt(count * d)
    row, _ = numbers.bounds
    shift = abs(count * s**2 + numbers.minimum(count).ridge) + s**2 * (2 * root + d + 1) + 2 * s * root * row
    pull = numbers.expected_scale(count) * math.sqrt(d)
    return (2 * numbers.radius * pull + numbers.radius**2 * shift) / count


@dataclass(frozen=True, kw_only=True)
class Published:
    """The constants of Fukuchi et al. 2017's utility bounds, from the numbers of ``calibration='paper'``."""

    count: int
    features: int
    smooth: float
    lipschitz: float
    epsilon: float
    delta: float
    strong: float
    row_noise: float

    @classmethod
    def of(cls, numbers: InputNumbers, budget: Budget) -> Published:
        """lambda, zeta, Delta and sigma_u of these numbers."""
        reach = math.hypot(numbers.clip, numbers.intercept)
        smooth = numbers.curvature * reach**2
        return cls(
            count=numbers.cohort,
            features=numbers.features,
            smooth=smooth,
            lipschitz=smooth * numbers.radius + numbers.slope * reach,
            epsilon=budget.epsilon,
            delta=budget.delta,
            strong=numbers.strength,
            row_noise=numbers.row_scale * math.sqrt(numbers.cohort),
        )

    def _main(self) -> float:
        inner = 8 * math.log(4 / self.delta) + 4 * self.epsilon
        return self.features * self.lipschitz**2 * inner / (self.count * self.epsilon**2 * self.strong)

    def _bias(self, norm: float) -> float:
        rest = self.row_noise**2 - 2 * self.smooth / self.epsilon
        return (self.strong + rest) * norm**2 / (2 * self.count)

    def lemma_2(self, norm: float, beta: float, gamma: float) -> float:
        """The excess risk but for probability beta + gamma, ``norm`` the norm of the best weights (equation 22)."""
        n, d, s = self.count, self.features, self.row_noise
        log = math.log(4 / gamma)
        last = s**2 * (math.sqrt(log) + log / math.sqrt(n)) + s * self.smooth * math.sqrt(2 * d * math.log(2 / gamma))
        return float(4 * self._main() * math.log(1 / beta) + self._bias(norm) + last * norm**2 / n**1.5)

    def theorem_2(self, norm: float) -> float:
        """The expected excess risk (equation 25)."""
        n, d, s = self.count, self.features, self.row_noise
        last = s**2 * (math.log(4) + 3) + 2 * s**2 * (math.log(4) + 2) / math.sqrt(n)
        last += math.sqrt(2 * d) * self.smooth * s * (math.log(2) + 3)
        return float(8 * self._main() + self._bias(norm) + last * norm**2 / (2 * n**1.5))


def synthetic(setting: Setting, source: Source, records: int = 4096) -> tuple[Array, Array]:
    """Mean moments of made-up records: rows of full length in even directions, targets from a plane."""
    columns = setting.features - (1 if setting.intercept else 0)
    x = gaussian(source, (records, columns))
    x *= setting.clip / np.linalg.norm(x, axis=1, keepdims=True)
    design = np.hstack([x, np.full((records, setting.features - columns), setting.intercept)])
    plane = gaussian(source, (setting.features,))
    plane *= 0.5 * setting.radius / float(np.linalg.norm(plane))
    scores = design @ plane
    targets = np.clip(scores, -1, 1)
    if setting.surrogate.name != "squared":
        targets = np.where(uniform(source, records) < 1 / (1 + np.exp(-scores)), 1.0, -1.0)
    loss = setting.surrogate
    return loss.curvature * design.T @ design / records, loss.slope * design.T @ targets / records


def simulate(numbers: InputNumbers, setting: Setting, count: int, *, trials: int = 50, seed: int = 0) -> float:
    """The mean excess risk over ``trials`` draws on made-up records: what to expect, with no one's data."""
    source = SeededSource((seed, 17))
    second, cross = (count * part for part in synthetic(setting, source))
    best = minimise(second, cross, numbers.radius).weights
    least = risk(second, cross, count, best)
    return float(
        np.mean([risk(second, cross, count, draw(numbers, second, cross, count, source)) for _ in range(trials)])
        - least
    )


@dataclass(frozen=True, kw_only=True)
class Balance:
    """One point of the alpha trade-off: both epsilons, and the excess risk (a bound, and a simulation)."""

    alpha: float
    model_epsilon: float
    record_epsilon: float
    bound: float
    simulated: float


def balance(
    setting: Setting, budget: Budget, alphas: Sequence[float], *, calibration: Calibration = "proven", trials: int = 50
) -> list[Balance]:
    """Section 3.5: the model at alpha epsilon, what that does for the record, and what it costs.

    The row noise is the paper's, sigma_u^2 = 2 lambda/(alpha epsilon), in both calibrations, and not what a
    ``record_epsilon`` asks for: the record's epsilon here is that of this noise, not of a protocol with the same
    setting. The cross noise is the calibration's own.
    """
    found = []
    for alpha in alphas:
        part = Budget(alpha * budget.epsilon, budget.delta, budget.adjacency)
        row_scale = math.sqrt(2 / (part.epsilon * setting.cohort)) * setting.row
        paper = calibration == "paper"
        numbers = published(setting, part, None) if paper else proven(setting, part, None, None, row_scale)
        bound = (
            Published.of(numbers, part).theorem_2(setting.radius) if paper else excess_bound(numbers, setting.cohort)
        )
        measured = simulate(numbers, setting, setting.cohort, trials=trials)
        found.append(
            Balance(
                alpha=alpha,
                model_epsilon=part.epsilon,
                record_epsilon=record_epsilon(numbers, budget.delta),
                bound=bound,
                simulated=measured,
            )
        )
    return found
