"""Additive models: the estimator's contract, the survey and its price, cuts, pairs, terms, files."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone

from tacit import AdditiveClassifier, AdditiveRegressor, PrivacyError, Schema, scan
from tacit.cli.main import main
from tacit.data.rows import grid_step
from tacit.datasets import hospital
from tacit.estimators import additive
from tacit.estimators.choosing import even_cuts, interaction
from tacit.estimators.survey import Survey, coarse, fine
from tacit.files import load, models, save
from tacit.mechanisms import defaults
from tacit.mechanisms.counts import Tables, calibrate_counts
from tacit.privacy.accounting import epsilon
from tacit.privacy.guarantee import checksum
from tacit.schema import Number
from tacit.types import ADJACENCIES, Budget

SCHEMA = Schema.from_dict(
    {
        "missing": ["?"],
        "columns": {
            "age": {"lower": 0, "upper": 100},
            "income": {"lower": 0, "upper": 1_000_000, "missing": True},
            "job": {"values": ["clerk", "miner", "nurse"]},
        },
        "target": {"name": "rich", "classes": ["no", "yes"]},
    }
)
BOUNDED = Schema.from_dict(SCHEMA.to_dict() | {"target": {"name": "rich", "lower": -3, "upper": 7}})


def table(records: int = 400, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    age, income = rng.uniform(0, 100, records), np.exp(rng.normal(9, 1.5, records))
    job = rng.choice(["clerk", "miner", "nurse", "king"], records)
    score = np.abs(age - 50) / 12 - 2 + (job == "miner") + 0.3 * rng.normal(size=records)
    cells = [None if missing else value for value, missing in zip(income, rng.random(records) < 0.1, strict=True)]
    return {"age": age, "income": cells, "job": job, "rich": np.where(score > 0, "yes", "no"), "score": score}


def fitted(kind: str = "classifier", records: int = 400, **settings: Any) -> Any:
    cells = table(records)
    if kind == "regressor":
        return AdditiveRegressor(2.0, schema=BOUNDED, random_state=1, **settings).fit(cells, cells["score"])
    return AdditiveClassifier(2.0, schema=SCHEMA, random_state=1, **settings).fit(cells)


ASKED = {"public": {}, "cuts": {"cuts": "private"}, "pairs": {"pairs": 1}, "both": {"cuts": "private", "pairs": 2}}


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_guarantees_verify_and_terms_add_up_to_the_score(kind: str, asked: str, adjacency: str) -> None:
    model = fitted(kind, adjacency=adjacency, **ASKED[asked])
    assert model.guarantee_.verify() <= 2.0 * (1 + 1e-6)
    assert model.guarantee_.theorem.endswith("-after-counts") == (asked != "public")
    cells = table(50, seed=9)
    slots = model.schema_.encode(cells, model.clip) / (model.clip / model.schema_.radius)
    values = np.concatenate([term.values for term in model.terms_])
    scores = model.predict(cells) if kind == "regressor" else model.decision_function(cells)
    expected = slots @ values + model.offset_
    # Rows are rounded to the grid, by half a step an entry; the intercept's constant makes them a little longer.
    near = 1e-9 + np.abs(model.coef_).sum() * grid_step(1.2 * model.clip)
    np.testing.assert_allclose(scores, np.clip(expected, -3, 7) if kind == "regressor" else expected, 0, near)
    for term in model.terms_:
        assert len(term.values) == len(term.labels)
        if term.lower is not None:
            assert (np.array(term.lower) <= term.values).all()
            assert (np.array(term.upper) >= term.values).all()


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_the_estimator_contract(kind: str, tmp_path: Path) -> None:
    model = fitted(kind, pairs=(("age", "job"),))
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "coef_")
    cells = table(30, seed=3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(cells), model.predict(cells))
    save(model, tmp_path / "model.json")
    back, schema = load(tmp_path / "model.json")
    assert schema == model.schema_
    np.testing.assert_array_equal(back.predict(cells), model.predict(cells))
    assert back.terms_ == model.terms_
    assert back.offset_ == model.offset_
    assert back.get_params() | {"schema": SCHEMA, "random_state": 1} == model.get_params() | {"schema": SCHEMA}
    with pytest.raises(ValueError, match="needs schema="):  # cuts that this model paid for are no public facts
        clone(back).fit(table(), table()["score"] if kind == "regressor" else None)
    save(model, tmp_path / "other.json", model.declared())
    with pytest.raises(ValueError, match="leave out schema="):
        save(model, tmp_path / "other.json", SCHEMA.additive(3))


def test_tables_of_every_kind_give_the_same_model() -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    cells = {name: list(column) for name, column in table().items()}
    plain = fitted()
    frame = pd.DataFrame(cells)
    for form in (frame, pl.DataFrame(cells, strict=False), pa.table(cells)):
        model = AdditiveClassifier(2.0, schema=SCHEMA, random_state=1).fit(form)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        assert model.score(form) == plain.score(cells)
    array = frame[list(SCHEMA.names)].to_numpy(dtype=object)
    model = AdditiveClassifier(2.0, schema=SCHEMA.to_dict(), random_state=1).fit(array, cells["rich"])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.predict_proba(array).shape == (400, 2)


def test_three_classes_have_a_term_a_class() -> None:
    cells = table()
    thirds = np.digitize(cells["score"], [-0.5, 1.0])
    model = AdditiveClassifier(5.0, schema=SCHEMA, classes=[0, 1, 2], random_state=0, pairs=1).fit(cells, thirds)
    assert [term.of for term in model.terms_] == [0, 1, 2] * 4
    assert model.offset_.shape == (3,)
    assert model.guarantee_.verify() <= 5.0 * (1 + 1e-6)


def test_a_file_of_an_additive_model_predicts_from_the_command_line(tmp_path: Path) -> None:
    model = fitted(cuts="private")
    save(model, tmp_path / "model.json")
    cells = table(20, seed=5)
    lines = ["age,income,job", *(f"{a},{'' if i is None else i},{j}" for a, i, j in zip(
        cells["age"], cells["income"], cells["job"], strict=True))]  # fmt: skip
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "out.csv"
    assert main(["predict", str(tmp_path / "model.json"), str(tmp_path / "data.csv"), "--out", str(out)]) == 0
    assert out.read_text().split()[1:] == model.predict(cells).tolist()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda data: data["slots"].update(slot_weights_=[0.5]), "centred"),
        (lambda data: data["slots"]["slot_weights_"].__setitem__(0, 2.0), "add up to 1"),
        (lambda data: data["slots"]["slot_weights_"].__setitem__(0, -1.0), "centred"),
        (lambda data: data["slots"].update(slot_errors_=[-1.0] * 30), "noise of its slots"),
        (lambda data: data["slots"].update(more=1), "fields"),
        (lambda data: data.update(slots=None), "slots"),
        (lambda data: data.update(schema=None), "needs the schema"),
        (lambda data: data["schema"].update(layout="rows"), "needs the schema"),
        (lambda data: data["parameters"].update(pairs=[["age"]]), "pairs"),
        (lambda data: data["parameters"].update(pairs=-1), "pairs"),
        (lambda data: data["parameters"].update(slots=2.5), "slots"),
        (lambda data: data["parameters"].update(cuts="best"), "cuts"),
    ],
)
def test_hostile_fields_are_refused(change: Any, sentence: str, tmp_path: Path) -> None:
    save(fitted(), tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text())
    change(data)
    data["checksum"] = checksum({key: value for key, value in data.items() if key != "checksum"})
    with pytest.raises(PrivacyError, match=sentence):
        models.from_dict(data)


def test_the_sensitivity_of_counts_by_brute_force() -> None:
    """All pairs of records of a small schema; weights that differ."""
    small = Schema.from_dict({"columns": {"a": {"lower": 0, "upper": 1}, "b": {"values": ["x", "y"]},
                                          "c": {"lower": 0, "upper": 9, "missing": True}}})  # fmt: skip
    survey = Survey.of(small, cuts=True, contest=True, answers=2)
    tables = survey.tables()
    assert len(tables.sizes) == 2 + 3
    records = list(itertools.product([0.0, 0.3, 1.0, None], ["x", "y", "z"], [0, 5, None], [0, 1]))
    cells = {name: np.array([row[at] for row in records], dtype=object) for at, name in enumerate("abc")}
    places = survey.cells(cells, (), np.array([row[3] for row in records]))
    parts = np.array([tables.count([place[[at]] for place in places]) for at in range(len(records))])
    bound = tables.sensitivity()
    norms = np.linalg.norm(parts, axis=1)
    np.testing.assert_allclose(norms, bound.add_remove, rtol=1e-12)
    apart = np.linalg.norm(parts[:, None] - parts[None], axis=2).max()
    assert apart == pytest.approx(bound.replace_one, rel=1e-12)
    assert bound.replace_one == pytest.approx(math.sqrt(2) * bound.add_remove)
    np.testing.assert_array_equal(parts.sum(axis=0), tables.count(places))  # a record's own counts, and no others'


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_counts_cost_their_share_of_the_budget(adjacency: Any) -> None:
    budget = Budget(1.0, 1e-5, adjacency)
    plan = calibrate_counts(Tables((8, 8, 4), (1.0, 1.0, 0.5)), budget, 0.1)
    (event,) = plan.events
    moved = event.sensitivity.under(adjacency)
    assert (moved / event.scale) ** 2 == pytest.approx(0.1 * defaults.mu(budget) ** 2, rel=1e-5)
    assert defaults.mu(replace(budget, spent=plan.events)) ** 2 == pytest.approx(
        0.9 * defaults.mu(budget) ** 2, rel=1e-5
    )


def test_the_survey_is_part_of_the_price() -> None:
    model = fitted(cuts="private")
    whole = model.guarantee_
    assert epsilon(whole.events, whole.delta, whole.adjacency) > epsilon(whole.events[1:], whole.delta, whole.adjacency)
    for events in (whole.events[1:], whole.events[:1]):
        with pytest.raises(PrivacyError, match="not what it rests on"):
            replace(whole, events=events).verify()
    cheaper = replace(whole.events[0], scale=whole.events[0].scale / 3)
    with pytest.raises(PrivacyError, match="cost epsilon"):
        replace(whole, events=(cheaper, *whole.events[1:])).verify()


def test_a_crash_after_the_survey_leaves_what_it_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted()
    model.set_params(cuts="private")

    def broken(*_: Any) -> None:
        raise RuntimeError("no more memory")

    monkeypatch.setattr(additive, "recut", broken)
    with pytest.raises(RuntimeError):
        model.fit(table())
    assert (model.guarantee_.method, model.guarantee_.theorem) == ("counts", "counts")
    assert 0 < model.guarantee_.verify() < 1.0
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "schema_")


@pytest.mark.parametrize("settings", [{"method": "output"}, {"calibration": "paper", "method": "objective"}])
def test_methods_without_a_joint_proof_are_refused_before_anything_is_spent(settings: dict[str, Any]) -> None:
    model = AdditiveClassifier(1.0, schema=SCHEMA, cuts="private", **settings)
    with pytest.raises(PrivacyError, match="survey of counts"):
        model.fit(table())
    assert not hasattr(model, "guarantee_")
    model.set_params(cuts="even", method="output", calibration="proven").fit(table())
    assert model.terms_[0].lower is None
    assert "not known" in str(model.terms_[0])


def test_a_seed_gives_the_survey_and_the_training_noise_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = []
    real = additive.train
    monkeypatch.setattr(additive, "train", lambda *args, **more: sources.append(args[2]) or real(*args, **more))
    model = fitted(cuts="private")
    (source,) = sources
    drawn = fitted(cuts="private")
    np.testing.assert_array_equal(drawn.coef_, model.coef_)  # reproducible, and one stream: it went on after the survey
    assert source.words(4).tolist() != type(source)(1).words(4).tolist()


def test_private_cuts_are_near_true_quantiles_where_noise_fades() -> None:
    rng = np.random.default_rng(0)
    values = rng.gamma(2.0, 5.0, 20_000)
    schema = Schema((Number("a", 0, 100),))
    cells = {"a": values, "y": (values > 7).astype(int)}
    model = AdditiveClassifier(200.0, schema=schema, cuts="private", kind="bins", slots=8, random_state=0)
    cuts = np.array(model.fit(cells, cells["y"]).schema_.columns[0].points)
    shares = np.searchsorted(np.sort(values), cuts) / len(values)
    np.testing.assert_allclose(shares, np.arange(1, 8) / 8, atol=0.05)  # as near as the grid's points are


def test_cuts_around_a_spike_of_one_value() -> None:
    points = tuple(np.arange(1.0, 10.0))
    counts = np.array([900.0, *[0.0] * 4, 30, 30, 20, 20, 0])
    cuts = even_cuts(points, counts, 4)
    assert cuts == (1.0, 6.0, 7.0)
    assert even_cuts(points, np.zeros(10), 4) == tuple(sorted(even_cuts(points, np.zeros(10), 4)))
    assert even_cuts(points, -counts, 99) == points
    assert even_cuts(points, counts, 1) == ()


def test_nothing_but_counts_depends_on_values_outside_the_bounds() -> None:
    cells = table()
    for asked in ASKED.values():
        model = AdditiveClassifier(1.0, schema=SCHEMA, random_state=4, **asked)
        far = model.fit({**cells, "age": np.full(400, 1e9)}).schema_
        edge = clone(model).fit({**cells, "age": np.full(400, 100.0)}).schema_
        assert far == edge
        assert (far.columns[0].lower, far.columns[0].upper) == (0, 100)
    public = [AdditiveClassifier(1.0, schema=SCHEMA).fit({**cells, "age": ages}).schema_ for ages in (
        cells["age"], np.zeros(400))]  # fmt: skip
    assert public[0] == public[1]


def test_a_pair_that_matters_is_found() -> None:
    rng = np.random.default_rng(1)
    records = 4000
    cells = {name: rng.uniform(0, 1, records) for name in "abcd"}
    cells["e"] = rng.choice(["u", "v"], records)
    labels = ((cells["b"] > 0.5) ^ (cells["e"] == "u")).astype(int)
    schema = Schema.from_dict(
        {"columns": {**{n: {"lower": 0, "upper": 1} for n in "abcd"}, "e": {"values": ["u", "v"]}}}
    )
    settings = {"schema": schema, "random_state": 2, "adjacency": "add-remove", "classes": [0, 1]}
    alone = AdditiveClassifier(1.0, **settings).fit(cells, labels)
    model = AdditiveClassifier(1.0, pairs=1, **settings).fit(cells, labels)
    assert [column.name for column in model.schema_.pairs[0].columns] == ["b", "e"]
    assert alone.score(cells, labels) < 0.6
    assert model.score(cells, labels) > 0.8
    target = np.where(labels, 0.8, -0.8)
    regressor = AdditiveRegressor(2.0, pairs=1, schema=schema, target_bound=1.0, random_state=0).fit(cells, target)
    assert [column.name for column in regressor.schema_.pairs[0].columns] == ["b", "e"]


def test_the_interaction_of_effects_that_add_up_is_none() -> None:
    rates = 0.3 + 0.2 * np.arange(2)[:, None] + 0.1 * np.arange(3)
    totals = np.array([[500.0, 800, 300], [900, 100, 400]])
    added = np.stack([totals * (1 - rates), totals * rates], axis=2)
    crossed = added.copy()
    crossed[0, 0] = crossed[0, 0, ::-1]
    assert abs(interaction(added, 0.0)) < 2.0
    assert interaction(crossed, 0.0) > 20.0


def test_terms_recover_a_known_curve() -> None:
    rng = np.random.default_rng(3)
    records = 20_000
    ages = rng.uniform(0, 100, records)
    labels = (rng.random(records) < 1 / (1 + np.exp(-(np.abs(ages - 50) / 10 - 2.5)))).astype(int)
    schema = Schema((Number("age", 0, 100),))
    model = AdditiveClassifier(50.0, schema=schema, slots=11, adjacency="add-remove", random_state=0)
    (term,) = model.fit({"age": ages}, labels).terms_
    expected = np.abs(np.array(term.points) - 50) / 10
    expected -= expected.mean()
    np.testing.assert_allclose(np.array(term.values) - np.mean(term.values), expected, atol=0.5)
    assert abs(np.average(term.values, weights=model.slot_weights_)) < 1e-9
    steps = clone(model).set_params(kind="bins", slots=10).fit({"age": ages}, labels).terms_[0]
    assert len(steps.points) == len(steps.values) + 1


def test_regressions_have_terms_in_units_of_the_target() -> None:
    rng = np.random.default_rng(3)
    ages = rng.uniform(0, 100, 30_000)
    schema = Schema.from_dict({"columns": {"age": {"lower": 0, "upper": 100}}, "target": {"name": "y", "lower": 0,
                                                                                      "upper": 1000}})  # fmt: skip
    model = AdditiveRegressor(20.0, schema=schema, slots=5, random_state=0)
    cells = {"age": ages, "y": 10 * np.abs(ages - 50) + 100}
    (term,) = model.fit(cells).terms_
    expected = 10 * np.abs(np.array(term.points) - 50)
    np.testing.assert_allclose(np.array(term.values) - term.values[2], expected - expected[2], atol=40)
    assert model.score(cells) > 0.9


@pytest.mark.parametrize(
    ("method", "records", "epsilon", "adjacency"),
    [
        ("whitened-objective", 2000, 2.0, "add-remove"),
        ("whitened-objective", 2000, 2.0, "replace-one"),
        ("whitened-objective", 20_000, 1.0, "add-remove"),
        ("whitened-gradient", 2000, 1.0, "replace-one"),
    ],
)
def test_intervals_are_about_as_wide_as_what_other_noise_gives(
    method: str, records: int, epsilon: float, adjacency: str
) -> None:
    """40 refits of one table with seeds 0 to 39, 15 slots: their noise is the same in every run of this test.

    So there is no false alarm but by other rounding. Each slot's half width is compared with that which the refits
    have, and the intervals around their values with the refits' mean.
    """
    cells = table(records)
    model = AdditiveClassifier(epsilon, schema=SCHEMA, slots=5, cuts="even", adjacency=adjacency, method=method)
    runs = [clone(model).set_params(random_state=seed).fit(cells) for seed in range(40)]
    values = np.array([np.concatenate([term.values for term in run.terms_]) for run in runs])
    halves = np.array([np.concatenate([term.upper for term in run.terms_]) for run in runs]) - values
    inside = np.abs(values - values.mean(axis=0)) <= halves
    assert 0.9 <= inside.mean() <= 0.99
    assert inside.mean(axis=0).min() >= 0.75
    ratios = halves.mean(axis=0) / (1.96 * values.std(axis=0, ddof=1))
    assert ratios.min() > 0.7
    assert np.median(ratios) < 4
    assert np.quantile(ratios, 0.9) < 6


def test_the_picture_has_a_panel_a_term() -> None:
    pytest.importorskip("matplotlib")
    for settings in ({"pairs": [("age", "job")]}, {"kind": "bins"}, {"method": "output"}):
        model = fitted(**settings)
        figure = model.plot_terms()
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        assert [title for title in titles if title] == [term.name for term in model.terms_]


def test_slots_grow_with_what_is_known() -> None:
    counts = [
        defaults.slots(Budget(eps, 1e-5), records, 10) for eps in (0.1, 1.0, 8.0) for records in (500, 10**4, 10**6)
    ]
    assert min(counts) >= 4
    assert max(counts) <= 24
    assert counts[0] < counts[4] < counts[8]


def test_the_cells_of_numbers_and_pairs() -> None:
    grid = fine(Number("a", 0, 1e6, missing=True))
    assert 32 <= len(grid.slots) <= 63
    assert len(coarse(SCHEMA.columns[1]).features) == 5  # four, and missing
    assert len(coarse(replace(SCHEMA.columns[2], values=tuple("abcdefghijk"))).features) == 8


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"schema": None}, "needs schema="),
        ({"cuts": "best"}, "Expected cuts="),
        ({"kind": "splines"}, "Expected kind="),
        ({"pairs": "age"}, "Expected pairs="),
        ({"pairs": [("age", "shoe")]}, "no columns"),
        ({"pairs": 4}, "at most 3"),
        ({"pairs": -1}, "Expected pairs=-1"),
        ({"slots": 1}, "from 2 to"),
        ({"delta": 0.0, "cuts": "private"}, "delta > 0"),
    ],
)
def test_bad_settings_are_answered_in_one_sentence(settings: dict[str, Any], sentence: str) -> None:
    model = AdditiveClassifier(1.0, **{"schema": SCHEMA, **settings})
    with pytest.raises(ValueError, match=sentence):
        model.fit(table(40))
    assert not hasattr(model, "guarantee_")


@pytest.mark.parametrize("survey", [{"cuts": "private"}, {"pairs": 1}, {"cuts": "private", "pairs": 2}])
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"method": "statistics"}, "squared loss"),
        ({"method": "statistics", "precondition": True}, "no form on whitened rows"),
        ({"precondition": 3}, "Expected precondition=3"),
        ({"precondition": "yes"}, "Expected precondition to be True, False"),
        ({"method": "objective", "regularization": 0.0}, "regularization > 0"),
        ({"method": "output"}, "A survey of counts can only be used with"),
        ({"method": "no such"}, "A survey of counts can only be used with"),
        ({"multiclass": "all"}, "Expected multiclass="),
        ({"margin": -1.0}, "margin"),
        ({"classes": ["no", "perhaps"]}, "not among classes"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_the_survey_spends(
    settings: dict[str, Any], sentence: str, survey: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(*_: Any) -> Any:
        raise AssertionError("counts were released")

    monkeypatch.setattr(Tables, "count", drawn)
    model = AdditiveClassifier(1.0, schema=SCHEMA, **settings, **survey)
    with pytest.raises(ValueError, match=sentence):
        model.fit(table(200))
    assert not hasattr(model, "guarantee_")


def test_a_range_that_is_missing_is_asked_for_before_the_survey_spends() -> None:
    cells = table(200)
    model = AdditiveRegressor(1.0, schema=SCHEMA, cuts="private")
    with pytest.raises(ValueError, match="Declare the range"):
        model.fit(cells, cells["score"])
    assert not hasattr(model, "guarantee_")


def test_bad_tables_are_answered_in_one_sentence() -> None:
    model = AdditiveClassifier(1.0, schema=SCHEMA)
    cells = table(40)
    with pytest.raises(ValueError, match="3 columns"):
        model.fit(np.zeros((40, 2)), cells["rich"])
    with pytest.raises(ValueError, match="as many targets"):
        model.fit(cells, cells["rich"][:-1])
    with pytest.raises(ValueError, match="at least one row"):
        model.fit({name: [] for name in cells})
    with pytest.raises(ValueError, match="lacks the columns"):
        model.fit({"age": [1]}, [0])
    with pytest.raises(ValueError, match="Declare the range"):
        AdditiveRegressor(1.0, schema=SCHEMA).fit(cells, cells["score"])


def test_auto_counts_first_where_the_signal_is_clear() -> None:
    cells = table(3000)
    settings: dict[str, Any] = {"schema": SCHEMA, "adjacency": "add-remove", "random_state": 0}
    clear = AdditiveClassifier(8.0, **settings).fit(cells)
    assert clear.guarantee_.theorem == "whitened-after-counts"
    for other in ({"cuts": "even"}, {"method": "output"}, {"epsilon": 0.1}, {"epsilon": math.inf}):
        model = AdditiveClassifier(**{"epsilon": 8.0, **settings, **other}).fit(cells)
        assert not model.guarantee_.theorem.endswith("after-counts")


def test_no_event_follows_the_counts() -> None:
    """Whatever pairs the noisy counts choose, and however wide they are: method, noise and price are the same."""
    rng = np.random.default_rng(0)
    columns = {f"few{i}": {"values": ["a", "b"]} for i in range(3)}
    columns |= {f"many{i}": {"values": list("abcdefgh")} for i in range(3)}
    cells = {name: rng.choice(entry["values"], 900) for name, entry in columns.items()}
    y = rng.integers(0, 2, 900)
    models = [
        AdditiveClassifier(
            1.0, delta=1e-5, schema={"columns": columns}, pairs=1, classes=[0, 1], random_state=seed
        ).fit(cells, y)
        for seed in range(8)
    ]
    assert len({model.schema_.width for model in models}) > 1
    assert len({(model.guarantee_.method, model.guarantee_.events) for model in models}) == 1
    for model in models:
        assert model.coef_.shape == (1, model.schema_.width)
        model.guarantee_.verify()


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "statistics"},
        {"method": "adaptive"},
        {"precondition": "yes"},
        {"precondition": 7},
        {"margin": -1.0},
        {"multiclass": "both"},
        {"regularization": 0.0, "method": "objective"},
        {"clip": -1.0},
        {"classes": ["a", "b"]},
    ],
    ids=str,
)
def test_what_is_wrong_is_refused_before_the_survey_spends(wrong: dict[str, object]) -> None:
    model = AdditiveClassifier(1.0, schema=SCHEMA, cuts="private", pairs=1, random_state=0)
    model.set_params(**wrong)
    with pytest.raises(ValueError, match=r"\.$"):
        model.fit(table())
    assert not hasattr(model, "guarantee_")
    assert not hasattr(model, "schema_")


def test_a_file_without_its_counts_is_refused(tmp_path: Path) -> None:
    """Private cuts beside a guarantee from which the counts are gone, or with the counts alone, are no model."""
    model = fitted("classifier", cuts="private")
    whole = model.guarantee_
    assert whole.theorem.endswith("-after-counts")
    model.guarantee_ = replace(whole, theorem=whole.theorem.removesuffix("-after-counts"), events=whole.events[1:])
    with pytest.raises(ValueError, match="does not price them"):  # what would be refused is not written
        save(model, tmp_path / "model.json")
    model.guarantee_ = replace(whole, theorem="counts", events=whole.events[:1], method="counts")
    with pytest.raises(ValueError, match="Nothing was written"):
        save(model, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


def test_labels_of_another_kind_than_the_schema_declares_leave_no_target_in_the_model(tmp_path: Path) -> None:
    cells = table()
    labels = (cells["rich"] == "yes").astype(int)
    model = AdditiveClassifier(2.0, schema=SCHEMA, random_state=1)
    with pytest.raises(ValueError, match="not among classes, as they are declared with classes= or in the schema"):
        model.fit(cells, labels)
    model = model.set_params(classes=[0, 1]).fit(cells, labels)
    assert model.schema_.target is None
    assert fitted().schema_.target == SCHEMA.target
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").schema.target is None
    with pytest.raises(ValueError, match="no target"):
        model.score(cells)


@pytest.mark.parametrize("kind", [dict, scan])
def test_bounds_and_classes_of_the_schemas_target_are_not_those_of_another_column(kind):
    cells = table()
    cells["again"] = cells["rich"]
    given = cells if kind is dict else scan(pandas.DataFrame(cells))
    model = AdditiveRegressor(2.0, schema=BOUNDED, cuts="private", pairs=1, random_state=1)
    with pytest.raises(ValueError, match=r"nothing about this column's range: use target_bound="):
        model.fit(given, "score")
    model.set_params(target_bound=(-50, 50)).fit(given, "score")
    assert model.schema_.target is None
    classifier = AdditiveClassifier(2.0, schema=SCHEMA, classes=["no", "yes"], random_state=1).fit(given, "again")
    assert classifier.schema_.target is None  # though its labels are the same


@pytest.mark.parametrize("pairs", [(), 1])
def test_the_schema_declares_the_labels_of_a_target_that_is_given_as_an_array(pairs):
    """A label that is in nobody's row is there, and one that is in one row alone is not found."""
    cells = table()
    schema = replace(SCHEMA, target=replace(SCHEMA.target, classes=("no", "perhaps", "yes")))
    model = AdditiveClassifier(2.0, schema=schema, pairs=pairs, random_state=1)
    by_name = copy.deepcopy(model).fit(cells)
    for labels in (cells["rich"], cells["rich"].tolist()):
        given = copy.deepcopy(model).fit(cells, labels)
        assert given.classes_.tolist() == ["no", "perhaps", "yes"]
        assert "the set of labels was declared" in given.guarantee_.assumptions
        assert np.array_equal(given.coef_, by_name.coef_)
        assert given.schema_.target == schema.target
    with pytest.raises(ValueError, match="not among classes"):
        model.fit(cells, np.where(np.arange(len(cells["rich"])) == 7, "rare", cells["rich"]))


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "pyarrow"])
def test_columns_may_be_named(kind):
    table = hospital.patients(400)
    person = np.arange(400) // 2
    whole = {**table, "person": person, "other": np.arange(400) % 2}
    if kind != "dict":
        frame = pytest.importorskip(kind, reason=f"a table of {kind}")
        whole = frame.table(whole) if kind == "pyarrow" else frame.DataFrame(whole)
    settings = {"epsilon": 1.0, "schema": hospital.schema(), "random_state": 0, "rows_per_person": 2}

    def fitted(*arguments, **more):
        return AdditiveClassifier(**settings).fit(*arguments, **more)

    by_name = fitted(whole, "returned", groups="person")
    by_hand = fitted(table, groups=person)
    assert np.array_equal(by_name.coef_, by_hand.coef_)
    assert "taken from y" not in str(by_name.guarantee_)
    assert fitted(whole, "other", groups="person").classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"none of that name\. Did you mean 'returned'"):
        fitted(whole, "retuned", groups="person")
    with pytest.raises(ValueError, match="'age' cannot be predicted from itself"):
        fitted(whole, "age", groups="person")


