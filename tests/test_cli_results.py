"""What was paid for is never lost, whatever happens to its place; and a place that cannot be used costs nothing."""

import argparse
import errno
import os
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tacit import Ledger, files
from tacit.cli import results as kept
from tacit.cli.main import main
from tacit.cli.results import results
from tacit.streams.opened import would_find

SCHEMA = '[columns.age]\nlower = 18\nupper = 90\n[target]\nname = "ill"\nclasses = ["no", "yes"]\n'
PAID = {
    "fit": ("fit", "fit people.csv --schema s.toml --epsilon 1 --ledger l.sqlite --out", "r.json"),
    "describe": ("describe", "describe people.csv --schema s.toml --epsilon 1 --ledger l.sqlite --out", "r.json"),
    "found": ("describe", "describe people.csv --epsilon 1 --ledger l.sqlite --write-schema", "r.toml"),
    "evaluate": ("evaluate", "evaluate model.json people.csv --epsilon 1 --ledger l.sqlite --out", "r.json"),
    "schema": (
        "schema", "schema people.csv --private --categories ill --epsilon 1 --ledger l.sqlite --out", "r.toml",
    ),
    "train": ("protocol", "train --protocol protocol.json --database c.sqlite --ledger l.sqlite --out", "r.json"),
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The contents of all files that commands are given."""
    folder = tmp_path_factory.mktemp("made")
    before = Path.cwd()
    os.chdir(folder)
    rng = np.random.default_rng(0)
    lines = [f"{age},{'yes' if age > 50 else 'no'}" for age in rng.integers(18, 91, size=400)]
    Path("people.csv").write_text("\n".join(["age,ill", *lines]) + "\n")
    Path("s.toml").write_text(SCHEMA)
    try:
        for line in (
            "fit people.csv --schema s.toml --epsilon 1 --out model.json",
            "protocol --schema s.toml --epsilon 2 --delta 1e-3 --cohort 300 --out protocol.json",
            "ledger create l.sqlite --epsilon 9 --delta 1e-3",
        ):
            assert main(line.split()) == 0
    finally:
        os.chdir(before)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(made, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, content in made.items():
        Path(name).write_bytes(content)
    for line in (
        "contribute people.csv --protocol protocol.json --out given.jsonl",
        "collect given.jsonl --protocol protocol.json --database c.sqlite",
    ):  # anew: submissions can be trained on once
        assert main(line.split()) == 0
    return tmp_path


def told(capsys, line):
    """The one sentence of a command that did not end well."""
    capsys.readouterr()
    assert main(line) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err.removeprefix("tacit: ").rstrip()


@pytest.mark.parametrize("name", PAID)
def test_a_place_that_cannot_be_used_costs_nothing(name, folder, capsys):
    _, line, place = PAID[name]
    *_, option = line.split()
    os.symlink("two", "one")
    os.symlink("one", "two")
    long = "m" * 256 + place
    for given, sentence in {
        "": f"{option} is empty. Name a file. Is a variable in your script not set?",
        "new/": f"{option} new/ names a folder. Name a file.",
        "new/.": f"{option} new/. names a folder. Name a file.",
        "one": f"Cannot write to {option} one: Too many levels of symbolic links.",
        long: f"Cannot write to {option} {long}: File name too long.",
    }.items():
        assert told(capsys, [*line.split(), given]) == sentence
    assert Ledger("l.sqlite").entries == ()
    assert not Path("new").exists()


@pytest.mark.parametrize("name", PAID)
@pytest.mark.parametrize("thing", ["file", "folder"])
def test_a_place_that_is_taken_meanwhile_keeps_what_it_has(name, thing, folder, monkeypatch, capsys):
    module, line, place = PAID[name]
    command = import_module(f"tacit.cli.{module}")
    check_new = command.check_new

    checks = iter([False, True] if module in ("describe", "protocol") else [True])

    def taken(options, *more, **others):
        check_new(options, *more, **others)
        if not next(checks):
            return
        if thing == "folder":
            Path(place).mkdir(exist_ok=True)
        else:
            Path(place).write_text("another one")
            Path(place.replace(".", ".1.")).write_text("one more")

    monkeypatch.setattr(command, "check_new", taken)
    other = place.replace(".", ".1." if thing == "folder" else ".2.")
    sentence = told(capsys, [*line.split(), place])
    assert sentence.startswith(f"{place}: Something else has appeared there. The ")
    assert sentence.endswith(f" is in {other} instead. The ledger has been charged.")
    assert Path(place).is_dir() if thing == "folder" else Path(place).read_text() == "another one"
    assert len(Ledger("l.sqlite").entries) == 1
    if name in ("fit", "train"):
        files.load(other)
    assert Path(other).stat().st_size > 100
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", PAID)
def test_results_are_written_before_anything_is_printed(name, folder, monkeypatch):
    module, line, place = PAID[name]

    def gone(*words, **more):
        raise KeyboardInterrupt

    for printer in (module, "terminal"):
        monkeypatch.setattr(import_module(f"tacit.cli.{printer}"), "print", gone, raising=False)
    assert main([*line.split(), place]) == 130
    assert Path(place).stat().st_size > 100


def test_a_long_name_is_as_good_as_any(folder):
    place = "m" * 245 + ".json"
    assert main([*PAID["fit"][1].split(), place]) == 0
    files.load(place)


def test_with_overwrite_a_folder_in_the_way_loses_nothing(folder, monkeypatch, capsys):
    command = import_module("tacit.cli.fit")
    Path("r.json").write_text("what was there")

    def taken(options):
        Path("r.json").unlink()
        Path("r.json").mkdir()

    monkeypatch.setattr(command, "check_new", taken)
    assert "The model is in r.1.json instead." in told(capsys, [*PAID["fit"][1].split(), "r.json", "--overwrite"])
    files.load("r.1.json")


def full(path):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_the_next_result_is_written_though_one_is_lost(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    good = tmp_path / "good.json"

    def write():
        with results(argparse.Namespace(overwrite=False)) as keep:
            assert keep("The table", str(tmp_path / "bad.json"), full) is None
            assert keep("The schema", str(good), lambda path: path.write_text("paid")) == str(good)

    with pytest.raises(ValueError, match=r"bad.json: No space left on device. The table is lost.$"):
        write()
    assert capsys.readouterr().out == f"\nWrote {good}.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["good.json"]


def test_a_folder_that_is_gone_is_replaced_by_one_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    where = []
    with (
        pytest.raises(ValueError, match=r"No such file or directory. The model is in .*m.json instead.$"),
        results(argparse.Namespace(overwrite=False)) as keep,
    ):
        where.append(keep("The model", str(tmp_path / "gone" / "m.json"), lambda path: path.write_text("paid")))
    assert Path(where[0]).read_text() == "paid"
    assert Path(where[0]).parent.stat().st_mode & 0o777 == 0o700


def test_a_file_system_without_hard_links_will_do(tmp_path, monkeypatch, capsys):
    def link(*names):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(kept.os, "link", link)
    place = str(tmp_path / "m.json")
    with results(argparse.Namespace(overwrite=False)) as keep:
        keep("The model", place, lambda path: path.write_text("first"))
    with (
        pytest.raises(ValueError, match=r"m.json: Something else has appeared there. The model is in .*m.1.json"),
        results(argparse.Namespace(overwrite=False)) as keep,
    ):
        keep("The model", place, lambda path: path.write_text("second"))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"m.json": "first", "m.1.json": "second"}


def test_a_training_does_not_replace_its_protocol_or_another_file_by_its_second_one(folder, capsys):
    os.rename("protocol.json", "r.record.json")
    line = PAID["train"][1].replace("protocol.json", "r.record.json").split()
    before = Path("r.record.json").read_bytes()
    assert told(capsys, [*line, "r.json", "--overwrite"]) == (
        "r.record.json, which is written because of --out, is the input r.record.json and would be overwritten. Choose "
        "another name."
    )
    assert Path("r.record.json").read_bytes() == before
    Path("t.record.json").write_text("what was there")
    assert told(capsys, [*line, "t.json"]) == (
        "t.record.json already exists. Choose another name, or add --overwrite to replace it."
    )
    assert Ledger("l.sqlite").entries == ()
    assert main([*line, "t.json", "--overwrite"]) == 0
    assert main(["verify", "t.record.json"]) == 0


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("in", "in/tr.csv"),
        ("in/", "./in/tr.csv"),
        ("in/*.csv", "in/tr.csv"),
        ("*/t?.csv", "in/tr.csv"),
        ("**/*.csv", "in/deep/tr.csv"),
        ("**/*.csv", "tr.csv"),
        ("in/**", "in/deep/tr.csv"),
        ("*.csv", "tr.csv"),
        ("link/*.csv", "in/tr.csv"),
        ("in", "link/tr.csv"),
        ("in", "out.csv"),
    ],
)
def test_no_output_is_written_among_the_inputs(given, place, tmp_path, monkeypatch, capsys):
    """The next time its rows would be read with those that they were taken from."""
    monkeypatch.chdir(tmp_path)
    Path("in/deep").mkdir(parents=True)
    Path("link").symlink_to("in")
    Path("out.csv").symlink_to("in/tr.csv")
    assert would_find(given, place)
    monkeypatch.setattr("tacit.cli.console._inputs", lambda options: [])  # none of them is there
    sentence = told(capsys, ["split", given, "--out-train", place, "--out-test", "te.txt"])
    assert sentence == (
        f"--out-train {place} would be one of the files of the input {given}, and be read with them the next time. "
        "Choose another folder."
    )


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("in", "tr.csv"),
        ("in", "in/_tr.csv"),
        ("in", "in/.tr.csv"),
        ("in/*.csv", "in/tr.parquet"),
        ("in/*.csv", "tr.csv"),
        ("in/*.csv", "in/deep/tr.csv"),
        ("in/*.csv", "in/.tr.csv"),
        ("in/a.csv", "in/tr.csv"),
        ("absent/*.csv", "in/tr.csv"),
    ],
)
def test_other_places_are_free(given, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in/deep").mkdir(parents=True)
    Path("in/a.csv").write_text("x\n1\n")
    assert not would_find(given, place)
