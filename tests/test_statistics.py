"""Statistics are right without noise, their intervals hold with it, and bad input costs nothing."""

import json

import numpy as np
import pytest
from scipy import stats

import tacit
from tacit import Guarantee, PrivacyError, statistics
from tacit.privacy.theorems import TABLE
from tacit.schema import Number
from tacit.statistics import bounds as magnitudes
from tacit.statistics.aggregates import positive, quotient
from tacit.statistics.unit import UNIT

RNG = np.random.default_rng(0)
X = RNG.exponential(10, 600)
BY = RNG.choice(["a", "b", "c"], 600)
PEOPLE = np.sort(RNG.integers(0, 200, 600))
NO_NOISE = {"epsilon": np.inf}
CUT = np.minimum(X, 50)
ALIKE = {"groups": PEOPLE, "rows_per_person": 20}


def person_means(values):
    return np.array([values[person == PEOPLE].mean() for person in np.unique(PEOPLE)])


def test_without_noise_numbers_are_those_of_the_table():
    near = pytest.approx
    assert statistics.mean(X, (0, 50), **NO_NOISE).value == near(CUT.mean(), abs=1e-4)
    assert statistics.mean(X, Number("x", 0, 50), **NO_NOISE).value == near(CUT.mean(), abs=1e-4)
    assert statistics.sum(X, (0, 50), **NO_NOISE).value == near(CUT.sum(), abs=0.05)
    by = statistics.mean(X, (0, 50), by=BY, categories=["b", "a"], **NO_NOISE)
    assert by.value == near([CUT[BY == "b"].mean(), CUT[BY == "a"].mean()], abs=1e-4)
    assert by.labels == ("b", "a")
    sums = statistics.sum(X, (0, 50), by=BY, categories=["b", "a"], **NO_NOISE).value
    assert sums == near([CUT[BY == "b"].sum(), CUT[BY == "a"].sum()], abs=0.05)
    assert statistics.count(BY, ["a", "z"], **NO_NOISE).value.tolist() == [(BY == "a").sum(), 0]
    cells = statistics.histogram(X, (0, 50), bins=5, **NO_NOISE)
    assert cells.value.tolist() == np.histogram(CUT, bins=5, range=(0, 50))[0].tolist()
    assert cells.labels[1] == (10.0, 20.0)
    ranks = statistics.quantiles(X, (0, 50), (0.1, 0.5), cells=1000, **NO_NOISE)
    assert ranks.value == near(np.quantile(X, [0.1, 0.5]), abs=0.1)
    parted = statistics.quantiles(X, (0, 50), 0.5, by=BY, categories=["a", "b"], cells=1000, **NO_NOISE)
    assert parted.value == near([np.median(X[BY == "a"]), np.median(X[BY == "b"])], abs=0.2)
    rows = np.column_stack([CUT, CUT + RNG.normal(0, 1, 600)])
    found = statistics.covariance(rows, [(0, 50), (-10, 60)], **NO_NOISE)
    assert found.value == near(np.cov(rows.T, bias=True), abs=1e-2)


def test_without_noise_every_person_weighs_the_same():
    near = pytest.approx
    assert statistics.mean(X, (0, 50), **ALIKE, **NO_NOISE).value == near(person_means(CUT).mean(), abs=1e-3)
    assert statistics.sum(X, (0, 50), **ALIKE, **NO_NOISE).value == near(CUT.sum(), abs=1e-3)
    shares = statistics.count(BY, ["a", "b"], **ALIKE, **NO_NOISE).value
    assert shares == near([person_means(BY == "a").sum(), person_means(BY == "b").sum()], abs=1e-3)
    few = statistics.sum(np.ones(600), (0, 1), groups=PEOPLE, rows_per_person=2, **NO_NOISE).value
    assert few == near(np.minimum(np.unique(PEOPLE, return_counts=True)[1], 2).sum())
    found = statistics.mean(X, (0, 50), **ALIKE, epsilon=1.0).guarantee
    assert (found.unit, found.records, found.rows_per_person) == ("person", len(set(PEOPLE)), 20)


TABLES = 200
MISSES = stats.binom.isf(1e-7, TABLES, 0.055)
"""More misses than this, of 95% intervals, are a false alarm once in 1e7 tests; 5.5% are allowed, for skewness."""
FEWEST = stats.binom.ppf(1e-7, TABLES, 0.035)
DESIGNS = {
    "replace-one": {"adjacency": "replace-one"},
    "add-remove": {"adjacency": "add-remove", "delta": 1e-5},
}


