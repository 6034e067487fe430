"""A file that was paid for is replaced only when that is asked for, and the refusal costs nothing."""

import numpy as np
import pytest

from tacit import Ledger
from tacit.cli.main import main

SCHEMA = """
[columns.age]
lower = 18
upper = 90
[target]
name = "ill"
classes = ["no", "yes"]
"""
PRICED = {
    "fit": ("fit people.csv --schema s.toml --epsilon 1 --ledger l.sqlite --out", "m.json"),
    "describe": ("describe people.csv --schema s.toml --epsilon 1 --ledger l.sqlite --out", "d.json"),
    "found": ("describe people.csv --epsilon 1 --ledger l.sqlite --write-schema", "f.toml"),
    "evaluate": ("evaluate model.json people.csv --epsilon 1 --ledger l.sqlite --out", "e.json"),
    "schema": ("schema people.csv --private --categories ill --epsilon 1 --ledger l.sqlite --out", "p.toml"),
}
OTHERS = {
    "protocol": ("protocol --schema s.toml --epsilon 2 --delta 1e-3 --cohort 300 --out", "new.json"),
    "contribute": ("contribute people.csv --protocol protocol.json --out", "s.jsonl"),
    "train": ("train --protocol protocol.json --database c.sqlite --out", "t.json"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    lines = [f"{age},{'yes' if age > 50 else 'no'}" for age in rng.integers(18, 91, size=400)]
    (tmp_path / "people.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    (tmp_path / "s.toml").write_text(SCHEMA)
    Ledger("l.sqlite", epsilon=9, delta=1e-3)
    for line in (
        "fit people.csv --schema s.toml --epsilon 1 --out model.json",
        "protocol --schema s.toml --epsilon 2 --delta 1e-3 --cohort 300 --out protocol.json",
        "contribute people.csv --protocol protocol.json --out given.jsonl",
        "collect given.jsonl --protocol protocol.json --database c.sqlite",
    ):
        assert main(line.split()) == 0
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("name", [*PRICED, *OTHERS])
def test_a_result_is_replaced_only_when_asked_for(name, folder, capsys):
    line, place = {**PRICED, **OTHERS}[name]
    (folder / place).write_text("what was there")
    assert main([*line.split(), place]) == 2
    option = line.split()[-1]
    assert capsys.readouterr().err == (
        f"tacit: {option} {place} already exists. Choose another name, or add --overwrite to replace it.\n"
    )
    assert (folder / place).read_text() == "what was there"
    assert Ledger("l.sqlite").entries == ()
    assert main([*line.split(), place, "--overwrite"]) == 0
    assert (folder / place).read_text() != "what was there"
    assert len(Ledger("l.sqlite").entries) == (name in PRICED)


def test_what_can_be_made_again_is_replaced(folder, capsys):
    for _ in range(2):
        assert main(["predict", "model.json", "people.csv", "--out", "said.csv"]) == 0
        assert main(["statement", "model.json", "--html", "page.html"]) == 0


def test_a_found_schema_does_not_replace_the_table_it_came_with(folder, capsys):
    line = "describe people.csv --epsilon 1 --ledger l.sqlite --out a.json --write-schema ../{}/a.json"
    assert main(line.format(folder.name).split()) == 2
    assert "--out and --write-schema name the same file" in capsys.readouterr().err
    assert Ledger("l.sqlite").entries == ()
