"""The columns that say whose rows they are and how much these count are nothing to learn from."""

import re
from pathlib import Path

import pytest

from tacit import AdditiveClassifier, Ledger, LogisticRegression, Schema, scan
from tacit.cli import inputs
from tacit.cli.main import main

pandas = pytest.importorskip("pandas")

SCHEMA = """
[target]
name = "ill"
classes = ["no", "yes"]
[columns.age]
lower = 18
upper = 90
[columns.who]
lower = 0
upper = 100
"""
PAIR = """
pairs = [[["age", {lower = 18, upper = 90, bins = [40]}], ["who", {values = [1, 2]}]]]
[target]
name = "ill"
classes = ["no", "yes"]
[columns.age]
lower = 18
upper = 90
"""
OWNER = "The schema has 'who' as a column to learn from, but it says whose rows they are."
WEIGHT = "The schema has 'who' as a column to learn from, but it says how much rows count."
PERSON = "--person who --rows-per-person 2"


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = pandas.DataFrame(
        {"who": [place // 2 for place in range(120)], "age": [18 + place % 70 for place in range(120)]}
    )
    rows["ill"] = ["yes" if age > 50 else "no" for age in rows["age"]]
    rows.to_csv("t.csv", index=False)
    Path("s.toml").write_text(SCHEMA, encoding="utf-8")
    Path("pair.toml").write_text(PAIR, encoding="utf-8")
    return rows


@pytest.mark.parametrize("small", [2**23, 0])
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (f"fit t.csv --schema s.toml --epsilon 1 --out m.json {PERSON}", OWNER),
        (f"fit t.csv --schema pair.toml --epsilon 1 --out m.json {PERSON}", OWNER),
        (f"fit t.csv --schema s.toml --additive --epsilon 1 --out m.json {PERSON}", OWNER),
        ("fit t.csv --schema s.toml --epsilon 1 --out m.json --weight who", WEIGHT),
        (f"describe t.csv --schema s.toml --epsilon 1 --out m.json {PERSON}", OWNER),
        (
            f"fit t.csv --target who --classes 1,2 --epsilon 1 --out m.json {PERSON}",
            "--person and --target must name different columns.",
        ),
        (
            f"fit t.csv --target ill --classes no,yes --epsilon 1 --out m.json --weight who {PERSON}",
            "--person and --weight must name different columns.",
        ),
    ],
)
def test_commands_refuse_it_before_anything_is_spent(line, sentence, small, table, monkeypatch, capsys):
    monkeypatch.setattr(inputs, "SMALL", small)
    book = Ledger("l.sqlite", 2.0, 1e-3, rows_per_person=2)
    assert main([*line.split(), "--ledger", "l.sqlite"]) == 2
    assert capsys.readouterr().err.startswith(f"tacit: {sentence}")
    assert not book.entries
    assert not Path("m.json").exists()


def test_python_refuses_it_where_the_name_is_known(table):
    schema = Schema.load("s.toml")
    additive = AdditiveClassifier(1.0, schema=schema, rows_per_person=2)
    for groups in ("who", table["who"]):
        with pytest.raises(ValueError, match=re.escape(OWNER)):
            additive.fit(table, groups=groups)
    with pytest.raises(ValueError, match=re.escape(WEIGHT)):
        AdditiveClassifier(1.0, schema=schema).fit(table, sample_weight="who")
    with pytest.raises(ValueError, match=re.escape(OWNER)):
        additive.fit("t.csv", groups="who")
    linear = LogisticRegression(1.0, classes=["no", "yes"], rows_per_person=2)
    with pytest.raises(ValueError, match=re.escape(OWNER)):
        linear.fit(scan("t.csv", schema), groups="who")


def test_a_check_tells_and_a_schema_to_fill_in_leaves_it_out(table, capsys):
    for data in ("t.csv", ""):
        assert main(["schema", "check", "s.toml", *data.split(), "--person", "who"]) == 1
        out = capsys.readouterr().out
        assert f"{OWNER} Remove it from the schema, also from its pairs. A fit would be refused." in out
        assert "lacks" not in out
    assert main(["schema", "check", "s.toml", "t.csv"]) == 0
    capsys.readouterr()
    assert main(["schema", "t.csv", "--target", "ill", "--person", "who"]) == 0
    out = capsys.readouterr().out
    assert '# "who" is left out: it says whose rows they are, and predicts nothing.\n' in out
    assert "[columns.who]" not in out
    assert "[columns.age]" in out
    assert main(["schema", "t.csv", "--target", "who", "--person", "who"]) == 2
    assert "--person and --target must name different columns." in capsys.readouterr().err
    line = f"schema t.csv --private --epsilon 5 --delta 1e-3 --seed 1 --out f.toml {PERSON}"
    assert main(line.split()) == 0
    assert "# Left out, because it says whose rows they are: 'who'\n" in Path("f.toml").read_text(encoding="utf-8")
