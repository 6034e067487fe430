"""Prices of sampled releases are upper bounds: against closed forms, quadrature and exact fractions, at every size."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import fft
from scipy.special import ndtr

from tacit.privacy.composition import Composition
from tacit.privacy.privacy_loss import DominatingPair, Masses, discretise
from tacit.rounding import U

mpmath.mp.dps = 40

SIDES = {"removed": (1.0, 0.0), "added": (0.0, 1.0), "replaced": (1.0, 1.0)}
PAIRS = [(1.0, 0.01), (0.3, 0.5), (4.0, 1e-4), (0.05, 0.9), (2.0, 0.999999)]


def release(mu, rate, side, count=1):
    p, q = SIDES[side]
    return DominatingPair(mu=mu, p=p * rate, q=q * rate, count=count)


def loss_at(pair, x):
    up = 1 - pair.p + pair.p * mpmath.exp(pair.mu * x - mpmath.mpf(pair.mu) ** 2 / 2)
    down = 1 - pair.q + pair.q * mpmath.exp(-pair.mu * x - mpmath.mpf(pair.mu) ** 2 / 2)
    return mpmath.log(up) - mpmath.log(down)


def exact_one(pair, epsilon):
    """delta of one release: P and Q of the half line where the loss is above epsilon, found by bisection."""
    low, high = mpmath.mpf(-60), mpmath.mpf(60)
    if loss_at(pair, high) <= epsilon:
        return mpmath.mpf(0)
    if loss_at(pair, low) >= epsilon:
        return 1 - mpmath.exp(epsilon)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if loss_at(pair, middle) <= epsilon else (low, middle)
    p = (1 - mpmath.mpf(pair.p)) * mpmath.ncdf(-low) + mpmath.mpf(pair.p) * mpmath.ncdf(pair.mu - low)
    q = (1 - mpmath.mpf(pair.q)) * mpmath.ncdf(-low) + mpmath.mpf(pair.q) * mpmath.ncdf(-low - pair.mu)
    return p - mpmath.exp(epsilon) * q


def priced(masses, step, epsilon):
    """delta of one release from its masses, in 40 digits."""
    total = mpmath.mpf(masses.beyond)
    for i, mass in enumerate(masses.probability):
        loss = (masses.first + i) * mpmath.mpf(step) + masses.shift
        if loss > epsilon:
            total += mpmath.mpf(mass) * (1 - mpmath.exp(epsilon - loss))
    return total


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("mu", "rate"), PAIRS)
def test_masses_cost_at_least_the_release_and_hardly_more(mu, rate, side):
    pair = release(mu, rate, side)
    step = float(np.ptp(pair.ends())) / 700
    masses = discretise(pair, step)
    assert abs(masses.probability.sum() - 1) < 1e-9
    losses = masses.first * step + np.array([0.1, 0.31, 0.47, 0.5, 0.62, 0.8]) * len(masses.probability) * step
    for epsilon in (*losses, 0.0, step / 3, -step / 3):
        exact, found = exact_one(pair, epsilon), priced(masses, step, epsilon)
        assert found >= exact, (epsilon, float(found / exact - 1))
        # Between two points the curve is replaced by a chord: at the next lower point both agree.
        knot = math.floor(epsilon / step) * step
        assert found <= exact_one(pair, knot - masses.shift) * (1 + 1e-9) + 4 * masses.shift


def exact_gaussian(mu, epsilon):
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


@pytest.mark.parametrize("count", [1, 7, 10**4, 10**6])
@pytest.mark.parametrize("mu", [0.05, 4.0])
def test_everybody_sampled_is_the_plain_gaussian(count, mu):
    whole = Composition.of((DominatingPair(mu=mu / math.sqrt(count), p=1.0, q=0.0, count=count),))
    for epsilon in (0.0, mu, 3 * mu + mu**2 / 2, 6 * mu + mu**2 / 2, 9 * mu + mu**2 / 2):
        ratio = whole.delta(epsilon) / exact_gaussian(mu, epsilon)
        assert 1 <= ratio <= 1.01, (epsilon, float(ratio - 1))
    for delta in (1e-3, 1e-8, 1e-25):
        found = whole.epsilon(delta)
        assert whole.delta(found) <= delta
        assert 0.98 * delta <= exact_gaussian(mu, found) <= delta


def many_ones(pair, epsilons):
    """delta of one release at many epsilons, in double precision: the border by bisection, then two tails."""

    def loss(x):
        up = np.log1p(pair.p * np.expm1(pair.mu * x - pair.mu**2 / 2))
        return up - np.log1p(pair.q * np.expm1(-pair.mu * x - pair.mu**2 / 2))

    low, high = np.full_like(epsilons, -40.0), np.full_like(epsilons, 40.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = loss(middle) > epsilons
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    p = (1 - pair.p) * ndtr(-low) + pair.p * ndtr(pair.mu - low)
    q = (1 - pair.q) * ndtr(-low) + pair.q * ndtr(-low - pair.mu)
    return p - np.exp(epsilons) * q


@pytest.mark.parametrize("side", SIDES)
def test_two_different_releases_against_quadrature(side):
    """delta = E_P[delta_2(epsilon - loss_1(x))] over the first release's x."""
    first, second = release(1.5, 0.2, side), release(0.7, 0.6, side)
    whole = Composition.of((first, second))
    x = np.linspace(-10.0, 11.0, 40_001)
    density = ((1 - first.p) * np.exp(-(x**2) / 2) + first.p * np.exp(-((x - 1.5) ** 2) / 2)) / math.sqrt(2 * math.pi)
    for epsilon in (0.1, 1.0, 3.0):
        exact = float(np.trapezoid(density * many_ones(second, epsilon - first.loss(x)), x))
        assert exact * (1 - 1e-6) <= whole.delta(epsilon) <= exact * (1 + 1e-4) + 1e-12