@pytest.mark.parametrize("schema", [SCHEMA, BOUNDED])
def test_another_range_than_that_of_the_schemas_target_is_of_another_column(schema, tmp_path):
    """Else the file would name the schema's target, and scores would be of a column that was not predicted."""
    given = table()
    model = AdditiveRegressor(2.0, schema=schema, target_bound=(-50, 50), random_state=0)
    for pairs in ((), 1):
        model.set_params(pairs=pairs).fit(given, given["score"]).save(tmp_path / "model.json")
        assert model.schema_.target is None
        assert load(tmp_path / "model.json").schema.target is None
    with pytest.raises(ValueError, match="has no target"):
        model.score(given)
    same = AdditiveRegressor(2.0, schema=BOUNDED, target_bound=(-3, 7), random_state=0)
    assert same.fit(given, given["score"]).schema_.target == BOUNDED.target
    named = same.set_params(target_bound=(-50, 50)).fit(given | {"rich": given["score"]})
    assert named.schema_.target == BOUNDED.target  # it is this column that was predicted


@pytest.mark.parametrize("pairs", [(), 1])
def test_labels_that_are_numbers_may_come_as_objects(pairs):
    target = {"name": "rich", "classes": [0, 1]}
    given, y = table(), np.arange(400) % 2
    model = AdditiveClassifier(
        2.0, schema=Schema.from_dict(SCHEMA.to_dict() | {"target": target}), pairs=pairs, random_state=0
    )
    expected = model.fit(given, y).coef_
    for labels in (y.astype(object), y.astype(bool).astype(object), np.array([np.float32(one) for one in y], object)):
        assert np.array_equal(model.fit(given, labels).coef_, expected)
    for wrong in (np.array([0, "a"] * 200, object), np.array([0, (1, 2)] * 200, object)):
        with pytest.raises(ValueError, match="of one kind: all of them text, or all of them numbers"):
            model.fit(given, wrong)
