"""What one person can move: every sum behind every statistic, whole people swapped; and what is rare."""

import contextlib
import math

import numpy as np
import pytest
from scipy import stats

from tacit import PrivacyError, statistics
from tacit.privacy import accounting
from tacit.privacy.events import Gaussian, Objective, Rare, Sensitivity, Sphere
from tacit.schema import Category, Number, Schema
from tacit.statistics import exact_sums, release
from tacit.statistics.exact_sums import Asked, Occurring, Part, Sums, mixing, summing
from tacit.statistics.release import Request, answer, calibrate_sums
from tacit.statistics.unit import FINER, UNIT, Unit
from tacit.types import ADJACENCIES, Budget

MOST = 3
SCHEMA = Schema(columns=(Number("x", 0.0, 10.0), Category("word", ("a", "b"))))


@pytest.fixture
def asked(monkeypatch):
    """What is added up exactly, caught before noise: all numbers of a stage, unknown values by name, and its price."""
    caught = []
    known = release.SumsPlan._release

    def catch(self, sums, scale, source):
        flat = {f"{place}": value for place, value in enumerate(np.concatenate([np.zeros(0), *sums.totals]))}
        for place, one in enumerate(sums.occurring):
            flat |= {f"{place}:{key}": one.weight * n for key, n in zip(one.keys, one.counts, strict=True)}
        caught.append((flat, sums.asked.sensitivity()))
        return known(self, sums, scale, source)

    monkeypatch.setattr(release.SumsPlan, "_release", catch)
    return caught


def rows_of(rng, n):
    """Rows at the corners of what is possible, and between."""
    return {
        "x": rng.choice([-5.0, 0.0, 3.3, 10.0, 99.0], n),
        "z": rng.choice([-1.0, 1.0, 0.3], n),
        "word": rng.choice(["a", "b", "c"], n).astype(object),
    }


COMMON = {"epsilon": 1.0, "delta": 1e-5, "random_state": 0}
ASKED = {
    "count": lambda t, **k: statistics.count(t["word"], ["a", "b"], **k),
    "sum": lambda t, **k: statistics.sum(t["x"], (-2, 10), **k),
    "sum by": lambda t, **k: statistics.sum(t["x"], (0, 10), by=t["word"], categories=["a", "b"], **k),
    "mean": lambda t, **k: statistics.mean(t["x"], (0, 10), **k),
    "mean by": lambda t, **k: statistics.mean(t["x"], (0, 10), by=t["word"], categories=["a", "b"], **k),
    "histogram": lambda t, **k: statistics.histogram(t["x"], (0, 10), bins=4, **k),
    "quantiles": lambda t, **k: statistics.quantiles(t["x"], (0, 10), cells=16, **k),
    "quantiles by": lambda t, **k: statistics.quantiles(
        t["x"], (0, 10), cells=16, by=t["word"], categories=["a", "b"], **k
    ),
    "covariance": lambda t, **k: statistics.covariance(
        np.column_stack([t["x"], t["z"]]), [(0, 10), (-1, 1)], by=t["word"], categories=["a", "b"], **k
    ),
    "bounds": lambda t, **k: statistics.private_bounds(t["x"], **k),
    "categories": lambda t, **k: statistics.private_categories(t["word"], **k),
    "schema": lambda t, **k: statistics.private_schema(t, kinds={"word": "text"}, **k),
    "describe": lambda t, **k: statistics.describe(t, schema=SCHEMA, **k),
}


def ask(name, table, **settings):
    """So few rows seldom stand out of the noise, and that is said after the release."""
    with contextlib.suppress(ValueError) if name in ("bounds", "schema") else contextlib.nullcontext():
        ASKED[name](table, **settings)


