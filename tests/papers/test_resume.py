"""A run that is killed, stopped or repeated: no stored cell runs twice, and at the end all are there."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import running

from papers.engine import workers
from papers.engine.grid import Cell
from papers.engine.store import Store
from papers.engine.versions import RunVersion, version_of

CELLS = 16


def written(out):
    """Stored cells, as the cells themselves write that they ran."""
    found = [json.loads(settings) for settings, *_ in running.stored(out)]
    return {f"{cell['method']} {cell['epsilon']} {cell['seed']}" for cell in found}


def stop(tmp_path, name):
    """Run the command; its fifth or a later cell sends the signal to the command's process."""
    orders, out = tmp_path / "orders", tmp_path / "out"
    orders.write_text(name)
    done = running.in_a_process(tmp_path, out, "first_1999")
    assert not orders.exists()
    assert 0 < len(written(out)) < CELLS
    assert written(out) <= set(running.ran(tmp_path))
    return out, done


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    out, first = stop(tmp_path, "SIGKILL")
    assert first.returncode == -9, first.stderr
    before = written(out)

    assert running.here(tmp_path, out, "first_1999") == 0
    times = Counter(running.ran(tmp_path))
    assert written(out) == set(times)
    assert len(times) == CELLS
    assert all(times[cell] == 1 for cell in before)
    assert times.total() <= CELLS + 2  # only what the two processes were at could be lost
    assert (out / "report.html").exists()

    assert running.here(tmp_path, out, "first_1999") == 0
    assert Counter(running.ran(tmp_path)) == times  # nothing was left to run


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_run_that_is_told_to_stop_says_how_far_it_came(name, code, tmp_path):
    out, done = stop(tmp_path, name)
    assert done.returncode == code, done.stderr
    assert f"Stopped: {len(written(out))} of {CELLS} cells are stored." in done.stderr
    assert "Traceback" not in done.stderr


def test_sizes_live_side_by_side_and_are_drawn_apart(tmp_path):
    out = tmp_path / "out"

    def run(*words):
        return running.here(tmp_path, out, "first_1999", "--workers", "1", *words)

    assert run("--quick") == 0
    assert len(running.stored(out)) == 8
    assert run() == 0
    assert len(running.stored(out)) == CELLS  # the quick cells are among the paper's: they did not run again
    assert len(running.ran(tmp_path)) == CELLS
    lines = (out / "first_1999" / "figure1.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * CELLS
    assert run("--runs", "1", "--draw") == 0
    assert len((out / "first_1999" / "figure1.csv").read_text().splitlines()) == 1 + 2 * 4
    assert run("--runs", "5", "--draw") == 1  # some are missing, and nothing may run
    page = (out / "report.html").read_text()
    assert "4 of 20 cells have no result" in page
    assert "3 cannot tell; incomplete" in page  # part of a grid decides nothing
    assert "(16 of 20 cells)</small>" in page
    assert len(running.ran(tmp_path)) == CELLS
    assert run("--runs", "1", "--again") == 0
    assert len(running.ran(tmp_path)) == CELLS + 4
    assert len(running.stored(out)) == CELLS


def test_two_runs_do_not_share_a_folder(tmp_path, capsys):
    out = tmp_path / "out"
    store = Store(out)
    with store.held():
        assert running.here(tmp_path, out, "first_1999") == 2
        assert "Another run is writing" in capsys.readouterr().err
        assert running.here(tmp_path, out, "first_1999", "--draw") == 1  # looking is allowed: there is nothing yet
    assert not running.ran(tmp_path)
    with store.held():  # it was let go
        pass
    store.close()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="signal masks of a process are read from /proc")
def test_workers_are_deaf_to_ctrl_c_from_their_first_instruction_on():
    """A signal to the whole group while a worker loads its libraries would print the traceback of an import."""

    def blocked(pid):
        (line,) = (x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if x.startswith("SigBlk"))
        return bool(int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1)

    before = blocked("self")
    with workers.deaf():
        assert blocked("self")
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert blocked("self") == before
    try:
        assert blocked(child.pid)
    finally:
        child.communicate(b"\n")
    worker = workers._Worker()
    try:
        worker.give(Cell("nowhere", "first_1999", "figure1", {}))
        assert blocked(worker._process.pid)
        assert blocked("self") == before
    finally:
        worker.end()


def test_cells_of_a_run_elsewhere_are_taken_over(tmp_path, capsys, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    monkeypatch.setattr(RunVersion, "now", lambda self: "1+abc1234")
    assert running.here(tmp_path, first, "first_1999", "--quick", "--workers", "1") == 0
    before = running.ran(tmp_path)
    assert running.here(tmp_path, second, "first_1999", "--quick", "--workers", "1", "--adopt", str(first)) == 0
    assert running.ran(tmp_path) == before  # nothing ran again
    assert running.stored(second) == running.stored(first)
    assert f"Took over of {first}: 8 cells (8 by 1+abc1234).\n" in capsys.readouterr().out
    assert running.here(tmp_path, second, "first_1999", "--quick", "--adopt", str(tmp_path / "none")) == 2


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("p", "f", '{"seed":0}', "1+abc-dirty"), "refused 1 made by changed code ('dirty')"),
        (("q", "f", '{"seed":0}', "1+abc"), "refused 1 whose paper, figure or settings are not those of their key"),
        (("p", "g", '{"seed":0}', "1+abc"), "refused 1 whose paper"),
        (("p", "f", '{"seed":0,"stand_in":"adult"}', "1+abc"), "refused 1 whose paper"),
    ],
)
def test_rows_that_are_not_what_they_say_are_refused(row, words, tmp_path):
    cells = [Cell("papers", "p", "f", {"seed": seed}) for seed in (0, 1)]
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    there.add(cells[1], "[]", "1+def", 1.0)
    with sqlite3.connect(tmp_path / "there" / "rows.sqlite") as rows:
        values = (cells[0].key, *row[:3], '[{"x":1}]', row[3], 1.0)
        rows.execute("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    assert str(here.adopt(tmp_path / "there", cells)).startswith(f"1 cells (1 by 1+def); {words}")
    assert here.keys() == {cells[1].key}
    rows.close(), here.close(), there.close()


@pytest.fixture
def checkout(tmp_path):
    """A folder of papers in a repository of one commit."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "code.py").write_text("")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    return tmp_path / "papers"


def test_a_copy_without_a_checkout_names_its_commit_and_a_checkout_its_own(checkout, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TACIT_COMMIT", "abc1234")
    assert version_of(tmp_path_factory.mktemp("copy")).endswith("+abc1234")
    named = version_of(checkout)
    assert "abc1234" not in named
    assert not named.endswith("-dirty")
    (checkout.parent / "notes.md").write_text("no code")
    assert version_of(checkout) == named
    (checkout / "more.py").write_text("")  # of which git describe says nothing
    assert version_of(checkout) == f"{named}-dirty"


def test_rows_after_a_change_during_a_run_are_called_dirty(checkout):
    now = [0.0]
    version = RunVersion(checkout, lambda: now[0])
    first = version.now()
    (checkout / "code.py").write_text("x = 1")
    now[0] = 60.0
    assert version.now() == f"{first}-dirty"
    (checkout / "code.py").write_text("")
    now[0] = 120.0
    assert version.now() == f"{first}-dirty"  # processes may have loaded what was there in between
