"""A ledger for a team: one table of a PostgreSQL server, by SQLAlchemy (extra ``teams``).

Who writes holds a lock of the table until the entry is committed; the server is asked to wait for its disk, whatever
its default is.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tacit.checks import PrivacyError, refuse
from tacit.ledger.entries import Line

try:
    import sqlalchemy
    from sqlalchemy import Column, Connection, Engine, Integer, MetaData, Table, Text, insert, select, text
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
    from sqlalchemy.pool import NullPool
except ImportError as error:
    raise ImportError("A ledger on a server needs SQLAlchemy. In Tacit's source: pip install '.[teams]'.") from error

WAIT = 60
"""Seconds that a process waits for the others."""
_LOCK = 0x7AC17
_TABLE = Table(
    "tacit_ledger",
    MetaData(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("digest", Text, nullable=False),
)
_LINES = select(_TABLE).order_by(_TABLE.c.number)


@functools.lru_cache(maxsize=16)
def _engine(address: str) -> Engine:
    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
        return sqlalchemy.create_engine(url, poolclass=NullPool)  # no connection outlives its use, or a fork
    except (ArgumentError, ValueError) as error:
        raise ValueError("Expected the address of a ledger to be postgresql://user@host/database.") from error
    except ImportError as error:
        raise ImportError("A ledger on PostgreSQL needs psycopg. In Tacit's source: pip install '.[teams]'.") from error


@dataclass(frozen=True)
class _PostgresPage:
    base: Connection

    def last(self, first: bool = False) -> Line:
        order = _TABLE.c.number if first else _TABLE.c.number.desc()
        found = self.base.execute(select(_TABLE).order_by(order).limit(1)).first()
        return Line(*found) if found else refuse("This ledger is damaged: it has no settings.")

    def lines(self) -> list[Line]:
        return [Line(*row) for row in self.base.execute(_LINES)]

    def append(self, line: Line) -> None:
        self.base.execute(insert(_TABLE).values(**line._asdict()))


@dataclass(frozen=True)
class PostgresStore:
    """The table ``tacit_ledger`` of a database, in the first schema of the search path."""

    address: str

    def __post_init__(self) -> None:
        _engine(self.address)

    @property
    def name(self) -> str:
        """The address without its password."""
        return make_url(self.address).set(drivername="postgresql", query={}).render_as_string(hide_password=True)

    def exists(self) -> bool:
        """Whether the database has the table."""
        with self._transaction() as base:
            return sqlalchemy.inspect(base).has_table(_TABLE.name)

    def create(self, first: Line) -> None:
        """Make the table, unless it is there."""
        with self._transaction(alone=True) as base:
            if not sqlalchemy.inspect(base).has_table(_TABLE.name):
                _TABLE.create(base)
                _PostgresPage(base).append(first)

    def lines(self) -> list[Line]:
        """All lines."""
        with self._transaction() as base:
            return _PostgresPage(base).lines()

    def first(self) -> Line:
        """The settings' line."""
        with self._transaction() as base:
            return _PostgresPage(base).last(first=True)

    def last(self) -> Line:
        """The last line."""
        with self._transaction() as base:
            return _PostgresPage(base).last()

    @contextmanager
    def writing(self) -> Iterator[_PostgresPage]:
        """Alone with the table."""
        with self._transaction(alone=True) as base:
            yield _PostgresPage(base)

    @contextmanager
    def _transaction(self, alone: bool = False) -> Iterator[Connection]:
        """A transaction; with a lock that all who write take, until it is committed."""
        try:
            with _engine(self.address).begin() as base:
                if alone:
                    base.execute(text(f"SET LOCAL lock_timeout = '{WAIT}s'"))
                    base.execute(text("SET LOCAL synchronous_commit = on"))
                    base.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                yield base
        except OperationalError as error:
            waited = "lock timeout" in str(error.orig)
            held = f"another process held this ledger for {WAIT} seconds" if waited else "the server cannot be reached"
            raise PrivacyError(f"{self.name}: {held}. Nothing was spent; try again.") from error
        except SQLAlchemyError as error:
            raise PrivacyError(f"{self.name}: this table is not a Tacit ledger, or it is damaged.") from error
