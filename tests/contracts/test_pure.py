"""Prices of pure releases and of papers' claims, added by hand and in many digits."""

import itertools
import math

import mpmath
import pytest

from tacit.checks import PrivacyError
from tacit.privacy import accounting, minimisers, tails
from tacit.privacy.events import Claimed, Gaussian, Objective, Sensitivity, Sphere
from tacit.types import ADJACENCIES

SPHERE = Sphere(Sensitivity(1.0, 3.0), 4.0)
EITHER = {"add-remove": 0, "replace-one": 1}


def pure_objective(geometry, outputs=1):
    return Objective(slope=2.0, trace=0.6, strength=3.0, scale=5.0, geometry=geometry, outputs=outputs, noise="sphere")


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(
    ("geometry", "outputs", "models"),
    [("monotone", 1, 1), ("monotone", 3, 3), ("two-sided", 1, 1), ("two-sided", 4, 4), ("logistic", 2, 2),
     ("simplex", 2, 1), ("simplex", 5, 1)],
)  # fmt: skip
def test_an_objective_costs_its_determinant_and_its_slope(geometry, outputs, models, adjacency):
    """k models have gradients of sqrt(k) slope together; a softmax is one model of rank k - 1."""
    rank = outputs - 1 if geometry == "simplex" else 1
    offset = rank * math.log1p(0.2 / rank) if geometry == "simplex" else outputs * math.log1p(0.2)
    expected = offset + (1 + EITHER[adjacency]) * math.sqrt(models) * 2.0 / 5.0
    found = accounting.epsilon((pure_objective(geometry, outputs),), 0.0, adjacency)
    assert expected <= found <= expected * (1 + 1e-13)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_one_logistic_objective_costs_its_worst_corner_by_the_best_tangents(adjacency):
    event = pure_objective("logistic")
    worst = [max(c.offset + c.norm * 2.0 / 5.0 for c in cases) for cases in minimisers.corners(event, adjacency)]
    assert len({round(w, 9) for w in worst}) > 1, "else it does not matter which is taken"
    assert accounting.epsilon((event,), 0.0, adjacency) == pytest.approx(min(worst), rel=1e-13)
    # Never less than the steepest gradient alone, and never more than with the whole determinant.
    slope = (1 + EITHER[adjacency]) * 2.0 / 5.0
    assert slope < min(worst) < slope + math.log1p(0.2)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_pure_prices_add_and_are_rounded_up(adjacency):
    one = (1.0, 3.0)[EITHER[adjacency]] / 4.0
    other = accounting.epsilon((pure_objective("monotone"),), 0.0, adjacency)
    found = accounting.epsilon((SPHERE, pure_objective("monotone"), SPHERE), 0.0, adjacency)
    assert found == pytest.approx(2 * one + other, rel=1e-14)
    thirds = (Sphere(Sensitivity(1.0, 1.0), 3.0), Sphere(Sensitivity(1.0, 1.0), 7.0))
    exact = mpmath.mpf(1) / 3 + mpmath.mpf(1) / 7
    assert exact <= accounting.epsilon(thirds, 0.0, adjacency) <= exact * (1 + mpmath.mpf(2) ** -52)


@pytest.mark.parametrize("total", [1e-6, 0.25, 3.0, 40.0, 800.0])
def test_below_its_epsilon_a_pure_release_is_randomised_response(total):
    events = (Sphere(Sensitivity(total, total), 1.0),)
    t = mpmath.mpf(total)
    with mpmath.workdps(400):
        for part in (0.0, 0.3, 0.9, 1 - 1e-9):
            epsilon = part * total
            exact = (1 - mpmath.exp(mpmath.mpf(epsilon) - t)) / (1 + mpmath.exp(-t))
            found = accounting.delta(events, epsilon, "add-remove")
            assert exact <= found <= exact * (1 + mpmath.mpf("1e-4" if part > 0.99 else "1e-12"))
        for delta in (1e-300, 1e-12, 0.01, 0.4):
            exact = max(mpmath.mpf(0), t + mpmath.log(max(mpmath.exp(-t), 1 - delta * (1 + mpmath.exp(-t)))))
            found = accounting.epsilon(events, delta, "add-remove")
            assert exact <= found <= min(t, exact * (1 + mpmath.mpf("1e-13")) + mpmath.mpf("1e-14") * (1 + t))
    assert accounting.delta(events, total, "add-remove") == 0.0
    assert accounting.delta(events, 2 * total, "add-remove") == 0.0
    assert accounting.epsilon(events, 0.0, "add-remove") == total


def test_a_claim_is_repeated_and_nothing_more():
    events = (Claimed(2.0, 1e-5, "a paper"),)
    assert [accounting.delta(events, e, "replace-one") for e in (0.0, 1.999, 2.0, 5.0)] == [1.0, 1.0, 1e-5, 1e-5]
    found = [accounting.epsilon(events, d, "replace-one") for d in (0.0, 0.9e-5, 1e-5, 0.5)]
    assert found == [math.inf, math.inf, 2.0, 2.0]
    for words in itertools.product((accounting.delta, accounting.epsilon), (0.1,)):
        with pytest.raises(
            PrivacyError, match=r"^The paper's claim is for replace-one neighbours only\. Use adjacency="
        ):
            words[0](events, words[1], "add-remove")


def test_a_pure_sum_with_a_side_that_is_not_covered_is_refused():
    events = (Sphere(Sensitivity(None, 2.0), 4.0),)
    assert accounting.epsilon(events, 0.0, "replace-one") == 0.5
    with pytest.raises(PrivacyError, match="does not cover add-remove neighbours"):
        accounting.epsilon(events, 0.0, "add-remove")


@pytest.mark.parametrize("delta", [-0.1, 0.0, 1.0])
def test_a_gaussian_needs_a_delta(delta):
    with pytest.raises(ValueError, match=r"^Gaussian noise needs 0 < delta=.* < 1\.$"):
        accounting.gaussian_mu(1.0, delta)


def test_gaussian_mu_is_right_to_many_digits():
    for epsilon, delta in itertools.product((0.0, 1e-3, 1.0, 30.0), (1e-12, 1e-5, 0.3, 0.9)):
        mu = accounting.gaussian_mu(epsilon, delta)
        assert tails.gaussian_delta(mu, epsilon) <= delta < tails.gaussian_delta(mu * (1 + 1e-7), epsilon)
        event = (Gaussian(Sensitivity(mu, mu), 1.0),)
        assert accounting.delta(event, epsilon, "add-remove") <= delta
