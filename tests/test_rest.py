"""What a ledger has left, spent on a first look or on a schema; and sentences that a shell can follow."""

from pathlib import Path

import pytest

from tacit import Ledger, private_schema
from tacit.cli.main import main
from tacit.statistics import describe


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"{18 + place % 70}", "yes" if place % 70 > 30 else "no") for place in range(400)]
    Path("t.csv").write_text("age,ill\n" + "".join(f"{age},{ill}\n" for age, ill in rows), encoding="utf-8")
    return {"age": [int(age) for age, _ in rows], "ill": [ill for _, ill in rows]}


@pytest.mark.parametrize("line", ["describe t.csv", "schema t.csv --private --out s.toml"])
@pytest.mark.parametrize("before", [0, 1])
def test_a_command_spends_what_is_left_and_no_more(line, before, table, capsys):
    book = Ledger("l.sqlite", 2.0, 1e-5)
    if before:
        assert main(["describe", "t.csv", "--epsilon", "0.7", "--ledger", "l.sqlite"]) == 0
    assert main([*line.split(), "--epsilon", "rest", "--ledger", "l.sqlite"]) == 0
    assert len(book.entries) == before + 1
    assert 1.9 < book.spent() <= 2.0
    book.verify()
    capsys.readouterr()
    assert main([*line.split(), "--overwrite", "--epsilon", "rest"]) == 2
    assert "add --ledger" in capsys.readouterr().err


@pytest.mark.parametrize("ask", [describe, private_schema])
def test_python_spends_what_is_left(ask, table):
    book = Ledger("l.sqlite", 1.0, 1e-5)
    ask(table, epsilon="rest", ledger=book)
    assert 0.9 < book.spent() <= 1.0


def test_sentences_name_what_a_shell_takes(table, capsys):
    Ledger("people.sqlite", 2.0, 1e-5, rows_per_person=3)
    assert main(["describe", "t.csv", "--epsilon", "1", "--ledger", "people.sqlite"]) == 2
    assert "Name the person of each row with --person" in capsys.readouterr().err
    line = "describe t.csv --epsilon 1 --ledger people.sqlite --person age --rows-per-person 2"
    assert main(line.split()) == 2
    assert "Use --rows-per-person 3" in capsys.readouterr().err
    assert main(["fit", "t.csv", "--target", "ill", "--classes", "no,yes", "--epsilon", "1", "--out", "m.json"]) == 0
    assert main(["evaluate", "m.json", "t.csv", "--target", "ill", "--epsilon", "1", "--rows-per-person", "2"]) == 2
    assert "--person and --rows-per-person belong together" in capsys.readouterr().err
    names = "".join(f"{18 + place % 70},name {place}\n" for place in range(400))  # none of them stands out
    Path("n.csv").write_text("age,name\n" + names, encoding="utf-8")
    assert (
        main(["schema", "n.csv", "--private", "--target", "name", "--epsilon", "5", "--seed", "1", "--out", "s.toml"])
        == 0
    )
    assert "add --target, with --classes or --target-bounds, to `tacit fit`" in capsys.readouterr().err
