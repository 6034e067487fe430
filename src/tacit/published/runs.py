"""Three papers' algorithms on a perceptron, line by line: the private river of :mod:`tacit.published.networks`.

The plans are those of the linear models: every noise scale, threshold and count comes from their ``calibrate``. What is
different is only what a network needs: first weights that are random, a near minimiser instead of the minimiser, and
an approximate inverse of the Hessian.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.noise import Source, gaussian, permutation
from tacit.published.curvature import InverseHessian
from tacit.published.data_perturbation import PublishedPlan
from tacit.published.heterogeneous import PiDbdpErmPlan, PidpSgdPlan, low, picks_of, unchanged
from tacit.published.perceptron import Codes, Perceptron
from tacit.types import Array

CHUNK = 64
"""Records whose contributions are held at a time."""
BLOCK = 1024
"""Coordinates of noisy contributions that are drawn at a time."""


@dataclass(frozen=True)
class Curvature:
    """How H^-1 is approximated: of how many records, how many directions, and what is added to its diagonal."""

    records: int
    rank: int
    damping: float

    def inverse(self, model: Perceptron, x: Array, y: Codes, regularization: float, source: Source) -> InverseHessian:
        """The inverse Hessian at the model's weights, from records drawn at random."""
        some = permutation(source, len(x))[: self.records] if self.records < len(x) else slice(None)
        start = gaussian(source, model.flat.shape)
        return InverseHessian.of(model.hessian(x[some], y[some]), start, self.rank, regularization + self.damping)


def descend(model: Perceptron, x: Array, y: Codes, plan: PublishedPlan, rate: float, source: Source) -> Array:
    """Kang et al. 2020a and DBDP-ERM, Algorithm 1: descent on perturbed records. The perturbed rows, D_priv."""
    rows = x + plan.noise(x.shape, source)  # line 3; DBDP-ERM: lines 3 and 4
    for picked in plan.batches(len(x), source):  # DBDP-ERM: line 6
        model.step(rows[picked], y[picked], rate, plan.regularization)  # line 7 of both
    return np.asarray(rows)


def pidp_sgd(
    model: Perceptron, x: Array, y: Codes, plan: PidpSgdPlan, rate: float, curvature: Curvature, source: Source
) -> float:
    """PIDP-SGD, Algorithm 1. The fraction of steps without noise."""
    noiseless = 0
    for _ in range(plan.rounds):  # line 3
        inverse = curvature.inverse(model, x, y, plan.regularization, source)  # line 4
        picks = picks_of(source, len(x), plan.local)  # line 6
        # Lines 7 to 10 ask for theta_r^(g), lines 11 and 14 for theta_t^(l): first all decisions, then all steps.
        parts = (picks[start : start + CHUNK] for start in range(0, len(picks), CHUNK))
        contributions = (inverse.times(model.gradients(x[p], y[p], plan.regularization)) / len(x) for p in parts)
        quiet = np.concatenate([_small(own + plan.error, plan, source) for own in contributions])
        for index, still in zip(picks, quiet, strict=True):
            noise = None if still or not plan.scale else plan.scale * gaussian(source, model.flat.shape)  # line 13
            model.step(x[index : index + 1], y[index : index + 1], rate, plan.regularization, noise)  # lines 11 and 14
        noiseless += int(quiet.sum()) if plan.scale else plan.local
    return noiseless / (plan.rounds * plan.local)


def _small(own: Array, plan: PidpSgdPlan, source: Source) -> NDArray[np.bool_]:
    """Lines 8 to 10: ``c_t = 2 c_t^(o) + b^(c)`` is small in every coordinate.

    Coordinates are drawn in blocks until one of them is not: the others cannot change the answer.
    """
    quiet = np.ones(len(own), dtype=np.bool_)
    for start in range(0, own.shape[1], BLOCK):
        (left,) = np.nonzero(quiet)
        if not len(left):
            break
        part = 2 * own[left, start : start + BLOCK]
        seen = np.abs(part + plan.contribution_scale * gaussian(source, part.shape))
        quiet[left] = low(seen, plan.threshold, plan.ratio).all(axis=1)
    return quiet


def pi_dbdp_erm(
    model: Perceptron, x: Array, y: Codes, plan: PiDbdpErmPlan, rate: float, curvature: Curvature, pretraining: int,
    source: Source,
) -> tuple[Array, float]:  # fmt: skip
    """DBDP-ERM, Algorithm 2. D_priv (line 18: the last version of each record), and the fraction of noiseless steps."""
    model.minimise(x, y, plan.regularization, pretraining)  # line 2: the pre-trained model
    inverse = curvature.inverse(model, x, y, plan.regularization, source)
    rows, noiseless = x.copy(), 0
    for _ in range(plan.rounds):  # line 5
        picks = picks_of(source, len(x), plan.local)  # line 7
        moves = inverse.times(model.gradients(x[picks], y[picks], plan.regularization)) / len(x)  # line 8
        quiet = unchanged(moves, model.flat[None], plan.epsilon, plan.test) | (plan.scale == 0)  # line 9
        for index, still in zip(picks, quiet, strict=True):
            row = x[index]
            if not still:  # line 12
                deviation = plan.scale / math.sqrt(model.passed_on(row, int(y[index])))
                row = rows[index] = row + deviation * gaussian(source, row.shape)
            model.step(row[None], y[index : index + 1], rate, plan.regularization)  # lines 10 and 12
        noiseless += int(quiet.sum())
    return rows, noiseless / (plan.rounds * plan.local)
