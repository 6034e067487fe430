r"""Theorems 1 to 3 of Kang et al. 2023 with every constant on the page, what is wrong with them, and repaired forms.

Letters: n records, m parameters, each record's loss G-Lipschitz and L-smooth, the mean loss PL with mu (its squared
gradient is at least 2 mu times its excess), e the expected excess empirical risk, all expectations over algorithm *and*
data. The paper's proofs are in a supplement that we did not have; the constants below are those of the arguments
given here.

*Theorem 1* holds when a step uses all records and L and mu are those of the whole space (Gaussian noise leaves every
ball). One record a step, as the paper has it, leaves the variance V of the records' gradients,
which no number of records removes (:func:`mean_example`).

*Theorems 2 and 3.* With A' trained on the data with record i replaced, and QG (quadratic growth: the mean loss of every
data set is at least mu/2 times the squared distance to its minimiser in the parameter space above its least value):
``E gap = E[loss_i(A') - loss_i(A)] <= E|grad loss_i(A)|^2/(2 tau) + (tau + L)/2 E|A' - A|^2``, and
``|A' - A| <= |A' - best'| + |best' - best| + |best - A|`` where the middle is at most 2G/(n mu) and the others' squares
at most 2/mu times their excess. Two steps need more than the theorems ask for:

* The last term needs ``|grad loss|^2 <= 2 L loss``, which holds for a loss that is not negative and L-smooth
  *everywhere*; the theorems ask for neither, and the paper's parameter space is a ball, outside of which nothing is
  known of the loss (:func:`line_example`).
* QG follows from PL on the whole space (remark 1), where the path of steepest descent ends at the minimiser. PL on a
  ball is not enough: that path may leave the ball (:func:`disc_example`). A mean loss that is mu-strongly convex has QG
  on every convex parameter space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats
from scipy.optimize import brentq

PRINTED, TIGHT = 16.0, 4.0
"""The constant at G^2/(n mu)^2 as printed, and what |best' - best| <= 2G/(n mu) gives."""


def noise(n: int, lipschitz: float, steps: int, epsilon: float, delta: float, constant: float = 1.0) -> float:
    """Equation (1): sigma = c G sqrt(T log(1/delta))/(n epsilon); the paper leaves c open."""
    return constant * lipschitz * math.sqrt(steps * math.log(1 / delta)) / (n * epsilon)


def theorem_1(
    start: float, size: int, sigma: float, smooth: float, curved: float, steps: int, variance: float = 0.0
) -> float:
    r"""Excess empirical risk after T steps of size 1/L: ``q^T e_0 + (V + m sigma^2)(1 - q^T)/(2 mu)``, q = 1 - mu/L.

    ``variance`` V is that of one record's gradient about the mean, at the worst parameters; 0 when a step uses all
    records, which is the paper's theorem: T = (2L/mu) log n makes it O(m G^2 log(1/delta) log n/(n epsilon)^2).
    Proof: L-smoothness gives ``e' <= e - |grad|^2/(2L) + (V + m sigma^2)/(2L)``, PL turns the gradient into mu e/L.
    """
    rest = (1 - curved / smooth) ** steps
    return rest * start + (variance + size * sigma**2) * (1 - rest) / (2 * curved)


def theorem_2(
    n: int, lipschitz: float, smooth: float, curved: float, excess: float, loss: float, constant: float = PRINTED
) -> float:
    r"""Generalization gap: the infimum over tau of ``(tau + L)(8e/mu + 16 G^2/(n mu)^2) + L E[loss]/tau``.

    It is at ``tau = sqrt(L E[loss]/a)``, a = 8e/mu + 16 G^2/(n mu)^2, and is ``L a + 2 sqrt(a L E[loss])``.
    """
    part = 8 * excess / curved + constant * (lipschitz / (n * curved)) ** 2
    return smooth * part + 2 * math.sqrt(part * smooth * loss)


def theorem_3(
    n: int, lipschitz: float, smooth: float, curved: float, excess: float, least: float, constant: float = PRINTED
) -> float:
    """Excess population risk, at its best tau: e plus theorem 2 at E[loss] = E[L*] + e, term by term the print."""
    return excess + theorem_2(n, lipschitz, smooth, curved, excess, least + excess, constant)


