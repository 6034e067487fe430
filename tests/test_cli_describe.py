"""``tacit describe``: a first table from files."""

import json

import numpy as np
import pytest

from tacit import Guarantee, Schema
from tacit.cli import main as cli


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{a},{w},{m}" for a, w, m in zip(
        rng.integers(18, 90, 3000), rng.choice(["x", "y", "?"], 3000), rng.choice(["", "1.5", "2.5"], 3000), strict=True
    )]  # fmt: skip
    place = tmp_path / "table.csv"
    place.write_text("\n".join(["age,work,wage", *lines]) + "\n", encoding="utf-8")
    return place


def test_a_table_is_described_and_its_schema_written(table, tmp_path, capsys):
    out, found = tmp_path / "out.json", tmp_path / "found.json"
    options = ["--epsilon", "2", "--missing", "?", "--out", str(out), "--write-schema", str(found), "--target", "work"]
    assert cli.main(["describe", str(table), *options]) == 0
    shown = capsys.readouterr().out
    assert "differential privacy" in shown
    assert "clipped to the bounds" in shown
    content = json.loads(out.read_text(encoding="utf-8"))
    assert content["records"] == 3000
    assert set(content["columns"]) == {"age", "work", "wage"}
    assert Guarantee.from_dict(content["guarantee"]).verify() <= 2
    schema = Schema.load(found)
    assert {column.name for column in schema.columns} == {"age", "wage"}
    assert set(schema.target.classes) == {"x", "y"}
    assert (
        cli.main(["fit", str(table), "--schema", str(found), "--epsilon", "1", "--out", str(tmp_path / "m.json")]) == 2
    )
    assert "missing label" in capsys.readouterr().err


def test_a_declared_schema_is_taken(table, tmp_path, capsys):
    schema = tmp_path / "schema.toml"
    schema.write_text("[columns.age]\nlower = 18\nupper = 90\n", encoding="utf-8")
    assert cli.main(["describe", str(table), "--epsilon", "1", "--schema", str(schema), "--seed", "1"]) == 0
    shown = capsys.readouterr()
    assert "never release such a table" in shown.err
    assert "work" not in shown.out


def test_people_are_described_and_charged_as_people(tmp_path, capsys):
    rng = np.random.default_rng(1)
    lines = [f"p{place // 3},{age}" for place, age in enumerate(rng.integers(18, 90, 6000))]
    table = tmp_path / "visits.csv"
    table.write_text("\n".join(["patient,age", *lines]) + "\n", encoding="utf-8")
    ledger = ["--ledger", str(tmp_path / "study.sqlite")]
    assert cli.main(["ledger", "create", ledger[1], "--epsilon", "3", "--delta", "1e-6", "--rows-per-person", "3"]) == 0
    out = tmp_path / "out.json"
    person = ["--person", "patient", "--rows-per-person", "3"]
    assert cli.main(["describe", str(table), "--epsilon", "1", *person, *ledger, "--out", str(out)]) == 0
    content = json.loads(out.read_text(encoding="utf-8"))
    guarantee = Guarantee.from_dict(content["guarantee"])
    assert (content["records"], list(content["columns"])) == (2000, ["age"])
    assert (guarantee.unit, guarantee.rows_per_person) == ("person", 3)
    capsys.readouterr()
    assert cli.main(["describe", str(table), "--epsilon", "1", *ledger]) == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--target", "work"], "--target can only be used with --write-schema"),
        (["--target", "none", "--write-schema", "s.json"], "no column 'none'"),
        (["--write-schema", "s.yaml"], "ends in .toml or .json"),
        (["--person", "work"], "--person and --rows-per-person belong together"),
        (["--person", "none", "--rows-per-person", "2"], "no column 'none'"),
        (["--level", "2"], "0 < level=2.0 < 1"),
        (["--adjacency", "add-remove"], "give delta="),
        (["--out", "nowhere/out.json"], "does not exist"),
    ],
)
def test_wrong_options_are_one_sentence(options, sentence, table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["describe", str(table), "--epsilon", "1", *options]) == 2
    assert sentence in capsys.readouterr().err


def test_large_numbers_are_written_in_full(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("pay\n" + "\n".join(str(10 * place) for place in range(3000)))
    (tmp_path / "s.toml").write_text("[columns.pay]\nlower = 0\nupper = 30000\n")
    assert cli.main(["describe", str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.toml"), "--epsilon", "5"]) == 0
    shown = capsys.readouterr().out.partition("\n\n")[0]
    assert "0 to 30,000" in shown
    assert "e+0" not in shown
