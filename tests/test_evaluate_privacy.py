"""How far one person moves what an evaluation releases: never farther than is priced, and nearly as far."""

import math

import numpy as np
import pytest

from tacit.evaluation.asked import METRICS, Kind, asked, layout_of
from tacit.evaluation.judged import JudgedLabels, JudgedNumbers, taken
from tacit.evaluation.ranking import rank_sums
from tacit.evaluation.summary import ROUNDING, calibrate_summary, sensitivity, size_of
from tacit.privacy.noise import SeededSource
from tacit.types import ADJACENCIES, Budget

PEOPLE = 12
KINDS = {
    "two": Kind(2, ranked=True, likely=True),
    "three": Kind(3, ranked=True, likely=True),
    "numbers": Kind(None),
}


def record(kind, rng, rows=1):
    """Rows of one person: with extreme values as often as not."""
    if kind.classes is None:
        values = rng.choice([-0.5, 0.0, 0.5, *rng.uniform(-0.5, 0.5, 3)], size=(rows, 2))
        return values
    classes = kind.classes
    chance = rng.dirichlet(np.full(classes, 0.3), size=rows)
    score = rng.choice([-math.inf, -1.0, 0.0, 1.0, math.inf, rng.normal()], size=rows)
    return np.column_stack([rng.integers(classes, size=(rows, 2)), score, chance])


def sums(kind, layout, people):
    rows = np.concatenate(people)
    groups = np.repeat(np.arange(len(people)), [len(person) for person in people])
    given = taken(groups, len(rows), 6, "replace-one")
    rows = rows[given.rows]
    if kind.classes is None:
        problem = JudgedNumbers(given.weights, given.people, rows[:, 0], rows[:, 1])
    else:
        truth, predicted = rows[:, 0].astype(int), rows[:, 1].astype(int)
        problem = JudgedLabels(given.weights, given.people, truth, predicted, kind.classes, rows[:, 2], rows[:, 3:])
    return problem(layout) * np.repeat([part.weight for part in layout], [part.size for part in layout])


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("most", [1, 5], ids=["rows", "people"])
@pytest.mark.parametrize("name", KINDS)
def test_no_person_moves_the_release_farther_than_is_priced(name, most, adjacency, rng):
    kind = KINDS[name]
    names = asked([metric for metric, need in METRICS.items() if kind.gives(need)], kind)
    layout = layout_of(names, kind, adjacency)
    moved = sensitivity(layout).under(adjacency)
    farthest = 0.0
    for _ in range(200):
        people = [record(kind, rng, rng.integers(1, most + 1)) for _ in range(PEOPLE)]
        if rng.random() < 0.5:  # everyone alike: one other person matters most
            people = [people[0]] * PEOPLE
        other = record(kind, rng, rng.integers(1, most + 1))
        changed = [*people[:-1], other] if adjacency == "replace-one" else [*people, other]
        farthest = max(farthest, float(np.linalg.norm(sums(kind, layout, people) - sums(kind, layout, changed))))
    assert farthest <= moved
    assert farthest >= 0.6 * moved


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("metric", ["rmse", "mae", "bias"])
def test_each_error_moves_as_far_as_is_priced_and_no_farther(metric, adjacency):
    """All pairs of records on a grid: the largest change of each sum is the one that is declared."""
    layout = [part for part in layout_of((metric,), Kind(None), adjacency) if part.name != "count"]
    grid = np.linspace(-0.5, 0.5, 9)
    truth, said = (side.ravel() for side in np.meshgrid(grid, grid))
    for part in layout:
        own = JudgedNumbers(np.ones(len(truth)), len(truth), truth, said).number(part.name)
        assert 0.98 * part.added <= np.abs(own).max() <= part.added
        assert 0.98 * part.replaced <= own.max() - own.min() <= part.replaced


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_person_moves_the_ranks_farther_than_proven(adjacency, rng):
    """Small tables, all kinds: levels of the score, shares of the classes, mixed people."""
    bounds = (1.0, 1 / 3) if adjacency == "replace-one" else (0.625, 1 / 3)
    farthest = np.zeros(2)
    for _ in range(800):
        n, levels = int(rng.integers(1, 30)), int(rng.integers(1, 5))
        rare = rng.random()
        rows = rng.integers(1, 4, size=n + 1)
        scores, positive = rng.integers(levels, size=rows.sum()), rng.random(rows.sum()) < rare
        groups = np.repeat(np.arange(n + 1), rows)
        if rng.random() < 0.5:  # a clear ranking, and one person at its end
            scores = np.where(positive, 9, 0)
            own = groups >= n - 1
            scores[own], positive[own] = rng.choice([-1, 10], own.sum()), rng.random() < 0.5
        first = groups < n if adjacency == "add-remove" else groups != n - 1
        second = groups <= n if adjacency == "add-remove" else groups != n

        def moved(kept, people, scores=scores, positive=positive, groups=groups):
            weights = taken(groups[kept], kept.sum(), 3, adjacency).weights
            return np.array(rank_sums(scores[kept].astype(float), positive[kept], weights, people))

        before, after = moved(first, n), moved(second, n + (adjacency == "add-remove"))
        farthest = np.maximum(farthest, np.abs(after - before))
    assert (farthest <= np.array(bounds) + ROUNDING).all()
    assert (farthest >= [0.9 * bounds[0] if adjacency == "replace-one" else 0.4, 0.15]).all()


def test_the_rank_sums_are_those_of_all_pairs(rng):
    scores, positive = rng.integers(6, size=40).astype(float), rng.random(40) < 0.4
    weights = taken(rng.integers(15, size=40), 40, 40, "replace-one").weights
    signs = 0.5 * np.sign(scores[:, None] - scores[None, :])
    lead = np.where(positive, signs @ (weights * ~positive), -signs @ (weights * positive))
    ranks, squares = rank_sums(scores, positive, weights, 15)
    assert ranks == pytest.approx((weights * lead)[positive].sum() / 15)
    assert -ranks == pytest.approx(-(weights * lead)[~positive].sum() / 15)
    assert squares == pytest.approx((weights * lead**2).sum() / 16**2)


def test_what_is_released_is_what_was_priced(rng):
    kind = KINDS["two"]
    layout = layout_of(("accuracy", "auc"), kind, "replace-one")
    plan = calibrate_summary(layout, Budget(1.0, 1e-6), ())
    (event,) = plan.events
    assert event.scale == plan.scale
    assert event.sensitivity.replace_one >= sensitivity(layout).replace_one
    exact = np.arange(float(size_of(layout)))
    drawn = np.array([plan.run(lambda _: exact, SeededSource(seed)).weights for seed in range(400)])
    weights = np.repeat([part.weight for part in layout], [part.size for part in layout])
    noise = (drawn - exact * weights).ravel() / plan.scale
    # 2,400 normal numbers: their mean square is within 0.15 of 1 but for less than 1e-6 (chi-squared, 5.2 deviations)
    assert len(noise) == 2400
    assert abs(np.mean(noise**2) - 1) < 0.15
