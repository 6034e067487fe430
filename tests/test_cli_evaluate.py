"""Scores from the command line: a model file and a table in, a table of scores out; and what is refused."""

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from tacit import Guarantee, Ledger
from tacit.cli.main import main

SCHEMA = """
[target]
name = "ill"
classes = ["no", "yes"]
[columns.age]
lower = 18
upper = 90
[columns.job]
values = ["clerk", "miner"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with Path("people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "age", "job", "x", "days", "ill"])
        for place in range(300):
            age = int(rng.integers(18, 90))
            job = str(rng.choice(["clerk", "miner"]))
            writer.writerow([f"p{place // 3}", age, job, age / 90, age // 2, "yes" if age > 50 else "no"])
    Path("schema.toml").write_text(SCHEMA)
    assert (
        main(["fit", "people.csv", "--schema", "schema.toml", "--epsilon", "9", "--out", "model.json", "--seed", "1"])
        == 0
    )
    Path("plain.csv").write_text("x,days\n" + "\n".join(f"{k / 100},{k % 40}" for k in range(100)) + "\n")
    fit = "fit plain.csv --target days --target-bounds 0 40 --epsilon 9 --out days.json --seed 1"
    assert main(fit.split()) == 0
    capsys.readouterr()
    return tmp_path


def run(capsys, line):
    code = main(line.split())
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_scores_of_classes_with_people_and_a_file(folder, capsys):
    line = "evaluate model.json people.csv --epsilon 2 --metrics accuracy,auc --seed 3 --overwrite --out scores.json"
    code, out, err = run(capsys, line + " --person person --rows-per-person 3 --level 0.9")
    assert code == 0, err
    assert out.splitlines()[0].split() == ["score", "value", "low", "high"]
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["accuracy", "auc"]
    assert "100 people with up to 3 rows each" in out
    assert "predictable" in err
    data = json.loads(Path("scores.json").read_text())
    assert (data["level"], data["classes"], list(data["scores"])) == (0.9, ["no", "yes"], ["accuracy", "auc"])
    assert Guarantee.from_dict(data["guarantee"]).verify() <= 2.001
    again = run(capsys, line + " --groups person --rows-per-person 3 --level 0.9")  # its first name
    assert again[1] == out


def test_a_ledger_is_charged(folder, capsys):
    Ledger("study.sqlite", epsilon=1, delta=1e-6)
    line = "evaluate model.json people.csv --ledger study.sqlite --metrics accuracy --epsilon"
    assert run(capsys, f"{line} 0.9")[0] == 0
    code, out, err = run(capsys, f"{line} 0.9")
    assert (code, out) == (2, "")
    assert "Nothing was spent" in err
    assert run(capsys, f"{line} rest")[0] == 0
    assert [entry.guarantee.method for entry in Ledger("study.sqlite").entries] == ["evaluation"] * 2


def test_the_class_is_chosen_and_named(folder, capsys):
    line = "evaluate model.json people.csv --epsilon 50 --metrics recall --seed 3 --overwrite --out scores.json"
    for option, label in (("", "yes"), (" --positive no", "no")):
        code, out, err = run(capsys, line + option)
        assert code == 0, err
        assert out.splitlines()[1].startswith(f"recall of '{label}'  ")
        assert json.loads(Path("scores.json").read_text())["positive"] == label
    Path("numbers.csv").write_text("x,ill\n" + "\n".join(f"{k / 100},{k // 50}" for k in range(100)) + "\n")
    fit = "fit numbers.csv --target ill --classes 0,1 --epsilon 9 --out numbers.json --seed 1"
    assert run(capsys, fit)[0] == 0
    code, out, err = run(
        capsys, "evaluate numbers.json numbers.csv --target ill --epsilon 9 --metrics recall --positive 0"
    )
    assert code == 0, err
    assert out.splitlines()[1].startswith("recall of 0 ")


def test_the_ledger_says_which_model_was_scored_and_what_else_is_labelled(folder, capsys):
    Ledger("study.sqlite", epsilon=20, delta=1e-6)
    digest = hashlib.sha256(Path("model.json").read_bytes()).hexdigest()[:8]
    evaluate = ["evaluate", "model.json", "people.csv", "--metrics", "accuracy"]
    describe = ["describe", "people.csv", "--schema", "schema.toml"]
    fit = ["fit", "people.csv", "--schema", "schema.toml", "--out", "other.json"]
    schema = ["schema", "people.csv", "--private", "--out", "found.toml"]
    paid = ["--epsilon", "1", "--ledger", "study.sqlite"]
    assert main([*evaluate, *paid]) == 0
    for command in (evaluate, describe, fit, schema):
        assert main([*command, *paid, "--label", f"May: {command[0]}"]) == 0
    assert [entry.label for entry in Ledger("study.sqlite").entries] == [
        f"scores of model.json, sha256 {digest}", "May: evaluate", "May: describe", "May: fit", "May: schema",
    ]  # fmt: skip


def test_scores_of_numbers(folder, capsys):
    code, out, err = run(
        capsys, "evaluate days.json plain.csv --epsilon 1 --target days --adjacency add-remove --delta 1e-5"
    )
    assert code == 0, err
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["rmse", "r2"]
    assert "clipped to [0, 40]" in " ".join(out.split())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("evaluate days.json plain.csv --epsilon 1", "--target"),
        ("evaluate days.json plain.csv --epsilon 1 --target weeks", "no column 'weeks'"),
        ("evaluate model.json people.csv --epsilon 1 --metrics rmse", "for models with numbers"),
        ("evaluate model.json people.csv --epsilon 1 --level 1.5", "level=1.5"),
        ("evaluate model.json people.csv --epsilon 0", "epsilon=0"),
        ("evaluate model.json people.csv --epsilon 1 --positive ill", "one of the model's classes, 'no' and 'yes'"),
        ("evaluate model.json people.csv --epsilon 1 --rows-per-person 3", "--person and --rows-per-person"),
        ("evaluate model.json people.csv --epsilon 1 --person nobody --rows-per-person 3", "no column 'nobody'"),
        ("evaluate model.json people.csv --epsilon 1 --out nowhere/scores.json", "does not exist"),
    ],
)
def test_what_is_wrong_is_one_sentence(folder, capsys, line, words):
    code, out, err = run(capsys, line)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
