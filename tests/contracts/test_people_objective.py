"""Objective perturbation with a person as the unit: the exact privacy loss in the plane, by quadrature over densities.

The minimiser w of ``sum_j w_j loss_j(w) + Lambda/2 ||w||^2 + <b, w>`` has the density ``f(b(w)) det(H(w) + Lambda)``,
b(w) the linear term that leads to it: what no theorem about people is needed for.
"""

import math

import numpy as np
import pytest

from tacit.linear.losses import HuberHinge, Logistic, PoissonLoss, Squared
from tacit.privacy.events import Objective
from tacit.privacy.minimisers import objective_delta

SIDE, REACH = 301, 6.0
EAST, NORTH = np.eye(2)
SLANTED = (EAST + NORTH) / math.sqrt(2)
ALIKE, ACROSS, APART = [EAST, EAST], [EAST, NORTH], [EAST, -EAST]
PAIRS = [
    (ALIKE, None), (ACROSS, None), (APART, None), (ALIKE, [-EAST, -EAST]), (ACROSS, [-EAST, -NORTH]),
    (ACROSS, [-SLANTED, SLANTED]), (ALIKE, [NORTH, -NORTH]), (ACROSS, APART),
]  # fmt: skip
THIRDS = [np.array([math.cos(angle), math.sin(angle)]) for angle in (0.0, 2 * math.pi / 3, 4 * math.pi / 3)]
TRIPLES = [
    ([EAST] * 3, None), (THIRDS, None), ([EAST, EAST, NORTH], None), ([EAST] * 3, [-EAST] * 3), (THIRDS, [EAST]),
    ([EAST, NORTH, -EAST], [-SLANTED] * 3), (THIRDS, [-EAST, -EAST, NORTH]), ([EAST], [-EAST, -NORTH, -SLANTED]),
]  # fmt: skip
LOSSES = {"logistic": Logistic(), "hinge": HuberHinge(), "numbers": Squared(), "counts": PoissonLoss(0.5)}  # fmt: skip


def density(loss, rows, target, w, strength, scale):
    """Log density of the minimiser at every w (points x 2), for one person of these rows, which weigh one together."""
    pull, bend = strength * w, np.tile(strength * np.eye(2), (len(w), 1, 1))
    for row in rows:
        z, y = (w @ row)[:, None], np.full((len(w), 1), target)
        pull = pull + loss.slope(z, y) * row / len(rows)
        bend = bend + (loss.curve(z, y, np.ones_like(z)) / len(rows))[:, :, None] * np.outer(row, row)
    noise = -0.5 * (pull**2).sum(axis=1) / scale**2 - math.log(2 * math.pi * scale**2)
    return noise + np.log(np.linalg.det(bend))


def exact_delta(loss, first, second, target, strength, scale, epsilons):
    """``integral (p - e^epsilon q)_+`` for the worse of the two orders."""
    reach = (REACH * scale + loss.lipschitz) / strength
    line = np.linspace(-reach, reach, SIDE)
    w = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    p, q = (density(loss, rows, target, w, strength, scale) for rows in (first, second))
    cell = (line[1] - line[0]) ** 2
    assert math.isclose(float(np.exp(p).sum() * cell), 1.0, rel_tol=2e-2), "the grid holds the whole density"
    return [
        max(float(np.maximum(np.exp(a) - math.exp(e) * np.exp(b), 0).sum() * cell) for a, b in ((p, q), (q, p)))
        for e in epsilons
    ]


@pytest.mark.parametrize(("strength", "scale"), [(1.0, 4.0), (3.0, 1.5)])
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("rows", "pairs"), [(2, PAIRS), (3, TRIPLES)])
def test_the_price_of_a_person_is_above_the_exact_one(rows, pairs, name, scale, strength):
    loss, epsilons = LOSSES[name], (0.1, 0.5, 1.0, 2.0)
    target = 1.0 if isinstance(loss.targets, str) else loss.targets[1]
    event = Objective(
        slope=loss.lipschitz, trace=loss.trace, strength=strength, scale=scale, geometry=loss.geometry, rows=rows
    )
    for first, second in pairs:
        adjacency = "add-remove" if second is None else "replace-one"
        exact = exact_delta(loss, first, second or [], target, strength, scale, epsilons)
        priced = [objective_delta(event, epsilon, adjacency) for epsilon in epsilons]
        assert all(true <= price * 1.02 + 1e-7 for true, price in zip(exact, priced, strict=True))


def test_more_rows_cost_more_and_one_row_what_it_did():
    def price(rows, adjacency):
        event = Objective(slope=1.0, trace=0.25, strength=2.0, scale=16.0, geometry="logistic", rows=rows)
        return objective_delta(event, 0.5, adjacency)

    for adjacency, power in (("add-remove", 1), ("replace-one", 2)):
        assert price(1, adjacency) < price(2, adjacency) < price(5, adjacency)
        assert price(5, adjacency) == pytest.approx(2.5**power * price(2, adjacency), rel=1e-9)