def without_sign(n: int, lipschitz: float, curved: float, excess: float) -> float:
    """A gap bound that asks for QG and nothing of the loss's sign: ``G E|A' - A| <= 2G sqrt(2e/mu) + 2G^2/(n mu)``."""
    return 2 * lipschitz * math.sqrt(2 * excess / curved) + 2 * lipschitz**2 / (n * curved)


def remark_3(n: int, m: float, epsilon: float, tau: float) -> float:
    """Theorem 3 without constants and logs at E[L*] = 1/n; theorem 7 is the same with k m/n in the place of m."""
    return (1 / tau + tau) * m / (n * epsilon) ** 2 + 1 / (tau * n)


@dataclass(frozen=True)
class Example:
    """An example in which both sides are known: the gap, both risks, and the numbers that the theorems take."""

    n: int
    lipschitz: float
    smooth: float
    curved: float
    excess: float
    loss: float
    least: float
    gap: float
    population: float

    def sides(self, constant: float = PRINTED) -> dict[str, Any]:
        """Gap and population risk beside theorems 2 and 3 and the bound without a sign."""
        facts = (self.n, self.lipschitz, self.smooth, self.curved, self.excess)
        return {
            "excess": self.excess, "gap": self.gap, "theorem_2": theorem_2(*facts, self.loss, constant),
            "population": self.population, "theorem_3": theorem_3(*facts, self.least, constant),
            "without_sign": without_sign(self.n, self.lipschitz, self.curved, self.excess),
        }  # fmt: skip


def mean_example(n: int, sigma: float = 0.0) -> dict[str, float]:
    """Theorem 1 (and 6): half the records are 0, half 1, the loss is (theta - z)^2/2, so G = 2 on [-1, 1], L = mu = 1.

    A step of size 1/L = 1 on one record gives ``theta = z - b``: the last record and its noise, whatever T and n. So
    the excess risk is ``(1/4 + sigma^2)/2``, at least 1/8; it is :func:`theorem_1` with V = 1/4. ``rate`` is what the
    theorem prints, m G^2 log(1/delta) log(n)/(n epsilon)^2 at epsilon = 1 and delta = 0.001, to be multiplied by its
    hidden constant.
    """
    rate = 4 * math.log(1e3) * math.log(n) / n**2
    return {"excess": (0.25 + sigma**2) / 2, "rate": rate, "constant": (0.25 + sigma**2) / 2 / rate}


def line_example(n: int, curved: float, epsilon: float | None = None, delta: float = 1e-3) -> Example:
    r"""Theorems 2 and 3: z = -1 or +1 with equal chances, ``loss = 1 + z theta - (mu/2)(1 - theta^2)`` on [-1, 1].

    Not negative there, G = 1 + mu, L = mu, PL and QG with mu for every data set. The minimiser is ``-mean(z)/mu``,
    cut to [-1, 1]; inside, the gap is 1/(n mu) and the excess population risk 1/(2 n mu), while theorem 2 gives about
    8/(n sqrt(mu)). ``epsilon`` adds the noise of equation (1), T = 1, c = 1, to the one step of size 1/L that leads
    there, before it is cut. Exact: a sum over the number of ones within 12 standard deviations.
    """
    wide = 6 * math.sqrt(n)
    ones = np.arange(max(0, math.floor(n / 2 - wide)), min(n, math.ceil(n / 2 + wide)) + 1)
    weights, mean = stats.binom.pmf(ones, n, 0.5), 2 * ones / n - 1
    weights /= weights.sum()
    places, shares = np.polynomial.hermite_e.hermegauss(1 if epsilon is None else 41)
    spread = 0.0 if epsilon is None else noise(n, 1 + curved, 1, epsilon, delta) / curved
    theta = np.clip(-mean[:, None] / curved + spread * places, -1, 1)
    best = np.clip(-mean / curved, -1, 1)
    bend = curved / 2
    chances = weights[:, None] * shares / shares.sum()
    least = float(weights @ (1 + mean * best - bend * (1 - best**2)))
    rise = (theta - best[:, None]) * (mean[:, None] + bend * (theta + best[:, None]))  # losses differ by little
    excess = float((chances * rise).sum())
    gap = -float((chances * mean[:, None] * theta).sum())
    population = float(bend * (chances * theta**2).sum())
    return Example(n, 1 + curved, curved, curved, excess, least + excess, least, gap, population)


