"""A ledger in one file, by SQLite: whoever is killed at whatever time leaves whole entries, and nothing else.

A transaction takes the lock for writing first, so that sums are read and the entry is added by one process at a time.
``synchronous=EXTRA`` waits until the disk has the entry, and has forgotten the journal that would undo it.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tacit.checks import PrivacyError, refuse
from tacit.ledger.entries import Line

WAIT = 60.0
"""Seconds that a process waits for the others."""
APPLICATION = 0x7AC17
"""SQLite's field for what a file is for."""
_TABLE = """
CREATE TABLE ledger (number INTEGER PRIMARY KEY, content TEXT NOT NULL, digest TEXT NOT NULL);
CREATE TRIGGER unaltered BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'entries of a ledger are not changed'); END;
CREATE TRIGGER unremoved BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'entries of a ledger are not removed'); END;
"""
_LINES = "SELECT number, content, digest FROM ledger ORDER BY number"


@dataclass(frozen=True)
class _SqlitePage:
    base: sqlite3.Connection

    def last(self, order: str = "DESC") -> Line:
        found = self.base.execute(f"{_LINES} {order} LIMIT 1").fetchone()
        return Line(*found) if found else refuse("This ledger is damaged: it has no settings.")

    def lines(self) -> list[Line]:
        return [Line(*row) for row in self.base.execute(_LINES)]

    def append(self, line: Line) -> None:
        self.base.execute("INSERT INTO ledger VALUES (?, ?, ?)", line)


@dataclass(frozen=True)
class SqliteStore:
    """A file."""

    path: Path

    @property
    def address(self) -> str:
        """The full path."""
        return str(self.path)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    def exists(self) -> bool:
        """Whether there is anything at the path; a ledger is never empty, so an empty file was cut."""
        if self.path.is_file() and self.path.stat().st_size == 0:
            refuse(
                f"{self.name} is empty: if it was a ledger it is damaged. Delete it to make another. Nothing was spent."
            )
        return self.path.exists()

    def create(self, first: Line) -> None:
        """Make the file, whole or not at all, unless there is one."""
        try:
            handle, place = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        except OSError as error:
            raise PrivacyError(f"{self.name}: this ledger cannot be made there. Nothing was spent.") from error
        os.close(handle)
        draft = SqliteStore(Path(place))
        try:
            with draft._connected("rwc") as base, _transaction(base):
                base.execute(f"PRAGMA application_id = {APPLICATION}")
                for statement in _TABLE.strip().splitlines():
                    base.execute(statement)
                _SqlitePage(base).append(first)
            with suppress(FileExistsError):  # another process was faster
                os.link(draft.path, self.path)
        finally:
            draft.path.unlink(missing_ok=True)

    def lines(self) -> list[Line]:
        """All lines."""
        with self._connected("rw") as base:
            return _SqlitePage(base).lines()

    def first(self) -> Line:
        """The settings' line."""
        with self._connected("rw") as base:
            return _SqlitePage(base).last("ASC")

    def last(self) -> Line:
        """The last line."""
        with self._connected("rw") as base:
            return _SqlitePage(base).last()

    @contextmanager
    def writing(self) -> Iterator[_SqlitePage]:
        """Alone with the file."""
        with self._connected("rw") as base, _transaction(base):
            yield _SqlitePage(base)

    @contextmanager
    def _connected(self, mode: str) -> Iterator[sqlite3.Connection]:
        """A connection to a file that is a ledger, or that is about to be one; its errors as sentences."""
        uri = f"{self.path.as_uri()}?mode={mode}"
        try:
            with closing(sqlite3.connect(uri, uri=True, timeout=WAIT, isolation_level=None)) as base:
                base.execute("PRAGMA synchronous=EXTRA")
                base.execute("PRAGMA trusted_schema=OFF")  # the file may be a stranger's
                known = base.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
                if not known and (mode == "rw" or base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]):
                    refuse(f"{self.name} is not a Tacit ledger. Nothing was written to it; give another name.")
                yield base
        except sqlite3.Error as error:
            raise PrivacyError(f"{self.name}: {_sentence(error)}") from error


@contextmanager
def _transaction(base: sqlite3.Connection) -> Iterator[None]:
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if base.in_transaction:  # a disk that fails has ended it already
            base.execute("ROLLBACK")
        raise
    base.execute("COMMIT")


def _sentence(error: sqlite3.Error) -> str:
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return f"another process held this ledger for {WAIT:g} seconds. Nothing was spent; try again."
    if isinstance(error, sqlite3.OperationalError) and "readonly" in str(error):
        return "this ledger cannot be written to. Nothing was spent."
    if isinstance(error, sqlite3.OperationalError) and "unable to open" in str(error):
        return "this ledger cannot be opened. Nothing was spent."
    if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
        return "there is no room on the disk. Nothing was spent."
    if isinstance(error, sqlite3.OperationalError) and "disk I/O" in str(error):
        return "there is no room on the disk, or it fails. Nothing was released; the ledger says what was spent."
    return "this file is not a Tacit ledger, or it is damaged. Nothing was spent, and nothing written to it."
