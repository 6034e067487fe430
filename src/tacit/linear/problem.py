"""The private problem: sums of losses, gradients and Hessians over blocks of rows that stay in cache.

The design row of record i is ``(s_i x_i, c)``: the record's row, shrunk by its own multiplier s_i so that its norm is
at most the clip, and a public constant c for the intercept. The matrix itself is never copied, scaled or densified:
multipliers are applied to predictions and slopes. Rows come through one door, :mod:`tacit.data.canonical`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.checks import check
from tacit.data.canonical import column, dense, thin
from tacit.data.rows import Design, row_products
from tacit.data.shares import Shares
from tacit.linear.person_clip import gather_people
from tacit.types import Array, Facts, Loss

Admit = Callable[[slice, Array], Array]
"""How much of it takes part: from a block's positions and squared clipped gradient norms to factors from 0 to 1."""
BLOCK_NUMBERS = 1 << 18
"""Numbers of the matrix in one block: two megabytes, so that the second use of a block finds it in cache."""


def block_rows(features: int) -> int:
    """Rows in one block; at least 64."""
    return max(64, BLOCK_NUMBERS // max(1, features))


def rounding_slack(facts: Facts, reach: float = 0.0, clip: float | None = None) -> float:
    """Growth of a gradient sum's sensitivity by floating-point rounding, relative to ``clip`` (None: the loss's own G).

    Neighbouring sums have n and at most n + 1 terms of norm at most ``clip``. With u = 2**-53, a block of m rows is
    added with a relative error of at most m u, the n/m blocks with (n/m) u, and a term is its slope times its row, with
    (d + k + 64) u for k scores. Its slope is taken at a rounded score: a product of d numbers is wrong by at most
    (d + 8) u times the norms of row and weights, and a slope changes by the curvature times that. So, in whatever order
    rows are added, the difference of the computed sums exceeds that of the exact ones by at most ``clip`` times this,
    for weights of one model within the norm ``reach``. Proof: the docs' page "Noise", with :func:`largest_weight`.
    People with several rows have more terms, whose weights add up to one a person: only blocks become more.
    """
    n, (m, blocks) = facts.records, blocks_of(facts)
    sums = facts.features + facts.outputs + m + blocks + 64
    return 2.0 * (n + 1) * (sums + _score_error(facts, clip) * (1 + facts.radius * reach)) * 2.0**-53


def hessian_slack(facts: Facts) -> float:
    """As :func:`rounding_slack`, of :meth:`Problem.hessian_alone`, relative to ``beta R^2``.

    Each record's curvature is a function of the record and the weights, so scores may round as they like. A term has
    (d + 128) u: d for the row's squared norm, 3 for either factor sqrt(c) x and 1 for their product, 32 for a curvature
    by the mathematical library, and the rest for scaling it. Sums of |terms| have a norm of at most (n + 1) beta R^2.
    """
    n, (m, blocks) = facts.records, blocks_of(facts)
    return 2.0 * (n + 1) * (facts.features + m + blocks + 128) * 2.0**-53


def blocks_of(facts: Facts) -> tuple[float, float]:
    """Rows in a block, and blocks, at most; blocks of people end where a person ends, and are that much longer."""
    several = facts.rows_per_person or 1
    rows = facts.records * several
    size = min(rows, block_rows(facts.features) + several - 1)
    return size, rows / min(rows, block_rows(facts.features))


def _score_error(facts: Facts, clip: float | None) -> float:
    """What a rounded score changes in one term, in u times ``clip``, for absolute scores of one."""
    clip = facts.radius * facts.loss.lipschitz if clip is None else clip
    return (facts.features + 8) * (facts.radius / clip) * (facts.loss.smoothness + 1)


def largest_weight(facts: Facts, clip: float) -> float:
    """Where noisy steps cut each weight, so that rounding has a bound: a public number, far above what is reached.

    As large as makes :func:`rounding_slack` at most 1e-4, and at least 100 for rows of norm 1.
    """
    root = math.sqrt(facts.size / facts.models)  # the norm of one model whose weights are all 1
    each = 2.0 * (facts.records + 1) * _score_error(facts, clip) * facts.radius * root * 2.0**-53
    return max(100.0 / facts.radius, 1e-4 / each)


def steps_slack(facts: Facts, clip: float) -> float:
    """:func:`rounding_slack` of sums whose weights are cut at :func:`largest_weight`."""
    return rounding_slack(facts, largest_weight(facts, clip) * math.sqrt(facts.size / facts.models), clip)


def minimum_reach(facts: Facts, strength: float, linear: float = 0.0) -> float:
    """The norm that a minimiser has at most, for a linear term of norm at most ``linear``: public.

    The objective there is at most its value at zero, n times the loss at zero; losses are not negative. So
    ``Lambda/2 ||w||^2 - linear ||w|| <= n loss(0)``, and ||w|| is at most ``sqrt(2 n loss(0) / Lambda) + 2 linear /
    Lambda``; G / Lambda is added for the point where the solver stops.
    """
    height = 2 * (facts.records + 1) * facts.loss.at_zero / strength
    return math.sqrt(height) + (2 * linear + facts.gradient) / strength


@dataclass(frozen=True)
class Records:
    """Design rows within a public radius, and targets: (n, 1), or (n, k) for k independent models.

    Built by :meth:`build`. Rows come as a :class:`~tacit.data.rows.Design`, which is canonical and clipped by
    construction.
    """

    design: Design = field(repr=False)
    targets: Array = field(repr=False)
    shares: Shares = field(default_factory=Shares, repr=False)

    def __post_init__(self) -> None:
        check(isinstance(self.design, Design), "Expected rows as tacit.data.rows.Design(X, clip), which clips them.")
        check(len(self.targets) == self.rows, "Expected as many targets as rows.")
        self.shares.check_for(self.rows)

    @classmethod
    def build(cls, matrix: Any, targets: Any, clip: float, intercept: float, shares: Shares | None = None) -> Records:
        """Clip every row of a matrix in any container to ``clip`` and append the constant ``intercept``.

        Edges: entries are first cut at +-1e100, so that no product overflows. NaN, infinity and masked cells raise.
        """
        values = np.asarray(dense(column(targets)), dtype=np.float64)
        check(
            np.isfinite(values).all(),
            "Expected finite numbers as targets, found NaN or infinity; remove or fill them.",
        )
        return cls(Design(matrix, clip, intercept), values.reshape(len(values), -1), shares or Shares())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.design.matrix.shape[0])

    @property
    def count(self) -> int:
        """Number of records: of rows, or of people where they have several."""
        return self.rows if self.shares.starts is None else len(self.shares.starts)

    @property
    def features(self) -> int:
        """Columns of the design, the intercept's among them."""
        return int(self.design.matrix.shape[1]) + (1 if self.design.intercept else 0)

    def take(self, positions: NDArray[np.intp]) -> Records:
        """The records at these positions (a copy of their rows)."""
        rows, shares = self.shares.take(positions, self.rows)
        return replace(self, design=self.design.take(rows), targets=self.targets[rows], shares=shares)

    def blocks(self, rows: int = 0) -> Iterator[tuple[Any, slice]]:
        """Consecutive row blocks in float64, with their positions; of ``rows`` rows, or as many as stay in cache.

        Rows that are stored as float32 are all copied to one place: a block is to be used before the next is asked for.
        """
        step = rows or block_rows(self.features)
        matrix = self.design.matrix
        direct = thin(matrix) or matrix.dtype == np.float64
        room = None if direct else np.empty((min(step + self.shares.most, self.rows), matrix.shape[1]))
        for at in self.shares.slices(self.rows, step):
            if room is None:
                yield self.design.block(at), at
            else:
                block = room[: at.stop - at.start]
                block[:] = matrix[at]
                yield block, at

    def predict(self, block: Any, rows: slice, weights: Array) -> Array:
        """Design rows times weights."""
        columns = block.shape[1]
        z = np.asarray(block @ weights[:columns], dtype=np.float64)
        z *= self.design.scales[rows, None]
        if self.design.intercept:
            z += self.design.intercept * weights[columns]
        return z

    def predict_alone(self, block: Any, rows: slice, weights: Array) -> Array:
        """As :meth:`predict`, with each row's result the same to the last bit whatever the other rows are."""
        columns = block.shape[1]
        z = row_products(block, weights[:columns])
        z *= self.design.scales[rows, None]
        if self.design.intercept:
            z += self.design.intercept * weights[columns]
        return z

    def gather(self, block: Any, rows: slice, slopes: Array) -> Array:
        """Transposed design rows times weighted slopes: the block's part of a gradient."""
        slopes = self.shares.weigh(slopes, rows)
        scaled = slopes * self.design.scales[rows, None]
        # A wide block is read along its rows: half the time of reading it down its columns.
        top = np.asarray(block.T @ scaled if thin(block) or slopes.shape[1] == 1 else (scaled.T @ block).T)
        return np.vstack([top, self.design.intercept * slopes.sum(axis=0)]) if self.design.intercept else top

    def hessian(self, block: Any, rows: slice, curves: Array) -> Array:
        """The block's part of ``sum_i c_i x_i x_i^T`` for one column of numbers c of either sign."""
        total = np.zeros((self.features, self.features))
        self.add_hessian(total, block, rows, np.maximum(curves, 0.0))
        if curves.min(initial=0.0) < 0:
            below = np.zeros_like(total)
            self.add_hessian(below, block, rows, np.maximum(-curves, 0.0))
            total -= below
        return total

    def add_hessian(self, total: Array, block: Any, rows: slice, curves: Array) -> None:
        """Add the block's part of ``sum_i c_i x_i x_i^T``, c >= 0 and weighted, to ``total``, as one product."""
        curves = self.shares.weigh(curves, rows)
        columns, scaled = block.shape[1], curves * self.design.scales[rows]
        roots = (np.sqrt(curves) * self.design.scales[rows])[:, None]
        if sparse.issparse(self.design.matrix):
            thin = block.multiply(roots).tocsr()
            total[:columns, :columns] += (thin.T @ thin).toarray()
        else:
            weighted = np.asarray(block * roots, dtype=np.float64)
            total[:columns, :columns] += weighted.T @ weighted
        if self.design.intercept:
            side = self.design.intercept * np.asarray(block.T @ scaled, dtype=np.float64).ravel()
            total[:columns, columns] += side
            total[columns, :columns] += side
            total[columns, columns] += self.design.intercept**2 * float(curves.sum())


