"""Objective perturbation's corners, counted again from the proof, and the sums over them, term by term."""

import itertools
import math
from collections import Counter

import mpmath
import numpy as np
import pytest

from tacit.privacy import minimisers, tails
from tacit.privacy.events import Objective
from tacit.types import ADJACENCIES

RATIO = 0.3


def event(geometry, outputs=1, *, mu=0.4, ratio=RATIO):
    return Objective(slope=2.0, trace=4.0 * ratio, strength=4.0, scale=2.0 / mu, geometry=geometry, outputs=outputs)


def counted(cases):
    total = Counter()
    for corner in cases:
        total[(round(corner.offset, 12), round(corner.norm, 12))] += corner.count
    return total


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_simplex_corners_are_all_pairs_of_gradients(classes):
    """Gradients (e_j - e_y) x, j = y giving zero; a replaced record has the opposite row and the same class."""
    ends = np.eye(classes) - np.eye(classes)[0]
    offset = round((classes - 1) * math.log1p(RATIO / (classes - 1)), 12)
    for adjacency in ADJACENCIES:
        pairs = ends if adjacency == "add-remove" else [a + b for a in ends for b in ends]
        expected = Counter((offset, round(float(np.linalg.norm(v)) / math.sqrt(2), 12)) for v in pairs)
        (cases,) = minimisers.corners(event("simplex", classes), adjacency)
        assert +counted(cases) == expected


@pytest.mark.parametrize(("geometry", "ends"), [("monotone", (0.0, 1.0)), ("two-sided", (-1.0, 1.0))])
def test_corners_of_one_model_are_all_pairs_of_ends(geometry, ends):
    """Replaced two-sided slopes are all counted at the largest norm: rows may have any angle."""
    offset = round(math.log1p(RATIO), 12)
    for adjacency in ADJACENCIES:
        others = (0.0,) if adjacency == "add-remove" else ends
        norms = [abs(a) + abs(b) for a, b in itertools.product(ends, others)]
        (cases,) = minimisers.corners(event(geometry), adjacency)
        assert counted(cases) == Counter((offset, norm) for norm in norms)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_logistic_corners_are_the_knots_of_its_tangents(adjacency):
    for cases, touching in zip(minimisers.corners(event("logistic"), adjacency), minimisers.TANGENTS, strict=True):
        others = (0,) if adjacency == "add-remove" else (0, 1)
        knots = minimisers._bends(4 * RATIO, touching)
        expected = [(1, height, s + other) for s, height in knots for other in others]
        assert [(c.count, c.offset, c.norm) for c in cases] == expected


@pytest.mark.parametrize("ratio", [1e-9, 0.3, 1e6])
def test_chords_touch_the_log_determinant_from_above(ratio):
    for touching in minimisers.TANGENTS:
        knots = minimisers._bends(ratio, touching)
        for u in touching[:-1]:
            ((s0, h0), (s1, h1)) = next(pair for pair in itertools.pairwise(knots) if pair[0][0] <= u <= pair[1][0])
            part = (mpmath.mpf(u) - s0) / (mpmath.mpf(s1) - s0)
            assert h0 + (mpmath.mpf(h1) - h0) * part >= mpmath.log1p(mpmath.mpf(ratio) * u * (1 - u))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("extra", [0.0, 0.05])
@pytest.mark.parametrize("geometry", ["logistic", "monotone", "two-sided"])
def test_several_models_cost_a_chi_tail_of_all_their_directions(geometry, extra, adjacency):
    """Each record moves the k models' gradients by slope sqrt(k), in a space of k directions (2k when it is replaced).

    Another release takes four to eight deviations of its own loss, whichever is best, and leaves its own delta there.
    """
    sides = 1 if adjacency == "add-remove" else 2
    for outputs, mu, epsilon in ((2, 0.4, 4.0), (3, 0.1, 2.0)):
        bounds = []
        for share in (reach * extra + extra**2 / 2 for reach in (8.0, 6.0, 5.0, 4.5, 4.0)):
            left = epsilon - outputs * math.log1p(RATIO) - share
            tail = tails.chi_delta(sides * math.sqrt(outputs) * mu, left, sides * outputs)
            bounds.append(tail + (tails.gaussian_delta(extra, share) if extra else 0.0))
        found = minimisers.objective_delta(event(geometry, outputs, mu=mu), epsilon, adjacency, extra)
        assert found == pytest.approx(min(bounds), rel=1e-9, abs=0)
        assert found > 0
    # The other release's own delta, alone: eight deviations are 6e-16 and less.
    if extra:
        far = minimisers.objective_delta(event(geometry, 2, mu=1e-3), 3.0, adjacency, extra)
        assert far == pytest.approx(tails.gaussian_delta(extra, 8 * extra + extra**2 / 2), rel=1e-9, abs=0)