def distance(one, other):
    return math.sqrt(sum((one.get(key, 0.0) - other.get(key, 0.0)) ** 2 for key in {*one, *other}))


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("name", ASKED)
def test_no_neighbour_moves_the_sums_by_more_than_is_priced(name, people, asked):
    """A row, or a person with all rows, is replaced or added; the sums of the first stage are compared."""
    rng = np.random.default_rng(3)
    nearest = []
    for adjacency in ADJACENCIES:
        nearest.append(0.0)
        for _ in range(15):
            mine, yours = (int(n) for n in rng.integers(1, MOST + 3, 2)) if people else (1, 1)
            if adjacency == "add-remove":
                yours = 0
            others = rows_of(rng, 7)
            tables = [
                {key: np.concatenate([others[key], more[key]]) for key in others}
                for more in (rows_of(rng, mine), rows_of(rng, yours))
            ]
            found = []
            for table, own in zip(tables, (mine, yours), strict=True):
                unit = {"groups": [0, 0, 0, 1, 1, 2, 2] + [9] * own, "rows_per_person": MOST} if people else {}
                ask(name, table, **COMMON, **unit, adjacency=adjacency)
                found.append(asked.pop(0))
                asked.clear()
            moved = distance(found[0][0], found[1][0])
            allowed = found[0][1].under(adjacency)
            assert moved <= allowed * (1 + 1e-12)
            nearest[-1] = max(nearest[-1], moved / allowed)
    assert min(nearest) > 0.4  # the bound is no mere upper bound


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("name", sorted(set(ASKED) - {"schema"}))
def test_sums_are_exact_in_any_order(name, people, asked):
    rng = np.random.default_rng(4)
    table = rows_of(rng, 400)
    groups = rng.integers(0, 150, 400)
    order = np.argsort(rng.permutation(150)[groups], kind="stable")  # people in another order, their rows in the same
    for places in (np.arange(400), order):
        unit = {"groups": groups[places], "rows_per_person": MOST} if people else {}
        ask(name, {key: values[places] for key, values in table.items()}, **COMMON, **unit)
    assert asked[0][0] == asked[1][0]


def test_a_person_weighs_one_in_all_and_each_place_is_right_to_a_step():
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 60, 2000)
    unit = Unit.of(2000, groups, 50)
    codes, values = unit.take(rng.integers(-1, 6, 2000)), unit.take(rng.uniform(-1, 1, 2000))
    entries = unit.entries(codes, values)
    steps, places, means = entries
    owner = np.repeat(np.arange(unit.people.count), unit.people.sizes)
    weights = iter(zip(steps, places, means, strict=True))
    for person, size in enumerate(unit.people.sizes):
        own = owner == person
        total = 0
        for place in np.unique(codes[own & (codes >= 0)]):
            step, code, mean = next(weights)
            rows = own & (codes == place)
            total += step
            assert code == place
            assert abs(step - UNIT * rows.sum() / size) <= 1
            assert mean == pytest.approx(values[rows].mean())
        assert abs(total - UNIT * (own & (codes >= 0)).sum() / size) <= 0.5
        assert total <= UNIT
    assert list(weights) == []
    exact = np.bincount(places, weights=steps * means, minlength=6) / UNIT
    assert np.abs(Part(6, signed=True).total(*entries) - exact).max() <= len(steps) * 0.5 / FINER / UNIT


