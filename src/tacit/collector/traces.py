"""What files of a database still hold when its tables do not, and how it is removed.

A write-ahead log has the sums before and after each transaction, whose difference is what came in it, beside the hashes
of the invitations that came with it; so have the old rows that PostgreSQL keeps for a while. They are removed when a
study closes; what could not be removed then is on record, and tried again.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, delete, select
from sqlalchemy.exc import SQLAlchemyError

from tacit.collector.engine import WAIT, insert_new, reading
from tacit.collector.layout import CONTENTS, INVITATIONS, SETTINGS, SUMS, WITHDRAWN

PATIENCE = 10
"""Seconds that others are waited for: the next try comes soon."""
_DUE = "traces"
_TABLES = (CONTENTS, INVITATIONS, SUMS, WITHDRAWN)


def owe(base: Connection) -> None:
    """Put on record, in the caller's transaction, that traces are to be removed: also after a crash."""
    base.execute(insert_new(base, SETTINGS).values(name=_DUE, value=b"1").on_conflict_do_nothing())


def owed(engine: Engine) -> bool:
    """Whether traces of a closed study may still be there."""
    with reading(engine) as base:
        return base.execute(select(SETTINGS.c.name).where(SETTINGS.c.name == _DUE)).first() is not None


def remove(engine: Engine) -> bool:
    """Write tables anew and empty the log; False, and still owed, where another program keeps that from happening.

    Edges: PostgreSQL keeps its write-ahead log until it is recycled, and so does whoever archives it; a disk may keep
    blocks of files that are gone.
    """
    try:
        done = _emptied(engine) if engine.dialect.name == "sqlite" else _rewritten(engine)
    except SQLAlchemyError:
        return False
    if done:
        with engine.begin() as base:
            base.execute(delete(SETTINGS).where(SETTINGS.c.name == _DUE))
    return done


def tidy(engine: Engine) -> None:
    """Empty the log of a SQLite file if nobody uses it just now: who copies the files then has no history."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as base:
            alone = base.execution_options(begin="")
            alone.exec_driver_sql("PRAGMA busy_timeout=0")
            try:
                alone.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                alone.exec_driver_sql(f"PRAGMA busy_timeout={WAIT * 1000}")


def _emptied(engine: Engine) -> bool:
    with engine.connect() as base:
        alone = base.execution_options(begin="")
        alone.exec_driver_sql(f"PRAGMA busy_timeout={PATIENCE * 1000}")
        try:
            alone.exec_driver_sql("VACUUM")
            busy, *_ = alone.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
        finally:
            alone.exec_driver_sql(f"PRAGMA busy_timeout={WAIT * 1000}")
    return not busy


def _rewritten(engine: Engine) -> bool:
    with engine.connect() as base:
        alone = base.execution_options(isolation_level="AUTOCOMMIT")
        alone.exec_driver_sql(f"SET lock_timeout = '{PATIENCE}s'")
        try:
            for table in _TABLES:
                alone.exec_driver_sql(f"VACUUM FULL {table.name}")
        finally:
            alone.exec_driver_sql(f"SET lock_timeout = '{WAIT}s'")
    return True
