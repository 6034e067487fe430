"""Where results are written: not over what they are made from, not into devices, and for no more eyes than before."""

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from tacit.cli.main import main
from tacit.reading import opened_whole, write_whole

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
            (partial,) = folder.glob(".out.csv.*.part")
            assert stat.S_IMODE(partial.stat().st_mode) == after
    finally:
        os.umask(old)
    assert stat.S_IMODE(place.stat().st_mode) == after
