"""The demonstration: its made-up hospital, its page, and what the command prints."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from test_report import checked

from tacit import Ledger, LinearRegression, Schema, files
from tacit.cli.main import main
from tacit.data.tables import read_table
from tacit.datasets import hospital
from tacit.report import demo, pictures
from tacit.report.demo import Demonstration
from tacit.report.demo_page import write_demo_report
from tacit.report.page import write_model_report
from tacit.report.patients import Hospital

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def told() -> list[tuple[int, int]]:
    return []


@pytest.fixture(scope="module")
def small(told: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory) -> Demonstration:
    """Fewer patients, methods and repetitions, while a ledger of somebody else is open."""
    with pytest.MonkeyPatch.context() as patched:
        foreign = Ledger(tmp_path_factory.mktemp("ledger") / "other.sqlite", 1.0, 1e-6)
        patched.setenv("TACIT_LEDGER", foreign.address)
        found = demo.run(
            sizes=(2000, 1000), methods=("output", "gradient"), epsilons=(1.0, 30.0), place=0, repetitions=(2, 1),
            progress=lambda done, total: told.append((done, total)),
        )  # fmt: skip
        assert foreign.entries == ()  # nobody in it is in the made-up table
    return found


@pytest.fixture(scope="module")
def page(small: Demonstration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_demo_report(path, small)
    return path


# --- the hospital ---------------------------------------------------------------------------------------------------
def test_the_patients_are_the_same_every_time_and_within_their_bounds() -> None:
    table = hospital.patients(3000)
    again = hospital.patients(3000)
    assert all((table[name] == again[name]).all() for name in table)
    schema = hospital.schema()
    assert (*schema.names, schema.target.name) == tuple(table)
    for column in schema.columns:
        cells = table[column.name]
        known = set(column.values) if column.values else None
        assert set(cells) == known if known else column.lower <= cells.min() < cells.max() <= column.upper
    assert 0.35 < np.mean(table["returned"] == "yes") < 0.55


def test_patients_come_back_as_the_recipe_says() -> None:
    table = hospital.patients(100_000, seed=7)
    odds = hospital.START + sum(shape(table[name]) for name, shape in hospital.SHAPES.items())
    chance = 1 / (1 + np.exp(-odds))
    for low in np.arange(0, 1, 0.1):  # a fixed seed: no false alarm
        here = (low <= chance) & (chance < low + 0.1)
        spread = math.sqrt(np.sum(chance[here] * (1 - chance[here])))
        assert abs(np.sum(table["returned"][here] == "yes") - chance[here].sum()) < 5 * spread


def test_true_shapes_have_mean_zero_over_the_patients_as_terms_have() -> None:
    people = Hospital.made_up(4000, 10)
    shapes = people.shapes()
    assert set(shapes) == set(hospital.SHAPES)
    for name, shape in shapes.items():
        cells = people.train.table[name]
        column = next(one for one in people.schema.columns if one.name == name)
        if column.values:
            values = [dict(zip(shape.points, shape.values, strict=True))[cell] for cell in cells]
        else:
            values = np.interp(cells, shape.points, shape.values)
        assert np.mean(values) == pytest.approx(0.0, abs=0.02)


# --- what was trained -----------------------------------------------------------------------------------------------
def test_every_fit_is_told_and_draws_its_own_noise(small: Demonstration, told: list[tuple[int, int]]) -> None:
    assert told == [(done, 12) for done in range(1, 13)]
    study = small.study
    assert [row.name for row in study.rows[2:]] == ["output", "gradient"]
    assert [len(models) for row in study.rows for models in row.marks] == [2, 2, 2, 2, 1, 1, 1, 1]
    assert study.curves.marks[0][0] != study.curves.marks[0][1]
    assert study.guess < study.plain_weights.accuracy < study.plain_curves.accuracy
    assert study.curves.means[1].accuracy > study.guess + 10  # epsilon = 30 is close to no privacy at all


def test_other_methods_are_those_of_a_curator_for_two_classes() -> None:
    local = {"input", "input-local", "local-duchi-2013"}
    assert {"objective", "output", "dp-sgd", "newton"} <= set(demo.others())
    assert not local & set(demo.others())


def test_the_job_is_three_releases_under_one_ledger(small: Demonstration) -> None:
    job = small.job
    assert [step.epsilon for step in job.steps] == pytest.approx([demo.LOOK, 1.0, demo.SCORE], rel=1e-4)
    assert job.balance.entries == 3
    assert job.balance.spent <= job.balance.epsilon == demo.BUDGET
    assert not job.balance.seeded
    *_, everything, left = job.rows()
    assert float(everything[2]) >= job.balance.spent
    assert float(left[2]) <= job.balance.left


def test_the_guarantee_is_that_of_the_model_whose_curves_are_shown(small: Demonstration) -> None:
    assert small.guarantee.verify() <= small.guarantee.epsilon * (1 + 1e-6)
    assert small.guarantee.epsilon == 1.0
    assert {effect.term.name for effect in small.effects.effects} == set(small.shapes)


# --- the page -------------------------------------------------------------------------------------------------------
def test_the_page_has_its_parts_in_order_and_folds_the_rest(page: Path) -> None:
    text, checker = checked(page)
    body = text[text.index("<body") :]
    parts = (
        "<h1>", 'class="tiles"', "What is promised to each patient", "What privacy costs", "What the model learned",
        "A whole job under one budget", 'class="more"', "All 4 methods", "Certificates of these", "made up</summary>",
    )  # fmt: skip
    places = [body.index(part) for part in parts]
    assert places == sorted(places)
    assert len(re.findall(r'class="tile[ "]', body)) == 3
    assert "times out of 100" in body[places[2] : body.index("<dl")]  # words before numbers
    assert set(re.findall(r"<details([^>]*)>", body)) == {""}
    assert checker.tags.count("svg") == 1 + 8 if pictures.available() else True
    assert "made up, so exact scores may be shown" in body
    assert not re.search(r"\b(nan|inf|None|NaN)\b", re.sub(r"base64,[^\"]*|<pre>.*?</pre>", "", body, flags=re.DOTALL))
    assert len(text.encode()) < 600_000
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)


def test_the_headline_compares_rounded_figures_with_each_other(small: Demonstration) -> None:
    study = small.study
    private, plain = f"{study.private.accuracy:.1f}", f"{study.plain_curves.accuracy:.1f}"
    assert study.headline == f"{private}% correct with privacy, {plain}% without"
    lost = round(float(plain) - float(private), 1)
    words = "as much as" if lost == 0 else f"{abs(lost):.1f} percentage points {'less' if lost > 0 else 'more'} than"
    assert f"That is {words} without privacy" in study.result


def test_learned_is_the_share_of_the_way_from_a_guess(small: Demonstration) -> None:
    study = small.study
    middle = (study.guess + study.plain_curves.accuracy) / 2
    assert [study.learned(accuracy) for accuracy in (0.0, study.guess, middle, 100.0)] == pytest.approx([0, 0, 0.5, 1])


def test_without_matplotlib_the_page_has_tables_and_a_hint(
    small: Demonstration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "available", lambda: False)
    write_demo_report(tmp_path / "r.html", small)
    text, checker = checked(tmp_path / "r.html")
    assert "svg" not in checker.tags
    assert "pip install '.[plot]'" in text
    assert "<details open><summary>All 4 methods" in text


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_nothing_is_wider_than_a_phone_and_nothing_is_fetched(page: Path) -> None:
    play = pytest.importorskip("playwright.sync_api", reason="this test needs playwright: pip install playwright")
    wide = "[...document.querySelectorAll('html, .wide')].map(part => part.scrollWidth - part.clientWidth)"
    with play.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 390, "height": 844})
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(page.as_uri())
        tab.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert max(tab.evaluate(wide)) == 0, "the page or a table is wider than the window"
        assert asked == [page.as_uri()]
        colours = set()
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            colours.add(tab.evaluate("getComputedStyle(document.querySelector('.chart text')).fill"))
        assert len(colours) == 2  # pictures follow the page
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_long_names_and_the_front_picture_fit_on_a_phone(tmp_path: Path) -> None:
    play = pytest.importorskip("playwright.sync_api", reason="this test needs playwright: pip install playwright")
    target = {"name": "monthly_spending_of_the_whole_household_in_euro", "lower": 0, "upper": 1000}
    columns = {"age": {"lower": 18, "upper": 90}, "ward": {"values": ["A", "B"]}}
    schema = Schema.from_dict({"layout": "box", "target": target, "columns": columns})
    table = {"age": np.arange(18, 90), "ward": np.array(["A", "B"] * 36)}
    model = LinearRegression(1.0, delta=1e-4, target_bound=(0, 1000)).fit(schema.encode(table), np.full(72, 300.0))
    write_model_report(tmp_path / "report.html", model, "Spending", schema=schema)
    docs = Path(__file__).parent.parent / "docs"
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images" / "accuracy.svg").write_text((docs / "accuracy.svg").read_text(encoding="utf-8"))
    style = f"<style>img {{ max-width: 100% }} {(docs / '_static' / 'tacit.css').read_text(encoding='utf-8')}</style>"
    (tmp_path / "front.html").write_text(f'{style}<p class="wide"><img src="_images/accuracy.svg"></p>')
    wide = "[...document.querySelectorAll('html, .wide')].map(part => part.scrollWidth - part.clientWidth)"
    with play.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": 390, "height": 844})
        for name in ("report.html", "front.html"):
            tab.goto((tmp_path / name).as_uri())
            assert max(tab.evaluate(wide)) == 0, name
        browser.close()


# --- the command ----------------------------------------------------------------------------------------------------
def test_the_command_prints_a_short_table_and_what_to_type_next(
    small: Demonstration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "run", lambda **options: small)
    monkeypatch.setattr(demo, "TRAINED", 300)
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 20
    command = " ".join(lines[-3:-1]).replace("\\", " ").split()
    assert command[:2] == ["tacit", "fit"]
    assert lines[-1].split() == ["tacit", "verify", "model.json"]
    assert Path("report.html").read_text().startswith("<!doctype html>")
    assert main(command[1:]) == 0  # what it says to type works
    assert main(lines[-1].split()[1:]) == 0
    model, _ = files.load("model.json")
    assert model.guarantee_.records == 300
    assert read_table("hospital.csv")["ward"][0] in hospital.WARDS


def test_the_command_does_not_replace_a_table_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "run", lambda **options: pytest.fail("trained first"))
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--out", "no/r.html"]) == 2
    assert main(["demo", "--out", "hospital.toml"]) == 2
    Path("hospital.csv").write_text("mine")
    assert main(["demo"]) == 2
    assert "hospital.csv already exists and was not written by this command" in capsys.readouterr().err
    assert Path("hospital.csv").read_text() == "mine"
