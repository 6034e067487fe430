"""Convex regularisers beside the ridge: the minimiser, its certificate, and a price that does not depend on them."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import ElasticNet

from tacit import LinearRegression, PrivacyError
from tacit.mechanisms import InputPerturbation, Penalty
from tacit.mechanisms.input_penalty import Penalised, System
from tacit.mechanisms.input_plan import Setting, proven
from tacit.mechanisms.input_solve import Quadratic
from tacit.mechanisms.moments import Sums
from tacit.mechanisms.surrogates import Surrogate
from tacit.privacy.accounting import input_convexity, input_delta, input_row
from tacit.privacy.noise import SeededSource
from tacit.types import Budget

KNEES = (0.0, 0.2)


def system_of(rng, d=5, knee=0.0, radius=0.8, strength=2.0):
    root = rng.normal(size=(3 * d, d))
    return System(root.T @ root, 8 * rng.normal(size=d), np.full(d, strength), knee, radius, np.linalg.solve)


def slope(system, w):
    if system.knee:
        return system.strengths * np.clip(w / system.knee, -1, 1)
    return np.zeros_like(w)


def projected(system, steps=3000):
    """Proximal gradient descent. |w| is homogeneous, so shrinking and then going to the ball is the step of both."""
    size = 1 / (np.linalg.norm(system.matrix, 2) + (system.strengths.max() / system.knee if system.knee else 0))
    w = np.zeros(len(system.target))
    for _ in range(steps):
        w = w - size * (system.matrix @ w - system.target + slope(system, w))
        if not system.knee:
            w = np.sign(w) * np.maximum(np.abs(w) - size * system.strengths, 0.0)
        w = w * min(1.0, system.radius / max(np.linalg.norm(w), 1e-300))
    return w


@pytest.mark.parametrize("knee", KNEES)
@pytest.mark.parametrize("radius", [0.3, 50.0])
def test_the_minimiser_is_that_of_proximal_descent(knee, radius, rng):
    for _ in range(3):
        system = system_of(rng, knee=knee, radius=radius)
        point, nu = system.minimum()
        assert point == pytest.approx(projected(system), abs=1e-7)
        assert (nu > 0) == (np.linalg.norm(point) > 0.3 - 1e-6 and radius < 1)


def test_an_elastic_net_is_scikit_learns(rng):
    X, n = rng.normal(size=(200, 6)), 200
    y = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0]) + 0.3 * rng.normal(size=n)
    strengths = Penalty(0.1).strengths(n, 6, 0.0)
    system = System(X.T @ X + 0.2 * n * np.eye(6), X.T @ y, strengths, 0.0, 1e9, np.linalg.solve)
    other = ElasticNet(alpha=0.3, l1_ratio=1 / 3, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
    assert system.minimum()[0] == pytest.approx(other.coef_, abs=1e-8)
    assert (other.coef_ == 0).any()


def collection(rng, knee, radius, strength=30.0, ridge=2.0):
    rows, cross = rng.integers(-900, 900, (60, 4)), rng.integers(-2000, 2000, (60, 4))
    quadratic = Quadratic(Sums.of(rows, cross), row_step=2.0**-9, cross_step=2.0**-7, ridge=ridge, radius=radius)
    return Penalised(quadratic, np.array([strength, strength, strength, 0.0]), knee)


@pytest.mark.parametrize("knee", KNEES)
@pytest.mark.parametrize("radius", [0.5, 50.0])
def test_decimals_agree_and_the_gap_bounds_the_distance(knee, radius, rng):
    penalised = collection(rng, knee, radius)
    true, least = penalised.attempt(40)
    plain, gap = penalised.solve(1e-9)
    assert gap <= 1e-9
    assert plain == pytest.approx(true, abs=1e-12)
    strong = np.linalg.eigvalsh(penalised.quadratic.floats[0])[0]
    nu = penalised.quadratic.floats[0] @ true - penalised.quadratic.floats[1]
    nu = max(0.0, -float(nu[3] / true[3]))  # the last weight has no penalty
    assert penalised.gap(true, nu) < 1e-8
    for size in (1e-6, 1e-3, 0.1):
        for _ in range(20):
            w = true + size * rng.normal(size=4)
            assert penalised.gap(w, nu) >= strong * np.linalg.norm(w - true) * (1 - 1e-6) - least
    for kept in range(4):  # zeros where there should be none
        w = np.where(np.arange(4) < kept, true, 0.0)
        assert penalised.gap(w, nu) >= strong * np.linalg.norm(w - true) * (1 - 1e-6) - least


def test_a_large_weight_is_zero_and_the_intercept_is_free(rng):
    point, gap = collection(rng, 0.0, 50.0, strength=1e5).solve(1e-9)
    assert gap <= 1e-9
    assert (point[:3] == 0).all()
    assert point[3] != 0
    assert Penalty(0.5).strengths(10, 3, 1.0) == pytest.approx([5.0, 5.0, 0.0])


def one_line(rng, d, equal, size=1e4):
    """Columns that are equal (or nearly) but for a ridge of 1e-6 of them: coordinate descent alone hardly moves."""
    line = rng.normal(size=30)
    X = np.outer(line, rng.choice([-1, 1], d)) + (0 if equal else 1e-4 * rng.normal(size=(30, d)))
    return size * X.T @ X + 0.3 * np.eye(d), size * X.T @ (line + rng.normal(size=30)) + rng.normal(size=d)


def patterns(penalised, nu):
    """The one stationary point among those of all sign patterns, without any rounding."""
    quadratic, knee, tau = penalised.quadratic, Fraction(penalised.knee), [Fraction(t) for t in penalised.strengths]
    d, step = len(tau), Fraction(quadratic.row_step) ** 2
    A = [[step * int(v) + (Fraction(nu) if i == j else 0) for j, v in enumerate(line)]
         for i, line in enumerate(quadratic.sums.second)]  # fmt: skip
    c = [Fraction(quadratic.cross_step) * int(v) for v in quadratic.sums.cross]
    for signs in itertools.product((-1, 0, 1), repeat=d):
        kept = [j for j in range(d) if signs[j] or knee]
        rows = [
            [A[i][j] + (tau[i] / knee if i == j and not signs[i] else 0) for j in kept] + [c[i] - tau[i] * signs[i]]
            for i in kept
        ]
        w = dict.fromkeys(range(d), Fraction(0)) | dict(zip(kept, eliminated(rows), strict=True))
        pulls = [c[i] - sum(a * w[j] for j, a in enumerate(A[i])) for i in range(d)]
        inside = [abs(w[j]) <= knee if knee else abs(pulls[j]) <= tau[j] for j in range(d)]
        if all(w[j] * signs[j] >= knee if signs[j] else inside[j] for j in range(d)):
            return [w[j] for j in range(d)]
    raise AssertionError("a convex function has a minimiser")


def eliminated(rows):
    for j in range(len(rows)):
        for k in range(len(rows)):
            if k != j:
                rows[k] = [a - rows[k][j] / rows[j][j] * b for a, b in zip(rows[k], rows[j], strict=True)]
    return [row[-1] / row[j] for j, row in enumerate(rows)]


@pytest.mark.parametrize("knee", KNEES)
@pytest.mark.parametrize("radius", [0.3, 1e6])
@pytest.mark.parametrize("equal", [True, False])
def test_no_columns_are_too_alike_to_be_solved(equal, radius, knee, rng):
    """Against all patterns in fractions: as near as the certificate says, and it always says that it is found."""
    for d in (2, 3, 3, 4):
        matrix, target = one_line(rng, d, equal)
        penalised = Penalised(Quadratic.of(matrix, target, radius), np.full(d, 10.0 ** rng.uniform(-2, 4)), knee)
        weights, gap = penalised.solve()
        assert gap <= penalised.fine(weights)
        nu = 0.0
        if np.linalg.norm(weights) > radius * (1 - 1e-9):
            full = slope(System(matrix, target, penalised.strengths, knee, radius, np.linalg.solve), weights)
            full = full if knee else np.sign(weights) * penalised.strengths
            nu = float((target - matrix @ weights - full) @ weights) / radius**2
        away = [float(a - Fraction(float(b))) for a, b in zip(patterns(penalised, nu), weights, strict=True)]
        rounding = 0.0 if nu == 0 else 1e-14 * (np.abs(matrix).sum() + nu) * radius  # of nu, which is found in floats
        assert np.linalg.norm(away) <= 2 * (gap + rounding) / 0.3


@pytest.mark.parametrize("knee", [0.0, 0.01])
def test_a_model_of_equal_columns_is_never_given_up(knee, rng):
    """Giving up would release zeros, an event that depends on the records and that nothing prices."""
    n, line = 20_000, rng.uniform(-1, 1, 20_000)
    X, y = np.outer(line, np.ones(4)) / 2, np.clip(0.8 * line + 0.05 * rng.normal(size=n), -1, 1)
    surrogate = Surrogate.named("squared", 3.35)
    setting = Setting(
        features=4, cohort=n, clip=1.0, intercept=0.0, surrogate=surrogate, radius=3.35, honest=1.0
    )  # fmt: skip
    numbers = proven(setting, Budget(10.0, 1e-6), None, None)
    for seed in range(5):
        source = SeededSource(seed)
        solution = numbers.train(Sums.of(*numbers.perturb(X, y, source)), source, Penalty(1e-3, knee=knee))
        assert solution.gap <= numbers.tolerance(n)
        assert np.mean((X @ solution.weights[:, 0] - y) ** 2) < 0.01


def test_digits_are_added_until_the_certificate_holds(rng, monkeypatch):
    penalised, asked, real = collection(rng, 0.0, 50.0), [], Penalised.attempt

    def late(self, digits):
        asked.append(digits)
        return real(self, digits) if digits > 600 else (np.zeros(4), 1.0)

    monkeypatch.setattr(Penalised, "attempt", late)
    assert penalised.solve(1e-9)[1] <= 1e-9
    assert asked == [0, 40, 80, 160, 320, 640]


def test_only_a_form_that_is_not_definite_ends_without_a_certificate():
    """Decided in whole numbers: one step of 2**-100 more or less, where floats see no difference."""
    for more in (-1, 0, 1):
        second = np.array([[2**60, 2**60], [2**60, 2**60 + more]], dtype=object)
        sums = Sums.exactly(1, second, np.array([2**60, 0], dtype=object))
        quadratic = Quadratic(sums, row_step=2.0**-30, cross_step=2.0**-60, ridge=0.0, radius=1.0)
        assert quadratic.definite == (more > 0)
        point, gap = Penalised(quadratic, np.full(2, 0.1), 0.0).solve(1e-9)
        assert (gap <= 1e-9) == (more > 0)
        assert point.any() == (more > 0)


def test_without_noise_the_minimiser_is_certified_or_refused(rng):
    line = rng.uniform(-1, 1, (2000, 1))
    X = (line + 1e-4 * rng.normal(size=(2000, 3))) / 2
    y = np.clip(0.4 * line[:, 0] + 0.01 * rng.normal(size=2000), -1, 1)

    def fitted(X, penalty):
        return LinearRegression(
            math.inf, method=InputPerturbation(penalty=penalty), target_bound=(-1, 1), fit_intercept=False
        ).fit(X, y)

    assert fitted(X, Penalty(1e-15)).coef_ == pytest.approx(fitted(X, None).coef_, abs=1e-3)
    with pytest.raises(ValueError, match="regularization > 0"):
        fitted(np.repeat(X[:, :1], 3, axis=1), Penalty(1e-9))


def law(a, pull, tau, knee, scale, w):
    """Of ``argmin a w^2/2 - (pull + b) w + tau phi(w)``: its density at w, and the chance that it is exactly 0."""
    if knee:
        inside = np.abs(w) < knee
        return (a + tau / knee * inside) * norm.pdf(a * w + tau * np.clip(w / knee, -1, 1), pull, scale), 0.0
    stay = norm.cdf((tau - pull) / scale) - norm.cdf((-tau - pull) / scale)
    return a * norm.pdf(a * w + tau * np.sign(w), pull, scale), stay


@pytest.mark.parametrize("knee", [0.0, 0.05])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.01), (1.0, 1e-5)])
def test_the_exact_delta_with_a_penalty_never_exceeds_the_price_without(knee, epsilon, delta):
    """One dimension, given the row noise: density in the ball, atoms at 0 and at the ends."""
    setting = Setting(
        features=1, cohort=400, clip=1.0, intercept=0.0, surrogate=Surrogate.named("squared", 0.1), radius=0.1,
        honest=1.0,
    )  # fmt: skip
    event = proven(setting, Budget(epsilon, delta), None, None).minimum(400)
    strong, rare = input_convexity(event), input_row(event) - event.row
    w = np.linspace(-event.radius, event.radius, 1200)  # 0 is not among them
    worst = 0.0
    for tau in (0.3 * event.scale, 3 * event.scale):
        for q, other in ((1, -1), (1, 0), (0, 1)):
            for p, p_other in ((1, -1), (-1, 1)):
                for level in (0.0, 1.0, -1.0):
                    curves = [strong + (event.row * x + rare) ** 2 for x in (q, other)]
                    pulls = [level * tau + event.cross * x for x in (p, p_other)]
                    laws = [law(a, c, tau, knee, event.scale, w) for a, c in zip(curves, pulls, strict=True)]
                    total = np.trapezoid(np.maximum(laws[0][0] - math.exp(epsilon) * laws[1][0], 0.0), w)
                    total += max(0.0, laws[0][1] - math.exp(epsilon) * laws[1][1])
                    for side in (-1, 1):
                        full = min(1.0, event.radius / knee) if knee else 1.0
                        ends = [
                            norm.sf((a * event.radius + tau * full - side * c) / event.scale)
                            for a, c in zip(curves, pulls, strict=True)
                        ]
                        total += max(0.0, ends[0] - math.exp(epsilon) * ends[1])
                    worst = max(worst, total)
    assert worst + 2 * event.tail <= input_delta(event, epsilon)
    assert worst > 0.01 * delta, "the adversary should get somewhere, or the bound is idle"


def test_the_guarantee_is_that_of_the_ridge_alone(rng):
    X = rng.uniform(-1, 1, (3000, 5))
    y = np.clip(X[:, 0] / 2 + 0.05 * rng.normal(size=3000), -1, 1)
    models = [
        LinearRegression(
            1.0, delta=1e-4, method=InputPerturbation(penalty=penalty), target_bound=(-1, 1), random_state=0
        ).fit(X, y)
        for penalty in (None, Penalty(0.02))
    ]
    assert models[0].guarantee_.events == models[1].guarantee_.events
    assert models[1].guarantee_.verify() <= 1.0
    assert any("penalty 0.02" in words for words in models[1].guarantee_.assumptions)
    assert (models[1].coef_ == 0).sum() >= 2  # the second noise is taken off zeros again
    assert (models[0].coef_ != 0).all()


@pytest.mark.parametrize(("size", "weight"), [(1e-165, 1e-170), (1e-290, 1e-300), (1e-310, 1e-320)])
def test_without_a_budget_the_solve_ends_near_the_smallest_floats_too(size, weight, rng):
    """Squares of such numbers are 0: measured by them no gap would be small enough."""
    X = rng.uniform(-1, 1, (200, 3)) / 2
    method = InputPerturbation(penalty=Penalty(weight))
    model = LinearRegression(math.inf, method=method, target_bound=(-1, 1), fit_intercept=False)
    found = model.fit(X, size * (X @ [1.0, -0.5, 0.2])).coef_
    assert np.abs(found - size * np.array([1.0, -0.5, 0.2])).max() <= max(1e-3 * size, 1e-280)


def test_what_is_refused(rng):
    with pytest.raises(ValueError, match="weight"):
        Penalty(-1.0)
    for knee in (math.inf, 5e-324, -1.0, math.nan):
        with pytest.raises(ValueError, match="knee"):
            Penalty(1.0, knee=knee)
    for odd in ("0.1", True, None):
        with pytest.raises(ValueError, match="weight to be a number"):
            Penalty(odd)
        with pytest.raises(ValueError, match="knee to be a number"):
            Penalty(1.0, knee=odd)
    with pytest.raises(ValueError, match="penalty=Penalty"):
        InputPerturbation(penalty=0.1)
    X = rng.uniform(-1, 1, (500, 2))
    model = LinearRegression(1.0, delta=1e-4, method=InputPerturbation(penalty=Penalty(1e12)), target_bound=(-1, 1))
    with pytest.raises((ValueError, PrivacyError), match="could pull"):
        model.fit(X, X[:, 0])
