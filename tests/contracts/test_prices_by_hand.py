"""Prices against the same formulas written out once more, in many digits: pure objectives, collections, shuffling."""

import math

import mpmath
import numpy as np
import pytest

from tacit.privacy import accounting
from tacit.privacy.events import InputMinimum, Objective, Sensitivity, Sphere
from tacit.privacy.minimisers import input_convexity, input_delta, input_row
from tacit.privacy.shuffle import (
    price_of_local_delta,
    shuffled_approximate_delta,
    shuffled_delta,
    shuffled_epsilon_closed_form,
)
from tacit.privacy.tails import gaussian_delta


def collection(**changes):
    """A collection of 1,000 people, 900 of whom are counted on."""
    numbers = {
        "features": 4, "records": 1000, "honest": 900, "row": 0.6, "cross": 0.5, "radius": 2.0, "row_scale": 0.3,
        "scale": 12.0, "ridge": -10.0, "tail": 1e-9, "rare": 1e-20,
    }  # fmt: skip
    return InputMinimum(**{**numbers, **changes})


@pytest.mark.parametrize("changes", [{}, {"features": 9, "honest": 700}, {"tail": 1e-5, "row_scale": 0.1}])
def test_convexity_of_a_collection(changes):
    event = collection(**changes)
    h, d = event.honest, event.features
    free = mpmath.sqrt(h - 1 - d) - mpmath.sqrt(d) - mpmath.sqrt(-2 * mpmath.log(event.tail))
    free -= mpmath.mpf("1e-6") * mpmath.sqrt(h * d)
    assert input_convexity(event) == pytest.approx(float((event.row_scale * free) ** 2 + event.ridge), rel=1e-12)


def test_convexity_where_noise_is_not_enough():
    """Fewer honest rows than columns, or none that stand out: the ridge alone is left."""
    for honest in (1, 4, 5, 6, 40):
        assert input_convexity(collection(honest=honest)) == -10.0
    assert input_delta(collection(honest=5), 1.0) == 1.0
    assert input_delta(collection(honest=5, ridge=0.0), 1.0) == 1.0


@pytest.mark.parametrize("features", [1, 4, 30])
def test_rows_of_a_collection(features):
    """P[chi^2_d > t] = tail, solved in many digits."""
    event = collection(features=features)
    with mpmath.workdps(30):
        tail = mpmath.findroot(
            lambda t: (
                mpmath.log(mpmath.gammainc(mpmath.mpf(features) / 2, t / 2, regularized=True)) - mpmath.log(event.tail)
            ),
            features + 40,
        )
    assert input_row(event) == pytest.approx(0.6 + 0.3 * float(mpmath.sqrt(tail)), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1.2, 1.5, 1.9])
@pytest.mark.parametrize("changes", [{}, {"cross": 2.0}, {"radius": 0.2, "scale": 20.0}, {"rare": 1e-8}])
def test_price_of_a_collection(epsilon, changes):
    """Never below the four corners at any angle, and above the worst of them by little."""
    event = collection(ridge=60.0, scale=40.0, **{k: v for k, v in changes.items() if k != "scale"})
    strong, row = input_convexity(event), input_row(event)
    left = epsilon - math.log1p(row**2 / strong)
    assert left > 0.3
    far, side = 2 * row**2 * event.radius / event.scale, 2 * event.cross / event.scale
    angles = np.linspace(0, math.pi / 4, 200)
    worst = max(
        sum(gaussian_delta(abs(x), left) for x in (far * c + side, far * c - side, far * s + side, far * s - side))
        for c, s in zip(np.cos(angles), np.sin(angles), strict=True)
    )
    rest = 2 * event.tail + (1 + math.exp(epsilon)) * event.rare
    found = input_delta(event, epsilon)
    assert worst + rest <= found <= 1.12 * worst + rest * (1 + 1e-9)
    assert input_delta(event, epsilon, 0.2) >= found
    assert input_delta(collection(row_scale=0.0, ridge=60.0, scale=40.0), 30.0) < 2e-9  # no rare rows without row noise


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("geometry", ["monotone", "two-sided", "simplex"])
@pytest.mark.parametrize(("adjacency", "norm"), [("add-remove", 1.0), ("replace-one", 2.0)])
def test_price_of_a_pure_objective(geometry, outputs, adjacency, norm):
    """log det + norm slope/scale, and a sphere release beside it adds."""
    if geometry == "simplex":
        outputs += 1
    main = Objective(slope=1.5, trace=0.25, strength=7.0, scale=4.0, geometry=geometry, outputs=outputs, noise="sphere")
    rank = outputs - 1 if geometry == "simplex" else outputs
    each = 0.25 / (rank * 7.0) if geometry == "simplex" else 0.25 / 7.0
    models = 1 if geometry == "simplex" else outputs
    expected = rank * mpmath.log1p(each) + norm * mpmath.mpf(1.5) * mpmath.sqrt(models) / 4
    assert accounting.epsilon((main,), 0.0, adjacency) == pytest.approx(float(expected), rel=1e-12)
    both = (main, Sphere(Sensitivity(0.3, 0.5), 2.0), Sphere(Sensitivity(0.1, 0.2), 1.0))
    more = 0.25 if adjacency == "add-remove" else 0.45
    assert accounting.epsilon(both, 0.0, adjacency) == pytest.approx(float(expected) + more, rel=1e-12)
    assert accounting.epsilon(both, 0.0, adjacency) >= float(expected) + more - 1e-15


