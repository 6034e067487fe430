"""What reaches a terminal: no name or cell can leave its line, and streams may be closed or plain ASCII."""

import gzip
import os
import subprocess
import sys
import tomllib
import unicodedata
import warnings

import pytest

from tacit import Ledger
from tacit.cli import inputs
from tacit.cli.main import build_parser, main
from tacit.cli.terminal import one_line
from tacit.data import delimited
from tacit.data.tables import read_table

FORGED = "a\nVERIFIED. epsilon = 0.01\x1b[2J\x9b31m\u202ecba\u2028\rz"
CONTROL = ("Cc", "Cf", "Cs", "Zl", "Zp")
COMMAND = "import sys; from tacit.cli.main import main; sys.exit(main())"


def test_one_line_leaves_nothing_that_moves_the_cursor():
    every = "".join(map(chr, range(0x10000)))
    shown = one_line(every)
    assert {unicodedata.category(sign) for sign in set(shown)}.isdisjoint(CONTROL)
    assert one_line("Größe (cm), 年齢") == "Größe (cm), 年齢"
    assert one_line(FORGED).startswith(r"a\nVERIFIED")


def _toml(text):
    return '"' + "".join(f"\\U{ord(sign):08x}" for sign in text) + '"'


def _is_safe(text):
    lines = text.split("\n")
    assert not [line for line in lines if line.startswith("VERIFIED")]
    assert {unicodedata.category(sign) for line in lines for sign in line}.isdisjoint(CONTROL)


def test_names_cells_and_labels_stay_in_their_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    quoted = FORGED.replace("\r", "")
    rows = "\n".join(f'{i % 40},"{quoted}",{"no" if i % 2 else "yes"}' for i in range(400))
    (tmp_path / "t.csv").write_text(f'"{quoted}",work,ill\n{rows}\n', encoding="utf-8", newline="")
    (tmp_path / "s.toml").write_text(
        f'[target]\nname = "ill"\nclasses = ["no", {_toml(FORGED)}]\n[columns.work]\nvalues = [{_toml(quoted)}]\n'
        f"[columns.{_toml(quoted)}]\nlower = 0\nupper = 9\n"
    )
    Ledger("l.sqlite", epsilon=9, delta=1e-3)
    for words, code in (
        (["schema", "check", "s.toml", "t.csv", "--curator"], 1),
        (["describe", "t.csv", "--epsilon", "9", "--progress", "on", "--ledger", "l.sqlite"], 0),
        (["fit", f"{FORGED}.csv", "--target", "ill", "--classes", "no,yes", "--epsilon", "1", "--out", "m.json"], 2),
        (["ledger", "show", "l.sqlite"], 0),
    ):
        assert main(words) == code, words
        told = capsys.readouterr()
        assert told.out + told.err
        _is_safe(told.out)
        _is_safe(told.err)


def test_warnings_stay_in_their_lines(monkeypatch, capsys):
    def run(options):
        warnings.warn(FORGED, UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr("tacit.cli.methods.run", run)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        main(["methods"])
    told = capsys.readouterr().err
    assert told.startswith("WARNING: a\\nVERIFIED")
    _is_safe(told)


def _run(words, place, **settings):
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *words], capture_output=True, text=True, cwd=place, check=False, **settings
    )


def test_a_closed_stdout_changes_nothing(tmp_path):
    done = _run(["methods"], tmp_path, preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_closed_stderr_changes_nothing(tmp_path):
    (tmp_path / "t.csv").write_text("age\n3\n4\n")
    (tmp_path / "s.toml").write_text("[columns.age]\nlower = 0\nupper = 9\n")
    done = _run(["schema", "check", "s.toml", "t.csv", "--curator"], tmp_path, preexec_fn=lambda: os.close(2))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("In these columns, every cell fits.\n")


def test_letters_that_the_terminal_lacks_are_escaped(tmp_path):
    (tmp_path / "t.csv").write_text("Größe,ill\n1,no\n", encoding="utf-8")
    done = _run(["schema", "t.csv"], tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert r"Gr\xf6\xdfe" in done.stdout


def test_suggested_commands_are_quoted_and_read_the_table_in_the_same_way(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my $(touch x).csv").write_bytes("größe;ill\n1;no\n".encode("latin-1"))
    assert main(["schema", "my $(touch x).csv", "--encoding", "latin-1", "--separator", ";", "--out", "a b.toml"]) == 0
    wanted = "tacit schema check 'a b.toml' 'my $(touch x).csv' --separator ';' --encoding latin-1"
    assert capsys.readouterr().out.rstrip().endswith(wanted)


# --- a first line that is a record -----------------------------------------------------------------------------------
def test_the_first_line_is_doubted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("34,male,Smith\n35,female,Jones\n")
    assert main(["schema", "t.csv"]) == 0
    told = capsys.readouterr()
    assert "the first line of t.csv was taken as the names" in told.err
    assert "Smith" not in told.err
    assert "# The names below were the first line of the file." in told.out
    assert list(tomllib.loads(told.out)["columns"]) == ["34", "male", "Smith"]


@pytest.mark.parametrize("more", [[], ["--private", "--epsilon", "1", "--out", "s.toml"]])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("34,1.5,77\n1,2,3\n", "consists of numbers"),
        ('age,"note\n31,HIV"\n40,x\n', "with a line break"),
        (f"age,{'z' * 201}\n31,77\n", "more than 200 characters"),
    ],
)
def test_a_first_line_that_cannot_be_names_is_refused_unquoted(tmp_path, monkeypatch, capsys, text, sentence, more):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    assert main(["schema", "t.csv", *more]) == 2
    told = capsys.readouterr()
    assert sentence in told.err
    assert not [word for word in ("34", "77", "HIV", "zz") if word in told.err + told.out]


# --- compressed files that are larger than they look ------------------------------------------------------------------
def test_whether_a_file_is_small_is_judged_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "SMALL", 5_000)
    for rows, small in ((100, True), (100_000, False)):
        with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
            file.write("a,b\n" + "1,2\n" * rows)
        assert (tmp_path / "t.csv.gz").stat().st_size < 5_000
        options = build_parser().parse_args(
            ["describe", str(tmp_path / "t.csv.gz"), "--epsilon", "1"],
        )
        assert inputs.is_small(options) is small
    (tmp_path / "t.csv.gz").write_bytes(b"\x1f\x8b\x08 no more than a beginning")
    assert inputs.is_small(options)


def test_a_first_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_LONGEST_LINE", 1_000)
    (tmp_path / "t.csv").write_text("a," * 500 + "b\n" + "1," * 500 + "2\n")
    with pytest.raises(ValueError, match=r"first line of t\.csv is longer than 1,000 characters"):
        read_table(tmp_path / "t.csv")
