"""What rounding adds to a sensitivity, against parts and runs in more digits: the slack holds, and without it would not."""

import math
from dataclasses import replace

import numpy as np
import pytest
from oracles import problem_of

from tacit.data.people import people_of
from tacit.data.rows import Design, grid_step, rounded_intercept
from tacit.data.shares import Shares
from tacit.linear.arithmetic import hessian_slack, rounding_slack, written
from tacit.linear.losses import Logistic, Squared
from tacit.linear.problem import Problem, Records
from tacit.linear.whole import added
from tacit.mechanisms import METHODS, SufficientStatistics
from tacit.mechanisms.adaptive import AdaptiveGradient, clipped_sums
from tacit.mechanisms.output import Passes, Steps
from tacit.mechanisms.sufficient import Moments, _rounding
from tacit.mechanisms.whitened import second_moment
from tacit.privacy.noise import SeededSource, permutation
from tacit.types import Budget, Facts

LONG = np.longdouble
TRIES = 40


def one_person(rng, m, d, loss, intercept=0.5, most=None):
    """One person with m equal rows: their roundings all go the same way."""
    row, target = rng.normal(size=d) * rng.choice([0.02, 0.3, 3.0]), float(rng.choice([-1.0, 1.0]))
    people = people_of(np.zeros(m), m, most or m)
    y = np.full(m, target * (rng.uniform(0.1, 1) if loss.name == "squared" else 1.0))
    return Problem(Records.build(np.tile(row, (m, 1)), y, 1.0, intercept, Shares.of(people, None)), loss)


def exact_parts(problem, weights, clip=math.inf):
    """The person's gradient and Hessian in extended precision, and the slope that both share."""
    records = problem.records
    x = records.design.dense(slice(None)).astype(LONG)
    shares = (np.ones(len(x)) if records.shares.weights is None else records.shares.weights).astype(LONG)[:, None]
    z = (x @ weights.astype(LONG))[:, :1]
    slopes = problem.loss.slope(z, records.targets.astype(LONG))
    slopes = np.clip(slopes, -clip / records.design.norms[:, None], clip / records.design.norms[:, None])
    return x.T @ (shares * slopes), (x * shares).T @ x


# --- parts ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("m", [1, 7, 300])
@pytest.mark.parametrize("d", [1, 3, 80])
def test_a_persons_rows_are_rounded_one_by_one(m, d, rng):
    """The rounding of a part is at most half of the slack, which is for two; all of a person's rows are in it."""
    worst, hessians, clip = 0.0, 0.0, 0.4
    for _ in range(TRIES):
        problem = one_person(rng, m, d, Logistic())
        weights = np.rint(2**10 * rng.normal(size=(d + 1, 1))) / 2**10  # few digits: scores are not rounded
        gradient, second = exact_parts(problem, weights, clip)
        off = np.linalg.norm((problem.clipped_gradient(weights, clip) - gradient).astype(float)) / clip
        worst = max(worst, off / rounding_slack(problem.facts, clip))
        moved = np.linalg.norm((second_moment(problem) - second).astype(float)) / problem.facts.radius**2
        hessians = max(hessians, moved / hessian_slack(problem.facts))
    assert worst <= 0.5
    assert hessians <= 0.5
    assert worst > (0.03 if m > 1 else 0.003), "vacuous: slack far above what happens"
    assert m == 1 or worst > 1.5 / m * 0.5, "one rounding a person would not do"


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("m", [None, 3, 50])
def test_moments_of_weighted_rows_and_people_stay_within_their_sensitivity(m, adjacency, rng):
    mechanism, parts = SufficientStatistics(), []
    for _ in range(TRIES):
        if m is None:
            shares = Shares(rng.random(1), weighted=True)
            records = Records.build(9 * rng.normal(size=(1, 3)), rng.choice([-1.0, 1.0], 1), 1.0, 0.5, shares)
            problem = Problem(records, Squared())
        else:
            problem = one_person(rng, m, 3, Squared())
        plan = mechanism.calibrate(Budget(1.0, 1e-5, adjacency), problem.facts, None, "proven")
        found = Moments.of(problem)
        x, y = problem.records.design.dense(slice(None)).astype(LONG), problem.records.targets[:, 0].astype(LONG)
        share = problem.records.shares.weights.astype(LONG)
        inner = x[:, :3]
        exact = Moments(
            (inner * share[:, None]).T @ inner, share @ inner, (share * y) @ inner, float(share @ y), float(share.sum())
        )
        off = np.linalg.norm((found.pack(plan.weights) - exact.pack(plan.weights)).astype(float))
        assert off <= _rounding(plan.weights, problem.facts) / 2
        parts.append(found.pack(plan.weights))
    sensitivity = plan.events[0].sensitivity
    assert max(map(np.linalg.norm, parts)) <= sensitivity.add_remove
    assert max(np.linalg.norm(a - b) for a in parts for b in parts) <= sensitivity.replace_one


