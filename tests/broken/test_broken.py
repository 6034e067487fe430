"""The checks can fail: every broken twin is caught by the check that its mistake calls for; its healthy one passes."""

import itertools
import math

import numpy as np
import pytest
import twins
from instances import label, random_problem, targets_of
from oracles import (
    door,
    objective_delta,
    problem_of,
    record,
    repeat_violations,
    replay,
    replay_violations,
    sampler_violations,
    scale_violations,
    silent_coordinates,
    still_weights,
)

from tacit.linear.losses import HuberHinge, Logistic, Squared
from tacit.mechanisms import GradientPerturbation, Output, Poisson, SufficientStatistics
from tacit.privacy import accounting
from tacit.privacy.noise import SeededSource, SystemSource, gaussian
from tacit.types import Budget

BUDGET = Budget(1.0, 1e-5)
NOTHING = (np.zeros(0), np.zeros(0))


def overspent(loss, clip, strong, scale, *, epsilon=1.0, delta=1e-5):
    """Whether one record against none, either way round, costs more than (epsilon, delta)."""
    record_here = (np.array([clip]), np.array([1.0]))
    pairs = ((record_here, NOTHING), (NOTHING, record_here))
    exact = [objective_delta(loss, *pair, strong=strong, scale=scale, epsilons=[epsilon])[0] for pair in pairs]
    return max(exact) > delta * 1.01


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Squared()], ids=label)
def test_r_for_r_squared_is_caught_by_the_exact_loss(loss):
    """Harmless at norm 1, where R and R squared agree; several times epsilon at norm 100."""
    for clip, caught in ((0.1, False), (1.0, False), (30.0, True), (100.0, True)):
        facts = problem_of([[clip]], [1.0], loss, clip=clip).facts
        strong, scale, _ = twins.objective_with_r(facts, 1.0, 1e-5, "add-remove")
        assert overspent(loss, clip, strong, scale) == caught, clip


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge()])
@pytest.mark.parametrize("twin", [twins.objective_without_determinant, twins.kifer_without_condition])
def test_a_forgotten_determinant_is_caught_by_the_exact_loss(twin, loss):
    """For the hinge the curvature sits at margins 0.5 to 1.5, so the noise must be able to get there: it is."""
    facts = problem_of([[1.0]], [1.0], loss).facts
    strong, scale, _ = twin(facts, 1.0, 1e-5, "add-remove")
    assert overspent(loss, 1.0, strong, scale)


def test_a_quarter_of_the_noise_is_caught_by_the_exact_loss():
    facts = problem_of([[1.0]], [1.0], HuberHinge()).facts
    budget = Budget(1.0, 1e-5, "add-remove")
    strong, scale, _ = twins.kifer_like_objective(facts, budget)
    assert overspent(HuberHinge(), 1.0, strong, scale)
    assert not overspent(HuberHinge(), 1.0, strong, 4 * scale)


def neighbour(problem, rng, row, target):
    """The same problem with its last record replaced."""
    design = problem.records.design
    X = np.vstack([design.matrix[:-1, : design.columns], row])
    y = np.vstack([problem.records.targets[:-1], [[target]]])
    return problem_of(X, y, problem.loss, clip=problem.records.design.clip, intercept=problem.records.design.intercept)


def replay_pairs(plan, loss, rng, *, n=12):
    """Violations over a few adversarial replacements."""
    X = 10 * rng.normal(size=(n, 3))
    problem = problem_of(X, targets_of(loss, n, rng), loss, intercept=0.5)
    trace = record(plan, problem)
    found = []
    for sign in (1.0, -1.0):
        for target in (-1.0, 1.0):
            calls = replay(trace, neighbour(problem, rng, 100 * sign * np.ones(3), target))
            found += replay_violations(plan.events, trace.calls, calls, "replace-one")
    return found


def facts_of(loss, n=12):
    return problem_of(np.ones((n, 3)), np.ones(n), loss, intercept=0.5).facts


