"""A misspelt column: the command says which of the table's columns may be meant, and quotes no cell."""

import json

import pytest

from tacit.cli import inputs
from tacit.cli.main import main
from tacit.data.spelling import meant

SCHEMA = {
    "columns": {"age": {"lower": 0, "upper": 99}, "income": {"lower": 0, "upper": 9}},
    "target": {"name": "ill", "classes": ["no", "yes"]},
}
FIT = "fit t.csv --epsilon 1 --out x.json"
LINES = {
    f"{FIT} --target ilness --classes no,yes": ("ilness", "illness"),
    f"{FIT} --schema s.json --target ilness --classes no,yes": ("ilness", "illness"),
    f"{FIT} --schema s.json --person persom --rows-per-person 2": ("persom", "person"),
    f"{FIT} --schema s.json --weight wieght": ("wieght", "weight"),
    f"{FIT} --schema bad.json": ("incomes", "income"),
    f"{FIT} --schema bad.json --additive": ("incomes", "income"),
    "describe t.csv --epsilon 1 --schema bad.json": ("incomes", "income"),
    "describe t.csv --epsilon 1 --person persom --rows-per-person 2": ("persom", "person"),
    "describe t.csv --epsilon 1 --target ilness --write-schema w.toml": ("ilness", "illness"),
    "evaluate m.json t.csv --epsilon 1 --target ilness": ("ilness", "illness"),
    "evaluate m.json t.csv --epsilon 1 --person persom --rows-per-person 2": ("persom", "person"),
    "evaluate m.json other.csv --epsilon 1": ("income", "incomes"),
    "predict m.json other.csv": ("income", "incomes"),
    "predict m.json t.csv --keep persom": ("persom", "person"),
    "schema t.csv --person persom": ("persom", "person"),
    "schema t.csv --numbers incomes": ("incomes", "income"),
}


@pytest.mark.parametrize("small", [2**23, 0])
@pytest.mark.parametrize("line", LINES)
def test_the_column_that_may_be_meant_is_named(line, small, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"p{place % 30},{20 + place},{place % 9},1,no,{'no' if place % 2 else 'yes'}\n" for place in range(60)]
    head = "person,age,income,weight,illness,ill\n"
    (tmp_path / "t.csv").write_text(head + "".join(rows))
    (tmp_path / "other.csv").write_text(head.replace("income", "incomes") + "".join(rows))
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    (tmp_path / "bad.json").write_text(json.dumps(SCHEMA).replace("income", "incomes"))
    assert main(["fit", "t.csv", "--schema", "s.json", "--epsilon", "1", "--out", "m.json"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(inputs, "SMALL", small)
    assert main(line.split()) == 2
    wrong, right = LINES[line]
    told = capsys.readouterr().err
    assert repr(wrong) in told
    assert told.endswith(f" Did you mean {right!r}?\n")
    assert not (tmp_path / "x.json").exists()


def test_of_several_names_each_is_said():
    assert meant(["ages", "x", "incom"], ["age", "income"]) == (
        " Did you mean 'age' by 'ages'? Did you mean 'income' by 'incom'?"
    )
