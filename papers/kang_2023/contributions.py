"""Contributions c_z on the paper's data: the Hessian's norm, the share of steps without noise, and how precise c_z is.

Nothing is sampled. The page names these numbers beside zeta, which the figures set to 0.1, and beside Remark 5. They
are computed from the private records: they are for readers of papers, not for release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, ndtr

from papers.shared.accuracy import parts
from papers.shared.curves import LAMBDA, LINEAR_REFERENCE
from tacit.estimators.base import INTERCEPT
from tacit.linear.losses.classification import Logistic
from tacit.published.pidp_sgd import PidpSgd, PidpSgdPlan
from tacit.types import Budget, Facts

Place = Literal["start", "optimum"]


@dataclass(frozen=True)
class Contributions:
    """At one parameter: the design's rows with labels -1 and +1, the Hessian, and c_z of every record, a row each."""

    design: np.ndarray
    signs: np.ndarray
    theta: np.ndarray
    hessian: np.ndarray
    values: np.ndarray

    @property
    def norm(self) -> float:
        """The largest eigenvalue of the Hessian, which Theorem 4 asks to be at least zeta."""
        return float(np.linalg.eigvalsh(self.hessian)[-1])

    def plan(self, epsilon: float, delta: float, zeta: float, rounds: int, constant: float) -> PidpSgdPlan:
        """The numbers of Algorithm 1 for these records; ``constant`` is c'."""
        n, size = self.design.shape
        radius = math.sqrt(1 + INTERCEPT**2)
        facts = Facts(
            records=n, features=size, outputs=1, radius=radius, loss=Logistic(), intercept=True, constant=INTERCEPT
        )
        method = PidpSgd(constant=1.0, contribution_constant=constant, rounds=rounds, zeta=zeta)
        return method.calibrate(Budget(epsilon, delta), facts, LAMBDA, "paper")

    def quiet(self, plan: PidpSgdPlan) -> float:
        """The probability that lines 7 to 10 leave a step without noise: of a normal vector, coordinate by coordinate.

        The first 4,000 records stand for all: their order is random.
        """
        limit, spread = min(1.0, plan.ratio) * plan.threshold, plan.contribution_scale
        centre = 2 * (self.values[:4000] + plan.error)
        inside = ndtr((limit - centre) / spread) - ndtr((-limit - centre) / spread)
        return float(inside.prod(axis=1).mean())

    def errors(self, records: np.ndarray) -> np.ndarray:
        """``|theta_-z - theta* - c_z| / |c_z|`` of these records, by Newton's method without each of them.

        The regulariser is a part of each record's loss and leaves with it, as in Algorithm 1.
        """
        found = []
        for record in records:
            kept = np.ones(len(self.signs))
            kept[record] = 0
            theta = self.theta + self.values[record]
            for _ in range(3):
                theta = theta - np.linalg.solve(*_derivatives(self.design, self.signs, theta, kept))
            off = theta - self.theta - self.values[record]
            found.append(np.linalg.norm(off) / np.linalg.norm(self.values[record]))
        return np.array(found)


def contributions(data: str, place: Place, rows: int | None = None) -> Contributions:
    """Of the training records, at the zero vector or at the minimiser."""
    X, y = parts(data, rows)[0]
    design, signs = np.column_stack([X, np.full(len(X), INTERCEPT)]), 2.0 * y - 1.0
    theta, all_of_them = np.zeros(design.shape[1]), np.ones(len(y))
    if place == "optimum":
        model = LINEAR_REFERENCE.make({}, math.inf, None, 0, X.shape).fit(X, y)
        theta = np.append(model.coef_.ravel(), model.intercept_[0] / INTERCEPT)
        for _ in range(2):  # the last digits
            theta = theta - np.linalg.solve(*_derivatives(design, signs, theta, all_of_them))
    hessian, _ = _derivatives(design, signs, theta, all_of_them)
    slopes = -(signs * expit(-signs * (design @ theta)))[:, None] * design + LAMBDA * theta
    return Contributions(design, signs, theta, hessian, np.linalg.solve(hessian, slopes.T).T / len(y))


def _derivatives(
    design: np.ndarray, signs: np.ndarray, theta: np.ndarray, kept: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Hessian and gradient of the mean loss over all n, of the records that are kept."""
    n, chance = len(signs), expit(-signs * (design @ theta))
    ridge = LAMBDA * kept.sum() / n
    gradient = -(kept * signs * chance) @ design / n + ridge * theta
    hessian = (design * (kept * chance * (1 - chance))[:, None]).T @ design / n + ridge * np.eye(len(theta))
    return hessian, gradient
