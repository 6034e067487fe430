"""Additive models from the command line, end to end: fit, predict, verify, the page; and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import AdditiveClassifier, Schema
from tacit.cli.main import main
from tacit.data import tables
from tacit.files import load

SCHEMA = """
missing = ["?"]
[target]
name = "ill"
classes = ["no", "yes"]
[columns.age]
lower = 18
upper = 90
[columns.income]
lower = 0
upper = 1000000
missing = true
[columns.job]
values = ["clerk", "miner"]
"""
BOUNDED = SCHEMA.replace('name = "ill"\nclasses = ["no", "yes"]', 'name = "days"\nlower = 0\nupper = 60')
RECORDS = 300
FIT = "fit people.csv --schema schema.toml --epsilon 2 --overwrite --out model.json --additive"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with Path("people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["job", "income", "age", "days", "ill", "name"])
        for place in range(RECORDS):
            age, income = int(rng.integers(18, 90)), int(np.exp(rng.normal(9, 1)))
            days = abs(age - 50) + int(rng.integers(10))
            row = [str(rng.choice(["clerk", "miner", "king"])), "?" if place % 9 == 0 else income, age, days]
            writer.writerow([*row, "yes" if days > 25 else "no", f"n{place}"])
    Path("schema.toml").write_text(SCHEMA)
    Path("bounded.toml").write_text(BOUNDED)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    code = main(line.split())
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_fit_predict_verify_and_a_page_with_a_picture_a_term(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    code, out, err = run(capsys, f"{FIT} --pairs age:job --report page.html --seed 3")
    assert code == 0, err
    assert "Wrote model.json and page.html." in out
    model, schema = load("model.json")
    assert schema is not None
    assert isinstance(model, AdditiveClassifier)
    assert [term.name for term in model.terms_] == ["age", "income", "job", "age & job"]
    text = Path("page.html").read_text(encoding="utf-8")
    assert text.count("<figure>") == text.count("<svg") == 4

    table = tables.read_table("people.csv", [*schema.names, "ill"])
    same = AdditiveClassifier(2.0, schema=Schema.load("schema.toml"), pairs=[("age", "job")], random_state=3).fit(table)
    assert np.array_equal(same.coef_, model.coef_)  # the command line adds nothing of its own

    assert run(capsys, "predict model.json people.csv --proba --keep name --out found.csv")[0] == 0
    rows = list(csv.reader(Path("found.csv").read_text().splitlines()))
    assert rows[0] == ["name", "prediction", "probability of no", "probability of yes"]
    assert [row[1] for row in rows[1:]] == model.predict(table).tolist()
    code, out, _ = run(capsys, "verify model.json")
    assert code == 0
    assert "VERIFIED" in out


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ("--kind bins --slots 6", {"kind": "bins", "slots": 6}),
        ("--cuts private --pairs 1", {"cuts": "private", "pairs": 1}),
        ("--pairs age:income,job:age --precondition no", {"pairs": (("age", "income"), ("job", "age"))}),
        ("--precondition yes --method gradient --cuts round", {"precondition": True, "cuts": "round"}),
    ],
)
def test_settings_reach_the_model(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, settings: dict[str, Any]
) -> None:
    code, _, err = run(capsys, f"{FIT} {options}")
    assert code == 0, err
    model, _ = load("model.json")
    assert {name: getattr(model, name) for name in settings} == settings
    assert run(capsys, "verify model.json")[0] == 0
    assert run(capsys, "predict model.json people.csv")[0] == 0


def test_numbers_have_curves_in_their_units(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = FIT.replace("schema.toml", "bounded.toml").replace("--epsilon 2", "--epsilon 1000")
    assert run(capsys, f"{line} --report page.html")[0] == 0
    model, _ = load("model.json")
    assert type(model).__name__ == "AdditiveRegressor"
    age = next(term for term in model.terms_ if term.name == "age")
    assert min(age.values[0], age.values[-1]) - min(age.values) > 15  # from 40 days at the ends to 5 in the middle
    assert "in the units of days" in Path("page.html").read_text(encoding="utf-8")
    found = run(capsys, "predict model.json people.csv")[1].split()[1:]
    assert all(0 <= float(number) <= 60 for number in found)


def test_a_target_may_be_named_beside_the_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = SCHEMA[: SCHEMA.index("[target]")] + SCHEMA[SCHEMA.index("[columns.age]") :]
    Path("bare.toml").write_text(bare)
    line = FIT.replace("schema.toml", "bare.toml")
    assert run(capsys, f"{line} --target ill --classes no,yes")[0] == 0
    model, schema = load("model.json")
    assert schema is not None
    assert schema.target is not None
    assert schema.target.name == "ill"
    assert model.classes_.tolist() == ["no", "yes"]


def test_precondition_goes_with_lines_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = FIT.removesuffix(" --additive")
    for asked, method in (("yes", "whitened-objective"), ("no", "objective")):
        assert run(capsys, f"{line} --method objective --precondition {asked}")[0] == 0
        assert load("model.json")[0].guarantee_.method == method
    code, _, err = run(capsys, f"{line} --method newton --precondition yes")
    assert code == 2
    assert "Method 'newton' has no form on whitened rows." in err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"{FIT} --task svm", "--additive can only be used with --task classification or regression, not with svm."),
        (FIT.replace("schema.toml", "bounded.toml") + " --task quantile", "not with quantile."),
        (FIT.replace("schema.toml", "bounded.toml") + " --task poisson", "not with poisson."),
        (FIT.removesuffix("--additive") + "--kind bins", "--kind can only be used with --additive."),
        (FIT.removesuffix("--additive") + "--slots 4", "--slots can only be used with --additive."),
        (FIT.removesuffix("--additive") + "--pairs 1", "--pairs can only be used with --additive."),
        (FIT.replace("--schema schema.toml", "--target ill --classes no,yes"), "--additive needs --schema"),
        (f"{FIT} --pairs age", "Expected --pairs to be a whole number, or pairs of columns as in a:b,c:d."),
        (f"{FIT} --pairs age:", "Expected --pairs to be a whole number"),
        (f"{FIT} --pairs age:job:income", "Expected --pairs to be a whole number"),
        (f"{FIT} --pairs age:wage", "The schema has no columns ['wage']"),
        (f"{FIT} --pairs -1", "Expected pairs=-1 >= 0."),
        (f"{FIT} --pairs 4", "Expected pairs=4 to be at most 3"),
        (f"{FIT} --slots 0", "Expected"),
        (f"{FIT} --method bassily-2014 --calibration paper --cuts private", "A survey of counts can only be used with"),
        (f"{FIT} --method newton --precondition yes", "has no form on whitened rows"),
    ],
)
def test_what_does_not_go_is_one_sentence_before_anything_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    code, out, err = run(capsys, f"{line} --report page.html")
    assert (code, out) == (2, "")
    assert says in err
    assert err.startswith("tacit: ")
    assert err.count("\n") == 1
    assert not {"model.json", "page.html"} & {path.name for path in folder.iterdir()}
