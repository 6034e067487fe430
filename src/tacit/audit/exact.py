r"""Exact privacy loss in one dimension, by densities: no sampling, no statistics.

With one weight and no intercept the perturbed minimiser of data D has the density ``p(w|D) = f(b(w)) |b'(w)|``, where
``b(w) = -(sum loss' + Lambda w)`` is the noise that gives w. So log p(w|D)/p(w|D') is a closed formula, and

.. math:: \delta(\epsilon) = E_{w \sim D}\left[\left(1 - e^{\epsilon - \log p(w|D)/p(w|D')}\right)_+\right]

is an integral over the unit noise. Output perturbation is two shifted copies of one density. The polishing noise of
objective perturbation is left out: this is the loss of the exact minimiser.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from tacit.audit.pairs import Data, Pair, target_values
from tacit.audit.planned import Planned
from tacit.checks import check, refuse
from tacit.mechanisms.objective import ObjectivePlan
from tacit.mechanisms.output import OutputPlan
from tacit.privacy.accounting import gaussian_delta
from tacit.privacy.noise import SeededSource
from tacit.rounding import border
from tacit.types import Adjacency, Array, Loss, Targets

POINTS = 4001
"""Nodes of the quadrature: doubling them moves delta by less than a part in a thousand."""


def one_dimensional_pairs(
    adjacency: Adjacency, clip: float = 1.0, targets: Targets = "signs"
) -> tuple[Pair, ...]:  # fmt: skip
    """Neighbours with one column: several bases, records at the clip, within it and at zero, both extreme targets."""
    high, low = target_values(targets)[:2]
    grid = [(clip, high), (-clip, high), (0.3 * clip, high), (0.0, high), (clip, low)]
    bases: list[list[tuple[float, float]]] = [
        [(0.0, high)], [(-clip, high), (clip, high)], [(clip, low)] * 4, [(0.5 * clip, high)] * 3,
    ]  # fmt: skip

    def made() -> Iterator[Pair]:
        for number, base in enumerate(bases):
            for place, first in enumerate(grid):
                for second in [None] if adjacency == "add-remove" else grid[place + 1 :]:
                    sides = [*base, first], base if second is None else [*base, second]
                    one, two = (np.array(side) for side in sides)
                    name = f"base {number}, {first} against {'nothing' if second is None else second}"
                    yield Pair(name, "", Data(one[:, :1], one[:, 1]), Data(two[:, :1], two[:, 1]), np.ones(1))

    return tuple(made())


def exact_delta(subject: Planned, pair: Pair, epsilon: float) -> float:
    """delta(epsilon) of a calibrated objective or output perturbation on one pair, the larger of both orders."""
    return _curve(subject, pair)(epsilon)


def exact_epsilon(subject: Planned, pair: Pair, delta: float) -> float:
    """The smallest epsilon with ``exact_delta <= delta`` on one pair, to 1e-6."""
    curve = _curve(subject, pair)
    return border(lambda epsilon: curve(epsilon) > delta, relative=1e-6)[1]


def _curve(subject: Planned, pair: Pair) -> Callable[[float], float]:
    losses = [privacy_loss(subject, *sides) for sides in ((pair.first, pair.second), (pair.second, pair.first))]
    if isinstance(losses[0], float):
        mu = losses[0]
        return lambda epsilon: gaussian_delta(mu, epsilon)
    return lambda epsilon: max(_integrate(loss, epsilon) for loss in losses if not isinstance(loss, float))


def privacy_loss(subject: Planned, here: Data, there: Data) -> float | tuple[Array, Array, Array]:
    """The privacy loss of one ordered pair: mu of two shifted Gaussians, or (nodes, density, loss) over the unit
    noise."""
    check(here.rows.shape[1] == 1 and not subject.intercept, "The exact loss is for one column and no intercept.")
    plan = subject.plan
    if isinstance(plan, OutputPlan):
        ends = [float(plan.trainer.train(subject.problem(data), SeededSource(0))[0, 0]) for data in (here, there)]
        shift = abs(ends[0] - ends[1]) / plan.scale
        if plan.noise == "gaussian":
            return shift
        nodes, density = _laplace()
        return nodes, density, np.abs(nodes + shift) - np.abs(nodes)
    if isinstance(plan, ObjectivePlan):
        return _objective(plan, subject.loss, subject.clip, here, there)
    refuse("Exact losses are known for objective and output perturbation. Audit other methods by runs.")


def _objective(plan: ObjectivePlan, loss: Loss, clip: float, here: Data, there: Data) -> tuple[Array, Array, Array]:
    reach = 9.0 if plan.noise == "gaussian" else 45.0
    bend = loss.lipschitz * clip * max(len(here.rows), len(there.rows))
    wide = np.linspace(-1.0, 1.0, POINTS) * (reach * plan.scale + bend) / plan.strength
    slopes, _ = _line(loss, here, wide)
    grid = np.linspace(-reach, reach, POINTS)
    w = np.interp(grid, (slopes + plan.strength * wide) / plan.scale, wide)
    (slope_here, curve_here), (slope_there, curve_there) = (_line(loss, data, w) for data in (here, there))
    unit, moved = ((slope + plan.strength * w) / plan.scale for slope in (slope_here, slope_there))
    exponent: Callable[[Array], Array] = (
        (lambda t: -0.5 * t * t) if plan.noise == "gaussian" else (lambda t: -np.abs(t))
    )
    ratio = np.log((curve_here + plan.strength) / (curve_there + plan.strength))
    density = np.exp(exponent(unit)) / (math.sqrt(2 * math.pi) if plan.noise == "gaussian" else 2.0)
    return unit, density, exponent(unit) - exponent(moved) + ratio


def _line(loss: Loss, data: Data, w: Array) -> tuple[Array, Array]:
    """Sums of slopes and curvatures at every w."""
    x = data.rows[:, 0]
    z = np.outer(w, x)
    targets = np.broadcast_to(data.targets, z.shape)
    return (loss.slope(z, targets) * x).sum(axis=1), (loss.curve(z, targets, np.ones_like(z)) * x**2).sum(axis=1)


def _laplace() -> tuple[Array, Array]:
    nodes = np.linspace(-45.0, 45.0, 8 * POINTS)
    return nodes, 0.5 * np.exp(-np.abs(nodes))


def _integrate(loss: tuple[Array, Array, Array], epsilon: float) -> float:
    nodes, density, values = loss
    return float(np.trapezoid(density * -np.expm1(np.minimum(0.0, epsilon - values)), nodes))
