"""A collection in one SQLite file, or in memory. Several processes may use one file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tacit.mechanisms.moments import Sums
from tacit.protocol.shelf import Mark
from tacit.protocol.submission import ROWS
from tacit.protocol.trainings import Training

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS taken (content BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS withdrawn (content BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (reason TEXT PRIMARY KEY, count INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS trainings (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, digest TEXT NOT NULL, count INTEGER NOT NULL,
    seeded INTEGER NOT NULL, weights TEXT
);
"""
_ASKED = 500
"""Hashes in one question to the file: SQLite takes 999 values at least."""


class FileShelf:
    """A shelf in a file; ``path`` None is memory."""

    def __init__(self, path: str | Path | None) -> None:
        self.place = None if path is None else Path(path).resolve()
        try:
            self._base = sqlite3.connect(":memory:" if path is None else str(path), timeout=60, isolation_level=None)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            self._base.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            raise ValueError("This file is not a Tacit database, or it is damaged.") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Alone with the file."""
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    def begin(self, protocol: str, sums: Sums) -> str:
        """Write what an empty collection has, unless it is there."""
        with self.transaction():
            begun = [("protocol", protocol), ("sums", sums.to_bytes()), ("seeded", "false")]
            self._base.executemany("INSERT OR IGNORE INTO facts VALUES (?, ?)", begun)
        return str(self._fact("protocol"))

    def _fact(self, name: str) -> Any:
        (value,) = self._base.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return value

    def sums(self) -> Sums:
        """The sums; lists of JSON in files of before they were bytes."""
        kept = self._fact("sums")
        return Sums.from_bytes(kept) if isinstance(kept, bytes) else Sums.from_lists(json.loads(kept))

    def write(self, sums: Sums) -> None:
        """Replace the sums."""
        self._base.execute("UPDATE facts SET value = ? WHERE name = 'sums'", (sums.to_bytes(),))

    def known(self, contents: list[bytes]) -> set[bytes]:
        """Those that are counted."""
        return self._among("taken", contents)

    def withdrawn(self, contents: list[bytes]) -> set[bytes]:
        """Those that were taken back."""
        return self._among("withdrawn", contents)

    def _among(self, table: str, contents: list[bytes]) -> set[bytes]:
        found: set[bytes] = set()
        for start in range(0, len(contents), _ASKED):
            part = contents[start : start + _ASKED]
            question = f"SELECT content FROM {table} WHERE content IN ({', '.join('?' * len(part))})"
            found.update(row[0] for row in self._base.execute(question, part))
        return found

    def keep(self, contents: list[bytes]) -> None:
        """Remember them."""
        self._base.executemany("INSERT INTO taken VALUES (?)", [(content,) for content in contents])

    def contents(self) -> Iterator[list[bytes]]:
        """All that is counted, in parts."""
        cursor = self._base.execute("SELECT content FROM taken")
        while part := cursor.fetchmany(ROWS):
            yield [row[0] for row in part]

    def withdraw(self, content: bytes) -> None:
        """Move it from those that are counted to those that were taken back."""
        self._base.execute("DELETE FROM taken WHERE content = ?", (content,))
        self._base.execute("INSERT OR IGNORE INTO withdrawn VALUES (?)", (content,))

    def count(self, reasons: Mapping[str, int]) -> None:
        """Add to the refusals."""
        self._base.executemany(
            "INSERT INTO refused VALUES (?, ?) ON CONFLICT (reason) DO UPDATE SET count = count + excluded.count",
            list(reasons.items()),
        )

    def refused(self) -> dict[str, int]:
        """The refusals."""
        return dict(self._base.execute("SELECT reason, count FROM refused ORDER BY reason").fetchall())

    def marked(self, mark: Mark) -> bool:
        """Whether a fact is written down as true."""
        return (
            self._base.execute("SELECT 1 FROM facts WHERE name = ? AND value = 'true'", (mark,)).fetchone() is not None
        )

    def mark(self, mark: Mark) -> None:
        """Write it down."""
        self._base.execute("INSERT OR REPLACE INTO facts VALUES (?, 'true')", (mark,))

    def trainings(self) -> tuple[Training, ...]:
        """All trainings, in order."""
        rows = self._base.execute("SELECT kind, digest, count, seeded, weights FROM trainings ORDER BY number")
        return tuple(Training.of_row(*row) for row in rows.fetchall())

    def record(self, training: Training) -> int:
        """Write a training down."""
        number = self._base.execute(
            "INSERT INTO trainings (kind, digest, count, seeded, weights) VALUES (?, ?, ?, ?, ?)", training.to_row()
        ).lastrowid
        return int(number or 0)

    def keep_weights(self, number: int, weights: Iterable[float]) -> None:
        """Add the weights to a training."""
        self._base.execute("UPDATE trainings SET weights = ? WHERE number = ?", (json.dumps(list(weights)), number))

    def close(self) -> None:
        """Close the file."""
        self._base.close()