def test_price_of_a_pure_logistic_objective():
    """Below the crude sum: the determinant is largest where the gradient is not. Against a fine grid over the slope."""
    main = Objective(slope=1.0, trace=0.25, strength=0.5, scale=2.0, geometry="logistic", outputs=1, noise="sphere")
    for adjacency, other in (("add-remove", 0.0), ("replace-one", 1.0)):
        slopes = np.linspace(0, 1, 2001)
        exact = (np.log1p(4 * 0.25 / 0.5 * slopes * (1 - slopes)) + (slopes + other) / 2.0).max()
        crude = math.log1p(0.25 / 0.5) + (1 + other) / 2.0
        found = accounting.epsilon((main,), 0.0, adjacency)
        assert exact <= found <= crude
        assert found < 1.05 * exact


def test_pure_prices_at_a_delta():
    """Randomised response is the worst pure mechanism: delta(e) = (e^t - e^e)/(1 + e^t)."""
    event = (Sphere(Sensitivity(1.0, 2.0), 0.8),)
    for e in (0.1, 0.7, 1.2):
        exact = (math.exp(1.25) - math.exp(e)) / (1 + math.exp(1.25))
        assert accounting.delta(event, e, "add-remove") == pytest.approx(exact, rel=1e-12)
        assert accounting.delta(event, e, "add-remove") >= exact * (1 - 1e-15)
        assert accounting.epsilon(event, exact, "add-remove") == pytest.approx(e, rel=1e-9)
    assert accounting.delta(event, 1.25, "add-remove") == 0.0


def test_price_of_the_local_delta():
    for local, records, epsilon in ((2.0, 50, 0.3), (0.5, 2, 0.4), (6.0, 10**6, 1.0)):
        exact = 1 + 2 * (mpmath.exp(epsilon) + 1) * (records - 1) * mpmath.exp(-local)
        assert price_of_local_delta(local, records, epsilon) == pytest.approx(float(exact), rel=1e-12)
        pure = shuffled_delta(local, records, epsilon)
        whole = shuffled_approximate_delta(local, 1e-12, records, epsilon)
        assert whole == pytest.approx(pure + 1e-12 * float(exact), rel=1e-9)
    assert price_of_local_delta(3.0, 1, 1.0) == 1
    assert shuffled_approximate_delta(1.0, 1e-3, 100, 1.0) == 1e-3
    assert shuffled_approximate_delta(1.0, 0.9, 10**6, 0.1) == 1.0


def test_closed_form_of_shuffling():
    for local, records, delta in ((1.0, 10**5, 1e-6), (2.0, 10**6, 1e-9), (0.2, 10**4, 1e-5)):
        e = mpmath.exp(local)
        inner = 8 * mpmath.sqrt(e * mpmath.log(4 / delta) / records) + 8 * e / records
        exact = min(local, float(mpmath.log1p((e - 1) / (e + 1) * inner)))
        assert shuffled_epsilon_closed_form(local, records, delta) == pytest.approx(exact, rel=1e-12)
    border = math.log(1000 / (16 * math.log(2 / 1e-3)))
    assert shuffled_epsilon_closed_form(border * 1.001, 1000, 1e-3) == border * 1.001
    for bad in (0.0, 1.0, -1.0, 1.5):
        with pytest.raises(ValueError, match=rf"^Expected 0 < delta={bad} < 1\.$"):
            shuffled_epsilon_closed_form(1.0, 100, bad)
