r"""Perceptrons side by side: the weights of each in a row of one matrix, their derivatives in one call.

The layers, their order and the formulas are those of :mod:`tacit.published.perceptron`, for ``tanh`` and two classes.
Rows come as (networks, records, columns): every network sees its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

TOLERANCE, POWERS = 1e-4, 50
"""Power iteration, as in :mod:`tacit.published.perceptron`."""


@dataclass(frozen=True)
class Passes:
    """What a pass forward and one back leave of every record: h, the scores s, e, W_2^T e and delta."""

    hidden: torch.Tensor
    scores: torch.Tensor
    error: torch.Tensor
    back: torch.Tensor
    inner: torch.Tensor


class Stack:
    """``flat`` holds W_1, b_1, W_2 and b_2 of each network; ``ridge`` is lambda, part of every record's loss."""

    def __init__(self, flat: torch.Tensor, columns: int, ridge: float = 0.0) -> None:
        self.flat, self.columns, self.ridge = flat.contiguous(), columns, ridge
        self.first, self.first_bias, self.last, self.last_bias = self.layers(self.flat)

    def layers(self, flat: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Views of flat rows."""
        d, start, found = self.columns, 0, []
        for shape in ((d, d), (d,), (2, d), (2,)):
            size = math.prod(shape)
            found.append(flat[:, start : start + size].view(len(flat), *shape))
            start += size
        return found[0], found[1], found[2], found[3]

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """s of every record; rows of one network only are seen by all."""
        hidden = torch.tanh(x @ self.first.mT + self.first_bias[:, None])
        return hidden @ self.last.mT + self.last_bias[:, None]

    def passes(self, x: torch.Tensor, y: torch.Tensor) -> Passes:
        """Forward and back."""
        hidden = torch.tanh(x @ self.first.mT + self.first_bias[:, None])
        scores = hidden @ self.last.mT + self.last_bias[:, None]
        error = torch.softmax(scores, dim=2)
        error.scatter_add_(2, y[:, :, None], torch.full_like(scores[:, :, :1], -1.0))
        back = error @ self.last
        return Passes(hidden, scores, error, back, (1 - hidden * hidden) * back)

    def gradients(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Each record's gradient, flat: (networks, records, weights)."""
        at = self.passes(x, y)
        pairs = ((at.inner, x), (at.error, at.hidden))
        parts = [((a[:, :, :, None] * b[:, :, None, :]).flatten(2), a) for a, b in pairs]
        return torch.cat([*parts[0], *parts[1]], dim=2).add_(self.flat[:, None], alpha=self.ridge)

    def weighted_sum(self, at: Passes, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """The sum of the records' gradients times these weights, flat, without the regulariser."""
        inner, error = at.inner * weights[:, :, None], at.error * weights[:, :, None]
        parts = (inner.mT @ x, inner.sum(1), error.mT @ at.hidden, error.sum(1))
        return torch.cat([part.flatten(1) for part in parts], dim=1)

    def mean_gradient(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The gradient of the mean regularised loss, flat."""
        even = torch.full(y.shape, 1 / y.shape[1], dtype=x.dtype, device=x.device)
        return self.weighted_sum(self.passes(x, y), x, even) + self.ridge * self.flat

    def clipped_sum(self, x: torch.Tensor, y: torch.Tensor, taken: torch.Tensor, clip: torch.Tensor) -> torch.Tensor:
        """The sum of gradients of the taken records, each shrunk to norm ``clip``; no regulariser.

        A record's gradient is two outer products, so its norm needs four sums. One that is not finite counts as zero.
        """
        at = self.passes(x, y)
        square = at.inner.square().sum(2) * (x.square().sum(2) + 1)
        square += at.error.square().sum(2) * (at.hidden.square().sum(2) + 1)
        norms = square.sqrt()
        finite = torch.isfinite(norms)
        shares = torch.where(finite, clip / torch.maximum(norms, clip), torch.zeros_like(norms))
        x, hidden, error, inner = (
            torch.where(finite[:, :, None], part, torch.zeros_like(part)) for part in (x, at.hidden, at.error, at.inner)
        )
        return self.weighted_sum(Passes(hidden, at.scores, error, at.back, inner), x, shares * taken)

    def hessian(self, x: torch.Tensor, y: torch.Tensor) -> Hessian:
        """That of the records' mean loss, without the regulariser."""
        return Hessian(self, x, self.passes(x, y), y)

    def passed_on(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """``w_t`` of one record a network: the spectral norm of its loss's mixed derivative by x and by the weights.

        :meth:`tacit.published.perceptron.Perceptron.passed_on` for two classes: with k = p_0 p_1 and
        g = (W_2[0] - W_2[1]) phi', the softmax's matrix is k (1, -1)^T (1, -1).
        """
        at = self.passes(x[:, None], y[:, None])
        h, e, inner = at.hidden[:, 0], at.error[:, 0], at.inner[:, 0]
        chances = torch.softmax(at.scores[:, 0], dim=1)
        k, slope = chances.prod(1, keepdim=True), 1 - h * h
        bent, g = -2 * h * slope * at.back[:, 0], (self.last[:, 0] - self.last[:, 1]) * slope

        def back(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
            """``c`` is the difference of its two parts."""
            rows = bent * a + slope * b + k * ((g * a).sum(1, keepdim=True) + c) * g
            return (rows[:, None] @ self.first)[:, 0]

        nothing, none = torch.zeros_like(h), torch.zeros_like(k)
        u, p = back(inner, nothing, none), back(nothing, nothing, e[:, :1] - e[:, 1:])
        q = back(nothing, h, none)
        heavy, middle = x.square().sum(1, keepdim=True) + 1, h.square().sum(1, keepdim=True) + 1
        light, plain = e.square().sum(1, keepdim=True), inner.square().sum(1, keepdim=True)

        def dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return (a * b).sum(1, keepdim=True)

        v, largest, going = u + p + q + x + 1e-3, none, torch.ones_like(k, dtype=torch.bool)
        for _ in range(POWERS):
            v = v / dot(v, v).sqrt().clamp(min=1e-30)
            moved = (self.first @ v[:, :, None])[:, :, 0]
            c = k * dot(g, moved)
            image = back(heavy * (c * g + bent * moved), light * slope * moved, 2 * middle * c) + plain * v
            image = image + dot(x, v) * u + dot(u, v) * x + dot(q, v) * p + dot(p, v) * q
            now = dot(v, image)
            grows = going & (now > largest * (1 + TOLERANCE))
            largest, going = torch.where(going, now, largest), grows
            if not bool(going.any()):
                break
            v = image
        return largest[:, 0].clamp(min=0).sqrt().clamp(min=1e-12)


class Hessian:
    """A map of flat directions, one a network. Reference: Pearlmutter 1994."""

    def __init__(self, stack: Stack, x: torch.Tensor, at: Passes, y: torch.Tensor) -> None:
        self.stack, self.x, self.at = stack, x, at
        self.chances = torch.softmax(at.scores, dim=2)
        self.slope = 1 - at.hidden * at.hidden
        self.bent = -2 * at.hidden * self.slope * at.back
        self.last = stack.last.clone()

    def times(self, direction: torch.Tensor) -> torch.Tensor:
        """H times a direction."""
        first, first_bias, outer, outer_bias = self.stack.layers(direction.contiguous())
        moved = self.x @ first.mT + first_bias[:, None]
        hidden = self.slope * moved
        scores = hidden @ self.last.mT + self.at.hidden @ outer.mT + outer_bias[:, None]
        error = self.chances * (scores - (self.chances * scores).sum(2, keepdim=True))
        inner = self.slope * (error @ self.last + self.at.error @ outer) + self.bent * moved
        last = error.mT @ self.at.hidden + self.at.error.mT @ hidden
        parts = (inner.mT @ self.x, inner.sum(1), last, error.sum(1))
        return torch.cat([part.flatten(1) for part in parts], dim=1) / self.x.shape[1]
