"""What goes wrong in the middle: one sentence that names the file, no half file, and a ledger that has what was spent.

Signals and limits are real; they come at a known row of a pass.
"""

from __future__ import annotations

import gzip
import math
import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit import Ledger
from tacit.cli import console
from tacit.cli.main import main
from tacit.linear import streamed

pyarrow = pytest.importorskip("pyarrow", reason="Parquet files: pip install '.[parquet]'")
from pyarrow import feather, parquet  # noqa: E402

SCHEMA = """
[target]
name = "days"
lower = 0
upper = 45
[columns.age]
lower = 18
upper = 90
"""
FIT = "--schema schema.toml --epsilon 1 --overwrite --out model.json"
CHILD = """
import os, signal, sys
from tacit.cli import console
from tacit.cli.main import main
from tacit.linear import streamed

streamed.SMALL, streamed.SMALL_COSTLY, streamed.SPARE = 0, 0, float("inf")  # no table is held here

class Struck(console.Passes):
    def __call__(self, number, done, rows):
        if 0 < done < rows:
            os.kill(os.getpid(), signal.SIGKILL)

console.Passes = Struck
main(sys.argv[1:])
"""
"""A command that is killed when a part of the first pass is done."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people").mkdir()
    Path("schema.toml").write_text(SCHEMA)
    rng = np.random.default_rng(0)
    for place in range(3):
        age = rng.integers(18, 90, 400)
        table = pyarrow.table({"age": age, "name": [f"somebody-{k}" for k in age], "days": age / 2})
        parquet.write_table(table, f"people/{place}.parquet")
    return tmp_path


@pytest.fixture
def model(folder, capsys):
    assert main(f"fit people/0.parquet {FIT}".split()) == 0
    capsys.readouterr()
    return Path("model.json")


def sentence(capsys, line):
    code = main(line.split())
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("tacit: ")
    assert err.count("\n") == 1
    return err


class Interrupted(console.Passes):
    """Presses Ctrl-C when a part of the first pass is done: once, whichever of the threads that read says so first."""

    def __init__(self, *settings, **more):
        super().__init__(*settings, **more)
        self.left = [signal.SIGINT]

    def __call__(self, number, done, rows):
        if 0 < done < rows:
            with suppress(IndexError):  # a second one would come when the command has ended, and end the tests
                signal.raise_signal(self.left.pop())


@pytest.fixture
def interrupted(monkeypatch, capsys):
    monkeypatch.setattr(console, "Passes", Interrupted)
    for name in ("SMALL", "SMALL_COSTLY"):  # small tables are not held in memory here
        monkeypatch.setattr(streamed, name, 0)
    monkeypatch.setattr(streamed, "SPARE", math.inf)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def run(line, charged=False):
        assert main(line.split()) == 130
        spent = " The ledger has been charged." if charged else ""
        assert capsys.readouterr() == ("", f"tacit: interrupted.{spent}\n")

    yield run
    signal.signal(signal.SIGINT, before)


def killed(line):
    found = str(Path(tacit.__file__).parents[1])
    code = subprocess.run(
        [sys.executable, "-c", CHILD, *line.split()], check=False, env={**os.environ, "PYTHONPATH": found}
    ).returncode
    assert code == -signal.SIGKILL


@contextmanager
def full_after(size):
    """A disk on which no file can have more bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def cut(path: str, keep: float = 0.7) -> None:
    raw = Path(path).read_bytes()
    Path(path).write_bytes(raw[: int(keep * len(raw))])


def test_a_parquet_file_that_is_cut_off(folder, capsys):
    cut("people/1.parquet")
    err = sentence(capsys, f"fit people {FIT}")
    assert "1.parquet is not a readable Parquet file, or it was cut off" in err
    assert not Path("model.json").exists()


def test_a_parquet_file_that_is_damaged_within(model, capsys):
    raw = bytearray(Path("people/1.parquet").read_bytes())
    raw[4:900] = bytes(896)
    Path("people/1.parquet").write_bytes(raw)
    before = model.read_bytes()
    assert "1.parquet" in sentence(capsys, f"fit people {FIT}")
    assert model.read_bytes() == before
    assert "1.parquet" in sentence(capsys, "predict model.json people --out said.csv")
    assert "1.parquet" in sentence(capsys, "evaluate model.json people --epsilon 1")
    assert names_beside(model) == {"people", "schema.toml", "model.json"}


def names_beside(path):
    return {entry.name for entry in path.resolve().parent.iterdir()}


def test_compressed_text_and_arrow_that_are_cut_off(model, capsys):
    rows = "age,days\n" + "".join(f"{20 + k % 60},{k % 45}\n" for k in range(5000))
    Path("b.csv.gz").write_bytes(gzip.compress(rows.encode()))
    cut("b.csv.gz")
    assert "b.csv.gz is not a readable gzip file, or it was cut off." in sentence(capsys, f"fit b.csv.gz {FIT}")
    assert "b.csv.gz" in sentence(capsys, "predict model.json b.csv.gz --out said.csv")
    feather.write_feather(parquet.read_table("people/0.parquet"), "c.arrow")
    cut("c.arrow")
    assert "c.arrow is not a readable Arrow file, or it was cut off." in sentence(capsys, f"fit c.arrow {FIT}")
    Path("d").mkdir()
    Path("d/1.csv").write_text("age,days\n30,2\n")
    Path("d/2.csv").write_text("age,days\n30,2\n31")
    assert "Line 3 of 2.csv has 1 cell," in sentence(capsys, f"fit d {FIT}")
    assert not Path("said.csv").exists()