def test_an_adaptive_clip_is_priced_for_the_coarsest_grid_that_it_can_meet(rng):
    """Grids of slopes are powers of two: relative to the clip, they are coarsest just above one."""
    problem = problem_of(np.zeros((1, 3)), [0.9], Squared(), intercept=0.5)
    plan = AdaptiveGradient().calibrate(Budget(1.0, 1e-5, "add-remove"), problem.facts, None, "proven")
    lowest, _, highest = plan.clips
    assert rounding_slack(problem.facts, 1.2 * lowest) > rounding_slack(problem.facts, lowest), "so it can be"
    sensitivity = plan.events[0].sensitivity
    for clip in np.geomspace(lowest, highest, 60):
        total, size = clipped_sums(problem, problem.start(), float(clip))
        part = math.hypot(float(np.linalg.norm(total)) / clip, plan.weight * (size / clip - 0.5))
        assert part <= sensitivity.add_remove
    grids = [2 * rounding_slack(problem.facts, lowest) / rounding_slack(problem.facts, c) for c in (1.9 * lowest, 7e-2)]
    assert min(grids) >= 1


def test_differences_to_an_anchor_stay_within_their_clip(rng):
    worst, plan = 0.0, None
    for _ in range(TRIES):
        problem = problem_of(rng.normal(size=(1, 4)), rng.choice([-1.0, 1.0], 1), Logistic(), intercept=0.5)
        plan = plan or METHODS["dp-svrg"].mechanism.calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven")
        weights, anchor = 9 * rng.normal(size=(2, 5, 1))
        part = problem.clipped_gradient(weights, plan.difference_clip, anchor)
        worst = max(worst, float(np.linalg.norm(part)))
        assert np.linalg.norm(problem.clipped_gradient(anchor, plan.clip)) <= plan.events[0].sensitivity.add_remove
    assert 0.99 * plan.difference_clip < worst <= plan.events[1].clip


def test_writing_a_large_sum_as_doubles_is_priced():
    """Two sums of 2**40 records that differ by one: as doubles they differ by more than its part, but not by much."""
    block, record = added(np.full((4096, 1), 0.7), 1.0, 4096), added(np.array([[2.0**-15]]), 1.0, 4096)
    total = block
    for _ in range(28):
        total = total.plus(total)
    facts = Facts(records=2**40, features=1, outputs=1, radius=1.0, loss=Logistic())
    moved = [float((a.value() - b.value())[0]) for a, b in ((total.plus(record), total), (total, total.plus(record)))]
    assert max(map(abs, moved)) != 2.0**-15, "vacuous: nothing was rounded"
    assert max(map(abs, moved)) <= 2.0**-15 + written(facts)
    assert rounding_slack(facts) > written(facts)
    assert written(replace(facts, records=10**6)) < 1e-8


