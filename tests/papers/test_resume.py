"""A run that is killed, stopped or repeated: no stored cell runs twice, and at the end all are there."""

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import running

from papers.engine import workers
from papers.engine.grid import Cell
from papers.engine.store import Store

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

    second = running.in_a_process(tmp_path, out, "first_1999")
    assert second.returncode == 0, second.stderr
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
    assert "4 of 20 cells have no result" in (out / "report.html").read_text()
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