def disc_example(n: int, lean: float) -> Example:
    r"""Theorems 2 and 3 with PL on the unit disc only: ``loss = 11/2 - y - x^2 + z x`` there, and z = -1 or +1.

    The mean of z is lean/sqrt(n), and n is odd. Beyond the disc the loss goes on with ``max(|y| - 1, 0)^2`` and
    ``2 max(|x| - 1, 0)^2`` added: it is not negative and 2-smooth on the whole plane. On the disc G = sqrt(10), the
    squared gradient of a mean loss is at least 1 and its values differ by at most 17/4, so PL holds with mu = 0.1 for
    every data set. But the minimiser lies on the edge, at about (-+ sqrt(3)/2, 1/2), on the side that the sign of the
    mean of z decides, and the other side is worse by next to nothing: no QG. The algorithm is the minimiser. Exact: a
    sum over the number of ones within 12 standard deviations.
    """
    if n % 2 == 0:
        raise ValueError("With an even number of records both sides can be equally good.")
    shift = lean / math.sqrt(n)
    chance, wide = (1 + shift) / 2, 6 * math.sqrt(n)
    ones = np.arange(max(0, math.floor(n * chance - wide)), min(n, math.ceil(n * chance + wide)) + 1)
    weights, mean = stats.binom.pmf(ones, n, chance), 2 * ones / n - 1
    weights /= weights.sum()
    (x, y), (best_x, best_y) = _edge(mean), _edge(np.array([shift]))
    least = float(weights @ (5.5 - y - x**2 + mean * x))
    gap = float(weights @ ((shift - mean) * x))
    population = float(weights @ (best_y - y + (x - best_x) * (shift - x - best_x)))
    return Example(n, math.sqrt(10), 2.0, 0.1, 0.0, least, least, gap, population)


def _edge(mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The point (x, y) of the unit circle at which ``-y - x^2 + mean x`` is least, by bisection of the angle."""
    low, high = np.zeros(len(mean)), np.full(len(mean), math.pi / 6)
    for _ in range(60):
        angle = (low + high) / 2
        rises = np.sin(2 * angle) - np.cos(angle) + np.abs(mean) * np.sin(angle) > 0
        low, high = np.where(rises, low, angle), np.where(rises, angle, high)
    return np.where(mean > 0, -1.0, 1.0) * np.cos(high), np.sin(high)


def logistic_example(n: int, chance: float, curved: float, push: float) -> Example:
    """Inside the repaired premises: labels +1 with ``chance``, loss log(1 + exp(-y theta)) + (mu/2) theta^2.

    The algorithm is the minimiser, moved by ``push`` away from 0, which fits the data too well. Exact: a sum over the
    number of positive labels. G is taken over the largest parameter that occurs.
    """
    ones = np.arange(n + 1)
    weights, share = stats.binom.pmf(ones, n, chance), ones / n
    best = np.array([_minimiser(float(part), curved) for part in share])
    theta = best + push * np.sign(best)
    reach = float(np.abs(theta).max())
    least, loss = (float(weights @ _logistic(at, share, curved)) for at in (best, theta))
    risk = float(weights @ _logistic(theta, np.full(n + 1, chance), curved))
    lowest = float(_logistic(np.array([_minimiser(chance, curved)]), np.array([chance]), curved)[0])
    lipschitz, smooth = 1 + curved * reach, 0.25 + curved
    return Example(n, lipschitz, smooth, curved, max(0.0, loss - least), loss, least, risk - loss, risk - lowest)


def _logistic(theta: np.ndarray, share: np.ndarray, curved: float) -> np.ndarray:
    return np.asarray(
        share * np.logaddexp(0, -theta) + (1 - share) * np.logaddexp(0, theta) + curved * theta**2 / 2
    )  # fmt: skip


def _minimiser(share: float, curved: float) -> float:
    """Where ``expit(theta) - share + mu theta = 0``."""
    return float(brentq(lambda theta: special.expit(theta) - share + curved * theta, -1 / curved, 1 / curved))
