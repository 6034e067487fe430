"""The contracts of methods, for those whose noise people add themselves: input and local perturbation."""

import itertools
import math

import numpy as np
import pytest
from instances import MAIN_LOSSES, label, outputs_of, random_problem
from oracles import CENTRAL, budget_for

from tacit.mechanisms import METHODS, Chosen
from tacit.privacy import accounting
from tacit.privacy.events import Shuffled
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import SeededSource, SystemSource
from tacit.training import prepare
from tacit.types import Facts

DELTA = 1e-5
INPUT = [name for name in METHODS if name not in CENTRAL]
INPUT_CASES = [(n, loss) for n in INPUT for loss in MAIN_LOSSES if loss.name in METHODS[n].losses]
every_input_case = pytest.mark.parametrize(
    ("name", "loss"), INPUT_CASES, ids=[f"{n}-{label(loss)}" for n, loss in INPUT_CASES]
)


def test_every_method_is_central_or_of_the_contributors():
    assert sorted([*CENTRAL, *INPUT]) == sorted(METHODS)
    assert INPUT == ["input", "input-local", "local-duchi-2013"]


def run(name, loss, source, epsilon=1.0):
    problem = random_problem(loss, np.random.default_rng(5), n=60, d=4)
    mechanism = METHODS[name].mechanism
    plan = mechanism.calibrate(budget_for(mechanism, epsilon, DELTA, "replace-one"), problem.facts, None, "proven")
    return plan, problem, plan.run(problem, source).weights


@every_input_case
def test_contributors_noise_fits_the_budget_and_wastes_less_than_a_percent(name, loss):
    mechanism = METHODS[name].mechanism
    for records, epsilon in itertools.product((300, 3000), (0.5, 1.0, 3.0)):
        budget = budget_for(mechanism, epsilon, DELTA, "replace-one")
        plan = mechanism.calibrate(
            budget, Facts(records=records, features=5, outputs=outputs_of(loss), radius=1.2, loss=loss), None, "proven"
        )
        price = accounting.epsilon(plan.events, budget.delta, "replace-one")
        # Shuffled releases get half of delta for their own delta_0 whatever that is worth, so they waste more.
        least = 0.85 if isinstance(plan.events[0], Shuffled) else 0.99
        assert least * epsilon < price <= epsilon * (1 + 1e-9), (records, epsilon)
        alone = accounting.epsilon(plan.record.events, budget.delta, "replace-one")
        assert alone >= price * (1 - 1e-9), "what one person sends cannot cost less than what all of it releases"


@every_input_case
def test_contributors_runs_repeat_with_their_seed_only(name, loss):
    plan, problem, first = run(name, loss, SeededSource(3))
    np.testing.assert_array_equal(first, plan.run(problem, SeededSource(3)).weights)
    others = [plan.run(problem, SeededSource(4)).weights, *(plan.run(problem, SystemSource()).weights for _ in "ab")]
    for a, b in itertools.combinations([first, *others], 2):
        assert not np.isclose(a, b, rtol=1e-12, atol=0).any(), "every coordinate has fresh noise"


@every_input_case
def test_contributors_without_a_budget_release_no_event(name, loss):
    plan, problem, weights = run(name, loss, SeededSource(1), epsilon=math.inf)
    assert plan.events == ()
    np.testing.assert_array_equal(weights, plan.run(problem, SeededSource(1)).weights)
    if name != "local-duchi-2013":  # it draws the order of its records
        np.testing.assert_array_equal(weights, plan.run(problem, SeededSource(2)).weights)


@every_input_case
def test_contributors_guarantee_survives_json_and_verifies(name, loss):
    problem = random_problem(loss, np.random.default_rng(5), n=300, d=4)
    budget = budget_for(METHODS[name].mechanism, 1.0, DELTA, "replace-one")
    prepared = prepare(problem.facts, Chosen(name, METHODS[name].mechanism, budget), seeded=True)
    again = Guarantee.from_json(prepared.guarantee.to_json())
    assert again == prepared.guarantee
    assert again.status == "proven"
    assert again.verify() == pytest.approx(accounting.epsilon(prepared.plan.events, budget.delta, "replace-one"))