def test_a_column_that_changes_its_type_or_name(folder, capsys):
    table = parquet.read_table("people/1.parquet")
    parquet.write_table(table.set_column(0, "age", table["age"].cast("string")), "people/1.parquet")
    err = sentence(capsys, f"fit people/*.parquet {FIT}")
    assert "Column 'age' is text in 1.parquet and int64 in 0.parquet" in err
    parquet.write_table(table.rename_columns(["years", "name", "days"]), "people/1.parquet")
    assert "1.parquet has no column 'age', and 0.parquet has one" in sentence(capsys, f"fit people {FIT}")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("empty", "The folder 'empty' is empty."),
        ("people/*.csv", "No file matches 'people/*.csv'."),
        ("people schema.toml", "files of one kind"),
        ("people people/0.parquet", "every file only once"),
        ("absent/0.parquet absent/1.parquet", "0.parquet: No such file or directory."),
    ],
)
def test_files_that_are_not_there(model, capsys, place, words):
    Path("empty").mkdir()
    for command in (f"fit {place} {FIT}", f"predict model.json {place}", f"evaluate model.json {place} --epsilon 1"):
        assert words in sentence(capsys, command)


def test_a_label_in_a_later_file_is_told_by_the_file_and_not_quoted(folder, capsys):
    Path("people/2.parquet").unlink()
    table = parquet.read_table("people/1.parquet")
    days = pyarrow.array([None, *table["days"].to_pylist()[1:]])
    parquet.write_table(table.set_column(2, "days", days), "people/1.parquet")
    err = sentence(capsys, f"fit people {FIT}")
    assert "1.parquet: Target 'days' has missing numbers" in err
    assert not Path("model.json").exists()


@pytest.mark.parametrize("name", ["said.csv", "said.parquet"])
def test_a_disk_that_fills_leaves_no_part_of_the_predictions(model, capsys, name):
    Path(name).write_text("what was there")
    with full_after(4096):
        err = sentence(capsys, f"predict model.json people --keep name --out {name}")
    assert err == f"tacit: {name}: File too large.\n"
    assert Path(name).read_text() == "what was there"
    assert names_beside(model) == {"people", "schema.toml", "model.json", name}


def test_a_disk_that_fills_leaves_both_parts_of_an_earlier_split(folder, capsys):
    """The smaller file has room. Beside the other one of before it would hold people who are in both."""
    Path("t.csv").write_text("who,x\n" + "".join(f"{place // 3},{'z' * 90}\n" for place in range(600)))
    line = "split t.csv --person who --out-train a.csv --out-test b.csv --overwrite"
    assert main(line.split()) == 0
    capsys.readouterr()
    before = {path: path.read_bytes() for path in folder.glob("*.csv")}
    with full_after(25_000):
        assert sentence(capsys, line) == "tacit: a.csv: File too large.\n"
    assert {path: path.read_bytes() for path in folder.glob("*.csv")} == before
    assert names_beside(Path("a.csv")) == {"people", "schema.toml", "t.csv", "a.csv", "b.csv"}


def test_a_disk_that_fills_leaves_no_part_of_the_model(folder, capsys):
    with full_after(1024):
        err = sentence(capsys, f"fit people {FIT}")
    assert err == "tacit: model.json: File too large. The model is lost.\n"
    assert names_beside(Path("model.json")) == {"people", "schema.toml"}


def one_charge() -> bool:
    ledger = Ledger("study.sqlite")
    ledger.verify()
    return [entry.guarantee.epsilon for entry in ledger.entries] == [1.0]


def test_a_fit_that_is_struck_in_a_pass_leaves_its_charge_and_no_model(folder, interrupted):
    Ledger("study.sqlite", epsilon=3, delta=1e-6)
    interrupted(f"fit people {FIT} --ledger study.sqlite", charged=True)
    assert not Path("model.json").exists()
    assert one_charge()


def test_a_fit_that_is_killed_in_a_pass_leaves_its_charge_and_no_model(folder):
    Ledger("study.sqlite", epsilon=3, delta=1e-6)
    killed(f"fit people {FIT} --ledger study.sqlite")
    assert not Path("model.json").exists()
    assert one_charge()


def test_a_fit_that_is_struck_while_modules_are_loaded_says_so(folder, interrupted, monkeypatch):
    monkeypatch.setattr("pkgutil.resolve_name", lambda name: signal.raise_signal(signal.SIGINT))
    interrupted(f"fit people {FIT}")


def test_a_ledger_on_a_full_disk_is_not_called_damaged(folder, capsys):
    Ledger("study.sqlite", epsilon=3, delta=1e-6)
    with full_after(512):
        said = sentence(capsys, f"fit people {FIT} --ledger study.sqlite")
    assert said.startswith("tacit: study.sqlite: there is no room on the disk, or it fails. Nothing was released;")
    assert not Ledger("study.sqlite").entries
    assert not Path("model.json").exists()


def test_predictions_that_are_struck_leave_no_half_file(model, interrupted):
    for name in ("said.csv", "said.parquet"):
        interrupted(f"predict model.json people --out {name}")
    assert names_beside(model) == {"people", "schema.toml", "model.json"}


def test_predictions_that_are_killed_leave_a_hidden_part_only(model):
    killed("predict model.json people --out said.csv")
    (left,) = names_beside(model) - {"people", "schema.toml", "model.json"}
    assert left.startswith(".")
    assert left.endswith(".part")


def test_scores_that_are_struck_before_the_release_are_not_charged(model, interrupted):
    Ledger("study.sqlite", epsilon=3, delta=1e-6)
    interrupted("evaluate model.json people --epsilon 1 --ledger study.sqlite --out scores.json")
    assert not Path("scores.json").exists()
    assert not Ledger("study.sqlite").entries
