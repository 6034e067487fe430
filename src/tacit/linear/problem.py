"""The private problem: sums of losses, gradients and Hessians over records, and what surrounds them.

Every sum is exact and the same in whatever order, and wherever, records are added up (:mod:`tacit.linear.whole`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.checks import refuse
from tacit.linear import parts
from tacit.linear.arithmetic import ALL_DIGITS, certain_pieces, largest_slope, noisy_pieces, slope_pieces
from tacit.linear.parts import Admit
from tacit.linear.records import Held, Records
from tacit.linear.whole import Pieces
from tacit.types import Array, Facts, Loss

__all__ = ["Problem", "Records"]

STIFF = 2.0**26
"""From this condition k on a Hessian's rows are rounded to two pieces.

A Hessian of rows that are off by e is one of other rows, so steps still shrink the gradient e sqrt(k) times: for e of
2**-20, 2**7 times where one is used. What certifies a minimum is the gradient, whose digits are its own.
"""


@dataclass(frozen=True)
class Problem:
    """``sum_i loss_i(W) + (Lambda/2) ||W||^2 + <B, W>`` over a parameter matrix W of shape (features, outputs)."""

    records: Held
    loss: Loss
    outputs: int = 1
    strength: float = 0.0
    linear: Array | None = field(default=None, repr=False)

    @cached_property
    def facts(self) -> Facts:
        """The public facts about this problem."""
        records = self.records
        return Facts(
            records=records.count,
            features=records.features,
            outputs=self.outputs,
            radius=records.radius,
            loss=self.loss,
            intercept=bool(records.intercept),
            constant=records.intercept,
            rows_per_person=records.rows_per_person,
        )  # fmt: skip

    def start(self) -> Array:
        """The all-zero parameter matrix."""
        return np.zeros((self.records.features, self.outputs))

    def part(self, rows: NDArray[np.intp] | None) -> Problem:
        """The problem of the records at these positions; None for all of them."""
        return self if rows is None else replace(self, records=self.records.take(rows))

    def value(self, weights: Array) -> Array:
        """The objective; one value per model."""
        reach = float(np.linalg.norm(weights, axis=None if self.loss.coupled else 0).max(initial=0.0))
        steep = self._steepest(weights)
        start = self.loss.at_zero if math.isfinite(self.loss.at_zero) else steep**2
        largest = start + steep * self.records.radius * reach
        (total,) = self.records.add_up(parts.Values(self.loss, Pieces.of(weights), 2.0 * largest))
        axis = None if self.loss.coupled else 0
        total = total + 0.5 * self.strength * (weights**2).sum(axis=axis)
        return np.asarray(total if self.linear is None else total + (self.linear * weights).sum(axis=axis))

    def gradient(self, weights: Array, pieces: int | None = None) -> Array:
        """The full gradient of the objective; slopes rounded to so many ``pieces``, None: as a certificate needs."""
        count = certain_pieces(self.facts) if pieces is None else pieces
        part = parts.Gradient(self.loss, Pieces.of(weights), self._steepest(weights), count)
        (total,) = self.records.add_up(part)
        total = total + self.strength * weights
        return total if self.linear is None else total + self.linear

    def clipped_gradient(
        self, weights: Array, clip: float, anchor: Array | None = None, *, person: float = 1.0
    ) -> Array:
        """Sum over records of loss gradients, each shrunk to norm at most ``clip``; no regulariser.

        With an ``anchor``, of each record's gradient minus its gradient there (variance reduction). Where people have
        several rows, the mean of a person's is shrunk once more, to ``person * clip``.

        A record's gradient in one model is slope times row, so its norm is |slope| * ||row||: clipping costs no
        pass over the data. With k independent models each model's gradient is clipped by itself.

        Guarantee: adding or removing a record moves the sum by at most ``person * clip * sqrt(models)``, replacing one
        by twice that; :func:`~tacit.linear.arithmetic.rounding_slack` covers the arithmetic.
        """
        return self._noisy(weights, clip, anchor=None if anchor is None else Pieces.of(anchor, 1), person=person)

    def admitted_gradient(self, weights: Array, clip: float, admit: Admit) -> Array:
        """As :meth:`clipped_gradient`, each record's part multiplied by what ``admit`` grants it from its norm: 0 to 1.

        ``admit`` sees, block by block, each record's squared clipped norm (added up over independent models): the same
        to the last bit whatever other records there are.
        """
        return self._noisy(weights, clip, admit=admit)

    def _noisy(
        self, weights: Array, clip: float, anchor: Pieces | None = None, admit: Admit | None = None, person: float = 1.0
    ) -> Array:
        facts = self.facts
        largest = largest_slope(facts, clip, 1 if anchor is None else 2)
        if not math.isfinite(largest):
            refuse(f"The slopes of {self.loss.name} have no bound here, so no grid. Bound the targets.")
        part = parts.Gradient(
            self.loss, Pieces.of(weights, 1), largest, noisy_pieces(facts), clip, anchor, admit, person
        )
        return self.records.add_up(part)[0]

    def gradient_and_hessian(self, weights: Array, outer: int | None = None) -> tuple[Array, Array]:
        """Gradient and full Hessian of one scalar model, in one pass over the data.

        ``outer`` is how many pieces the Hessian's rows are rounded to; None: as many as a Newton step needs.
        """
        facts = self.facts
        stiff = facts.records * facts.curvature > STIFF * self.strength
        outer = (2 if stiff else 1) if outer is None else outer
        part = parts.GradientHessian(
            self.loss, Pieces.of(weights), self._steepest(weights), certain_pieces(facts), outer
        )
        slope_sum, curve_sum = self.records.add_up(part)
        slope_sum = slope_sum + self.strength * weights
        if self.linear is not None:
            slope_sum += self.linear
        curve_sum[np.diag_indices(len(curve_sum))] += self.strength
        return slope_sum, curve_sum

    def hessian_alone(self, weights: Array) -> Array:
        """``sum_i c_i x_i x_i^T`` of one scalar model with the loss's curvatures c_i, cut to [0, beta]; no regulariser.

        Guarantee: a record's part has a Frobenius norm of at most ``beta R^2`` and is the same whatever the other
        records are. :func:`~tacit.linear.arithmetic.hessian_slack` covers the arithmetic.
        """
        return self.records.add_up(parts.Hessian(self.loss, Pieces.of(weights, 1)))[0]

    def hessian_times(self, weights: Array, direction: Array) -> Array:
        """Hessian times a direction, without forming the Hessian."""
        facts = self.facts
        largest = 2 * self.loss.smoothness * facts.radius * float(np.linalg.norm(direction))
        count = slope_pieces(facts, 40)
        part = parts.HessianTimes(self.loss, Pieces.of(weights), Pieces.of(direction), largest, count)
        return self.records.add_up(part)[0] + self.strength * direction

    def changed_gradient(self, weights: Array, step: Array) -> Array:
        """``sum_i x_i [slope(z_i + x_i.s) - slope(z_i)]``: the error shrinks with the step s."""
        facts, long = self.facts, float(np.linalg.norm(step))
        largest = 2 * min(self.loss.smoothness * facts.radius * long, 2 * self._steepest(weights))
        part = parts.Changes(self.loss, Pieces.of(weights), Pieces.of(step), largest, slope_pieces(facts, ALL_DIGITS))
        return self.records.add_up(part)[0]

    def _steepest(self, weights: Array, clip: float = math.inf, slopes: int = 1) -> float:
        """A bound on slopes: public; of a loss without one (for studies that are not private) from the targets."""
        largest = largest_slope(self.facts, clip, slopes)
        if math.isfinite(largest) or not isinstance(self.records, Records):
            return largest
        return float(np.abs(self.records.targets).max(initial=1.0)) + self.records.radius * float(
            np.linalg.norm(weights)
        )

    def column(self, index: int) -> Problem:
        """The problem of one of several independent models."""
        return self.columns(np.array([index]))

    def columns(self, picked: NDArray[np.intp]) -> Problem:
        """The problem of some of several independent models."""
        linear = None if self.linear is None else self.linear[:, picked]
        return replace(self, records=self.records.pick(picked), outputs=len(picked), linear=linear)
