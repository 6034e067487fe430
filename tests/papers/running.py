"""The real command on two small papers (``fakes``), and what it leaves behind."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from papers.engine import command

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE = ("--package", "fakes")


def in_a_process(notes: Path, out: Path, *words: str) -> subprocess.CompletedProcess:
    """``python -m papers``. It ends when all processes that share its output have ended."""
    places = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-m", "papers", *words, *PACKAGE, "--out", str(out), "--workers", "2"], cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": places, "FAKES_NOTES": str(notes)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def here(notes: Path, out: Path, *words: str) -> int:
    """The same in this process; cells run in processes of their own. Gives the exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKES_NOTES", str(notes))
        return command.main([*words, *PACKAGE, "--out", str(out)])


def ran(notes: Path) -> list[str]:
    """What the cells of the first paper wrote when they ran."""
    file = notes / "ran.txt"
    return file.read_text().splitlines() if file.exists() else []


def stored(out: Path) -> list[tuple]:
    """(settings, points, version, seconds) of every stored cell."""
    rows = sqlite3.connect(out / "rows.sqlite")
    try:
        return rows.execute("SELECT settings, points, version, seconds FROM cells").fetchall()
    finally:
        rows.close()
