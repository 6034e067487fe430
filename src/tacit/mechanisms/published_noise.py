r"""The noise of two baselines as their papers publish it, for :mod:`tacit.mechanisms.gradient` with 'paper'.

What runs is priced like any other run, so its status is its own: proven where the published noise is enough.

* Wang, Ye & Xu 2017, gradient descent over all records: ``sigma^2 = c G^2 T log(1/delta) / (n eps)^2`` on the mean
  gradient, for "some constant c", which has to be given. In units of the noise T steps are
  ``mu = 2 eps / sqrt(c log(1/delta))`` (replace-one), so c = 12 is enough wherever ``eps <= 1.1 log(1/delta)``, and
  c = 1 only where eps is small: for 0.1 at delta = 0.01, and not for 1 at any delta up to that.
* Bassily, Smith & Thakurta 2014, Algorithm 1: n^2 steps on single records, drawn with replacement,
  ``w <- project(w - eta_t (n grad + b_t))`` with ``b_t`` of deviation ``n sigma``, ``sigma^2 = 32 G^2 log(n/delta)
  log(1/delta) / eps^2`` and ``eta_t = ||C|| / sqrt(t n^2 (G^2 + p sigma^2))``, ||C|| the diameter of the ball. That is
  7 x 10^8 steps for n = 27,000, so k = n^2/T of them are taken at once: k draws are k/n of the sum over all records,
  but for draws whose variance is at most ``G^2 / (p sigma^2)`` of the noise's, and their noise is one of deviation
  ``sqrt(k) sigma``. Their step sizes, ``k eta`` at t = k s, still fall as 1/sqrt(s). The price of T such steps,
  ``mu = 2 G / sigma``, does not depend on T.
"""

from __future__ import annotations

import math

from tacit.types import Budget


def wang_scale(budget: Budget, norm: float, steps: int, constant: float) -> float:
    """Deviation of the noise on the *sum* of gradients of at most this norm: n times that of the paper."""
    return norm * math.sqrt(constant * steps * math.log(1 / budget.delta)) / budget.epsilon


def bassily_scale(budget: Budget, norm: float, records: int, steps: int, batch: float) -> float:
    """Deviation of the noise on the sum over a batch, where every one of T steps stands for k = n^2/T of the paper's.

    The noise of k steps, ``sqrt(k) sigma``, is on k draws, and the batch is b/k of them:
    ``b sigma / sqrt(k) = b sigma sqrt(T) / n``.
    """
    logs = math.log(records / budget.delta) * math.log(1 / budget.delta)
    return norm * math.sqrt(32 * logs) / budget.epsilon * math.sqrt(steps) * batch / records


def bassily_step(diameter: float, norm: float, records: int, steps: int, spread: float, size: int) -> float:
    """The first step size on the *mean* gradient, whose noise has this ``spread`` in each of ``size`` weights.

    ``k n eta_k = ||C|| n / sqrt(T (G^2 + p sigma^2))`` with k = n^2/T, and ``spread = sigma sqrt(T) / n``.
    """
    return diameter / math.sqrt(steps * (norm / records) ** 2 + size * spread**2)
