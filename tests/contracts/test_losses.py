"""Every loss: derivatives by finite differences, convexity, declared constants, and extreme values against mpmath."""

import mpmath
import numpy as np
import pytest
from instances import LOSSES, extreme_scores, label, outputs_of, targets_of

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
    kinks = {"huber-hinge": 0.01, "squared": 0.01}.get(loss.name, 0.0)
    assert wrong.mean() <= kinks, "off the kinks both must agree"


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


def reference(loss, z, y):
    """Value and slope in 40 digits."""
    z = [mpmath.mpf(float(v)) for v in z]
    if loss.coupled:
        k = int(y[0])
        z[k] -= loss.margin
        total = mpmath.fsum(mpmath.exp(v - max(z)) for v in z)
        p = [mpmath.exp(v - max(z)) / total for v in z]
        return mpmath.log(total) + max(z) - z[k], [p[j] - (j == k) for j in range(len(z))]
    z, y = z[0], mpmath.mpf(float(y[0]))
    if loss.name == "logistic":
        a = loss.margin - y * z
        value = mpmath.log1p(mpmath.exp(a)) if a < 0 else a + mpmath.log1p(mpmath.exp(-a))
        return value, [-y / (1 + mpmath.exp(-a))]
    if loss.name == "huber-hinge":
        h = mpmath.mpf(loss.smoothing)
        m = y * z
        if m > 1 + h:
            return mpmath.mpf(0), [mpmath.mpf(0)]
        if m < 1 - h:
            return 1 - m, [-y]
        return (1 + h - m) ** 2 / (4 * h), [-y * (1 + h - m) / (2 * h)]
    bound = mpmath.mpf(loss.bound)
    inside = max(-bound, min(bound, z))
    return (inside - y) ** 2 / 2 + (inside - y) * (z - inside), [inside - y]


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