@pytest.mark.parametrize("twin", twins.REPLAYED, ids=lambda twin: twin.name)
def test_broken_twins_are_caught_by_replay(twin):
    """Over bases of one record, where a minimiser moves most, and of twelve."""
    found = []
    for n, seed in itertools.product((1, 12), range(5)):
        facts = facts_of(twin.loss, n)
        plans = twin.sound(facts, BUDGET), twin.broken(facts, BUDGET)
        sound, broken = (replay_pairs(plan, twin.loss, np.random.default_rng(seed), n=n) for plan in plans)
        assert sound == []
        found += broken
    assert any(twin.word in sentence for sentence in found)


def test_dividing_by_a_private_count_is_caught_by_replay(rng):
    """Under add-remove the count differs: so does the scale, and the replay sees it."""
    loss = Logistic()
    plan = twins.CountingPlan(
        GradientPerturbation(steps=3).calibrate(Budget(1.0, 1e-5, "add-remove"), facts_of(loss), None, "proven")
    )
    X, y = rng.normal(size=(12, 3)), targets_of(loss, 12, rng)
    trace = record(plan, problem_of(X, y, loss, intercept=0.5))
    calls = replay(trace, problem_of(X[:-1], y[:-1], loss, intercept=0.5))
    assert any("scale" in sentence for sentence in replay_violations(plan.events, trace.calls, calls, "add-remove"))


def released_twice(plan, problem):
    found = []
    for seed in (1, 2):
        with door() as calls:
            plan.run(problem, SeededSource(seed))
        found.append(calls)
    return silent_coordinates(*found)


def test_silent_coordinates_are_caught(rng):
    problem = random_problem(Squared(), rng)
    plan = SufficientStatistics().calibrate(BUDGET, problem.facts, None, "proven")
    assert released_twice(plan, problem) == []
    assert released_twice(twins.PartlySilentPlan(plan), problem)


def test_a_plain_intercept_is_caught(rng):
    problem = random_problem(Logistic(), rng)
    plan = Output().calibrate(BUDGET, problem.facts, None, "proven")
    assert still_weights(lambda source: plan.run(problem, source).weights) == []
    assert still_weights(lambda source: twins.PlainInterceptPlan(plan).run(problem, source).weights)


def test_fixed_batches_are_caught():
    records, steps, rate = 400, 200, 0.1
    poisson = Poisson(rate)
    event = poisson.event(1.0, 0.0, 1.0, records, steps, "gaussian")
    assert sampler_violations(poisson, event, records, steps, SystemSource()) == []
    fixed = twins.FixedBatches(rate)
    assert sampler_violations(fixed, fixed.event(steps), records, steps, SystemSource())
    wrong = Poisson(1.1 * rate)
    assert sampler_violations(wrong, event, records, steps, SystemSource())


def test_one_byte_of_entropy_is_caught():
    draws = {name: [gaussian(source, (3,)) for _ in range(1000)] for name, source in
             (("byte", twins.ByteSource()), ("system", SystemSource()))}  # fmt: skip
    assert repeat_violations(draws["byte"])
    assert repeat_violations(draws["system"]) == []


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_wrong_scale_is_caught(factor):
    """20,000 draws: a scale wrong by a tenth is 20 standard errors away."""
    noise = gaussian(SystemSource(), (20_000,))
    assert scale_violations(noise, 1.0) == []
    assert scale_violations(factor * noise, 1.0)


def test_mu_for_a_standard_deviation_is_caught():
    """The GDP mu used as a scale: noise that grows with epsilon is not what its event says."""
    for epsilon in (0.5, 2.0):
        mu = accounting.gaussian_mu(epsilon, 1e-5)
        wrong = accounting.epsilon(twins.gaussian_event(0.5, mu), 1e-5, "replace-one")
        right = accounting.epsilon(twins.gaussian_event(0.5, 1 / mu), 1e-5, "replace-one")
        assert right == pytest.approx(epsilon, rel=1e-6)
        assert wrong > 2 * epsilon or math.isclose(mu, 1.0, rel_tol=0.5)
