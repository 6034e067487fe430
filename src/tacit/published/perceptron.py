r"""A perceptron with one hidden layer and its records, as the papers' algorithms train them; derivatives written out.

One step on one record by autograd costs many times what its arithmetic does, and two papers' algorithms take tens of
thousands of them. The layers are those of :func:`tacit.nn.architectures.mlp_network`:

.. math:: a = W_1 x + b_1,\quad h = \phi(a),\quad s = W_2 h + b_2,\quad \ell = -\log \mathrm{softmax}(s)_y .

With :math:`e = \partial\ell/\partial s` and :math:`\delta = \phi'(a) \circ W_2^T e` the gradient is
:math:`(\delta x^T, \delta, e h^T, e)`. Tests hold all of it against autograd.

What differs from a linear score is only what a network needs: first weights that are random, a near minimiser instead
of the minimiser, and an approximate inverse of the Hessian (:mod:`tacit.published.curvature`). NOT PRIVATE.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tacit.checks import check, check_choice, check_count
from tacit.privacy.noise import Source, gaussian, permutation
from tacit.published.curvature import InverseHessian
from tacit.published.models import Picks
from tacit.types import Array

Codes = NDArray[np.int64]
Curve = Callable[[Array], Array]
CURVES: dict[str, tuple[Curve, Curve, Curve]] = {
    "tanh": (np.tanh, lambda h: 1 - h * h, lambda h: -2 * h * (1 - h * h)),
    "relu": (lambda a: np.maximum(a, 0.0), lambda h: np.asarray(h > 0, dtype=np.float64), lambda h: np.zeros(h.shape)),
    "elu": (
        lambda a: np.where(a > 0, a, np.expm1(np.minimum(a, 0.0))),
        lambda h: 1 + np.minimum(h, 0.0),
        lambda h: np.where(h < 0, 1 + h, 0.0),
    ),
}
"""Each activation, and its first and second derivative as functions of its *value*."""
TOLERANCE = 1e-4
"""Power iteration stops when the square it looks for grows by less than this fraction, or after POWERS rounds."""
POWERS = 50
KEPT = 8
"""Pre-trained models that a process remembers: an experiment fits the same one at many budgets."""
_PRETRAINED: dict[bytes, Array] = {}


@dataclass(frozen=True)
class Passes:
    """What a forward and a backward pass leave, one row per record: h, the scores s, e, W_2^T e and delta."""

    hidden: Array
    scores: Array
    error: Array
    back: Array
    inner: Array


@dataclass(frozen=True, kw_only=True)
class Settings:
    """lambda; of how many records, and to how many directions, H is known, and what is added to its diagonal; L-BFGS
    iterations that count as a minimisation."""

    activation: str = "tanh"
    regularization: float = 1e-3
    curvature_records: int = 4000
    rank: int = 64
    damping: float = 0.01
    pretraining: int = 60

    def __post_init__(self) -> None:
        check_choice("activation", self.activation, CURVES)
        check(0 <= self.damping < math.inf, f"Expected damping={self.damping} >= 0 and finite.")
        for name in ("curvature_records", "rank", "pretraining"):
            object.__setattr__(self, name, check_count(name, getattr(self, name)))  # 64.0 is 64


class Perceptron:
    """The weights as one flat vector in double precision, in PyTorch's order, with the layers as views of it.

    It keeps the contract of :class:`tacit.published.models.Model`; ``labels`` are codes.
    """

    together = False

    def __init__(self, network: nn.Module, x: Array, labels: Codes, settings: Settings) -> None:
        self.x, self.labels, self.settings = x, labels, settings
        self.count, self.columns = x.shape
        self.network = network.double()
        self.flat: Array = parameters_to_vector(self.network.parameters()).detach().numpy().copy()
        shapes: list[Any] = [tuple(p.shape) for p in self.network.parameters()]
        ends = [0, *np.cumsum([math.prod(shape) for shape in shapes]).tolist()]
        self.places = [(slice(*edge), shape) for edge, shape in zip(itertools.pairwise(ends), shapes, strict=True)]
        self.first, self.first_bias, self.last, self.last_bias = self.layers(self.flat)
        self.activation, self.slope, self.bend = CURVES[settings.activation]

    def layers(self, flat: Array) -> list[Array]:
        """Views of a flat vector: W_1, b_1, W_2 and b_2."""
        return [flat[place].reshape(shape) for place, shape in self.places]

    def filled(self) -> nn.Module:
        """The PyTorch network with these weights. Edges: a weight that overflowed is cut, one that is NaN is 0."""
        finite = np.nan_to_num(self.flat, nan=0.0, posinf=1e30, neginf=-1e30)
        vector_to_parameters(torch.from_numpy(finite), self.network.parameters())
        return self.network

    def passes(self, x: Array, y: Codes) -> Passes:
        """Forward and back for a batch of records."""
        hidden = self.activation(x @ self.first.T + self.first_bias)
        scores = hidden @ self.last.T + self.last_bias
        error = np.exp(scores - scores.max(axis=1, keepdims=True))
        error /= error.sum(axis=1, keepdims=True)
        error[np.arange(len(y)), y] -= 1
        back = error @ self.last
        return Passes(hidden, scores, error, back, self.slope(hidden) * back)

    def rows(self, picks: Picks | slice) -> Array:
        """A copy of these rows."""
        return np.array(self.x[picks])

    def gradients(self, picks: Picks | slice) -> Array:
        """Each record's gradient as a flat row, the regulariser being part of every record's loss."""
        x = self.x[picks]
        at = self.passes(x, self.labels[picks])
        pairs = ((at.inner, x), (at.error, at.hidden))
        layers = [((a[:, :, None] * b[:, None, :]).reshape(len(x), -1), a) for a, b in pairs]
        return np.hstack([*layers[0], *layers[1]]) + self.settings.regularization * self.flat

    def mean_gradient(self, at: Passes, x: Array) -> Array:
        """The gradient of the mean regularised loss over a batch, flat."""
        flat = np.empty_like(self.flat)
        one, two, three, four = self.layers(flat)
        np.matmul(at.inner.T, x, out=one)
        np.sum(at.inner, axis=0, out=two)
        np.matmul(at.error.T, at.hidden, out=three)
        np.sum(at.error, axis=0, out=four)
        if len(x) > 1:
            flat /= len(x)
        return np.asarray(flat + self.settings.regularization * self.flat)

    def step(self, rows: Array, labels: Codes, rate: float, noise: Array | None = None) -> None:
        """One descent step on a batch, with noise on its gradient or without."""
        gradient = self.mean_gradient(self.passes(rows, labels), rows)
        if noise is not None:
            gradient += noise
        gradient *= rate
        self.flat -= gradient

    def minimise(self) -> None:
        """Go to a near minimiser of the regularised mean loss, by L-BFGS: the pre-trained model."""
        y, strong = self.labels, self.settings.regularization

        def value(point: Array) -> tuple[float, Array]:
            self.flat[:] = point
            at = self.passes(self.x, y)
            mean = float(np.mean(logsumexp(at.scores, axis=1) - at.scores[np.arange(len(y)), y]))
            return mean + 0.5 * strong * float(point @ point), self.mean_gradient(at, self.x)

        most = self.settings.pretraining
        key = self._fingerprint()
        if key not in _PRETRAINED:
            best = minimize(value, self.flat.copy(), jac=True, method="L-BFGS-B", options={"maxiter": most})
            while len(_PRETRAINED) >= KEPT:
                _PRETRAINED.pop(next(iter(_PRETRAINED)))
            _PRETRAINED[key] = best.x
        self.flat[:] = _PRETRAINED[key]

    def _fingerprint(self) -> bytes:
        """Of all that the minimisation depends on."""
        whole = hashlib.blake2b(repr((self.settings, self.x.shape)).encode())
        for part in (self.x, self.labels, self.flat):
            whole.update(np.ascontiguousarray(part).tobytes())
        return whole.digest()

    def influence(self, source: Source) -> Callable[[Picks], Array]:
        """With the approximate inverse from records drawn at random."""
        settings, everyone = self.settings, self.settings.curvature_records >= self.count
        some = slice(None) if everyone else permutation(source, self.count)[: settings.curvature_records]
        start, floor = gaussian(source, self.flat.shape), settings.regularization + settings.damping
        inverse = InverseHessian.of(self.hessian(some), start, settings.rank, floor)
        return lambda picks: inverse.times(self.gradients(picks)) / self.count

    def hessian(self, picks: Picks | slice) -> Callable[[Array], Array]:
        """The Hessian of these records' mean loss, without the regulariser, as a map of flat directions.

        Reference: Pearlmutter 1994, *Fast exact multiplication by the Hessian*.
        """
        x, y = self.x[picks], self.labels[picks]
        at = self.passes(x, y)
        chances = at.error.copy()
        chances[np.arange(len(y)), y] += 1
        last, slope = self.last.copy(), self.slope(at.hidden)
        bent = self.bend(at.hidden) * at.back

        def times(direction: Array) -> Array:
            first, first_bias, outer, outer_bias = self.layers(direction)
            image = np.empty_like(direction)
            one, two, three, four = self.layers(image)
            moved = x @ first.T + first_bias
            hidden = slope * moved
            scores = hidden @ last.T + at.hidden @ outer.T + outer_bias
            error = chances * (scores - np.einsum("ij,ij->i", chances, scores)[:, None])
            inner = slope * (error @ last + at.error @ outer) + bent * moved
            np.matmul(inner.T, x, out=one)
            np.sum(inner, axis=0, out=two)
            np.add(error.T @ at.hidden, at.error.T @ hidden, out=three)
            np.sum(error, axis=0, out=four)
            return np.asarray(image / len(x))

        return times

    def passed_on(self, row: Array, label: Codes) -> float:
        r"""``w_t``, the spectral norm of the mixed derivative of one record's loss by x and by the weights.

        With A, B and C the derivatives of delta, h and e by x, its Gram matrix is the sum of
        :math:`(\|x\|^2+1)A^TA`, :math:`\|e\|^2B^TB`, :math:`(\|h\|^2+1)C^TC`, :math:`\|\delta\|^2 I` and
        :math:`ux^T + xu^T + pq^T + qp^T` with :math:`u = A^T\delta`, :math:`p = C^Te`, :math:`q = B^Th`. Power
        iteration needs it times a vector only, and comes from below.
        """
        x, at = row, self.passes(row[None], label)
        h, e, inner = at.hidden[0], at.error[0], at.inner[0]
        chances = e.copy()
        chances[label] += 1
        spread = np.diag(chances) - np.outer(chances, chances)
        slope, bent = self.slope(h), self.bend(h) * at.back[0]
        out = self.last * slope  # B = slope W_1, C = spread out W_1, A = out^T C + bent W_1

        def back(a: Array, b: Array, c: Array) -> Array:
            return np.asarray((bent * a + slope * b + (spread @ (out @ a + c)) @ out) @ self.first)

        u, p, q = back(inner, 0.0 * h, 0.0 * e), back(0.0 * h, 0.0 * h, e), back(0.0 * h, h, 0.0 * e)
        sides, others = np.stack([u, x, p, q]), np.stack([x, u, q, p])
        heavy, middle, light, plain = x @ x + 1, h @ h + 1, e @ e, inner @ inner
        v, largest = u + p + q + x + 1e-3, 0.0
        for _ in range(POWERS):
            v = v / max(math.sqrt(v @ v), 1e-300)
            moved = self.first @ v
            c = spread @ (out @ moved)
            image = back(heavy * (c @ out + bent * moved), light * slope * moved, middle * c) + plain * v
            image += (others @ v) @ sides
            previous, largest = largest, float(v @ image)
            if largest <= previous * (1 + TOLERANCE):
                break
            v = image
        return max(math.sqrt(max(largest, 0.0)), 1e-12)
