"""The solve of a collection: its certificate is exact, and it is reached whatever was sent."""

import math

import mpmath
import numpy as np
import pytest

from tacit.linear.solvers.ball import BallSolution, minimise
from tacit.mechanisms import input_solve
from tacit.mechanisms.input_solve import Quadratic
from tacit.mechanisms.moments import Sums
from tacit.privacy.noise import SeededSource
from tacit.protocol import Protocol
from tacit.schema import Target


def numbers_for(cohort=2000, columns=3, **more):
    made = Protocol.create(
        epsilon=1.0, delta=1e-6, cohort=cohort, columns=columns, target=Target("y", lower=-1, upper=1), **more
    )
    return made.numbers


def collected(numbers, count, rng, seed=0):
    X = rng.normal(size=(count, numbers.features - 1))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    design = np.hstack([X, np.full((count, 1), numbers.intercept)])
    return Sums.of(*numbers.perturb(design, np.sign(X[:, 0]), SeededSource(seed)))


def quadratic_of(numbers, sums, ridge=None, radius=None):
    ridge = numbers.minimum(sums.count).ridge if ridge is None else ridge
    row_step, cross_step = numbers.steps
    within = numbers.radius if radius is None else radius
    return Quadratic(sums, row_step=row_step, cross_step=cross_step, ridge=ridge, radius=within)


def true_minimiser(quadratic):
    """The minimiser over the ball by eigenvectors and bisection in 60 digits."""
    with mpmath.workdps(60):
        size = len(quadratic.sums.cross)
        row, cross = mpmath.mpf(quadratic.row_step) ** 2, mpmath.mpf(quadratic.cross_step)
        A = mpmath.matrix([[row * int(v) for v in line] for line in quadratic.sums.second])
        A += mpmath.mpf(quadratic.ridge) * mpmath.eye(size)
        c = mpmath.matrix([cross * int(v) for v in quadratic.sums.cross])
        values, vectors = mpmath.eigsy(A)
        pull = vectors.T * c

        def point(nu):
            return mpmath.matrix([pull[i] / (values[i] + nu) for i in range(size)])

        radius, nu = mpmath.mpf(quadratic.radius), mpmath.mpf(0)
        if mpmath.norm(point(nu)) > radius:
            low, high = mpmath.mpf(0), mpmath.norm(c) / radius
            for _ in range(220):
                nu = (low + high) / 2
                low, high = (nu, high) if mpmath.norm(point(nu)) > radius else (low, nu)
        return vectors * point(nu), min(values)


@pytest.mark.parametrize("radius", [0.05, 3.0, 100.0])
def test_the_gap_bounds_the_distance_to_the_minimiser(radius, rng):
    """At the solutions of both ways, and at points near them: ||w - w*|| <= gap / Lambda, in 60 digits."""
    numbers = numbers_for()
    quadratic = quadratic_of(numbers, collected(numbers, 300, rng), ridge=0.7, radius=radius)
    best, strong = true_minimiser(quadratic)
    for weights, gap in (quadratic.fast(), quadratic.slow(40)):
        assert gap <= numbers.tolerance(300)
        assert mpmath.norm(mpmath.matrix(weights.tolist()) - best) <= gap / strong
    first = minimise(*quadratic.floats, radius)
    for size in (1e-12, 1e-6, 1e-2):
        near = first.weights + size * rng.normal(size=4)
        gap = quadratic.gap(near, first.multiplier)
        off = mpmath.norm(mpmath.matrix(near.tolist()) - best)
        assert off <= gap / strong
        assert gap / strong < 1e7 * off  # a bound that is infinite would pass as well


def test_the_slow_way_takes_over_and_reaches_the_tolerance(rng, monkeypatch):
    numbers = numbers_for()
    quadratic = quadratic_of(numbers, collected(numbers, 2000, rng))
    fast, _ = quadratic.fast()

    def broken(matrix, linear, radius):
        return BallSolution(np.full(len(linear), 0.1), 1e30, math.inf)

    monkeypatch.setattr(input_solve, "minimise", broken)
    tolerance = numbers.tolerance(2000)
    assert quadratic.fast()[1] > tolerance
    weights, gap = quadratic.solve(tolerance)
    assert gap <= tolerance
    assert np.allclose(weights, fast, rtol=0, atol=2 * tolerance / numbers.strength)


@pytest.mark.parametrize("record", [None, 2.0])
@pytest.mark.parametrize("aim", ["one line", "two lines", "cross"])
def test_extreme_submissions_do_not_stop_the_solve(record, aim, rng):
    """A tenth of the crowd sends the longest vectors that are counted: the tolerance is reached in both ways."""
    numbers = numbers_for(record_epsilon=record)
    row, cross = (int(limit * 0.999) for limit in numbers.limits)
    q, p = np.zeros((200, 4), dtype=np.int64), np.zeros((200, 4), dtype=np.int64)
    if aim == "cross":
        p[:, 1] = cross - np.arange(200)
    else:
        q[:, 0] = row - np.arange(200)
        p[:, 0] = -cross + np.arange(200)
        if aim == "two lines":
            q[100:, 0], q[100:, 1] = q[100:, 0] // 2, q[100:, 0] // 2
    sums = collected(numbers, 1800, rng).plus(Sums.of(q, p))
    quadratic, tolerance = quadratic_of(numbers, sums), numbers.tolerance(2000)
    for found in (quadratic.fast(), quadratic.slow(40), quadratic.solve(tolerance)):
        assert found[1] <= tolerance
    released = numbers.train(sums, SeededSource(1)).weights[:, 0]
    assert np.linalg.norm(released) > 100 * numbers.hidden(2000).scale  # not zeros with noise


def test_a_quadratic_that_is_not_convex_ends_too():
    """All rows are zero, noise included, which has probability zero: nothing holds, but nothing hangs or raises."""
    numbers = numbers_for(cohort=20_000, record_epsilon=2.0)
    empty = Sums.empty(4)
    sums = Sums.exactly(20_000, empty.second, empty.cross + 10**12)
    quadratic = quadratic_of(numbers, sums)
    assert quadratic.ridge < 0
    assert quadratic.slow(40) is None
    assert np.isfinite(numbers.train(sums, SeededSource(1)).weights).all()


def test_a_decomposition_that_fails_is_not_the_end(rng, monkeypatch):
    numbers = numbers_for()
    sums = collected(numbers, 2000, rng)
    plain = numbers.train(sums, SeededSource(1)).weights

    def failing(matrix, linear, radius):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(input_solve, "minimise", failing)
    again = numbers.train(sums, SeededSource(1)).weights
    assert np.allclose(plain, again, rtol=0, atol=4 * numbers.tolerance(2000) / numbers.strength)


def test_the_tolerance_is_small_change():
    """What the solve leaves open is hidden by a noise far below the model's: no price for being provable."""
    for cohort, record in ((400, None), (20_000, None), (20_000, 5.0), (2_000_000, None)):
        numbers = numbers_for(cohort=cohort, record_epsilon=record)
        assert numbers.tolerance(cohort) < 1e-6 * numbers.noise_scale(cohort)
