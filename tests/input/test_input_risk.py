"""What the noise costs: the published bounds against measured excess risk, the fast draw, the solver, the trade-off."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.linear.solvers.ball import minimise
from tacit.mechanisms.input_plan import Setting, proven, published
from tacit.mechanisms.moments import Sums
from tacit.mechanisms.surrogates import Surrogate
from tacit.privacy.noise import SeededSource
from tacit.protocol.expect import Published, balance, draw, excess_bound, noisy_second, risk, simulate, synthetic
from tacit.types import Budget

BUDGET = Budget(1.0, 0.01)


def setting_for(n=4096, name="squared", radius=2.0, honest=1.0):
    return Setting(
        features=4,
        cohort=n,
        clip=1.0,
        intercept=0.5,
        surrogate=Surrogate.named(name, radius * 1.118),
        radius=radius,
        honest=honest,
    )


def test_the_ball_solver_finds_the_minimum(rng):
    for trial in range(30):
        A = rng.normal(size=(5, 5))
        A = A @ A.T - (2.0 * np.eye(5) if trial % 3 == 0 else 0.0)
        c, radius = rng.normal(size=5) * rng.choice([0.1, 10.0]), rng.choice([0.3, 1.0, 50.0])
        found = minimise(A, c, radius)
        assert np.linalg.norm(found.weights) <= radius * (1 + 1e-12)
        assert found.gap < 1e-9 * (1 + np.abs(A).sum() * radius)

        def value(w, A=A, c=c):
            return w @ A @ w / 2 - c @ w

        ball = {"type": "ineq", "fun": lambda w, r=radius: r**2 - w @ w}
        for start in rng.normal(size=(3, 5)) * radius * 0.2:
            other = minimize(value, start, constraints=ball, method="SLSQP", options={"maxiter": 200})
            assert value(found.weights) <= other.fun + 1e-5 * (1 + abs(other.fun))
    flat = minimise(np.diag([-1.0, 2.0]), np.array([0.0, 1.0]), 2.0)  # the hard case
    assert np.linalg.norm(flat.weights) == pytest.approx(2.0)
    assert flat.gap < 1e-12


def test_sums_are_exact(rng):
    q = rng.integers(-(2**39), 2**39, size=(300, 3))
    p = rng.integers(-(2**51), 2**51, size=(300, 3))
    sums = Sums.of(q, p)
    for i in range(3):
        assert sums.cross[i] == sum(int(v) for v in p[:, i])
        for j in range(3):
            assert sums.second[i, j] == sum(int(a) * int(b) for a, b in zip(q[:, i], q[:, j], strict=True))
    assert (Sums.of(q[:0], p[:0]).second == 0).all()
    with pytest.raises(ValueError, match="grid steps"):
        Sums.of(np.full((1, 3), 2**41), p[:1])


def test_the_fast_draw_has_the_law_of_the_slow_one(rng):
    """Means and variances of (Q + U)^T (Q + U) over 4,000 draws of either kind, within 5 standard errors."""
    n, d, scale, trials = 30, 3, 0.4, 4000
    Q = rng.normal(size=(n, d))
    slow = np.array([(m := Q + scale * rng.normal(size=(n, d))).T @ m for _ in range(trials)]).reshape(trials, -1)
    source = SeededSource(5)
    fast = np.array([noisy_second(Q.T @ Q, n, scale, source) for _ in range(trials)]).reshape(trials, -1)
    spread = slow.std(axis=0)
    assert np.all(np.abs(slow.mean(axis=0) - fast.mean(axis=0)) < 5 * spread * math.sqrt(2 / trials))
    assert np.all(np.abs(fast.var(axis=0) / slow.var(axis=0) - 1) < 5 * math.sqrt(6 / trials))


@pytest.mark.parametrize("name", ["squared", "paper", "least-squares"])
@pytest.mark.parametrize("n", [512, 8192])
def test_measured_excess_risk_is_below_the_bounds(name, n):
    setting = setting_for(n, name)
    source = SeededSource(9)
    second, cross = (n * part for part in synthetic(setting, source))
    best = minimise(second, cross, setting.radius).weights
    least = risk(second, cross, n, best)
    numbers = published(setting, BUDGET, None)
    bounds = Published.of(numbers, BUDGET)
    excess = np.array([risk(second, cross, n, draw(numbers, second, cross, n, source)) - least for _ in range(200)])
    length = float(np.linalg.norm(best))
    assert excess.mean() <= bounds.theorem_2(length)
    assert np.mean(excess > bounds.lemma_2(length, 0.05, 0.05)) <= 0.1
    ours = proven(setting, BUDGET, None, None)
    again = [risk(second, cross, n, draw(ours, second, cross, n, source)) - least for _ in range(100)]
    assert np.mean(again) <= excess_bound(ours, n)
    assert np.mean(again) > -1e-9


def test_alpha_trades_the_model_and_the_record_for_risk():
    for calibration in ("proven", "paper"):
        points = balance(setting_for(), BUDGET, (0.1, 0.3, 1.0), calibration=calibration, trials=40)
        for values in zip(*[(p.model_epsilon, p.record_epsilon, -p.simulated, -p.bound) for p in points], strict=True):
            assert list(values) == sorted(values)


def test_more_noise_for_the_record_costs_risk():
    setting = setting_for(20000)
    risks = [simulate(proven(setting, BUDGET, None, record), setting, 20000, trials=30) for record in (None, 20.0, 2.0)]
    assert risks == sorted(risks)


def test_the_least_squares_surrogate_is_the_nearest_parabola():
    reach = 5.0
    z = np.linspace(-reach, reach, 20001)
    found = Surrogate.named("least-squares", reach)
    fitted = np.polyfit(z, np.logaddexp(0, -z), 2)
    assert found.curvature / 2 == pytest.approx(fitted[0], rel=1e-3)
    assert -found.slope == pytest.approx(fitted[1], abs=1e-6)
    assert Surrogate.named("least-squares", 1e-3).curvature == pytest.approx(0.25, rel=1e-4)
