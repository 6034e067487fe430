"""Where a collector's tables lie: a SQLite file, or a PostgreSQL server; opened, brought up to date, written to safely.

What is committed is on the disk: SQLite waits for it (``synchronous=FULL``), and PostgreSQL is asked to, whatever its
default is. Errors quote no value that was written.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tacit.checks import check
from tacit.ledger.store import SERVER

try:
    import sqlalchemy
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError
    from sqlalchemy import Connection, Engine, Table, event, text
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
except ImportError as error:
    raise ImportError("The collector needs more packages. In Tacit's source: pip install '.[collector]'.") from error

WAIT = 60
"""Seconds that a transaction waits for the others."""
_MIGRATIONS = Path(__file__).parent / "migrations"
_PAGES = 4000
"""Pages that a SQLite file's log may have before they are moved into the file, which takes a while."""
_LOCK = 0x7AC16


def open_engine(address: str | Path) -> Engine:
    """The tables at a path or at ``postgresql://user@host/database``: made where they are missing, and up to date."""
    text_address = str(address)
    scheme, server, _ = text_address.partition("://")
    check(
        not server or scheme in SERVER,
        "Expected the collector's database to be a path, or to begin with postgresql://.",
    )
    engine = _server(text_address) if server else _file(Path(text_address).expanduser().resolve())
    try:
        _bring_up_to_date(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _bring_up_to_date(engine: Engine) -> None:
    try:
        with engine.begin() as base:
            if engine.dialect.name == "postgresql":
                base.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))  # one process makes the tables
            config = Config()
            config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
            config.attributes["connection"] = base
            command.upgrade(config, "head")
    except CommandError as error:
        raise ValueError("The collector's database was made by a newer version of Tacit. Please update.") from error
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise ValueError(
            "The collector's database cannot be opened: it is not one, or damaged, or the server cannot be reached."
        ) from error


def _server(address: str) -> Engine:
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
        engine = sqlalchemy.create_engine(url, pool_pre_ping=True, hide_parameters=True)
    except (ArgumentError, ValueError) as error:
        raise ValueError("Expected the collector's database to be postgresql://user@host/database.") from error

    @event.listens_for(engine, "connect")
    def _wait_for_disk(base: Any, _: object) -> None:
        base.execute(f"SET synchronous_commit = on; SET lock_timeout = '{WAIT}s'")
        base.commit()

    return engine


def _file(path: Path) -> Engine:
    check(
        path.parent.is_dir(),
        f"There is no folder {path.parent} for the collector's database. Please make it first, for nobody else to "
        f"read: mkdir -m 700 {path.parent}",
    )
    with suppress(OSError):  # told when it is opened
        path.touch(mode=0o600)  # for nobody else on this machine; what SQLite puts beside it has the same mode
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", connect_args={"timeout": WAIT}, hide_parameters=True)
    known: list[tuple[int, int] | None] = []

    @event.listens_for(engine, "connect")
    def _prepare(base: Any, _: object) -> None:
        base.isolation_level = None  # transactions begin below, not when the driver thinks so
        _keep_log(base)
        for line in ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", f"wal_autocheckpoint={_PAGES}"):
            base.execute(f"PRAGMA {line}")

    @event.listens_for(engine, "begin")
    def _alone(base: Connection) -> None:
        known[:] = known or [_identity(path)]
        if _identity(path) != known[0]:  # what is written now would be lost with the file that has no name any more
            moved = OSError("The database's file was moved, replaced or removed while it was open.")
            raise OperationalError("BEGIN", None, moved)
        line = base.get_execution_options().get("begin", "BEGIN IMMEDIATE")
        if line:
            base.exec_driver_sql(line)

    return engine


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file has this name now; None if none has."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _keep_log(base: Any) -> None:
    """Ask for a write-ahead log. SQLite does not wait for others here, as it does elsewhere: two may begin at once."""
    end = time.monotonic() + WAIT
    while True:
        try:
            base.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection for questions: they see one moment, and keep nobody from writing."""
    with engine.connect() as base:
        yield base.execution_options(begin="BEGIN")


def insert_new(base: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insert that can say what happens if the row is there: both databases have it, each under its own name."""
    return sqlite.insert(table) if base.dialect.name == "sqlite" else postgresql.insert(table)
