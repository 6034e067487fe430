"""``--class-weight``: declared weights of classes are those of Python, and cost nothing."""

from pathlib import Path

import pytest

from tacit import LogisticRegression
from tacit.cli.main import main
from tacit.data import tables
from tacit.files import load

FIT = ["fit", "t.csv", "--target", "ill", "--classes", "0,1", "--epsilon", "1", "--seed", "1", "--out", "m.json"]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"{place % 70 / 70},{int(place % 70 > 60)}\n" for place in range(300))
    Path("t.csv").write_text("age,ill\n" + lines, encoding="utf-8")
    table = tables.read_table("t.csv")
    return tables.numbers(table, ["age"]), tables.numbers(table, ["ill"])[:, 0].astype(int)


def test_declared_weights_are_those_of_python(rows, capsys):
    assert main([*FIT, "--class-weight", "1=5, 0=1"]) == 0
    model = load("m.json").model
    assert model.class_weight == {0: 1.0, 1: 5.0}
    same = LogisticRegression(1.0, classes=[0, 1], class_weight={0: 1, 1: 5}, random_state=1).fit(*rows)
    assert model.coef_.tolist() == same.coef_.tolist()
    assert main(["verify", "m.json"]) == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2=5,1=1", "to name classes of 'ill' once"),
        ("1=5,1=1", "to name classes of 'ill' once"),
        ("even", "to name classes of 'ill' once"),
        ("1=much,0=1", "Expected a number behind 1="),
        ("1=5", "a number for each class"),
        ("1=-5,0=1", "class_weight=-5.0 > 0"),
    ],
)
def test_what_is_no_weight_is_one_sentence(text, sentence, rows, capsys):
    assert main([*FIT, "--class-weight", text]) == 2
    assert sentence in capsys.readouterr().err
    assert not Path("m.json").exists()
