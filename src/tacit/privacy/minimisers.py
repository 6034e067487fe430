"""The price of a perturbed minimiser, delta(epsilon): objective perturbation and input perturbation.

Each is a formula with a proof page; :mod:`tacit.privacy.accounting` puts them together with other releases.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, log_ndtr

from tacit.privacy.events import InputMinimum, Objective
from tacit.privacy.tails import LEAST, chi_delta, gaussian_delta
from tacit.rounding import SMALL, below, up
from tacit.types import Adjacency, Array


def log_determinant(event: Objective) -> float:
    """Largest log ratio of Hessian determinants when one record is added: ``k log(1 + trace/(k Lambda))``, rank k.

    Of a person with several rows it is ``trace/Lambda``, as ``log det(1 + M) <= tr M``. Rounded up.
    """
    if event.rows > 1:
        return up(event.trace * (1 if event.geometry == "simplex" else event.outputs) / event.strength)
    if event.geometry == "simplex":
        rank = event.outputs - 1
        return up(rank * math.log1p(event.trace / (rank * event.strength)))
    return up(event.outputs * math.log1p(event.trace / event.strength))


@dataclass(frozen=True)
class Corner:
    """``count`` corners: log-determinant ``offset``, and a gradient difference of ``norm`` times the slope bound."""

    count: int
    offset: float
    norm: float


TANGENTS = ((1.0,), (0.5, 1.0), (0.5, 0.75, 1.0), (0.5, 0.7, 0.85, 1.0))
"""Where the logistic log-determinant is bounded by tangents; the best of these bounds is used."""


SHARES = (8.0, 6.0, 5.0, 4.5, 4.0)
"""How many of its standard deviations the loss of Gaussian releases is given, where it is added up: the best is taken.
"""


def _bends(ratio: float, touching: tuple[float, ...], several: bool = False) -> list[tuple[float, float]]:
    """Knots (s, height) of the tangents to ``D(s) = log(1 + ratio s (1 - s))``, a concave function, from s = 0 to 1.

    For people with ``several`` rows, to ``D(s) = ratio s (1 - s)``.

    Heights are raised by what rounding of a knot's place, times the steepest tangent, and of its height may lose; the
    last tangent touches at the end, so that knot is exact.
    """
    slack = SMALL * ratio
    lines = []
    for u in touching:
        bend = ratio * u * (1 - u)
        rise = ratio * (1 - 2 * u) / (1.0 if several else 1 + bend)
        lines.append((rise, (bend if several else math.log1p(bend)) - rise * u))
    knots = [(0.0, up(lines[0][1]) + slack)]
    for (rise, foot), (next_rise, next_foot) in itertools.pairwise(lines):
        s = (next_foot - foot) / (rise - next_rise)
        knots.append((s, up(foot + rise * s) + slack))
    return [*knots, (1.0, 0.0)]


def corners(event: Objective, adjacency: Adjacency) -> list[list[Corner]]:
    r"""The finitely many cases that bound the privacy loss of objective perturbation; each inner list is a bound.

    The loss is at most ``max_g D(g) + q(g)``, q(g) = <b, g>/s^2 + ||g||^2/(2 s^2), over the differences g of gradients
    that the differing record(s) can have. q is convex and D has a piecewise linear majorant, so corners suffice, and
    each corner's q is the privacy loss of a Gaussian mechanism:

    .. math:: \delta(\epsilon) \le \sum_j n_j \, \delta_{Gauss}(\epsilon - D_j; \mu_j)

    * logistic: g = s v, 0 <= s <= 1, with Hessian trace 4 t s(1-s), so D(s) = log(1 + 4t s(1-s)/Lambda) vanishes
      where the gradient is largest: tangents to D give the majorant;
    * monotone: g = s v, 0 <= s <= 1; two-sided: g = s v, -1 <= s <= 1; simplex: g in conv{0, e_j - e_y} x; D constant.

    Replace-one takes all pairs of corners. The proof is on the docs' page "Objective perturbation".
    """
    one = adjacency == "add-remove"
    offset = log_determinant(event)
    if event.geometry == "logistic":
        ratio = 4 * event.trace / event.strength
        return [
            [
                Corner(1, height, s + other)
                for s, height in _bends(ratio, touching, event.rows > 1)
                for other in ((0,) if one else (0, 1))
            ]
            for touching in TANGENTS
        ]
    if event.geometry == "monotone":
        still = Corner(1, offset, 0.0)
        return [[still, Corner(1, offset, 1.0)] if one else [still, Corner(1, offset, 2.0), Corner(2, offset, 1.0)]]
    if event.geometry == "two-sided":
        return [[Corner(2, offset, 1.0)] if one else [Corner(4, offset, 2.0)]]
    others = event.outputs - 1
    still = Corner(1, offset, 0.0)
    if one:
        return [[still, Corner(others, offset, 1.0)]]
    far = Corner(others * (others - 1), offset, math.sqrt(3.0))
    return [[still, Corner(others, offset, 2.0), far, Corner(2 * others, offset, 1.0)]]


def objective_delta(
    event: Objective, epsilon: float, adjacency: Adjacency, extra: float = 0.0, *, earlier: bool = False
) -> float:
    """delta(epsilon) of objective perturbation with Gaussian noise: the best sum over :func:`corners`.

    ``extra`` is the mu of Gaussian releases made with it: a corner of norm m composes with it to a Gaussian mechanism
    of ``hypot(m, extra)``, exactly. ``earlier``: some of them may have come before, and rows may depend on those.

    Two refinements: for two-sided slopes under replace-one the four corners have norms ``m cos`` and ``m sin`` of one
    angle, and delta is convex in m^2 while ``epsilon^2 >= m^2 + m^4/4``, so two full corners bound all four; not so
    where the angle may depend on an earlier release, for there the mean over it is not convex (docs' page "Whitened
    rows"). Several
    independent models have too many corners: their gradients' subspace gives a chi bound instead, and basic
    composition, at the best of a few shares of epsilon for the others (SHARES).
    """
    unit = event.slope / event.scale
    left = below(epsilon, log_determinant(event))
    # A person's gradient is a mean of rows' (of pairs of rows', where a person is replaced): the worst of them bounds
    # it, and the probability that one of them is bad is at most their sum.
    several = event.rows if adjacency == "add-remove" else event.rows**2
    if event.outputs > 1 and event.geometry != "simplex":
        factor = 1 if adjacency == "add-remove" else 2
        mu, size = factor * math.sqrt(event.outputs) * unit, factor * event.outputs
        if not extra:
            return min(1.0, several * chi_delta(mu, left, size))
        shares = [reach * extra + extra**2 / 2 for reach in SHARES]
        bounds = (chi_delta(mu, below(left, share), size) + gaussian_delta(extra, share) for share in shares)
        return min(1.0, several * min(bounds))
    full = math.hypot(2 * unit, extra)
    two = event.geometry == "two-sided" and adjacency == "replace-one" and not earlier and several == 1
    if two and left > 0 and left**2 >= full**2 + full**4 / 4:
        return min(1.0, 2 * gaussian_delta(full, left) + 2 * gaussian_delta(extra, left))
    bounds = (
        sum(c.count * gaussian_delta(math.hypot(c.norm * unit, extra), below(epsilon, c.offset)) for c in cases)
        for cases in corners(event, adjacency)
    )
    return min(1.0, several * min(bounds))


def _convex_deltas(squares: Array, epsilon: float) -> Array:
    """A convex majorant of mu^2 -> delta_Gauss(epsilon; mu), for epsilon > 0.

    The function is convex up to ``mu^2 = 2 (sqrt(1 + epsilon^2) - 1)`` and concave after, where its tangent continues
    it. Rounded up.
    """
    bend = 2 * (math.sqrt(1 + epsilon**2) - 1)
    mu = np.sqrt(np.clip(squares, 1e-300, bend))
    far = epsilon / mu + mu / 2
    upper, lower = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-far)
    # Both logarithms feel the rounding of their arguments; their difference keeps those errors.
    values = np.exp(upper) * (-np.expm1(np.minimum(lower - upper, 0.0)) + SMALL * (2 + epsilon + far**2))
    rise = math.exp(-0.5 * (epsilon / math.sqrt(bend) - math.sqrt(bend) / 2) ** 2) / math.sqrt(8 * math.pi * bend)
    return np.asarray(np.maximum(values, LEAST) + up(rise) * np.maximum(squares - bend, 0.0))


def input_convexity(event: InputMinimum) -> float:
    """Lambda: a lower bound, but for probability ``tail``, on the eigenvalues of the others' noisy moments plus ridge.

    Off the span of the honest others' h - 1 rows' columns, h - 1 - d rows of pure noise are left, whatever the rows
    were; their smallest singular value is at least ``row_scale (sqrt(h-1-d) - sqrt(d) - sqrt(2 log(1/tail)))``
    (Davidson & Szarek 2001). What the dishonest send adds q q^T, which has no negative eigenvalue: it is left out.
    """
    d = event.features
    free = math.sqrt(max(event.honest - 1 - d, 0)) - math.sqrt(d) - math.sqrt(2 * math.log(1 / event.tail))
    free -= 1e-6 * math.sqrt(event.honest * d)  # submissions are rounded to at most 2**-20 of their noise
    return (event.row_scale * max(free, 0.0)) ** 2 + event.ridge


def input_row(event: InputMinimum) -> float:
    """Q: an upper bound, but for probability ``tail``, on the norm of the differing contributor's noisy row."""
    return event.row + event.row_scale * math.sqrt(float(chdtri(event.features, event.tail)))


_STOPS = tuple(2.0**k for k in range(1, 10))


def input_delta(event: InputMinimum, epsilon: float, share: float = 0.0, cells: int = 64) -> float:
    r"""delta(epsilon) of input perturbation, for replace-one neighbours; ``share`` of epsilon is kept for others.

    Given all row noise u and all that the dishonest sent, the model is objective perturbation over a ball with losses
    (q.w)^2/2 - p.w. With a = Q^2 eta and b = 2 cross the gradients' difference is a point of a parallelogram whose
    corners have norms at most X + b, |X - b|, Y + b and |Y - b| with X^2 + Y^2 = 4 a^2; the sum of their prices is
    bounded over ``cells`` intervals of X.

    .. math::
       \delta(\epsilon) \le 2\gamma + (1 + e^\epsilon)\rho
       + \sum_c \delta_{Gauss}(\epsilon - \log(1 + Q^2/\Lambda);\, \|c\|/\sigma_b)

    with rho = ``rare``: the probability, on either side, that the run is not the one analysed. The bound may grow with
    epsilon and delta cannot, so those at smaller epsilons (powers of two) are bounds as well: the least is taken.

    Edges: 1 where the noisy quadratic cannot be shown to be convex. The proof: docs' page "Input perturbation".
    """
    points = (epsilon, *(stop for stop in _STOPS if stop < epsilon)) if event.rare else (epsilon,)
    return min(1.0, *(_input_delta(event, e, share, cells) for e in points))


def _input_delta(event: InputMinimum, epsilon: float, share: float, cells: int) -> float:
    strong, row = input_convexity(event), input_row(event)
    if strong <= 0:
        return 1.0
    left = below(below(epsilon, share), math.log1p(row**2 / strong))
    if left <= 0:
        return 1.0
    far, side = 2 * row**2 * event.radius / event.scale, 2 * event.cross / event.scale
    edges = far * np.sqrt(np.linspace(0.5, 1.0, cells + 1))
    others = np.sqrt(np.maximum(far**2 - edges**2, 0.0))
    low, high = edges[:-1], edges[1:]
    near, wide = others[1:], others[:-1]
    sums = (
        _convex_deltas((high + side) ** 2, left)
        + _convex_deltas(np.maximum((high - side) ** 2, (low - side) ** 2), left)
        + _convex_deltas((wide + side) ** 2, left)
        + _convex_deltas(np.maximum((wide - side) ** 2, (near - side) ** 2), left)
    )
    noise = 2 * event.tail if event.row_scale else 0.0
    return noise + (1 + math.exp(min(epsilon, 700.0))) * event.rare + float(sums.max())
