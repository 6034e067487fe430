"""What pages say about a model's numbers: in the units of the table, in the order and by the names of the schema."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import (
    AdditiveClassifier,
    AdditiveRegressor,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    Schema,
    save,
)
from tacit.cli.main import main
from tacit.estimators.drawing import draw_term, short
from tacit.estimators.terms import Term
from tacit.readable import plain
from tacit.report.effects import Effects
from tacit.report.linear_effects import MOST_ROWS, NOISY, Coefficients
from tacit.report.page import write_model_report

COLUMNS: dict[str, Any] = {
    "age": {"lower": 18, "upper": 90, "missing": True},
    "years": {"lower": 0, "upper": 40},
    "job": {"values": ["clerk", "miner", "nurse"]},
}
PAY = {"name": "pay", "lower": 0, "upper": 100_000}
CARE = {"name": "care", "classes": ["severe", "mild", "none"]}


def table(records: int = 2000) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    age, years = rng.uniform(18, 90, records).round(), rng.uniform(0, 40, records).round(1)
    job = rng.choice(["clerk", "miner", "nurse", "cook"], records, p=[0.4, 0.3, 0.2, 0.1])
    pay = 20_000 + 300 * years + 200 * age + 8000 * (job == "nurse") + rng.normal(0, 2000, records)
    age[:50] = np.nan
    care = np.where(pay < 35_000, "severe", np.where(pay < 42_000, "mild", "none"))
    return {"age": age, "years": years, "job": job, "pay": pay, "care": care}


def numbers_of(page: Path) -> str:
    """What stands on a page after the guarantee, whose certificate may spell anything."""
    return page.read_text(encoding="utf-8").split("What each column adds", 1)[1]


def declared(target: dict[str, Any], **settings: Any) -> Schema:
    return Schema.from_dict({"columns": COLUMNS, "target": target, **settings})


@pytest.mark.parametrize(
    ("number", "text"),
    [(12_345.6, "12,300"), (-0.25, "-0.25"), (0.0, "0"), (999.96, "1,000"), (1.5e9, "1,500,000,000"), (1e-7, "1e-07"),
     (float("inf"), "inf"), (float("nan"), "nan"), (0.07, "0.07"), (1e300, "1e+300")],
)  # fmt: skip
def test_numbers_are_written_as_people_write_them(number: float, text: str) -> None:
    assert plain(number) == text
    assert plain(abs(number), sign=True).lstrip("+") == plain(abs(number))
    assert plain(38_034.2, 4, sign=True) == "+38,030"


def test_axes_have_plain_numbers() -> None:
    found = [short(number) for number in (-6000.0, 20_000.0, 0.5, 2e6, 1.52e9, -1e13)]
    assert found == ["\N{MINUS SIGN}6,000", "20,000", "0.5", "2M", "1.52bn", "\N{MINUS SIGN}1e+13"]


def rebuilt(found: Coefficients, start: float, rows: dict[str, Any]) -> Any:
    """Scores from what the page shows, and the middles of the ranges."""
    lines = {line.name: line for line in found.lines}
    score = np.full(len(rows["age"]), start)
    for name in ("age", "years"):
        middle = (COLUMNS[name]["lower"] + COLUMNS[name]["upper"]) / 2
        score += lines[name].unit * np.nan_to_num(rows[name] - middle)
        width = COLUMNS[name]["upper"] - COLUMNS[name]["lower"]
        assert lines[name].across == pytest.approx(lines[name].unit * width)
    score += np.where(np.isnan(rows["age"]), lines["age=<missing>"].across, 0.0)
    values = {name: lines[f"job={name}"].across for name in ("clerk", "miner", "nurse")}
    assert sum(values.values()) == pytest.approx(0, abs=1e-9 * max(map(abs, values.values())))
    return score + [values.get(job, lines["job=<other>"].across) for job in rows["job"]]


@pytest.mark.parametrize("clip", [1.0, 0.3])
def test_coefficients_in_units_add_up_to_the_prediction(clip: float) -> None:
    rows, schema = table(), declared(PAY)
    X = schema.encode(rows, clip)
    model = LinearRegression(5.0, target_bound=(0, 100_000), clip=clip, random_state=1).fit(X, rows["pay"])
    (found,) = Coefficients.of(model, schema)
    start = model.intercept_ + clip / schema.radius * np.mean(model.coef_[3:6])
    assert f"starts at {plain(start, 4)}, in the units of pay" in found.start
    # rows have 24 binary digits
    assert np.clip(rebuilt(found, start, rows), 0, 100_000) == pytest.approx(model.predict(X), rel=1e-5)


def test_coefficients_of_a_boxed_classifier_add_up_to_the_score() -> None:
    rows, schema = table(), declared({"name": "rich", "classes": ["no", "yes"]}, layout="box")
    X = schema.encode(rows)
    labels = np.where(rows["pay"] > 38_000, "yes", "no")
    model = LogisticRegression(5.0, classes=["yes", "no"], random_state=1).fit(X, labels)
    (found,) = Coefficients.of(model, schema)
    start = float(model.intercept_[0]) + np.mean(model.coef_[0, 3:6]) / schema.radius
    assert rebuilt(found, start, rows) == pytest.approx(model.decision_function(X), rel=1e-5, abs=1e-5)
    assert "A positive score speaks for yes, a negative one for no." in found.start
    assert found.units


def test_rows_that_were_scaled_one_by_one_have_no_units_and_the_page_says_so(tmp_path: Path) -> None:
    rows, schema = table(), declared({"name": "rich", "classes": ["no", "yes"]})
    X, labels = schema.encode(rows), np.where(rows["pay"] > 38_000, "yes", "no")
    for model in (LogisticRegression(5.0, classes=["yes", "no"]), LinearSVC(5.0, classes=["yes", "no"])):
        (found,) = Coefficients.of(model.fit(X, labels), schema)
        assert not found.units
        assert found.start == "A positive score speaks for yes, a negative one for no."
        assert "no fixed size in the units of the columns" in found.rule
        assert found.heading in ("score of yes", "log odds of yes")
        assert found.lines[0].across == model.coef_[0, 0]


def test_a_page_of_a_linear_model_has_its_coefficients_and_says_that_they_are_noisy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = table()
    lines = [f"{a},{y},{j},{p:.0f}" for a, y, j, p in zip(*(rows[n] for n in (*COLUMNS, "pay")), strict=True)]
    Path("t.csv").write_text("\n".join(["age,years,job,pay", *lines]) + "\n", encoding="utf-8")
    declared(PAY).save("s.toml")
    line = "fit t.csv --schema s.toml --epsilon 5 --out m.json --report page.html"
    assert main(line.split()) == 0
    text = numbers_of(Path("page.html"))
    assert NOISY in text
    assert "e+0" not in text
    shown = re.search(r'<th scope="row">years</th><td[^>]*>(.*?)</td><td>(.*?)</td>', text)
    assert shown
    across, unit = (float(number.replace(",", "")) for number in shown.groups())
    assert across == pytest.approx(40 * unit, rel=0.02)


def test_columns_without_a_schema_and_many_of_them() -> None:
    X = np.random.default_rng(1).normal(size=(300, MOST_ROWS + 7)) / 50
    model = PoissonRegressor(5.0, target_bound=10.0, random_state=1).fit(X, np.ones(300))
    (found,) = Coefficients.of(model, None)
    assert found.left_out == 7
    assert len(found.lines) == MOST_ROWS
    assert "in rows of norm at most 1" in found.rule
    assert "logarithm" in found.start
    sizes = np.sort(np.abs(model.coef_))
    assert min(abs(line.across) for line in found.lines) == sizes[7]


def test_classes_come_in_the_order_of_the_schema_and_by_its_names() -> None:
    rows, schema = table(), declared(CARE)
    model = AdditiveClassifier(5.0, schema=schema, random_state=1).fit(rows)
    assert model.classes_.tolist() == ["mild", "none", "severe"]
    parts = Effects.of(model)
    assert [part.title for part in parts] == ["Score of severe", "Score of mild", "Score of none"]
    assert [part.effects[0].term.of for part in parts] == ["severe", "mild", "none"]
    plainly = LogisticRegression(5.0, classes=CARE["classes"], random_state=1).fit(schema.encode(rows), rows["care"])
    linear = Coefficients.of(plainly, schema)
    assert [part.title for part in linear] == [part.title for part in parts]
    assert linear[0].lines[0].across == plainly.coef_[2, 0]


def test_a_value_that_nobody_has_ranks_no_column_and_moves_no_other_value() -> None:
    rows = table()
    rows["job"] = np.where(rows["job"] == "cook", "clerk", rows["job"])
    model = AdditiveRegressor(1.0, schema=declared(PAY), method="output", random_state=1).fit(rows)
    slots = slice(model.schema_.width - 4, model.schema_.width)
    assert model.slot_weights_[slots].tolist() == [1 / 3, 1 / 3, 1 / 3, 0]
    model.coef_[slots] = [1.0, 2.0, 3.0, 1e9]  # of "other", by chance of the noise
    (part,) = Effects.of(model)
    (job,) = (effect for effect in part.effects if effect.term.name == "job")
    listed = np.array(job.term.values[:3])
    assert job.spread == pytest.approx(listed.std())
    assert listed.mean() == pytest.approx(0, abs=1e-9 * np.abs(listed).max())


def test_without_bands_a_page_has_no_columns_for_them(tmp_path: Path) -> None:
    model = AdditiveRegressor(1.0, schema=declared(PAY), method="output", random_state=1).fit(table())
    write_model_report(tmp_path / "r.html", model, "mine")
    text = numbers_of(tmp_path / "r.html")
    assert ">?<" not in text
    assert not re.search(r">(noise|from|to)</th>", text)
    assert not re.search(r"\de\+0\d", text)


@pytest.mark.parametrize(
    ("points", "scale"),
    [((10_957.0, 19_990.0, 20_000.0, 21_000.0), "linear"), ((0.0, 1.0, 10.0, 20_000.0), "symlog")],
    ids=["days since 1970", "amounts"],
)
def test_only_sizes_are_drawn_as_sizes(points: tuple[float, ...], scale: str) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    labels = tuple(f"at {point}" for point in points)
    axes = figure.add_subplot()
    draw_term(axes, Term("day", "number", labels, points, (0.0, 1.0, 2.0, 3.0), None, None))
    assert axes.get_xscale() == scale


def test_other_does_not_decide_about_the_scale() -> None:
    Figure = pytest.importorskip("matplotlib.figure").Figure
    values, low, high = (1.0, -1.0, 60.0), (0.5, -1.5, 10.0), (1.5, -0.5, 110.0)
    term = Term("job", "category", ("a", "b", "other"), (), values, low, high)
    axes = Figure().add_subplot()
    draw_term(axes, term)
    assert axes.get_xlim() == pytest.approx((-1.68, 1.68))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["other", "b", "a"]
    assert [line.get_marker() for line in axes.get_lines()][-1] == ">"


ROWS = np.linspace(-1, 1, 400)[:, None]
COLUMN = {"columns": {"x": {"lower": -1, "upper": 1}}, "layout": "box"}


def _of_two(classes: list[str], **settings: Any) -> tuple[Any, Schema]:
    schema = Schema.from_dict({**COLUMN, "target": {"name": "y", "classes": classes}})
    rare = np.where(ROWS[:, 0] > 0.6, "ja", "nein")
    table = {"x": ROWS[:, 0]}
    model = LogisticRegression(200.0, delta=1e-4, classes=["ja", "nein"], random_state=0, **settings)
    return model.fit(schema.encode(table, 1.0), rare), schema


def test_a_page_is_about_the_class_that_the_schema_lists_last() -> None:
    model, schema = _of_two(["nein", "ja"])
    (turned,) = Coefficients.of(model, schema)
    assert turned.heading.endswith(" of ja")
    assert turned.lines[0].across > 0  # the larger x, the likelier ja
    assert "speaks for ja, a negative one for nein" in turned.start
    chance = int(re.findall(r"a probability of (\d+)% for ja", turned.start)[0]) / 100
    middle = model.predict_proba(schema.encode({"x": np.zeros(1)}, 1.0))[0, 0]
    assert chance == pytest.approx(middle, abs=0.006)
    (usual,) = Coefficients.of(*_of_two(["ja", "nein"]))
    assert usual.heading.endswith(" of nein")
    assert usual.lines[0].across == -turned.lines[0].across


def test_curves_are_of_the_class_that_the_schema_lists_last() -> None:
    rare = np.where(ROWS[:, 0] > 0.6, "ja", "nein")
    for classes, sign in ((["nein", "ja"], 1), (["ja", "nein"], -1)):
        schema = Schema.from_dict({**COLUMN, "layout": "rows", "target": {"name": "y", "classes": classes}})
        model = AdditiveClassifier(50.0, delta=1e-4, schema=schema, random_state=0).fit({"x": ROWS[:, 0]}, rare)
        (part,) = Effects.of(model)
        term = part.effects[0].term
        assert sign * (term.values[-1] - term.values[0]) > 0
        assert term.lower is not None
        assert term.upper is not None
        assert all(low <= value <= high for low, value, high in zip(term.lower, term.values, term.upper, strict=True))


def test_a_margin_and_weighted_classes_are_explained() -> None:
    (plain_one,) = Coefficients.of(*_of_two(["nein", "ja"], margin=0.0))
    assert "margin" not in plain_one.start
    assert "class_weight" not in plain_one.start
    (margin,) = Coefficients.of(*_of_two(["nein", "ja"], margin=1.0))
    assert "trained with a margin: its scores are larger than log odds" in margin.start
    (balanced,) = Coefficients.of(*_of_two(["nein", "ja"], class_weight="balanced"))
    assert "population in which all classes are equally frequent" in balanced.start
    (weighted,) = Coefficients.of(*_of_two(["nein", "ja"], class_weight={"ja": 4, "nein": 1}))
    assert "as its weight is larger" in weighted.start


def test_predicted_probabilities_say_of_which_population_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = "x\n" + "\n".join(f"{value:.3f}" for value in ROWS[:9, 0])
    (tmp_path / "t.csv").write_text(table)
    for settings, told in (({}, False), ({"class_weight": "balanced"}, True)):
        model, schema = _of_two(["nein", "ja"], **settings)
        save(model, tmp_path / "m.json", schema)
        for proba in ([], ["--proba"]):
            assert main(["predict", str(tmp_path / "m.json"), str(tmp_path / "t.csv"), *proba]) == 0
            assert ("all classes are equally frequent" in capsys.readouterr().err) == (told and bool(proba))