def test_parts_take_no_more_than_one_from_a_person():
    part = Part(3, signed=True)
    steps = np.repeat(UNIT // 3, 3)
    far = part.total(steps, np.array([0, 1, 2]), np.array([5.0, -7.0, math.inf]))
    assert np.abs(far).sum() <= 1
    assert Part(3).total(steps, np.array([0, 1, -1]), np.array([-1.0, 1.0, 1.0])).tolist() == [0, (UNIT // 3) / UNIT, 0]
    with pytest.raises(ValueError, match="every code to be of its part"):
        part.total(steps, np.array([0, 1, 3]))
    with pytest.raises(ValueError, match="weights alone"):
        Part(3, rising=True).total(steps, np.array([0, 1, 2]), np.ones(3))
    assert Part(3, most=4).squares == (16.0, 32.0)
    least = 1.0 / (UNIT * FINER)
    assert Part(1, signed=True).total(np.full(3, UNIT), None, least * np.array([0.9, 0.6, -0.7])).tolist() == [least]
    for wrong in ({"weight": 0.3}, {"size": 0}, {"signed": True, "rising": True}):
        with pytest.raises(ValueError, match="Expected"):
            Part(**{"size": 2, **wrong})


@pytest.mark.parametrize("size", [1, 2, 7, 512])
def test_mixed_counts_are_summed_back(size):
    counts = np.random.default_rng(0).integers(0, 100, size).astype(float)
    steps = np.full(int(counts.sum()), UNIT, dtype=np.int64)
    codes = np.repeat(np.arange(size), counts.astype(int))
    mixed = Part(size, rising=True).total(steps, codes)
    assert np.allclose(summing(size) @ mixed, np.cumsum(counts))
    noise = np.linalg.norm(summing(size), axis=1).max() * np.linalg.norm(mixing(size))
    assert noise <= 1.02 * (1 + math.log(size) / math.pi + 0.2)


def test_a_stage_that_asks_for_more_than_was_priced_is_refused():
    unit, request = Unit.of(5), Request(epsilon=1.0)
    for more in (Part(1, 2.0), Part(2), Part(1, signed=True)):
        with pytest.raises(PrivacyError, match="more than was priced"):
            answer(
                request,
                unit,
                "count",
                [(Asked((Part(1),)), 1.0, lambda _, more=more: Sums((more,), (np.zeros(more.size),)))],
            )
    hidden = Occurring.of(["a"], Unit.of(1))
    with pytest.raises(PrivacyError, match="more than was priced"):
        answer(request, unit, "count", [(Asked((Part(9, 4.0),)), 1.0, lambda _: Sums((), (), (hidden,)))])


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("shares", [(1.0,), (0.3, 0.7), (0.1, 0.2, 0.7)])
def test_all_stages_together_cost_the_budget_and_no_more(shares, adjacency):
    budget = Budget(0.7, 1e-6, adjacency)
    plan = calibrate_sums([Asked((Part(20),), (1.0,))] * len(shares), shares, budget, most=2)
    price = accounting.epsilon(plan.events, budget.delta, adjacency)
    assert 0.999 * budget.epsilon <= price <= budget.epsilon
    assert plan.events[-1] == Rare(budget.delta * release.RARE_SHARE)
    each = plan.events[-1].probability / (2 * len(shares))  # two values of a person in every column
    assert 0.999 * each <= stats.norm.sf(plan.cut) <= each


def test_a_value_of_one_person_is_shown_as_rarely_as_is_priced():
    """Delta is made large so that it can be seen. False alarms: below 1e-6 to either side."""
    runs, budget = 4000, Budget(1.0, 0.4)
    plan = calibrate_sums([Asked((), (1.0,))], (1.0,), budget)
    chance = plan.events[-1].probability
    from tacit.privacy.noise import SeededSource

    lonely = Occurring.of(["a"] * 500 + ["rare"], Unit.of(501))
    source = SeededSource(5)
    shown = [plan._release(Sums((), (), (lonely,)), plan.scales[0], source).shown[0] for _ in range(runs)]
    assert all("a" in one for one in shown)
    often = sum("rare" in one for one in shown)
    assert stats.binom.ppf(1e-7, runs, 0.9 * chance) <= often <= stats.binom.isf(1e-7, runs, chance)


GAUSSIAN = Gaussian(Sensitivity(1.0, 2.0), 5.0)
OTHERS = [
    (GAUSSIAN,), (Sphere(Sensitivity(1.0, 2.0), 4.0),),
    (Objective(slope=1.0, trace=0.25, strength=3.0, scale=9.0, geometry="logistic"), GAUSSIAN),
]  # fmt: skip


@pytest.mark.parametrize("others", OTHERS, ids=["gaussian", "pure", "objective"])
def test_what_is_rare_adds_its_probability_to_delta_whatever_else_is_there(others):
    for place in range(len(others) + 1):
        events = (*others[:place], Rare(1e-7), *others[place:], Rare(2e-7))
        for epsilon in (0.1, 0.5, 2.0):
            alone, both = (accounting.delta(one, epsilon, "replace-one") for one in (others, events))
            assert alone + 3e-7 <= both <= 1.05 * alone + 3.001e-7
        price = accounting.epsilon(events, 1e-6, "replace-one")
        assert accounting.delta(events, price, "replace-one") <= 1e-6
        assert price >= accounting.epsilon(others, 7e-7, "replace-one") * (1 - 1e-9)
        assert accounting.epsilon(events, 3e-7, "replace-one") == math.inf
    assert accounting.delta((Rare(0.25),), 0.0, "add-remove") == pytest.approx(0.25)
    assert accounting.epsilon((Rare(0.25),), 0.3, "add-remove") == 0
    assert accounting.epsilon((Rare(0.25),), 0.0, "add-remove") == math.inf


def test_values_that_occur_are_counted_by_what_they_say():
    keys = statistics.categories.keys_of(np.array(["1", 1.0, True, None, " x ", "?"], dtype=object), frozenset("?"))
    assert keys == ["1", "1", "1", "", "x", ""]
    found = exact_sums.Occurring.of(keys, Unit.of(6))
    assert (found.keys, found.counts.tolist()) == (("1", "x"), [3.0, 1.0])
