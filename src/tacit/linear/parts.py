"""What one block gives to a sum over records: gradients, Hessians, values. Plain objects that go to other processes.

Each takes the loss, and weights as :class:`~tacit.linear.whole.Pieces`, which are made once a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tacit.linear.person_clip import people_sums
from tacit.linear.records import Block
from tacit.linear.whole import Pieces, Whole, added, split
from tacit.types import Array, Loss

Admit = Callable[[slice, Array], Array]
"""How much of it takes part: from a block's positions and squared clipped gradient norms to factors from 0 to 1."""


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
    np.minimum(slopes, most, out=slopes)
    np.maximum(slopes, -most, out=slopes)
    return None


@dataclass(frozen=True)
class Gradient:
    """The sum of loss gradients; with a ``clip`` each is shrunk to that norm, with an ``anchor`` it is less that there.

    ``largest`` bounds the slopes, which are split into ``count`` pieces. Where people have several rows and ``person``
    is below 1, the mean of a person's is shrunk once more, to ``person * clip``.
    """

    loss: Loss
    weights: Pieces = field(repr=False)
    largest: float
    count: int
    clip: float = math.inf
    anchor: Pieces | None = field(default=None, repr=False)
    admit: Admit | None = field(default=None, repr=False)
    person: float = 1.0

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        slopes = self.loss.slope(self.weights.scores(block.rows), block.targets)
        if self.anchor is not None:
            slopes -= self.loss.slope(self.anchor.scores(block.rows), block.targets)
        if self.clip < math.inf:
            norms = block.norms[:, None]
            sizes = clip_slopes(slopes, norms, self.clip, coupled=self.loss.coupled)
            if self.admit is not None:
                sizes = np.abs(slopes) * norms if sizes is None else sizes
                at = slice(block.first, block.first + block.count)
                slopes *= self.admit(at, (np.minimum(sizes, self.clip) ** 2).sum(axis=1))[:, None]
            if self.person < 1 and block.shares.starts is not None:
                return people_sums(block, slopes, self.person * self.clip, coupled=self.loss.coupled)[:1]
        return (block.gather(slopes, self.largest, self.count),)


@dataclass(frozen=True)
class GradientHessian:
    """The gradient and the full Hessian of one scalar model; rows of the Hessian are rounded to ``outer`` pieces."""

    loss: Loss
    weights: Pieces = field(repr=False)
    largest: float
    count: int
    outer: int

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's parts."""
        z = self.weights.scores(block.rows)
        curves = self.loss.curve(z, block.targets, np.ones_like(z))[:, 0]
        slopes = block.gather(self.loss.slope(z, block.targets), self.largest, self.count)
        return slopes, block.outer(np.clip(curves, 0.0, self.loss.smoothness), self.loss.smoothness, self.outer)


@dataclass(frozen=True)
class Hessian:
    """``sum_i c_i x_i x_i^T`` with the loss's curvatures c_i, cut to [0, beta]."""

    loss: Loss
    weights: Pieces = field(repr=False)

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        z, smooth = self.weights.scores(block.rows), self.loss.smoothness
        curves = self.loss.curve(z, block.targets, np.ones_like(z))[:, 0]
        return (block.outer(np.clip(curves, 0.0, smooth), smooth),)


@dataclass(frozen=True)
class SecondMoment:
    """``sum_i x_i x_i^T`` of design rows, rounded to so many pieces."""

    outer: int = 1

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        return (block.outer(None, 1.0, self.outer),)


@dataclass(frozen=True)
class NormSquares:
    """The sum of squared norms of design rows, or a little more."""

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part: more is added to each than rounding takes away."""
        squares, most = block.norms**2, block.radius**2
        return (added(block.shares.weigh(squares) + most * 2.0**-30, 2 * most, block.most),)


@dataclass(frozen=True)
class HessianTimes:
    """The Hessian times a direction, without forming it; ``largest`` bounds the curved scores along the direction."""

    loss: Loss
    weights: Pieces = field(repr=False)
    direction: Pieces = field(repr=False)
    largest: float
    count: int

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        z, u = self.weights.scores(block.rows), self.direction.scores(block.rows)
        return (block.gather(self.loss.curve(z, block.targets, u), self.largest, self.count),)


@dataclass(frozen=True)
class Changes:
    """How the gradient changes along a step, from where ``weights`` are; ``largest`` bounds a change of a slope."""

    loss: Loss
    weights: Pieces = field(repr=False)
    step: Pieces = field(repr=False)
    largest: float
    count: int

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        z, along = self.weights.scores(block.rows), self.step.scores(block.rows)
        return (block.gather(self.loss.change(z, block.targets, along), self.largest, self.count),)


@dataclass(frozen=True)
class Slants:
    """How the objective's slope along a direction has changed after steps of several ``sizes``: one number each."""

    loss: Loss
    weights: Pieces = field(repr=False)
    direction: Pieces = field(repr=False)
    sizes: tuple[float, ...]
    length: float

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's parts."""
        z, along = self.weights.scores(block.rows), self.direction.scores(block.rows)
        far = block.radius * self.length
        parts = []
        for size in self.sizes:
            slants = block.shares.weigh(along * self.loss.change(z, block.targets, size * along))
            largest = 2 * far * min(2 * self.loss.lipschitz, self.loss.smoothness * size * far)
            parts.append(added(slants.sum(axis=1), z.shape[1] * largest, block.most))
        return tuple(parts)


@dataclass(frozen=True)
class Values:
    """The sum of losses, one per model; none is above ``largest``."""

    loss: Loss
    weights: Pieces = field(repr=False)
    largest: float

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        losses = self.loss.value(self.weights.scores(block.rows), block.targets)
        return (added(block.shares.weigh(losses), self.largest, block.most),)


@dataclass(frozen=True)
class ManyHessians:
    """Hessians of independent models, models x d(d+1)/2: curvatures times the products of all pairs of features."""

    loss: Loss
    weights: Pieces = field(repr=False)

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part; products and curvatures have digits enough for a step's direction."""
        z, design = self.weights.scores(block.rows), block.design()
        upper, lower = np.triu_indices(design.shape[1])
        digits = 53 - block.most.bit_length()
        (pairs,), (pair_step,) = split(design[:, upper] * design[:, lower], block.radius**2, digits // 2, 1)
        curves = np.clip(self.loss.curve(z, block.targets, np.ones_like(z)), 0.0, self.loss.smoothness)
        (rounded,), (step,) = split(block.shares.weigh(curves), self.loss.smoothness, digits // 2, 1)
        return (Whole.of((rounded.T @ pairs)[None], [step * pair_step]),)


@dataclass(frozen=True)
class JointHessian:
    """The Hessian of all scores of one coupled model: for each pair of scores, in the order of rows, d x d."""

    loss: Loss
    weights: Pieces = field(repr=False)
    outer: int = 2

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's parts, one per pair of scores, in rows."""
        z = self.weights.scores(block.rows)
        parts = []
        for place in range(z.shape[1]):
            unit = np.zeros_like(z)
            unit[:, place] = 1.0
            curves = self.loss.curve(z, block.targets, unit)
            parts += [block.signed_outer(curves[:, other], 1.0, self.outer) for other in range(place, z.shape[1])]
        return tuple(parts)
