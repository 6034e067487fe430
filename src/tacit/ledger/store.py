"""Where a ledger lies: a file, or a table of a PostgreSQL server. Lines are only ever added."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from tacit.checks import check, shown
from tacit.ledger.entries import Line

SERVER = ("postgresql", "postgres", "postgresql+psycopg")


class Page(Protocol):
    """The ledger while nobody else can write to it."""

    def last(self) -> Line:
        """The line that was added last: the settings', where there is no entry."""

    def lines(self) -> list[Line]:
        """All lines in order, the settings' first."""

    def append(self, line: Line) -> None:
        """Add a line; it is durable once the page is closed without an error."""


class Store(Protocol):
    """A place for one ledger. Every method opens a connection of its own: processes may fork, and die, at any time."""

    @property
    def address(self) -> str:
        """Its full name, from wherever it is used."""

    @property
    def name(self) -> str:
        """A short name for sentences, without a password."""

    def exists(self) -> bool:
        """Whether there is anything at the address."""

    def create(self, first: Line) -> None:
        """Make an empty ledger with these settings, unless there is one; two at a time make one."""

    def lines(self) -> list[Line]:
        """All lines in order."""

    def first(self) -> Line:
        """The settings' line."""

    def last(self) -> Line:
        """The last line."""

    def writing(self) -> AbstractContextManager[Page]:
        """Alone with the ledger: what is added is there for good when the block ends, or not at all."""


def store_at(address: object) -> Store:
    """The store of an address: a path, or ``postgresql://user@host/database``."""
    check(isinstance(address, str | Path) and str(address), "Expected the address of a ledger to be a path or a URL.")
    text = str(address)
    scheme, server, _ = text.partition("://")
    if server:
        check(scheme in SERVER, "Expected the address of a ledger to be a path, or to begin with postgresql://.")
        from tacit.ledger.postgres import PostgresStore  # SQLAlchemy is an extra

        return PostgresStore(text)
    from tacit.ledger.sqlite import SqliteStore

    try:
        place = Path(text).expanduser().resolve()
        place.exists()
    except (OSError, RuntimeError, ValueError) as error:  # no such user, a name that is too long, a folder not for us
        raise ValueError(f"The address {shown(text)} of a ledger is not a file that can be reached.") from error
    return SqliteStore(place)
