"""Every loss: derivatives by finite differences, convexity, declared constants, and extreme values against mpmath."""

import mpmath
import numpy as np
import pytest
from digits import slope_of, value_of
from instances import LOSSES, bend, extreme_scores, label, outputs_of, targets_of

from tacit.linear.losses import pair_probabilities, probabilities

mpmath.mp.dps = 40
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=label)


def scores(loss, rng, n=400, scale=3.0):
    z = scale * rng.normal(size=(n, outputs_of(loss)))
    return z, targets_of(loss, n, rng)


@every_loss
def test_slope_is_the_derivative_of_value(loss, rng):
    z, y = scores(loss, rng)
    slope, h = loss.slope(z, y), 1e-6
    for column in range(z.shape[1]):
        step = np.zeros_like(z)
        step[:, column] = h
        difference = (loss.value(z + step, y) - loss.value(z - step, y))[:, 0] / (2 * h)
        # At a kink of the slope a central difference is off by curvature * h / 2 at most.
        np.testing.assert_allclose(difference, slope[:, column], atol=1e-8 + loss.smoothness * h)


@every_loss
def test_curve_is_the_derivative_of_slope(loss, rng):
    z, y = scores(loss, rng)
    u, h = rng.normal(size=z.shape), 1e-6
    difference = (loss.slope(z + h * u, y) - loss.slope(z - h * u, y)) / (2 * h)
    wrong = np.abs(difference - loss.curve(z, y, u)).max(axis=1) > 1e-6
    assert wrong.sum() <= (0 if loss.geometry in ("logistic", "simplex") else 1), "off the kinks both must agree"


@every_loss
def test_convex(loss, rng):
    z, y = scores(loss, rng)
    other = 3.0 * rng.normal(size=z.shape)
    for t in (0.1, 0.5, 0.9):
        mixed = loss.value(t * z + (1 - t) * other, y)
        assert (mixed <= t * loss.value(z, y) + (1 - t) * loss.value(other, y) + 1e-12).all()
    assert ((loss.curve(z, y, other) * other).sum(axis=1) >= -1e-12).all()


@every_loss
def test_declared_constants_hold_and_are_reached(loss, rng):
    cases = [scores(loss, rng, scale=s) for s in (0.01, 1.0, 5.0, 50.0)] + [extreme_scores(loss)]
    steepest = curviest = widest = 0.0
    for z, y in cases:
        slopes = np.linalg.norm(loss.slope(z, y), axis=1)
        basis = [loss.curve(z, y, np.tile(e, (len(z), 1))) for e in np.eye(z.shape[1])]
        hessians = np.stack(basis, axis=2)
        steepest = max(steepest, slopes.max())
        curviest = max(curviest, np.linalg.eigvalsh(hessians).max())
        widest = max(widest, np.trace(hessians, axis1=1, axis2=2).max())
    assert 0.7 * loss.lipschitz < steepest <= loss.lipschitz * (1 + 1e-12)
    assert 0.7 * loss.smoothness < curviest <= loss.smoothness * (1 + 1e-12)
    assert 0.7 * loss.trace < widest <= loss.trace * (1 + 1e-12)


@every_loss
def test_no_loss_is_negative_and_at_zero_it_is_bounded(loss, rng):
    """What bounds the norm of a minimiser, and with it the rounding at that point."""
    highest = 0.0
    for z, y in (scores(loss, rng), scores(loss, rng, scale=30.0), extreme_scores(loss)):
        assert (loss.value(z, y) >= 0).all()
        highest = max(highest, float(loss.value(np.zeros_like(z), y).max()))
    assert 0.9 * loss.at_zero < highest <= loss.at_zero * (1 + 1e-12)


@every_loss
def test_slopes_stay_in_the_declared_geometry(loss, rng):
    """What the price of objective perturbation rests on: one sign, both signs, a simplex, and s(1-s) for logistic."""
    for z, y in (scores(loss, rng), scores(loss, rng, scale=30.0), extreme_scores(loss)):
        slope = loss.slope(z, y)
        if loss.geometry == "simplex":
            np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=1e-15)
            own = np.take_along_axis(slope, y.astype(int), axis=1)
            assert (own <= 0).all()
            assert (np.delete(slope.ravel(), np.arange(len(y)) * slope.shape[1] + y.astype(int).ravel()) >= 0).all()
        elif loss.geometry == "two-sided":
            assert (np.abs(slope) <= loss.lipschitz).all()
        else:
            s = -y * slope
            assert ((s >= 0) & (s <= 1)).all()
            if loss.geometry == "logistic":
                np.testing.assert_allclose(loss.curve(z, y, np.ones_like(z)), s * (1 - s), rtol=1e-9, atol=1e-16)


