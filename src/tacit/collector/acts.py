"""The log of what curators did: lines that are only ever added, each with a hash of all before it.

No line has a value of a record, a code, or anything of a contributor.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, func, insert, select, text

from tacit.collector.layout import ACTS

_START = "0" * 64


@dataclass(frozen=True)
class Act:
    """Who did what, when, to which study; ``note`` is for numbers such as how many were invited."""

    time: str
    who: str
    what: str
    study: str = ""
    note: str = ""


def write(base: Connection, who: str, what: str, study: str = "", note: str = "") -> None:
    """Add a line, in the caller's transaction: the act and its line are there together, or neither.

    Two at a time cannot write the same number: the second one waits for the end of the first one's transaction.
    """
    if base.dialect.name == "postgresql":  # SQLite has one writer in any case
        base.execute(text("LOCK TABLE acts IN SHARE ROW EXCLUSIVE MODE"))
    act = Act(datetime.now(UTC).isoformat(timespec="seconds"), who, what, study, note)
    content = json.dumps(asdict(act), ensure_ascii=False)
    last = base.execute(select(ACTS.c.number, ACTS.c.digest).order_by(ACTS.c.number.desc()).limit(1)).first()
    number, before = (last.number, last.digest) if last else (0, _START)
    base.execute(insert(ACTS).values(number=number + 1, content=content, digest=_chained(before, content)))


def acts(base: Connection, most: int | None = None) -> list[Act]:
    """The acts, last one first."""
    rows = base.execute(select(ACTS.c.content).order_by(ACTS.c.number.desc()).limit(most))
    return [Act(**json.loads(content)) for (content,) in rows]


def last_digest(base: Connection) -> str:
    """The hash of the last line, and so of all: whoever has noted it elsewhere sees if the log was written anew."""
    return str(base.execute(select(ACTS.c.digest).order_by(ACTS.c.number.desc()).limit(1)).scalar() or _START)


def verify(base: Connection) -> bool:
    """Whether every line follows from the one before, and none is missing between the first and the last."""
    before, expected = _START, 0
    for number, content, digest in base.execute(select(ACTS).order_by(ACTS.c.number)):
        expected += 1
        if number != expected or digest != _chained(before, content):
            return False
        before = digest
    return expected == (base.execute(select(func.count()).select_from(ACTS)).scalar() or 0)


def _chained(before: str, content: str) -> str:
    return hashlib.blake2b((before + content).encode(), digest_size=32).hexdigest()
