"""The price of input perturbation against brute force: densities in one dimension, eigenvalues, attacks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from tacit.mechanisms.input import InputNumbers, record_epsilon
from tacit.mechanisms.input_plan import Setting, corollary_1, proven, published
from tacit.mechanisms.surrogates import Surrogate
from tacit.privacy import accounting
from tacit.privacy.accounting import chi_delta, gaussian_delta, input_convexity, input_delta, input_row
from tacit.privacy.events import Gaussian, InputMinimum, Sensitivity
from tacit.privacy.noise import SeededSource
from tacit.types import Budget


def conditional_delta(epsilon, quadratic, pull, quadratic_other, pull_other, scale, radius):
    """The exact delta of w = clip((pull + b)/quadratic), one dimension: a density in the ball, atoms at its ends."""
    w = np.linspace(-radius, radius, 4001)
    p, q = (a * norm.pdf(a * w, c, scale) for a, c in ((quadratic, pull), (quadratic_other, pull_other)))
    total = np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), w)
    for side in (-1, 1):
        ends = [
            norm.sf(side * (a * side * radius - c) / scale)
            for a, c in ((quadratic, pull), (quadratic_other, pull_other))
        ]
        total += max(0.0, ends[0] - math.exp(epsilon) * ends[1])
    return total


def worst_conditional(event, epsilon):
    """The largest exact delta, given u, over adversarial records, common data and row noise short of the rare event."""
    rare = input_row(event) - event.row
    strong = input_convexity(event)
    worst = 0.0
    for u in (0.0, 0.5 * rare, rare):
        for q, q_other in ((1, -1), (1, 1), (1, 0), (0, 1), (-1, 1)):
            for p, p_other in ((1, -1), (-1, 1), (1, 1), (1, 0)):
                for common in (0.0, event.row**2, 8 * event.scale / event.radius):  # curvature beyond what is certain
                    for level in (0.0, 0.8, 1.0, 1.3):  # where the minimiser lies, as a fraction of the radius
                        a, a_other = event.row * q + u, event.row * q_other + u
                        base = strong + common
                        pull = level * event.radius * (base + a**2)
                        worst = max(worst, conditional_delta(
                            epsilon, base + a**2, pull + event.cross * p,
                            base + a_other**2, pull + event.cross * p_other,
                            event.scale, event.radius,
                        ))  # fmt: skip
    return worst


@pytest.mark.parametrize("surrogate", ["squared", "paper", "least-squares"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "radius"), [(0.1, 0.01, 0.1), (1.0, 1e-5, 0.1), (4.0, 1e-3, 0.1), (1.0, 0.01, 2.0)]
)
def test_exact_conditional_delta_never_exceeds_the_price(surrogate, epsilon, delta, radius):
    setting = Setting(
        features=1,
        cohort=400,
        clip=1.0,
        intercept=0.0,
        surrogate=Surrogate.named(surrogate, radius),
        radius=radius,
        honest=1.0,
    )
    numbers = proven(setting, Budget(epsilon, delta), None, None)
    event = numbers.minimum(400)
    rare = 2 * event.tail
    assert input_delta(event, epsilon) <= delta
    worst = worst_conditional(event, epsilon)
    assert worst + rare <= input_delta(event, epsilon)
    if radius < 1:  # in one dimension rows of either sign have the same second moment: large balls leave slack
        assert worst > 0.02 * delta, "the adversary should get somewhere, or the bound is idle"


def test_a_broken_calibration_is_caught():
    """Half the noise: the exact conditional delta passes the price that was paid for."""
    setting = Setting(
        features=1,
        cohort=400,
        clip=1.0,
        intercept=0.0,
        surrogate=Surrogate.named("squared", 0.1),
        radius=0.1,
        honest=1.0,
    )
    numbers = proven(setting, Budget(1.0, 0.01), None, None)
    event = numbers.minimum(400)
    halved = replace(event, scale=event.scale / 2)
    assert worst_conditional(halved, 1.0) > 0.01


def test_dishonest_contributors_are_in_the_price():
    """Seven of ten know their noise: a protocol for honest = 0.3 covers it exactly, one for honest = 1 does not."""
    covered, bare = (
        proven(
            Setting(
                features=1,
                cohort=400,
                clip=1.0,
                intercept=0.0,
                surrogate=Surrogate.named("squared", 0.1),
                radius=0.1,
                honest=honest,
            ),
            Budget(1.0, 0.01),
            None,
            None,
        )
        for honest in (0.3, 1.0)
    )
    event = covered.minimum(400)
    assert event.honest == 120
    assert worst_conditional(event, 1.0) + 2 * event.tail <= input_delta(event, 1.0) <= 0.01
    true = replace(bare.minimum(400), honest=120, scale=bare.cross_scale * math.sqrt(120))
    assert worst_conditional(true, 1.0) > 0.01


@pytest.mark.parametrize("hidden", [0.0, 3.0, 50.0])
def test_row_noise_is_convex_whatever_the_rows(hidden, rng):
    """The bound on the least eigenvalue holds for rows chosen against it; false alarms below 1e-12."""
    n, d, tail = 60, 4, 1e-3
    event = InputMinimum(
        features=d, records=2 * n, honest=n + 1, row=1.0, cross=1.0, radius=1.0, row_scale=0.5, scale=1.0, ridge=0.0,
        tail=tail, rare=0.0,
    )  # fmt: skip
    bound = input_convexity(event)
    rows = hidden * rng.normal(size=(n, d)) * np.array([1, 0, 0, 1])
    least = [np.linalg.eigvalsh((m := rows + 0.5 * rng.normal(size=(n, d))).T @ m)[0] for _ in range(500)]
    assert min(least) > bound > 0 or np.mean(np.array(least) < bound) <= 2 * tail
    assert np.median(least) < 6 * max(bound, 1e-9) + 0.5**2 * n


def test_corners_are_a_bound_and_beat_four_dimensions():
    """Against brute force over the parallelogram of gradients; and less noise than a chi bound with four directions."""
    rng = np.random.default_rng(3)
    event = InputMinimum(
        features=3, records=1000, honest=1000, row=1.0, cross=1.0, radius=2.0, row_scale=1e-9, scale=9.0, ridge=1e6,
        tail=1e-9, rare=0.0,
    )  # fmt: skip
    epsilon = 1.0
    price = input_delta(event, epsilon)
    for _ in range(300):
        q, q_other, p, p_other = (v / np.linalg.norm(v) for v in rng.normal(size=(4, 3)))
        corners = [s * 2.0 * q - p - (t * 2.0 * q_other - p_other) for s in (-1, 1) for t in (-1, 1)]
        assert sum(gaussian_delta(np.linalg.norm(c) / 9.0, epsilon) for c in corners) <= price
    assert price < chi_delta(2 * 3.0 / 9.0, epsilon, 4)
    exact = gaussian_delta(6 / 9.0, epsilon)  # q, q', p, p' all on one line: one corner has the full norm
    assert exact < price < 4 * exact


def test_record_epsilon_is_the_exact_gaussian_formula():
    n, sigma_u, sigma_b = 1000, 40.0, 60.0
    numbers = InputNumbers(
        features=3, cohort=n, clip=1.0, intercept=0.0, curvature=1.0, slope=1.0, radius=1.0,
        row_scale=sigma_u / math.sqrt(n), cross_scale=sigma_b / math.sqrt(n), strength=1.0, tail=1e-4, honest=1.0,
    )  # fmt: skip
    mu = math.sqrt(n) * math.hypot(2 / sigma_u, 2 / sigma_b)
    for delta in (1e-6, 1e-3, 0.05):
        epsilon = record_epsilon(numbers, delta)
        assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-3)
        exact = accounting.epsilon((Gaussian(Sensitivity(None, mu), 1.0),), delta, "replace-one")
        assert epsilon == pytest.approx(exact, rel=1e-5)


def test_with_an_intercept_the_worst_pair_of_records_is_covered(rng):
    """The constant coordinate never differs in q; brute force over records finds no farther pair.

    With a constant above the clip the farthest pair is x' = -x, y' = -y (third and fourth case).
    """
    for row_scale, cross_scale, constant in ((0.3, 0.5, 0.5), (5.0, 0.4, 0.5), (0.3, 0.5, 3.0), (0.3, 0.5, 1.2)):
        numbers = InputNumbers(
            features=3, cohort=100, clip=1.0, intercept=constant, curvature=1.0, slope=1.0, radius=1.0,
            row_scale=row_scale, cross_scale=cross_scale, strength=1.0, tail=1e-4, honest=1.0,
        )  # fmt: skip
        claimed = sum((e.sensitivity.replace_one / e.scale) ** 2 for e in numbers.record_events)
        most = 0.0
        for _ in range(2000):
            x = rng.normal(size=(2, 2))
            x /= np.linalg.norm(x, axis=1, keepdims=True)
            x[1] = x[rng.integers(2)] * rng.choice([-1, 1])
            rows, y = np.hstack([x, np.full((2, 1), constant)]), rng.choice([-1, 1], size=(2, 1))
            p = rows * y
            most = max(
                most, np.sum((rows[0] - rows[1]) ** 2) / row_scale**2 + np.sum((p[0] - p[1]) ** 2) / cross_scale**2
            )
        assert 0.999 * claimed < most <= claimed


def test_an_attack_on_single_submissions_reaches_the_record_epsilon_and_does_not_beat_it():
    """The likelihood-ratio test on 100,000 submissions of either record: its delta is exact, within 5 errors."""
    setting = Setting(
        features=2,
        cohort=500,
        clip=1.0,
        intercept=0.0,
        surrogate=Surrogate.named("squared", 1.0),
        radius=1.0,
        honest=1.0,
    )
    numbers = proven(setting, Budget(2.0, 0.05), None, 1.5)
    epsilon, count = record_epsilon(numbers, 0.05), 100_000
    assert epsilon <= 1.5
    (row_step, cross_step), source = numbers.steps, SeededSource(7)
    scores = []
    for sign in (1.0, -1.0):
        q, p = numbers.perturb(np.tile([[sign, 0.0]], (count, 1)), np.ones(count), source)
        scores.append(q[:, 0] * row_step / numbers.row_scale**2 + p[:, 0] * cross_step / numbers.cross_scale**2)
    threshold = epsilon / 2  # log likelihood ratio = 2 * score
    hit, alarm = ((s > threshold).mean() for s in scores)
    reached = hit - math.exp(epsilon) * alarm
    error = math.sqrt((hit * (1 - hit) + math.exp(2 * epsilon) * alarm * (1 - alarm)) / count)
    assert abs(reached - 0.05) < 5 * error + 1e-3
    assert reached < 0.05 + 5 * error


def test_corollary_1_understates_the_record_epsilon():
    """The classical formula outside epsilon < 1: published 985 at twice the delta, exact above 20,000."""
    setting = Setting(
        features=14,
        cohort=2**15,
        clip=1.0,
        intercept=0.5,
        surrogate=Surrogate.named("squared", 3.35),
        radius=3.0,
        honest=1.0,
    )
    numbers = published(setting, Budget(1.0, 0.01), None)
    stated, at = corollary_1(numbers, 0.01)
    assert record_epsilon(numbers, at) > 10 * stated


@pytest.mark.parametrize("n", [2**11, 2**15, 2**21])
def test_the_published_noise_is_priced_by_the_repaired_theorem(n):
    """For the census setting the repaired theorem gives the published noise its published epsilon, and less."""
    setting = Setting(
        features=14,
        cohort=n,
        clip=1.0,
        intercept=0.5,
        surrogate=Surrogate.named("squared", 3.35),
        radius=3.0,
        honest=1.0,
    )
    for epsilon in (0.1, 1.0):
        numbers = published(setting, Budget(epsilon, 0.01), None)
        assert accounting.epsilon(numbers.events(n), 0.01, "replace-one") <= epsilon
