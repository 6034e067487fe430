"""Baselines' noise as their papers print it: the formulas, what is priced, and the status of what ran."""

import math

import numpy as np
import pytest

from tacit import LogisticRegression, PrivacyError, RefutedWarning
from tacit.linear.losses import Logistic
from tacit.mechanisms import GradientPerturbation, Poisson
from tacit.privacy import accounting
from tacit.types import Budget, Facts

N, D = 40, 3
BUDGET = Budget(0.5, 1e-4)
FACTS = Facts(records=N, features=D, outputs=1, radius=1.0, loss=Logistic(), intercept=False)
WANG = GradientPerturbation(published="wang-2017", momentum=0.0, schedule="constant", average="last", steps=25)
BASSILY = GradientPerturbation(published="bassily-2014", momentum=0.0, schedule="inverse-root", average="last")


def bassily(steps, radius=2.0, **settings):
    mechanism = GradientPerturbation(**{**vars(BASSILY), "steps": steps, "radius": radius, **settings})
    return mechanism.calibrate(BUDGET, FACTS, 0.01, "paper")


def wang(constant, budget=BUDGET):
    return GradientPerturbation(**{**vars(WANG), "constant": constant}).calibrate(budget, FACTS, 0.01, "paper")


def test_wang_2017_is_as_printed():
    plan = wang(3.0)
    assert (plan.scale / N) ** 2 == pytest.approx(3.0 * 25 * math.log(1e4) / (N * 0.5) ** 2)
    assert plan.clip == 1.0  # G of the logistic loss in the unit ball: the paper does not clip


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-6), (1.0, 1e-4), (1.1 * math.log(1e3), 1e-3)])
def test_twelve_is_a_constant_that_makes_wang_2017_true_and_one_is_not(epsilon, delta):
    budget = Budget(epsilon, delta)
    assert accounting.epsilon(wang(12.0, budget).events, delta, "replace-one") <= epsilon
    assert accounting.epsilon(wang(1.0, budget).events, delta, "replace-one") > epsilon


def test_bassily_2014_with_all_its_steps_is_as_printed():
    """T = n^2: one step stands for one of the paper's, ``w - eta_t (n grad + b_t)``."""
    plan = bassily(N**2)
    sigma = math.sqrt(32 * N**2 * math.log(N / 1e-4) * math.log(1e4)) / 0.5
    assert plan.scale / plan.divisor * N == pytest.approx(sigma)
    for t in (1, 7, N**2):
        eta = 2 * 2.0 / math.sqrt(t * (N**2 + D * sigma**2))
        assert plan.descent.size(t - 1) / N == pytest.approx(eta)


def test_bassily_2014_with_fewer_steps_has_the_same_noise_drift_and_price():
    """Over all but the first steps: k at once add up to the same."""
    whole, part = bassily(N**2), bassily(N**2 // 16)
    sums = []
    for plan, first in ((whole, 800), (part, 50)):
        sizes = np.array([plan.descent.size(t) for t in range(first, plan.descent.steps)])
        sums.append((sizes.sum(), (sizes**2).sum() * (plan.scale / plan.divisor) ** 2))
    assert sums[0] == pytest.approx(sums[1], rel=0.01)
    prices = [accounting.epsilon(plan.events, 1e-4, "replace-one") for plan in (whole, part)]
    assert prices[0] == pytest.approx(prices[1], rel=1e-3)
    assert prices[0] < BUDGET.epsilon / 10
    sampled = bassily(100, sampler=Poisson(0.25))
    assert sampled.scale / sampled.divisor == pytest.approx(bassily(100).scale / N)


def test_the_status_is_that_of_what_ran(rng):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] > 0
    fit = {"delta": 1e-4, "calibration": "paper", "random_state": 0}
    small = GradientPerturbation(**{**vars(WANG), "constant": 1.0})
    with pytest.warns(RefutedWarning, match="what is released costs"):
        model = LogisticRegression(1.0, method=small, **fit).fit(X, y)
    assert model.guarantee_.status == "refuted"
    enough = GradientPerturbation(**{**vars(WANG), "constant": 12.0})
    assert LogisticRegression(1.0, method=enough, **fit).fit(X, y).guarantee_.verify() <= 1.0


def test_wang_2017_asks_for_its_constant_and_for_all_records(rng):
    X = rng.normal(size=(50, 3))
    y = X[:, 0] > 0
    lacking = GradientPerturbation(published="wang-2017")
    sampled = GradientPerturbation(Poisson(0.1), published="wang-2017", constant=1.0)
    for mechanism, words in ((lacking, "Pass constant="), (sampled, "Use sampler Everyone")):
        with pytest.raises(PrivacyError, match=words):
            LogisticRegression(1.0, method=mechanism, calibration="paper").fit(X, y)


def test_an_unknown_paper_is_refused_by_name():
    with pytest.raises(ValueError, match="'nobody-1999' to be '', 'bassily-2014', 'lssgd-2020' or 'wang-2017'"):
        GradientPerturbation(published="nobody-1999")


def test_one_is_enough_where_epsilon_is_small_and_delta_is_not():
    budget = Budget(0.1, 0.01)
    assert accounting.epsilon(wang(1.0, budget).events, 0.01, "replace-one") <= 0.1