def hand_made(rng, size, count, first):
    weights = rng.random(size) ** 6 + 1e-6
    return Masses(first=first, probability=weights / weights.sum(), beyond=1e-30, shift=0.0, count=count)


def exact_sum(kinds):
    """First point and masses of the sum, as fractions."""
    total, first = [Fraction(1)], 0
    for kind in kinds:
        for _ in range(kind.count):
            mass = [Fraction(float(m)) for m in kind.probability]
            grown = [Fraction(0)] * (len(total) + len(mass) - 1)
            for i, a in enumerate(total):
                for j, b in enumerate(mass):
                    grown[i + j] += a * b
            total, first = grown, first + kind.first
    return first, total


def test_a_sum_against_exact_fractions(rng):
    """The bound holds and is tight for good and for bad thetas; the error charged covers the error made."""
    kinds = (hand_made(rng, 12, 5, -4), hand_made(rng, 7, 3, -2))
    whole = Composition(0.25, kinds)
    first, masses = exact_sum(kinds)

    def exact(epsilon):
        losses = [(first + i) * mpmath.mpf("0.25") for i in range(len(masses))]
        parts = [
            mpmath.mpf(m.numerator) / m.denominator * (1 - mpmath.exp(epsilon - loss))
            for m, loss in zip(masses, losses, strict=True) if loss > epsilon
        ]  # fmt: skip
        return mpmath.fsum(parts)

    for epsilon in (-2.0, 0.0, 0.3, 3.0, 8.0, 11.7):
        ratio = whole.delta(epsilon) / (exact(epsilon) + whole.beyond)
        assert 1 <= ratio <= 1 + 1e-6, (epsilon, float(ratio - 1))
        for theta in (0.3, 1.0, 4.0, 20.0):
            assert whole._tilted(theta).delta(epsilon) >= exact(epsilon), (epsilon, theta)
    for theta in (1.0, 5.0):
        tilted = whole._tilted(theta)
        logs = [math.log(m) - tilted.log_factor + tilted.theta * 0.25 * (first + i) for i, m in enumerate(masses)]
        true = np.zeros(len(tilted.values))
        np.add.at(true, np.mod(first + np.arange(len(masses)), len(true)), np.exp(logs))
        made = float(np.linalg.norm(true - tilted.values))
        assert 1e-3 * tilted.error < made + 1e-15
        assert made <= tilted.error + 1e-13 * float(np.linalg.norm(true))


def test_mass_beyond_the_grid_is_an_infinite_loss():
    certain = Masses(first=0, probability=np.array([0.9]), beyond=0.1, shift=0.0, count=3)
    whole = Composition(0.1, (certain,))
    assert whole.delta(5.0) >= 1 - 0.9**3
    assert whole.epsilon(0.2) == math.inf
    assert whole.epsilon(0.35) == 0.0


def test_a_shift_of_every_loss_is_paid_for(rng):
    kind = hand_made(rng, 12, 5, -4)
    still = Composition(0.25, (kind,))
    moved = Composition(0.25, (Masses(**{**vars(kind), "shift": 0.01}),))
    assert moved.shift == pytest.approx(0.05)
    assert moved.delta(1.05) == pytest.approx(still.delta(1.0), rel=1e-9)
    assert moved.epsilon(1e-3) == pytest.approx(still.epsilon(1e-3) + 0.05, rel=1e-6)


@pytest.mark.parametrize("level", [10, 14, 18])
def test_transforms_keep_their_stated_error(level, rng):
    """Against the same transform in 64 or more binary digits: 16 u a level covers it."""
    size = 2**level
    bell = np.exp(-0.5 * ((np.arange(size) - size / 2) / (size / 40)) ** 2)
    for mass in (bell / bell.sum(), rng.random(size), np.append([1.0], np.zeros(size - 1))):
        for found, exact in (
            (fft.rfft(mass), fft.rfft(mass.astype(np.longdouble))),
            (
                fft.irfft(mass[: size // 2 + 1] + 0j, size),
                fft.irfft(mass[: size // 2 + 1].astype(np.clongdouble), size),
            ),
        ):
            wrong = float(np.linalg.norm(found - exact)) / float(np.linalg.norm(exact))
            assert wrong <= 16 * U * level / math.sqrt(2)


def test_the_mathematical_library_is_as_exact_as_is_trusted(rng):
    """What the proof assumes: ndtr right to (32 + 4 x^2) u, and elementary functions to 4 u."""
    for x in (*rng.uniform(-37, 9, 300), 0.0, -1e-9, -1.0, -0.7071):
        exact = mpmath.ncdf(mpmath.mpf(float(x)))
        assert abs(mpmath.mpf(float(ndtr(x))) - exact) <= (32 + 4 * x * x) * U * exact, x
    cases = [
        (np.exp, mpmath.exp, rng.uniform(-600, 600, 200)),
        (np.log, mpmath.log, 10 ** rng.uniform(-300, 3, 200)),
        (np.expm1, mpmath.expm1, rng.uniform(-1, 1, 200) * 10 ** rng.uniform(-12, 2, 200)),
        (np.log1p, mpmath.log1p, rng.uniform(-0.99, 1, 200) * 10 ** rng.uniform(-12, 0, 200)),
        (np.arcsinh, mpmath.asinh, rng.uniform(-1, 1, 200) * 10 ** rng.uniform(-12, 20, 200)),
    ]
    for numeric, exact, points in cases:
        for x in points:
            true = exact(mpmath.mpf(float(x)))
            assert abs(mpmath.mpf(float(numeric(x))) - true) <= 4 * U * abs(true), (numeric, x)
