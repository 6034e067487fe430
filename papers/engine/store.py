"""What is kept of finished cells: one row a cell in an SQLite file, written once and in one transaction."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.engine.grid import Cell, canonical
from tacit._version import __version__
from tacit.checks import check

_TABLE = (
    "CREATE TABLE IF NOT EXISTS cells (key TEXT PRIMARY KEY, paper TEXT NOT NULL, figure TEXT NOT NULL, "
    "settings TEXT NOT NULL, points TEXT NOT NULL, version TEXT NOT NULL, seconds REAL NOT NULL) WITHOUT ROWID"
)


@dataclass(frozen=True)
class StoredCell:
    """One finished cell: its settings, what was measured, by which version, in how many seconds."""

    key: str
    settings: dict[str, Any]
    points: tuple[dict[str, Any], ...]
    version: str
    seconds: float

    def merged(self) -> list[dict[str, Any]]:
        """The points with the settings they belong to; where both have a name, the point's value counts."""
        return [{**self.settings, **point} for point in self.points]


class Store:
    """The file ``rows.sqlite`` of an output folder. A process that is killed leaves it whole."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._rows = sqlite3.connect(folder / "rows.sqlite", timeout=30)
        with self._rows:
            self._rows.execute(_TABLE)

    def close(self) -> None:
        """Close the file."""
        self._rows.close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs away from this folder; the hold ends with this process, however it ends."""
        lock = sqlite3.connect(self.folder / "running.sqlite", timeout=0, isolation_level=None)
        try:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError:
                check(False, f"Another run is writing to {self.folder}. Wait for it, or choose another --out.")
            yield
        finally:
            lock.close()

    def add(self, cell: Cell, points: str, version: str, seconds: float) -> None:
        """Write a finished cell; a cell that is there already raises."""
        values = (cell.key, cell.paper, cell.figure, canonical(dict(cell.settings)), points, version, seconds)
        with self._rows:
            self._rows.execute("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def keys(self) -> set[str]:
        """Keys of all finished cells."""
        return {key for (key,) in self._rows.execute("SELECT key FROM cells")}

    def cells(self, cells: Iterable[Cell]) -> list[StoredCell]:
        """Those of these cells that are finished, in their order."""
        found = []
        for cell in cells:
            query = "SELECT points, version, seconds FROM cells WHERE key = ?"
            row = self._rows.execute(query, (cell.key,)).fetchone()
            if row is not None:
                found.append(StoredCell(cell.key, dict(cell.settings), tuple(json.loads(row[0])), row[1], row[2]))
        return found

    def forget(self, cells: Iterable[Cell]) -> None:
        """Remove these cells, so that they are run again."""
        with self._rows:
            self._rows.executemany("DELETE FROM cells WHERE key = ?", [(cell.key,) for cell in cells])

    def mean_seconds(self) -> dict[tuple[str, str], float]:
        """How long a cell of each (paper, figure) took on average."""
        query = "SELECT paper, figure, AVG(seconds) FROM cells GROUP BY paper, figure"
        return {(paper, figure): seconds for paper, figure, seconds in self._rows.execute(query)}


def version_of(folder: Path) -> str:
    """The version of Tacit and, in a checkout, the commit of that folder ('dirty' where files were changed)."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return __version__
    return f"{__version__}+{done.stdout.strip()}" if done.returncode == 0 and done.stdout.strip() else __version__
