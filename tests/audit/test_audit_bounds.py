"""Bounds from counts: exact limits against the binomial law itself, and the levels that they promise."""

import math

import numpy as np
import pytest
from scipy import stats

from tacit.audit import intervals as bounds
from tacit.audit import onerun
from tacit.privacy.accounting import gaussian_delta, gaussian_mu


@pytest.mark.parametrize(("count", "trials"), [(0, 50), (1, 50), (7, 50), (49, 50), (50, 50), (300, 20_000)])
@pytest.mark.parametrize("error", [1e-6, 1e-3, 0.05])
def test_limits_have_exactly_the_stated_tail(count, trials, error):
    high = float(bounds.upper_rate(count, trials, error))
    low = float(bounds.lower_rate(count, trials, error))
    assert low <= count / trials <= high
    if count < trials:
        assert stats.binom.cdf(count, trials, high) == pytest.approx(error, rel=1e-6)
    else:
        assert high == 1
    if count > 0:
        assert stats.binom.sf(count - 1, trials, low) == pytest.approx(error, rel=1e-6)
    else:
        assert low == 0


def test_clopper_pearson_never_exceeds_its_level():
    """P = e^1 Q + delta exactly: the bound exceeds 1 with probability at most the error, summed over all outcomes."""
    trials, delta, error, q = 400, 1e-3, 0.05, 0.05
    p = math.e * q + delta
    counts = np.arange(trials + 1)
    shown = bounds.clopper_pearson(counts[:, None], counts[None, :], trials, delta, error)
    law = stats.binom.pmf(counts, trials, p)[:, None] * stats.binom.pmf(counts, trials, q)[None, :]
    level = float(law[shown > 1].sum())
    assert 0 < level <= error


def test_advantage_never_exceeds_its_level_even_for_unequal_errors():
    """The number of errors is a sum of two binomials; Hoeffding's comparison makes one limit enough."""
    trials, error, distance = 300, 0.05, 0.2
    counts = np.arange(trials + 1)
    for miss in (0.0, 0.1, 0.3, 0.4):
        false = 1 - distance - miss
        law = np.convolve(stats.binom.pmf(counts, trials, miss), stats.binom.pmf(counts, trials, false))
        shown = bounds.advantage(np.arange(2 * trials + 1.0), trials, error)
        assert float(law[shown > distance + 1e-12].sum()) <= error


def test_a_binomial_is_often_at_or_below_its_mean():
    """What Hoeffding's comparison needs, to be used at every confidence above 0.7."""
    for trials in (20, 21, 50, 1000):
        rates = np.concatenate([np.linspace(1e-4, 0.5, 4001), (np.arange(1, trials // 2 + 1) - 1e-9) / trials])
        assert stats.binom.cdf(np.floor(rates * trials), trials, rates).min() > 0.3


def test_ceiling_is_what_perfect_guesses_show():
    assert bounds.ceiling(1000, 0.0, 1e-3) == pytest.approx(
        math.log((5e-4) ** (1 / 1000) / (1 - (5e-4) ** (1 / 1000))), rel=1e-9
    )
    assert bounds.ceiling(1000, 1e-4, 0.05) == pytest.approx(5.6005, abs=1e-3)


def test_gaussian_family_is_inverted():
    for mu in (0.1, 0.2688, 1.0, 4.0):
        distance = gaussian_delta(mu, 0.0)
        assert bounds.gaussian_parameter(distance) == pytest.approx(mu, rel=1e-9)
        epsilon = bounds.gaussian_epsilon(mu, 1e-5)
        assert gaussian_delta(mu, epsilon) == pytest.approx(1e-5, rel=1e-5)
    assert bounds.gaussian_epsilon(gaussian_mu(1.0, 1e-5), 1e-5) == pytest.approx(1.0, rel=1e-6)
    assert bounds.gaussian_profile(1e-5)(0.0) == 0


def test_one_run_p_value_is_the_published_formula():
    """Against the definition, term by term."""
    m, r, v, epsilon, delta = 40, 30, 24, 0.7, 1e-3
    chance = math.exp(epsilon) / (1 + math.exp(epsilon))
    law = stats.binom(r, chance)
    steep = max(sum(law.pmf(v - j) for j in range(1, i + 1)) / i for i in range(1, v + 1))
    assert onerun.p_value(m, r, v, epsilon, delta) == pytest.approx(law.sf(v - 1) + 2 * m * delta * steep, rel=1e-10)
    assert onerun.p_value(m, r, 0, epsilon, delta) == 1
    found = onerun.bound(1000, 1000, 1000, 0.0, 0.05)
    assert onerun.p_value(1000, 1000, 1000, found, 0.0) <= 0.05 < onerun.p_value(1000, 1000, 1000, found + 1e-6, 0.0)


def test_one_run_bound_keeps_its_level_for_randomised_response():
    """m coins, each released through randomised response with epsilon = 1: the tight case. Level computed exactly."""
    m, error, epsilon = 500, 0.05, 1.0
    chance = math.e / (1 + math.e)
    right = np.arange(m + 1)
    exceeds = np.array([onerun.bound(m, m, int(v), 0.0, error) > epsilon for v in right])
    level = float(stats.binom.pmf(right, m, chance)[exceeds].sum())
    assert 0.01 < level <= error
    delta = 1e-4
    assert onerun.bound(m, m, 400, delta, error) < onerun.bound(m, m, 400, 0.0, error)
