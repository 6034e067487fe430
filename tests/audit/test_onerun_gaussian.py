"""The bound on right guesses from one run of a Gaussian-private trainer, against linear programming and runs."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import ndtr
from scipy.stats import binom, norm

from tacit.audit import onerun_gaussian as coins
from tacit.audit.onerun import audit_one_run
from tacit.audit.pairs import Data
from tacit.privacy.accounting import gaussian_mu
from tacit.types import Budget


def largest_tail(m, r, v, mu, points=600):
    """max P[C >= v] over all laws of C that the inequality of the theorem allows, by linear programming.

    With a_j = sum_{c >= j} c p_c / m and b_j = sum_{c >= j} (r - c) p_c / m it reads a_j <= F(b_{j-1}), F(x) =
    Phi(Phi^-1(x) + mu), which is concave: the least of its tangents. Few tangents only enlarge the maximum.
    """
    z = np.linspace(-8, 8, points)
    slopes = norm.pdf(z + mu) / norm.pdf(z)
    c = np.arange(r + 1)
    rows, limits = [], []
    for j in range(1, r + 1):
        a, b = np.where(c >= j, c, 0) / m, np.where(c >= j - 1, r - c, 0) / m
        rows.append(a - slopes[:, None] * b)
        limits.append(ndtr(z + mu) - slopes * ndtr(z))
    found = linprog(
        -(c >= v).astype(float), A_ub=np.vstack(rows), b_ub=np.concatenate(limits), A_eq=np.ones((1, r + 1)), b_eq=[1]
    )
    return -found.fun


@pytest.mark.parametrize(
    ("m", "r", "v", "mu"), [(1, 1, 1, 1.0), (10, 4, 4, 1.0), (10, 10, 8, 0.5), (20, 6, 5, 0.8), (30, 12, 11, 1.2)]
)
def test_p_value_is_the_largest_tail_that_the_inequality_allows(m, r, v, mu):
    assert coins.p_value(m, r, v, mu) == pytest.approx(largest_tail(m, r, v, mu), rel=2e-4)


def test_one_coin_is_guessed_as_well_as_the_best_test_does():
    for mu in (0.1, 1.0, 3.0):
        assert coins.p_value(1, 1, 1, mu) == pytest.approx(ndtr(mu / 2), rel=1e-6)


def test_independent_guesses_are_allowed_for():
    """m coins, each through the best test of a Gaussian mechanism: a binomial law, whose every tail is below the
    bound."""
    m, mu = 40, 0.7
    for v in range(1, m + 1):
        assert coins.p_value(m, m, v, mu) >= binom.sf(v - 1, m, ndtr(mu / 2))


def test_bounds_grow_as_they_must():
    found = [coins.least_mu(200, 100, right, 0.001) for right in (60, 75, 90, 100)]
    assert found == sorted(found)
    assert found[0] < found[-1]
    assert coins.least_mu(200, 100, 90, 0.05) > coins.least_mu(200, 100, 90, 0.001)
    assert coins.least_mu(200, 100, 0, 0.001) == 0
    assert coins.impossible(200, 100, 90, found[2], 0.001)
    assert not coins.impossible(200, 100, 90, found[2] * 1.001, 0.001)
    with pytest.raises(ValueError, match="right=5"):
        coins.impossible(10, 4, 5, 1.0, 0.1)


def right_guesses(m, total, mu, rng):
    inside = rng.random(m) < 0.5
    ordered = inside[np.argsort(mu * inside + rng.standard_normal(m))]
    return int((~ordered[: total // 2]).sum() + ordered[-total // 2 :].sum())


@pytest.mark.parametrize(("m", "r"), [(40, 40), (100, 50), (300, 60)])
def test_false_alarms_are_within_the_level_and_a_wrong_scale_is_beyond_it(m, r):
    """200 trainers at mu = 1 and error 5%: more than 27 alarms have probability 1e-6 at that level. Twice the mu is
    refuted in nearly every run of the largest setting."""
    rng = np.random.default_rng(m)
    limit = int(binom.isf(1e-6, 200, 0.05))
    needed = min(v for v in range(1, r + 1) if coins.impossible(m, r, v, 1.0, 0.05))
    assert sum(right_guesses(m, r, 1.0, rng) >= needed for _ in range(200)) <= limit
    if m == 300:
        assert sum(right_guesses(m, r, 3.0, rng) >= needed for _ in range(200)) > 150


@pytest.mark.parametrize(("epsilon", "least"), [(3.0, 1.3), (8.0, 3.5)])
def test_ideal_scores_show_most_of_what_one_run_can(epsilon, least):
    """Medians over 100 audits are 1.39 and 3.86 (recorded); of 15 here, some 0.06 and 0.12 either way."""
    claim = Budget(epsilon, 1e-5)
    total = coins.guessed(5000, coins.best_gaussian_share(5000, claim, 0.999))
    mu = gaussian_mu(epsilon, 1e-5)
    found = [
        coins.gaussian_bound(5000, total, right_guesses(5000, total, mu, np.random.default_rng(s)), 1e-5, 1e-3)
        for s in range(15)
    ]
    assert least < np.median(found) < epsilon


def test_one_run_has_both_verdicts():
    """400 canaries with a coordinate each. A third of the noise at a claim of 3: mu = 2.2 where 0.74 is claimed."""
    m = 400
    base, ones = Data(np.zeros((5, m)), np.ones(5)), Data(np.eye(m), np.ones(m))
    claim = Budget(3.0, 1e-5, "add-remove")

    def trained(factor, **options):
        scale = factor / gaussian_mu(3.0, 1e-5)
        return audit_one_run(
            lambda X, y, rng: X.sum(axis=0) + scale * rng.standard_normal(m), lambda w, c: w, base, ones, claim,
            seed=1, **options,
        )  # fmt: skip

    bad = trained(1 / 3)
    assert bad.verdict == "violated if gaussian"
    assert bad.epsilon < 3 < bad.if_gaussian
    assert "if its noise is Gaussian" in str(bad)
    sound = trained(1.0, confidence=1 - 1e-6, gaussian_share=0.1)
    assert sound.verdict == "consistent"
    with pytest.raises(ValueError, match="gaussian_share"):
        trained(1.0, gaussian_share=1.5)
