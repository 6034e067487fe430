"""Cells of number columns that are not numbers: fit and evaluate end before anything is charged, unless allowed."""

from pathlib import Path

import pytest

from tacit import Ledger
from tacit.cli import inputs
from tacit.cli.main import main

SCHEMA = """
missing = ["n/a"]
[target]
name = "ill"
classes = ["no", "yes"]
[columns.age]
lower = 18
upper = 90
"""
REFUSED = "tacit: Some cells of 'age' are not numbers and would count as missing. If they have a decimal comma, add"


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA, encoding="utf-8")
    ages = [18 + place % 70 for place in range(120)]
    for name, written in (("whole", "{}"), ("commas", "{},5"), ("absent", "{}")):
        odd = [written.format(age) if place % 3 else str(age) for place, age in enumerate(ages)]
        odd[-1] = "n/a" if name == "absent" else odd[-1]
        lines = [f"{cell};{'yes' if age > 50 else 'no'}\n" for cell, age in zip(odd, ages, strict=True)]
        Path(f"{name}.csv").write_text("age;ill\n" + "".join(lines), encoding="utf-8")
    assert main(["fit", "whole.csv", "--schema", "s.toml", "--epsilon", "1", "--out", "model.json"]) == 0
    return Ledger("l.sqlite", 5.0, 1e-3)


@pytest.mark.parametrize("small", [2**23, 0])
@pytest.mark.parametrize("line", ["fit {} --schema s.toml --out new.json", "evaluate model.json {} --out new.json"])
def test_nothing_is_charged_for_cells_that_cannot_be_read(line, small, book, monkeypatch, capsys):
    monkeypatch.setattr(inputs, "SMALL", small)
    capsys.readouterr()
    line += " --epsilon 1 --ledger l.sqlite"
    command = line.format("commas.csv").split()
    assert main(command) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(REFUSED)
    for words in (
        "--decimal ,",
        "under missing in the schema",
        "--curator",
        "--allow-unreadable",
        "Nothing was spent.",
    ):
        assert words in told.err
    assert "charged" not in told.err
    assert not any(sign.isdigit() for sign in told.err)
    assert not book.entries
    assert not Path("new.json").exists()
    for place, more in enumerate((["--decimal", ","], ["--allow-unreadable", "--overwrite"]), 1):
        assert main([*command, *more]) == 0
        assert len(book.entries) == place
        assert ("count as missing" in capsys.readouterr().err) == (place == 2)
    assert main([*line.format("absent.csv").split(), "--overwrite"]) == 0  # a text that the schema lists


def test_a_check_says_that_a_fit_would_be_refused(book, capsys):
    assert main(["schema", "check", "s.toml", "commas.csv", "--curator"]) == 1
    out = capsys.readouterr().out
    assert "A fit would be refused because of 'age'. With --allow-unreadable, cells that are not numbers count" in out
    assert main(["schema", "check", "s.toml", "commas.csv", "--curator", "--decimal", ","]) == 0
    assert main(["schema", "check", "s.toml", "absent.csv", "--curator"]) == 0


@pytest.mark.parametrize(
    ("cells", "more", "told"),
    [
        (["3.617", "950", "12.000"], "", True),
        (["3,617", "950", ""], "--decimal ,", True),
        (["3.617", "950", "1.5"], "", False),  # another fraction: the mark is a decimal mark
        (["3.617", "4.500", "7.125"], "", False),  # as a scale with three digits writes them
        (["0.617", "1"], "", False),
        (["950", "3617"], "", False),
    ],
)
def test_marks_that_may_separate_thousands_are_told_to_the_curator_alone(cells, more, told, book, capsys):
    schema = '[target]\nname = "pay"\nlower = 0\nupper = 9000\n[columns.gain]\nlower = 0\nupper = 9000\n'
    Path("pay.toml").write_text(schema, encoding="utf-8")
    rows = [f"{cell};{cell or 1}\n" for cell in cells * 20]
    Path("pay.csv").write_text("gain;pay\n" + "".join(rows), encoding="utf-8")
    capsys.readouterr()
    assert main([*["schema", "check", "pay.toml", "pay.csv", "--curator"], *more.split()]) == 0
    out = capsys.readouterr().out
    for name in ("gain", "pay"):
        assert (f"{name!r} has cells with exactly three digits behind the decimal mark" in out) == told
    for line in ("schema check pay.toml pay.csv", "fit pay.csv --schema pay.toml --epsilon 1 --out p.json"):
        assert main([*line.split(), *more.split()]) == 0
        shown = capsys.readouterr()
        assert "three digits" not in shown.out + shown.err
