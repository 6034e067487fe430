"""``tacit verify`` on what commands write: scores, tables of statistics, several files at once, and ledgers."""

import json
from pathlib import Path

import pytest

from tacit import Ledger
from tacit.cli.main import main

FIT = "fit t.csv --target ill --classes no,yes --epsilon 1 --seed 1 --out"


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [f"{18 + place % 70},{'yes' if place % 70 > 30 else 'no'}\n" for place in range(150)]
    Path("t.csv").write_text("age,ill\n" + "".join(lines), encoding="utf-8")
    for line in (
        f"{FIT} model.json", "evaluate model.json t.csv --target ill --epsilon 0.5 --out scores.json",
        "describe t.csv --epsilon 1 --out table.json", "schema t.csv --private --epsilon 3 --out found.toml",
        "describe t.csv --schema found.toml --epsilon 1 --out second.json",
    ):  # fmt: skip
        assert main(line.split()) == 0
    capsys.readouterr()


@pytest.mark.parametrize(("name", "guarantees"), [("scores.json", 1), ("table.json", 1), ("second.json", 2)])
def test_released_numbers_carry_a_guarantee_that_is_verified(name, guarantees, folder, capsys):
    assert main(["verify", name]) == 0
    out = capsys.readouterr().out
    assert out.count("status      PROVEN") == guarantees
    assert "VERIFIED. " in out
    assert "The released numbers themselves cannot be recomputed" in out
    assert main(["statement", name]) == 0
    content = json.loads(Path(name).read_text(encoding="utf-8"))
    content["guarantee"]["epsilon"] /= 2
    Path(name).write_text(json.dumps(content), encoding="utf-8")
    capsys.readouterr()
    assert main(["verify", name]) == 1
    assert "NOT VERIFIED" in capsys.readouterr().err


def test_a_models_file_without_its_first_entry_is_no_table(folder, capsys):
    """It would state the price of the model alone, without what was paid for before."""
    content = json.loads(Path("model.json").read_text(encoding="utf-8"))
    del content["format"]
    Path("model.json").write_text(json.dumps(content), encoding="utf-8")
    assert main(["verify", "model.json"]) == 2
    assert "VERIFIED. " not in capsys.readouterr().out


def test_several_files_are_verified_and_one_that_fails_is_enough(folder, capsys):
    Ledger("l.sqlite", 1.0, 1e-3)
    assert main(["verify", "model.json", "scores.json", "l.sqlite"]) == 0
    out = capsys.readouterr().out
    assert out.count("VERIFIED. ") == 3
    assert all(f"{name}\n\n" in out for name in ("model.json", "scores.json", "l.sqlite"))
    assert main(["verify", "*.json"]) == 0
    assert capsys.readouterr().out.count("VERIFIED. ") == 4
    Path("model.json").write_text(Path("model.json").read_text(encoding="utf-8").replace("0.", "1.", 1))
    assert main(["verify", "model.json", "scores.json"]) == 1
    told = capsys.readouterr()
    assert "NOT VERIFIED. model.json: " in told.err
    assert told.out.count("VERIFIED. ") == 1


def test_a_digest_that_was_noted_is_confirmed(folder, capsys):
    book = Ledger("l.sqlite", 1.0, 1e-3)
    assert main(["ledger", "verify", "l.sqlite"]) == 0
    assert "check it with --digest" in capsys.readouterr().out
    assert main(["ledger", "verify", "l.sqlite", "--digest", book.balance().digest]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "The ledger went through the state with the digest that you gave" in out
    assert "--digest" not in out
    assert main(["ledger", "verify", "l.sqlite", "--digest", "0" * 64]) == 1
    assert "went through" not in capsys.readouterr().out
