"""What is kept of finished cells: one row a cell in an SQLite file, written once and in one transaction."""

from __future__ import annotations

import json
import sqlite3
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.engine.grid import Cell, canonical
from papers.engine.versions import DIRTY
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


@dataclass(frozen=True)
class Adopted:
    """Rows taken over, by version; and those refused, because they do not fit their key or changed code made them."""

    versions: Counter[str]
    strange: int = 0
    dirty: int = 0

    def __str__(self) -> str:
        words = f"{self.versions.total()} cells"
        if self.versions:
            words += f" ({', '.join(f'{count} by {name}' for name, count in sorted(self.versions.items()))})"
        if self.strange:
            words += f"; refused {self.strange} whose paper, figure or settings are not those of their key"
        return words + (f"; refused {self.dirty} made by changed code ('dirty')" if self.dirty else "")


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
        values = (*_columns(cell), points, version, seconds)
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

    def share_seconds(self, cells: Iterable[Cell]) -> None:
        """Give each of these cells that is finished an equal share of the time of all: they were trained together."""
        found = self.cells(cells)
        if found:
            share = statistics.fmean(cell.seconds for cell in found)
            with self._rows:
                self._rows.executemany("UPDATE cells SET seconds = ? WHERE key = ?", [(share, c.key) for c in found])

    def adopt(self, folder: Path, cells: Iterable[Cell]) -> Adopted:
        """Take over those of these cells that another folder has and this one has not.

        For grids that ran on several machines: keys are the same everywhere, and each row keeps its version. A row
        whose paper, figure and settings are not those of its key is refused, and so is one that changed code made.
        """
        check((folder / "rows.sqlite").exists(), f"There is no rows.sqlite in {folder}.")
        other, known = Store(folder), self.keys()
        try:
            wanted = {cell.key: cell for cell in cells if cell.key not in known}
            rows = [other._rows.execute("SELECT * FROM cells WHERE key = ?", (key,)).fetchone() for key in wanted]
        finally:
            other.close()
        found = [row for row in rows if row is not None]
        fitting = [row for row in found if row[:4] == _columns(wanted[row[0]])]
        taken = [row for row in fitting if not row[5].endswith(DIRTY)]
        with self._rows:
            self._rows.executemany("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)", taken)
        return Adopted(Counter(row[5] for row in taken), len(found) - len(fitting), len(fitting) - len(taken))

    def mean_seconds(self, cells: Iterable[Cell]) -> dict[tuple[str, str], float]:
        """How long those of these cells that are finished took on average, by paper and figure."""
        keys, took = {cell.key for cell in cells}, defaultdict[tuple[str, str], list[float]](list)
        for key, paper, figure, seconds in self._rows.execute("SELECT key, paper, figure, seconds FROM cells"):
            if key in keys:
                took[paper, figure].append(seconds)
        return {place: statistics.fmean(found) for place, found in took.items()}


def _columns(cell: Cell) -> tuple[str, str, str, str]:
    """What a row says of its cell: the key, and what the key is made of."""
    return cell.key, cell.paper, cell.figure, canonical(dict(cell.settings))