def clip_slopes(slopes: Array, norms: Array, clip: float, *, coupled: bool) -> Array | None:
    """Cut slopes, in place, so that slope times row has at most the norm ``clip``, for rows of these norms (a column).

    A row of coupled slopes is shrunk as a whole, and its gradients' norms from before are returned; a scalar slope is
    cut at ``clip / ||row||``.
    """
    if coupled:
        sizes = np.asarray(np.linalg.norm(slopes, axis=1, keepdims=True) * norms)
        slopes *= np.minimum(1.0, clip / np.maximum(sizes, clip * 0.5))
        return sizes
    most = clip / np.maximum(norms, clip * 1e-300)
    np.clip(slopes, -most, most, out=slopes)
    return None


@dataclass(frozen=True)
class Problem:
    """``sum_i loss_i(W) + (Lambda/2) ||W||^2 + <B, W>`` over a parameter matrix W of shape (features, outputs)."""

    records: Records
    loss: Loss
    outputs: int = 1
    strength: float = 0.0
    linear: Array | None = field(default=None, repr=False)

    @property
    def facts(self) -> Facts:
        """The public facts about this problem."""
        records = self.records
        return Facts(
            records=records.count,
            features=records.features,
            outputs=self.outputs,
            radius=records.design.radius,
            loss=self.loss,
            intercept=bool(records.design.intercept),
            constant=records.design.intercept,
            rows_per_person=records.shares.rows_per_person,
        )  # fmt: skip

    def start(self) -> Array:
        """The all-zero parameter matrix."""
        return np.zeros((self.records.features, self.outputs))

    def part(self, rows: NDArray[np.intp] | None) -> Problem:
        """The problem of the records at these positions; None for all of them."""
        return self if rows is None else replace(self, records=self.records.take(rows))

    def value(self, weights: Array) -> Array:
        """The objective; one value a model."""
        total = np.zeros(self.facts.models)
        for block, rows in self.records.blocks():
            z = self.records.predict(block, rows, weights)
            total += self.records.shares.weigh(self.loss.value(z, self.records.targets[rows]), rows).sum(axis=0)
        axis = None if self.loss.coupled else 0
        total = total + 0.5 * self.strength * (weights**2).sum(axis=axis)
        return np.asarray(total if self.linear is None else total + (self.linear * weights).sum(axis=axis))

    def gradient(self, weights: Array) -> Array:
        """The full gradient of the objective."""
        total = self._sum_gradients(weights, math.inf) + self.strength * weights
        return total if self.linear is None else total + self.linear

    def clipped_gradient(
        self, weights: Array, clip: float, anchor: Array | None = None, *, person: float = 1.0
    ) -> Array:
        """Sum over records of loss gradients, each shrunk to norm at most ``clip``; no regulariser.

        With an ``anchor``, of each record's gradient minus its gradient there (variance reduction). Where people have
        several rows, the mean of a person's is shrunk once more, to ``person * clip``.

        A record's gradient in one model is slope times row, so its norm is |slope| * ||row||: clipping costs no
        pass over the data. With k independent models each model's gradient is clipped by itself.

        Guarantee: adding or removing a record moves the exact sum by at most ``person * clip * sqrt(models)``,
        replacing one by twice that; :func:`rounding_slack` covers the arithmetic.
        """
        return self._sum_gradients(weights, clip, anchor, person=person)

    def admitted_gradient(self, weights: Array, clip: float, admit: Admit) -> Array:
        """As :meth:`clipped_gradient`, each record's part multiplied by what ``admit`` grants it from its norm: 0 to 1.

        ``admit`` sees, block by block, each record's squared clipped norm (added up over independent models): the same
        to the last bit whatever other records there are.
        """
        return self._sum_gradients(weights, clip, admit=admit)

    def _sum_gradients(
        self,
        weights: Array,
        clip: float,
        anchor: Array | None = None,
        admit: Admit | None = None,
        person: float = 1.0,
    ) -> Array:
        total, shares = np.zeros_like(weights), self.records.shares
        for block, rows in self.records.blocks():
            predict = self.records.predict if admit is None else self.records.predict_alone
            slopes = self.loss.slope(predict(block, rows, weights), self.records.targets[rows])
            if anchor is not None:
                slopes -= self.loss.slope(self.records.predict(block, rows, anchor), self.records.targets[rows])
            if clip < math.inf:
                norms = self.records.design.norms[rows, None]
                sizes = clip_slopes(slopes, norms, clip, coupled=self.loss.coupled)
                if admit is not None:
                    sizes = np.abs(slopes) * norms if sizes is None else sizes
                    slopes *= admit(rows, (np.minimum(sizes, clip) ** 2).sum(axis=1))[:, None]
            if person < 1 and shares.starts is not None:
                design, coupled = self.records.design, self.loss.coupled
                total += gather_people(design, shares, block, rows, slopes, person * clip, coupled=coupled)[0]
            else:
                total += self.records.gather(block, rows, slopes)
        return total

    def gradient_and_hessian(self, weights: Array) -> tuple[Array, Array]:
        """Gradient and full Hessian of one scalar model, in one pass over the data."""
        size = self.records.features
        slope_sum, curve_sum = np.zeros((size, 1)), np.zeros((size, size))
        for block, rows in self.records.blocks():
            z, y = self.records.predict(block, rows, weights), self.records.targets[rows]
            slope_sum += self.records.gather(block, rows, self.loss.slope(z, y))
            self.records.add_hessian(curve_sum, block, rows, self.loss.curve(z, y, np.ones_like(z))[:, 0])
        slope_sum += self.strength * weights
        if self.linear is not None:
            slope_sum += self.linear
        curve_sum[np.diag_indices(size)] += self.strength
        return slope_sum, curve_sum

    def hessian_alone(self, weights: Array) -> Array:
        """``sum_i c_i x_i x_i^T`` of one scalar model with the loss's curvatures c_i, cut to [0, beta]; no regulariser.

        Guarantee: a record's part has a Frobenius norm of at most ``beta R^2`` and is the same whatever the other
        records are: curvatures jump (at the ends of a hinge's corner), and where a score rounds differently in other
        company, one record would move those of many. :func:`hessian_slack` covers the arithmetic.
        """
        total = np.zeros((self.records.features, self.records.features))
        for block, rows in self.records.blocks():
            z = self.records.predict_alone(block, rows, weights)
            curves = self.loss.curve(z, self.records.targets[rows], np.ones_like(z))[:, 0]
            self.records.add_hessian(total, block, rows, np.clip(curves, 0.0, self.loss.smoothness))
        return total

    def hessian_times(self, weights: Array, direction: Array) -> Array:
        """Hessian times a direction, without forming the Hessian."""
        total = self.strength * direction
        for block, rows in self.records.blocks():
            z, u = (self.records.predict(block, rows, w) for w in (weights, direction))
            total = total + self.records.gather(block, rows, self.loss.curve(z, self.records.targets[rows], u))
        return total

    def column(self, index: int) -> Problem:
        """The problem of one of several independent models."""
        y = self.records.targets
        picked = y[:, [index]] if y.shape[1] > 1 else y
        linear = None if self.linear is None else self.linear[:, [index]]
        return replace(self, records=replace(self.records, targets=picked), outputs=1, linear=linear)