@pytest.mark.parametrize("extra", [0.0, 0.7])
@pytest.mark.parametrize("mu", [0.2, 1.5])
def test_two_sided_models_pay_two_corners_from_the_proofs_condition_on_and_four_below(mu, extra):
    full = math.hypot(2 * mu, extra)
    border = math.sqrt(full**2 + full**4 / 4)
    offset = math.log1p(1e-3)
    one = event("two-sided", mu=mu, ratio=1e-3)
    for left in (border * (1 + 1e-9), border * 1.5):
        expected = 2 * tails.gaussian_delta(full, left) + 2 * tails.gaussian_delta(extra, left)
        assert minimisers.objective_delta(one, left + offset, "replace-one", extra) == pytest.approx(
            expected, rel=1e-7, abs=0
        )
    for left in (border * (1 - 1e-9), border * 0.6):
        expected = min(1.0, 4 * tails.gaussian_delta(full, left))
        assert minimisers.objective_delta(one, left + offset, "replace-one", extra) == pytest.approx(
            expected, rel=1e-7, abs=0
        )
    # Never under add-remove, and never where epsilon does not even pay for the determinant.
    expected = 2 * tails.gaussian_delta(math.hypot(mu, extra), 4 * border)
    assert minimisers.objective_delta(one, 4 * border + offset, "add-remove", extra) == pytest.approx(
        expected, rel=1e-7, abs=0
    )
    assert minimisers.objective_delta(event("two-sided", mu=1e-9, ratio=30.0), 0.0, "replace-one") == 1.0


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("geometry", "outputs"), [("logistic", 1), ("monotone", 1), ("simplex", 4), ("logistic", 3)])
def test_prices_are_the_best_sum_and_never_above_one(geometry, outputs, adjacency):
    wide = event(geometry, outputs, mu=20.0)
    assert minimisers.objective_delta(wide, 0.0, adjacency, 0.5) == 1.0
    if outputs == 1 or geometry == "simplex":
        narrow = event(geometry, outputs, mu=0.3)
        for epsilon, extra in ((0.9, 0.0), (2.0, 0.2)):
            sums = [
                math.fsum(
                    c.count * tails.gaussian_delta(math.hypot(0.3 * c.norm, extra), epsilon - c.offset) for c in cases
                )
                for cases in minimisers.corners(narrow, adjacency)
            ]
            found = minimisers.objective_delta(narrow, epsilon, adjacency, extra)
            assert found == pytest.approx(min(1.0, *sums), rel=1e-9, abs=0)
        assert minimisers.objective_delta(narrow, 0.9, adjacency) == minimisers.objective_delta(
            narrow, 0.9, adjacency, 0.0
        )


def test_two_sided_prices_are_never_above_one():
    assert minimisers.objective_delta(event("two-sided", mu=20.0), 0.0, "replace-one") == 1.0
    assert minimisers.objective_delta(event("two-sided", mu=20.0), 0.0, "add-remove") == 1.0
    # Just inside the condition with a wide second release: two and two halves are more than one.
    full = math.hypot(20.0, 19.0)
    left = math.sqrt(full**2 + full**4 / 4) * 1.0001
    assert minimisers.objective_delta(event("two-sided", mu=10.0, ratio=1e-9), left, "replace-one", 19.0) <= 1.0


@pytest.mark.parametrize("epsilon", [1e-4, 0.05, 0.7, 6.0])
def test_the_convex_majorant_is_the_curve_and_then_its_tangent(epsilon):
    bend = 2 * (math.sqrt(1 + epsilon**2) - 1)
    squares = bend * np.array([0.0, 1e-9, 1e-3, 0.05, 0.3, 0.6, 0.9, 1.0, 1.1, 1.5, 4.0, 30.0])
    found = minimisers._convex_deltas(squares, epsilon)
    for square, value in zip(squares, found, strict=True):
        with mpmath.workdps(60):
            mu = mpmath.sqrt(mpmath.mpf(float(square)))
            exact = mpmath.mpf(0)
            if square:
                exact = mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)
            assert value >= exact * (1 - mpmath.mpf(2) ** -50)
            if square <= bend:
                assert value <= exact * (1 + mpmath.mpf("1e-4")) + mpmath.mpf("1e-300")
    # After the bend a straight line with the curve's own slope there, d delta / d mu^2 = phi(epsilon/mu - mu/2)/(2 mu).
    root = math.sqrt(bend)
    slope = math.exp(-0.5 * (epsilon / root - root / 2) ** 2) / math.sqrt(2 * math.pi) / (2 * root)
    rises = np.diff(found[7:]) / np.diff(squares[7:])
    np.testing.assert_allclose(rises, slope, rtol=1e-6)
    assert found[0] < 1e-300