# --- rows -------------------------------------------------------------------------------------------------------------
def test_the_intercepts_constant_is_on_the_rows_grid(rng):
    """Also where rounding it makes the radius cross a power of two, and with it the grid."""
    edge = math.sqrt(3)
    pairs = [(1.0, math.nextafter(edge, up)) for up in (0, 2)] + [(1.0, edge), (1.0, edge * (1 - 1e-9)), (3.0, 1e-9)]
    for clip, intercept in [*pairs, *np.exp(rng.normal(size=(300, 2)))]:
        constant = rounded_intercept(clip, intercept)
        step = grid_step(math.hypot(clip, constant))
        assert constant % step == 0
        assert rounded_intercept(clip, constant) == constant
        assert abs(constant - intercept) <= step


@pytest.mark.parametrize("d", [1, 3, 200])
def test_norms_of_rows_are_bounds(d, rng):
    for clip in (1e-50, 0.7, 1.0, 1e50):
        X = clip * rng.normal(size=(200, d)) * rng.choice([1e-9, 0.1, 1.0, 1e9], size=(200, 1))
        X[0] = 0.0
        design = Design(X, clip, 0.5 * clip)
        rows = design.dense(slice(None))
        exact = np.sqrt((rows.astype(LONG) ** 2).sum(axis=1))
        assert (exact <= design.norms * (1 + (d + 8) * 2.0**-52)).all()
        assert (np.sqrt((rows[:, :d].astype(LONG) ** 2).sum(axis=1)) <= clip).all()
        assert (rows / design.step == np.rint(rows / design.step)).all()
        assert np.abs(rows / design.step).max() <= 2**24


# --- runs of gradient steps -------------------------------------------------------------------------------------------
def long_gradient(problem, weights):
    x = problem.records.design.dense(slice(None)).astype(LONG)
    return x.T @ problem.loss.slope(x @ weights, problem.records.targets.astype(LONG))


@pytest.mark.parametrize("strength", [0.0, 3.0])
@pytest.mark.parametrize(("n", "d", "batch"), [(65, 1, 64), (130, 3, 64), (400, 2, 1), (50, 90, 7)])
def test_passes_over_batches_end_where_exact_ones_do(n, d, batch, strength, rng):
    """The last batch may be smaller than the others, and its slopes must not be rounded to fewer digits."""
    problem = problem_of(rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n), Logistic(), intercept=0.5)
    trainer = Passes(passes=3, batch=batch, step=0.5, strength=strength)
    found = trainer.train(problem, SeededSource(1))
    order, facts = permutation(SeededSource(1), n), problem.facts
    weights, mean, t = problem.start().astype(LONG), LONG(strength) / n, 0
    for _ in range(3):
        for i in range(0, n, batch):
            part = problem.part(np.sort(order[i : i + batch]))
            size = min(1 / (facts.curvature + mean), 1 / (mean * (t + 1))) if strength else LONG(0.5)
            weights, t = weights - size * (long_gradient(part, weights) / batch + mean * weights), t + 1
    exact = 2 * facts.gradient / strength if strength else 2 * 3 * facts.gradient * 0.5 / batch
    slack = trainer.sensitivity(facts).replace_one - exact
    assert np.linalg.norm((found - weights).astype(float)) <= slack / 2
    assert slack < 1e-3 * exact


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_gradient_steps_end_where_exact_ones_do(strength, rng):
    problem = problem_of(rng.normal(size=(300, 3)), rng.choice([-1.0, 1.0], 300), Logistic(), intercept=0.5)
    trainer = Steps.build(200, strength, problem.facts)
    weights = problem.start().astype(LONG)
    for _ in range(200):
        weights = weights - LONG(trainer.step) * (long_gradient(problem, weights) + LONG(strength) * weights)
    found = trainer.train(problem, SeededSource(1))
    time = -math.expm1(200 * math.log1p(-trainer.step * strength)) / strength if strength else trainer.step * 200
    slack = trainer.sensitivity(problem.facts).add_remove - problem.facts.gradient * time
    assert np.linalg.norm((found - weights).astype(float)) <= slack / 2