@pytest.mark.parametrize("adjacency", DESIGNS)
def test_intervals_of_means_hold_as_often_as_they_say(adjacency):
    """Skewed numbers, and groups; for these records and for the population."""
    rng = np.random.default_rng(7)
    missed = np.zeros(3)
    for seed in range(TABLES):
        values, group = rng.exponential(10, 400), rng.integers(0, 2, 400)
        common = {"epsilon": 1.0, **DESIGNS[adjacency]}
        one = statistics.mean(values, (0, 60), random_state=10_000 + seed, **common)
        own = np.clip(values, 0, 60)
        by = statistics.mean(values, (0, 60), by=group, categories=[0, 1], random_state=20_000 + seed, **common)
        pairs = [
            (one.interval, own.mean()), (one.population_interval, 10 * (1 - np.exp(-6))),
            ([end[1] for end in by.interval], own[group == 1].mean()),
        ]  # fmt: skip
        missed += [not low <= truth <= high for (low, high), truth in pairs]
    assert (missed <= MISSES).all()
    assert (missed >= FEWEST).all()


def test_intervals_of_quantiles_sums_counts_and_covariances_hold():
    rng = np.random.default_rng(8)
    missed = np.zeros(5)
    for seed in range(TABLES // 2):
        values = np.round(rng.lognormal(2, 1, 300), 1)
        words = rng.choice(["a", "b"], 300)
        common = {"epsilon": 1.0, "random_state": 30_000 + seed}
        rank = statistics.quantiles(values, (0, 100), 0.5, cells=200, **common)
        cut, other = np.clip(values, 0, 100), rng.uniform(-1, 1, 300)
        pair = statistics.covariance(np.column_stack([cut, other]), [(0, 100), (-1, 1)], **common)
        total, counts = statistics.sum(values, (0, 100), **common), statistics.count(words, ["a"], **common)
        pairs = [
            (rank.interval, np.sort(values)[149]), (rank.population_interval, np.exp(2)),
            (total.interval, cut.sum()), ([end[0] for end in counts.interval], (words == "a").sum()),
            ([end[0, 1] for end in pair.interval], np.cov(cut, other, bias=True)[0, 1]),
        ]  # fmt: skip
        missed += [not low <= truth <= high for (low, high), truth in pairs]
    assert (missed <= stats.binom.isf(1e-7, TABLES // 2, 0.055)).all()


MANY = {
    "people with many rows": (2000, 1000),
    "people with a few": (20_000, 7),
    "rows": (1_000_000, None),
}


@pytest.mark.parametrize("name", MANY)
def test_rounding_moves_sums_by_less_than_is_said(name):
    """Numbers whose rounding all goes one way, and weights that are no whole steps; without noise."""
    people, per = MANY[name]
    rows = people * (per or 1)
    unit = {} if per is None else {"groups": np.repeat(np.arange(people), per), "rows_per_person": per}
    values, group = np.full(rows, 0.7 + 2.0**-28), np.arange(rows) % 3
    found = statistics.sum(values, (0, 1), **unit, **NO_NOISE)
    assert found.interval[0] <= values.sum() <= found.interval[1]
    assert abs(found.value - values.sum()) < 0.01 * (per or 1)
    counts = statistics.count(group, [0, 1, 2], **unit, **NO_NOISE)
    whole = np.bincount(group) / (per or 1)
    assert (counts.interval[0] <= whole).all()
    assert (whole <= counts.interval[1]).all()
    assert np.abs(counts.value - whole).max() <= people / UNIT
    means = statistics.mean(values, (0, 1), by=group, categories=[0, 1, 2], **unit, **NO_NOISE)
    assert (means.interval[0] <= values[0]).all()
    assert (values[0] <= means.interval[1]).all()


def test_a_quotient_lost_in_noise_is_anything():
    low, high = quotient(np.array([3.0]), np.array([2.0]), np.array([1.0]), 5.0, 1.96)
    assert (low[0], high[0]) == (-1, 1)
    (low,), (high,) = quotient(np.array([80.0]), np.array([100.0]), np.array([9.0]), 5.0, 2.0)
    for end in (low, high):  # where the border of Fieller's set lies
        assert (80 - end * 100) ** 2 == pytest.approx(4 * (9 + end**2 * 25))
    assert positive(np.array([-5.0, 2.0]), np.array([1.0, 0.0])) == pytest.approx([0.2, 2.0])


def test_a_statistic_carries_a_guarantee_that_verifies():
    found = statistics.mean(X, (0, 50), by=BY, categories=["a", "b"], epsilon=0.5)
    guarantee = Guarantee.from_json(found.guarantee_.to_json())
    assert guarantee.verify() <= 0.5
    assert (guarantee.protects, guarantee.status, guarantee.method) == (TABLE, "proven", "mean")
    assert "mean (epsilon=0.5" in repr(found)
    assert "a: " in repr(found)
    assert set(found.to_dict()) == {"label", "mean", "lower", "upper", "population_lower", "population_upper"}


def test_under_add_remove_nothing_tells_the_number_of_rows():
    found = statistics.count(X, epsilon=1.0, delta=1e-6, adjacency="add-remove", random_state=1)
    assert 500 < found.value < 700
    assert found.value != 600
    assert found.guarantee.records == 0
    assert "their number is not public" in str(found.guarantee)
    assert found.guarantee.verify() <= 1.0
    first = statistics.describe({"x": X}, epsilon=1.0, delta=1e-6, adjacency="add-remove")
    assert (first.records, first.guarantee.records) == (None, 0)


@pytest.fixture
def charged(monkeypatch):
    """Every release that was charged."""
    seen = []
    monkeypatch.setattr("tacit.training.charge", lambda prepared, ledger: seen.append(prepared.guarantee))
    return seen


GOOD = {"data": X, "bounds": (0, 50), "epsilon": 1.0}
BAD = {
    "a level of 1.5": ({"level": 1.5}, "0 < level=1.5 < 1"),
    "no budget": ({"epsilon": 0}, "epsilon=0.0 > 0"),
    "no bounds": ({"bounds": None}, "Give bounds="),
    "bounds the wrong way round": ({"bounds": (5, 1)}, "lower=5, upper=1"),
    "a missing number": ({"data": [1.0, np.nan]}, "missing or are not numbers"),
    "a table": ({"data": X.reshape(-1, 2)}, "one column of numbers"),
    "no rows": ({"data": []}, "at least one row"),
    "groups of another length": ({"groups": [1, 2], "rows_per_person": 2}, "one person for each row"),
    "groups without a number": ({"groups": PEOPLE}, "Declare rows_per_person"),
    "a number without groups": ({"rows_per_person": 2}, "can only be used with groups"),
    "missing people": ({"groups": [None, *PEOPLE[1:]], "rows_per_person": 2}, "missing value"),
    "groups by labels that nobody declared": ({"by": BY}, "Declare categories="),
    "categories of nothing": ({"categories": ["a"]}, "can only be used with by="),
    "labels of another length": ({"by": ["a"], "categories": ["a"]}, "one label for each row"),
    "one category twice": ({"by": BY, "categories": ["1", 1]}, "categories that differ"),
    "empty bounds of our own kind": ({"bounds": statistics.Bounds(5.0, 5.0)}, "lower=5.0, upper=5.0"),
    "bounds that no grid parts": ({"bounds": (1.0, 1.0 + 1e-15)}, "apart"),
    "an unknown adjacency": ({"adjacency": "swap"}, "adjacency='swap'"),
    "delta from a private number of rows": ({"adjacency": "add-remove"}, "give delta="),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_costs_nothing(name, charged):
    changed, sentence = BAD[name]
    for function in (statistics.mean, statistics.sum, statistics.quantiles, statistics.histogram):
        with pytest.raises(ValueError, match=sentence):
            function(**{**GOOD, **changed})
    assert charged == []


def test_more_bad_input(charged):
    with pytest.raises(PrivacyError, match="needs delta > 0"):
        statistics.mean(X, (0, 50), epsilon=1.0, delta=0)
    with pytest.raises(ValueError, match="number of rows is public"):
        statistics.count(X, epsilon=1.0)
    with pytest.raises(ValueError, match="shares between 0 and 1"):
        statistics.quantiles(X, (0, 50), [0.5, 1.0], epsilon=1.0)
    with pytest.raises(ValueError, match="one public pair for each column"):
        statistics.covariance(np.ones((3, 2)), [(0, 1)], epsilon=1.0)
    with pytest.raises(ValueError, match="no column 'y'"):
        statistics.private_schema({"x": X}, epsilon=1.0, target="y")
    with pytest.raises(ValueError, match="no columns \\['y'\\]"):
        statistics.private_schema({"x": X}, epsilon=1.0, kinds={"y": "text"})
    assert charged == []
    statistics.mean(X, (0, 50), epsilon=1.0)
    assert len(charged) == 1


COLUMNS = {
    "age": (RNG.integers(17, 91, 20_000), 0.01, 2),
    "year": (RNG.integers(1950, 2021, 20_000), 0.01, 8),
    "skewed": (RNG.lognormal(8, 1, 20_000), 0.02, 2),
    "negative": (-RNG.exponential(3, 20_000), 0.02, 3),
    "around zero": (RNG.normal(0, 1e-3, 20_000), 0.02, 2),
    "mostly zero": (np.where(RNG.random(20_000) < 0.9, 0.0, 500.0), 0.0, 2),
    "constant": (np.full(20_000, 7.0), 0.0, None),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_bounds_that_nobody_knew_hold_nearly_all_and_little_more(name):
    values, outside, wider = COLUMNS[name]
    found = statistics.private_bounds(values, epsilon=0.3, random_state=1)
    lower, upper = found
    assert ((values < lower) | (values > upper)).mean() <= outside
    assert upper - lower <= (5.0 if wider is None else wider * np.ptp(values))
    assert found.guarantee_.verify() <= 0.3
    assert statistics.mean(values, found, epsilon=1.0).value == pytest.approx(values.mean(), rel=0.2, abs=2e-4)


def test_bounds_of_nothing_but_noise_are_none_and_it_is_said(charged):
    with pytest.raises(ValueError, match="No magnitude of the numbers stands out"):
        statistics.private_bounds(np.ones(3), epsilon=0.01, random_state=0)
    assert len(charged) == 1
    assert magnitudes.bounds_from(np.zeros(145), np.zeros(1537), (0.0, 0.0)) is None
    schema = statistics.private_schema({"x": np.ones(3), "y": np.ones(3)}, epsilon=np.inf)
    assert [column.name for column in schema.columns] == ["x", "y"]
    few = {"x": RNG.normal(50, 5, 30), "y": RNG.normal(50, 5, 30), "word": ["a"] * 30}
    first = statistics.describe(few, epsilon=0.01, random_state=0)
    assert first.left_out == tuple(few)
    assert "nothing stands out from the noise in x, y, word" in repr(first)
    zero = statistics.private_bounds(np.zeros(1000), epsilon=1.0, random_state=0)
    assert tuple(zero) == (0.0, 1.0)


@pytest.mark.parametrize("deviation", [1e-3, 1.0, 1e3])
def test_empty_magnitudes_stand_out_as_rarely_as_is_said_whatever_the_budget(deviation, monkeypatch):
    """One in a hundred columns of pure noise instead of 10,000, to see it. False alarms: below 1e-6 to either side."""
    assert magnitudes.FALSELY <= 1e-4
    monkeypatch.setattr(magnitudes, "FALSELY", 0.01)
    rng, columns = np.random.default_rng(11), 10_000
    coarse, fine = (len(edges) - 1 for edges in magnitudes.magnitudes())
    noise, nothing = rng.normal(0, deviation, (columns, coarse)), np.zeros(fine)
    found = sum(magnitudes.bounds_from(counts, nothing, (deviation, deviation)) is not None for counts in noise)
    assert stats.binom.ppf(1e-7, columns, 0.009) <= found <= stats.binom.isf(1e-7, columns, 0.01)


def test_beside_a_magnitude_that_stands_out_less_is_enough():
    edges = magnitudes.magnitudes()[0]
    counts, nothing = np.zeros(len(edges) - 1), np.zeros(len(magnitudes.magnitudes()[1]) - 1)
    place = int(np.searchsorted(edges, 100.0))
    counts[place], counts[place + 1], counts[place + 4] = 6.0, 2.5, 4.5  # 100 to 200, to 500, and 2,000 to 5,000
    lower, upper = magnitudes.bounds_from(counts, nothing, (1.0, 1.0))
    assert (lower, upper) == pytest.approx((20, 580))
    values = np.concatenate([np.full(500, -3.0), np.full(500, 1000.0)])
    lower, upper = statistics.private_bounds(values, epsilon=np.inf)
    assert lower <= -3.0 < 1000.0 <= upper  # no end is moved inwards, however small beside the other


def test_magnitudes_part_all_numbers_in_order():
    coarse, fine = magnitudes.magnitudes()
    assert set(coarse) <= set(fine)
    for edges in (coarse, fine):
        assert (np.diff(edges) > 0).all()
        values = np.array([0.0, 1e-13, 3.0, 100.0, 100.5, 1e15, np.inf])
        for sign in (1, -1):
            places = magnitudes._places(sign * values, edges)
            held = np.clip(sign * values, -1e12, 1e12)
            assert ((edges[places] <= held) & (held <= edges[places + 1])).all()
    assert magnitudes._places(np.array([np.nan]), coarse).tolist() == [-1]


def test_categories_that_nobody_knew():
    words = np.concatenate([np.repeat(["often", "sometimes"], [3000, 500]), np.arange(500).astype(str)]).astype(object)
    found = statistics.private_categories(words, epsilon=1.0, random_state=2)
    assert found.labels == ("often", "sometimes")
    assert found.value == pytest.approx([3000, 500], abs=50)
    assert found.guarantee.verify() <= 1.0
    people = statistics.private_categories(words, epsilon=1.0, groups=np.arange(4000) // 2, rows_per_person=2)
    assert people.labels[0] == "often"
    assert people.guarantee.verify() <= 1.0


TABLE_OF_ALL = {
    "age": RNG.integers(18, 91, 5000),
    "work": RNG.choice(["public", "private", "none"], 5000, p=[0.3, 0.6, 0.1]).astype(object),
    "wage": [f"{value:.1f}" if value < 40 else "" for value in RNG.exponential(15, 5000)],
    "name": [f"person {place}" for place in range(5000)],
    "ill": RNG.random(5000) < 0.3,
}


def test_a_schema_that_nobody_knew_trains_a_model():
    schema = tacit.private_schema(TABLE_OF_ALL, epsilon=1.0, target="work", random_state=3)
    kinds = {column.name: type(column).__name__ for column in schema.columns}
    assert kinds == {"age": "Number", "wage": "Number", "ill": "Category"}
    assert schema.left_out == ("name",)
    assert set(schema.target.classes) == {"public", "private", "none"}
    assert next(column for column in schema.columns if column.name == "wage").missing
    assert schema.guarantee_.verify() <= 1.0
    assert schema.additive(4).guarantee == schema.guarantee
    model = tacit.AdditiveClassifier(1.0, schema=schema, random_state=0).fit(TABLE_OF_ALL)
    assert tacit.spent([schema.guarantee, model.guarantee_], delta=1e-5) == 2  # the schema decides on the model's noise
    assert isinstance(tacit.Schema.from_dict(schema.to_dict()), tacit.Schema)


def test_a_first_table_is_near_the_table_itself():
    first = statistics.describe(TABLE_OF_ALL, epsilon=2.0, missing=("none",), random_state=4)
    entries = first.columns
    assert entries["age"]["mean"] == pytest.approx(np.mean(TABLE_OF_ALL["age"]), abs=1.5)
    assert entries["age"]["deviation"] == pytest.approx(np.std(TABLE_OF_ALL["age"]), abs=2)
    assert entries["age"]["quartiles"] == pytest.approx(np.quantile(TABLE_OF_ALL["age"], [0.25, 0.5, 0.75]), abs=3)
    gone = np.mean([cell == "" for cell in TABLE_OF_ALL["wage"]])
    assert entries["wage"]["missing"] == pytest.approx(gone, abs=0.02)
    assert entries["work"]["missing"] == pytest.approx(0.1, abs=0.03)
    assert dict(zip(entries["work"]["values"], entries["work"]["shares"], strict=True))["private"] == pytest.approx(
        2 / 3, abs=0.05
    )
    assert "name" not in entries
    assert len(first.guarantee.events) == 4  # kinds, bounds and categories, the table, and what is rare
    assert first.guarantee.verify() <= 2.0
    assert json.loads(json.dumps(first.to_dict()))["records"] == 5000
    assert "5,000 rows" in repr(first)
    assert first.schema.guarantee == first.guarantee


def test_a_first_table_by_a_schema_has_its_columns_and_one_stage():
    schema = tacit.Schema.from_dict(
        {"columns": {"age": {"lower": 18, "upper": 90}}, "target": {"name": "work", "classes": ["public", "private"]}}
    )
    first = statistics.describe(
        TABLE_OF_ALL, epsilon=1.0, schema=schema, groups=np.arange(5000) // 5, rows_per_person=5
    )
    assert list(first.columns) == ["age", "work"]
    assert first.columns["work"]["values"][-1] == "<other>"
    assert first.columns["age"]["clipped"] < 0.1
    assert len(first.guarantee.events) == 1
    assert first.guarantee.unit == "person"
    assert "1,000 people" in repr(first)


def test_a_table_in_which_nothing_stands_out_is_described_all_the_same():
    """A name that one person has stands out with a chance below delta: all hundred of them with less than 1e-7."""
    names = {"name": [f"person {place}" for place in range(100)]}
    first = statistics.describe(names, epsilon=0.5, delta=1e-9, target="name")
    assert (first.columns, first.schema) == ({}, None)
    with pytest.raises(ValueError, match="stand out from the noise"):
        statistics.private_schema(names, epsilon=0.5, delta=1e-9)
    with pytest.warns(UserWarning, match=r"'name' do not stand out.*Declare what is public"):
        schema = statistics.private_schema({**names, "x": np.full(100, 5.0)}, epsilon=6.0, delta=1e-9, target="name")
    assert (schema.target, schema.left_out) == (None, ("name",))
    with pytest.warns(UserWarning, match="the schema has no target"):
        statistics.describe({**names, "x": np.full(100, 5.0)}, epsilon=8.0, delta=1e-9, target="name")
    alone = statistics.describe({"word": ["a"] * 500 + ["b"] * 500}, epsilon=5.0, target="word")
    assert (list(alone.columns), alone.schema) == (["word"], None)


LARGE = 2.0**53


def tables_of(kind, last):
    """The same types, one cell apart."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    numbers = [*RNG.uniform(0, 9, 300), last]
    return {
        "pandas": lambda: pandas.DataFrame({"x": numbers}),
        "pandas, whole": lambda: pandas.DataFrame({"x": pandas.array([*range(300), last], dtype="Int64")}),
        "pandas, truths": lambda: pandas.DataFrame({"x": pandas.array([True] * 300 + [last], dtype="boolean")}),
        "polars": lambda: polars.DataFrame({"x": numbers}),
        "polars, whole": lambda: polars.DataFrame({"x": polars.Series([*range(300), last], dtype=polars.Int64)}),
        "polars, truths": lambda: polars.DataFrame({"x": polars.Series([True] * 300 + [last], dtype=polars.Boolean)}),
        "arrow, truths": lambda: pytest.importorskip("pyarrow").table({"x": [True] * 300 + [last]}),
    }[kind]()


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("pandas", (1.0, LARGE, np.inf, np.nan)),
        ("pandas, whole", (1, None, 2**62)),
        ("pandas, truths", (True, None)),
        ("polars", (1.0, LARGE, np.inf)),
        ("polars, whole", (1, None, 2**62)),
        ("polars, truths", (True, None)),
        ("arrow, truths", (True, None)),
    ],
)
@pytest.mark.parametrize("look", [statistics.describe, statistics.private_schema])
def test_no_cell_changes_what_is_asked_or_its_price(look, kind, cells):
    found = [look(tables_of(kind, cell), epsilon=3.0, delta=1e-4).guarantee.to_json() for cell in cells]
    assert len(set(found)) == 1


def test_no_cell_is_refused_after_the_charge(charged):
    cells = [2**53 + 1] * 600 + ["red"] * 399
    for last in ("blue", 1e17, np.float64(2**60), None):
        first = statistics.describe({"x": [*cells, last]}, kinds={"x": "text"}, epsilon=3.0)
        assert first.columns["x"]["values"][0] == str(2**53 + 1)
    assert len(charged) == 4


def test_a_ledger_carries_a_first_look_and_what_comes_after(tmp_path):
    ledger = tacit.Ledger(tmp_path / "study.sqlite", epsilon=1.0, delta=1e-5)
    with ledger:
        schema = tacit.private_schema(TABLE_OF_ALL, epsilon=0.3, target="work", random_state=5)
        statistics.mean(X, (0, 50), epsilon=0.1)
        model = tacit.AdditiveClassifier("rest", schema=schema, random_state=5).fit(TABLE_OF_ALL)
    assert model.guarantee_.epsilon > 0.5
    assert [entry.guarantee.method for entry in ledger.entries][:2] == ["schema", "mean"]
    assert ledger.spent() <= 1.0
    with pytest.raises(PrivacyError, match="Nothing was spent"):
        statistics.describe(TABLE_OF_ALL, epsilon=0.5, ledger=ledger)
    assert len(ledger.entries) == 3
    other = tacit.Ledger(tmp_path / "other.sqlite", epsilon=1.0, delta=1e-5, adjacency="add-remove")
    with pytest.raises(PrivacyError, match="add-remove"):
        statistics.mean(X, (0, 50), epsilon=0.1, ledger=other)
    assert statistics.mean(X, (0, 50), epsilon=0.1, ledger=other, adjacency="add-remove").guarantee.delta == 1e-5