def as_written(loss, z, y):
    """The losses' formulas a second time, in mpmath."""
    if loss.name == "logistic":
        return mpmath.log1p(mpmath.exp(loss.margin - y * z))
    if loss.name == "huber-hinge":
        h, m = mpmath.mpf(loss.smoothing), y * z
        return 0 if m > 1 + h else 1 - m if m < 1 - h else (1 + h - m) ** 2 / (4 * h)
    if loss.name == "squared":
        inside = max(-loss.bound, min(loss.bound, z))
        return (inside - y) ** 2 / 2 + (inside - y) * (z - inside)
    if loss.name == "poisson":
        mean = loss.start * mpmath.exp(z)
        return mean - y * mpmath.log(mean) if mean <= 1 else 1 + (1 - y) * mpmath.log(mean)
    if loss.name == "pinball":  # the mean over shifts of the plain loss, by quadrature
        h, q = mpmath.mpf(loss.smoothing), loss.quantile
        corner = sorted({-h, min(h, max(-h, y - z)), h})
        return mpmath.quad(lambda s: max(q * (y - z - s), (1 - q) * (z + s - y)), corner) / (2 * h)
    return None


@every_loss
def test_values_are_those_of_the_formula(loss, rng):
    """Constants speak of the formula that the docs state: it is written a second time here."""
    z, y = scores(loss, rng, n=60)
    expected = [
        as_written(loss, mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(z[:, 0], y[:, 0], strict=True)
    ]
    if loss.coupled or expected[0] is None:
        pytest.skip("this loss has no second formula in as_written; its derivatives are checked by differences")
    np.testing.assert_allclose(loss.value(z, y)[:, 0], np.array(expected, dtype=float), rtol=1e-12, atol=1e-15)


def reference(loss, z, y):
    """Value and slope of one record in 400 digits; the slope as the derivative of the value."""
    with mpmath.workdps(400):
        z, y, h = [mpmath.mpf(float(v)) for v in z], mpmath.mpf(float(y[0])), mpmath.mpf(10) ** -40
        slopes = slope_of(loss, z, y)
        for j in range(len(z)):
            ahead, behind = ([v + (s if i == j else 0) for i, v in enumerate(z)] for s in (h, -h))
            difference = (value_of(loss, ahead, y) - value_of(loss, behind, y)) / (2 * h)
            assert abs(difference - slopes[j]) <= 2.0**-53  # public constants, such as 1 - q, are rounded once
        return value_of(loss, z, y), slopes


@every_loss
def test_extreme_values(loss):
    """Warnings are errors here, so an overflow on the way fails too."""
    z, y = extreme_scores(loss)
    values, slopes = loss.value(z, y)[:, 0], loss.slope(z, y)
    curves = loss.curve(z, y, np.ones_like(z))
    assert np.isfinite(values).all()
    assert np.isfinite(slopes).all()
    assert np.isfinite(curves).all()
    for i in range(len(z)):
        value, slope = reference(loss, z[i], y[i])
        # Where large scores cancel, one ulp of the largest score is all that doubles can give.
        noise = 4e-16 * float(np.abs(z[i]).max())
        assert abs(values[i] - float(value)) <= 1e-13 * abs(float(value)) + noise + 1e-300
        np.testing.assert_allclose(slopes[i], [float(s) for s in slope], rtol=1e-12, atol=1e-15)


@every_loss
def test_slopes_are_evaluated_as_precisely_as_prices_take_for_granted(loss, rng):
    """``rounding_slack`` has 64 ulps for a slope, and for each score ``(d + 8) (curvature + 1)`` of 1 + |z|, d >= 1."""
    cases = [scores(loss, rng, n=60, scale=s) for s in (1e-3, 1.0, 5.0, 50.0, 800.0)]
    if not loss.coupled:
        y = targets_of(loss, 200, rng)
        cases += [(bend(loss, y) + s * rng.normal(size=y.shape), y) for s in (1e-12, 1.0, 1 / loss.smoothness)]
    for z, y in cases:
        for row, target, found in zip(z, y, loss.slope(z, y), strict=True):
            exact = slope_of(loss, [mpmath.mpf(float(v)) for v in row], mpmath.mpf(float(target[0])))
            error = float(mpmath.norm([a - float(b) for a, b in zip(exact, found, strict=True)]))
            granted = 64 * loss.lipschitz + 9 * (loss.smoothness + 1) * (1 + np.abs(row).max())
            assert error <= granted * 2.0**-53, (row, target)


@pytest.mark.parametrize("margin", [0.0, 0.7, 32.0])
def test_two_classes_have_the_probabilities_of_any_number_of_them(margin):
    """To the last bit, over several blocks, with ties and with scores that vanish or leave nothing to the other."""
    z = np.concatenate([np.random.default_rng(3).normal(0, 8, 20_000), [0.0, -0.0, 1e-320, 800.0, -800.0, 1e300]])
    both = probabilities(np.stack([-0.5 * z, 0.5 * z], axis=1), margin)
    np.testing.assert_array_equal(pair_probabilities(z, margin), both)
