"""Where results are written: not over what they are made from, not into devices, and for no more eyes than before."""

import errno
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from tacit.cli.main import main
from tacit.reading import opened_together, opened_whole, write_whole

SCHEMA = '[target]\nname = "y"\nclasses = [0, 1]\n[columns.a]\nlower = 0\nupper = 1\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).integers(0, 2, (200, 2))
    for name in ("one.csv", "two.csv"):
        Path(name).write_text("a,y\n" + "".join(f"{a},{y}\n" for a, y in rows))
    Path("s.toml").write_text(SCHEMA)
    assert main(["ledger", "create", "l.sqlite", "--epsilon", "9", "--delta", "1e-5"]) == 0
    assert main(["fit", "one.csv", "--schema", "s.toml", "--epsilon", "1", "--seed", "0", "--out", "m.json"]) == 0
    os.symlink("two.csv", "link.csv")
    os.link("two.csv", "hard.csv")
    return tmp_path


FIT = "fit one.csv two.csv --schema s.toml --epsilon 1 --seed 0 --ledger l.sqlite"
LOST = [
    f"{FIT} --out one.csv",
    f"{FIT} --out ../{{0}}/two.csv",
    f"{FIT} --out link.csv",
    f"{FIT} --out hard.csv",
    f"{FIT} --out s.toml",
    f"{FIT} --out l.sqlite",
    f"{FIT} --out new.json --report two.csv",
    "fit *.csv --schema s.toml --epsilon 1 --out two.csv",
    "predict m.json one.csv --out one.csv",
    "predict m.json one.csv --out m.json",
    "evaluate m.json one.csv --epsilon 1 --out m.json",
    "describe one.csv --epsilon 1 --out one.csv",
    "describe one.csv --epsilon 1 --write-schema one.csv",
    "statement m.json --html m.json",
    "contribute one.csv --protocol m.json --out one.csv",
]


@pytest.mark.parametrize("line", LOST)
def test_no_command_replaces_what_it_reads(folder, capsys, line):
    before = {path: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    assert main(line.format(folder.name).split()) == 2
    assert "and would be overwritten. Choose another name." in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_pipe_is_no_place(folder, capsys):
    os.mkfifo("pipe")
    assert main(["predict", "m.json", "one.csv", "--out", "pipe"]) == 2
    assert "--out pipe is a pipe or a device. Name a file." in capsys.readouterr().err
    with pytest.raises(ValueError, match="is a pipe or a device"):
        write_whole("pipe", "x")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


def test_links_are_followed(folder):
    write_whole("link.csv", "new")
    assert Path("two.csv").read_text() == "new"
    assert Path("link.csv").is_symlink()


@pytest.mark.parametrize(("before", "umask", "after"), [
    (0o600, 0o022, 0o600), (0o640, 0o022, 0o640), (0o666, 0o077, 0o600), (None, 0o022, 0o644), (None, 0o077, 0o600),
])  # fmt: skip
def test_nobody_reads_a_new_file_who_could_not_read_the_old(folder, before, umask, after):
    """Nor while it is written."""
    place = Path("out.csv")
    if before is not None:
        place.touch()
        place.chmod(before)
    old = os.umask(umask)
    try:
        with opened_whole(place) as file:
            file.write(b"x")
            (partial,) = folder.glob(".*.part")
            assert stat.S_IMODE(partial.stat().st_mode) == after
    finally:
        os.umask(old)
    assert stat.S_IMODE(place.stat().st_mode) == after


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_a_name_may_be_as_long_as_the_file_system_has_it(tmp_path):
    place = tmp_path / ("m" * 250 + ".json")
    write_whole(place, "x")
    assert names(tmp_path) == {place.name}


def test_a_circle_of_links_is_an_error_of_the_file_system(tmp_path):
    os.symlink("two", tmp_path / "one")
    os.symlink("one", tmp_path / "two")
    with pytest.raises(OSError, match="symbolic links") as caught:
        write_whole(tmp_path / "one", "x")
    assert caught.value.filename == str(tmp_path / "one")
    assert names(tmp_path) == {"one", "two"}


def test_what_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(tmp_path / "absent" / "m.json", "x")
    assert caught.value.filename == str(tmp_path / "absent" / "m.json")


@pytest.mark.parametrize("there", [(), ("a",), ("b",), ("a", "b")])
@pytest.mark.parametrize("failing", ["in the block", "when the last one is closed", "in its place"])
def test_files_that_appear_together_do_so_or_not_at_all(tmp_path, there, failing):
    """A new file beside an old one would have people of the first among those of the second."""
    for name in there:
        (tmp_path / name).write_text("old")

    def full(data):
        raise OSError(errno.ENOSPC, "No space left on device")

    def attempt():
        with opened_together() as opened, opened(tmp_path / "a") as one, opened(tmp_path / "b") as two:
            one.write(b"new")
            two.write(b"new")
            if failing == "in the block":
                raise KeyboardInterrupt
            if failing == "when the last one is closed":
                one.raw.write = full
            else:
                (tmp_path / "b").unlink(missing_ok=True)
                (tmp_path / "b").mkdir()

    with pytest.raises((OSError, KeyboardInterrupt)) as caught:
        attempt()
    if failing == "in its place":
        assert caught.value.filename == str(tmp_path / "b")
        assert caught.value.strerror == "Is a directory. No file was written or replaced"
        (tmp_path / "b").rmdir()
        there = [name for name in there if name != "b"]
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(there, "old")


@pytest.mark.parametrize("there", [(), ("a",), ("b",), ("a", "b")])
def test_files_that_end_well_are_all_there(tmp_path, there):
    for name in there:
        (tmp_path / name).write_text("old")
    with opened_together() as opened:
        for name in "ab":
            with opened(tmp_path / name) as file:
                file.write(b"new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}
