"""A study's rows in the collector's tables, as the shelf of a :class:`tacit.protocol.Database`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, Select, Table, bindparam, delete, func, insert, select, update

from tacit.checks import check
from tacit.collector.engine import insert_new, reading
from tacit.collector.layout import CONTENTS, REFUSALS, STUDIES, SUMS, TRAININGS, WITHDRAWN
from tacit.mechanisms.moments import Sums
from tacit.protocol.shelf import Mark
from tacit.protocol.submission import ROWS
from tacit.protocol.trainings import Training

ASKED = 500
"""Hashes in one question."""


def _among(table: Table) -> Select[Any]:
    asked = table.c.content.in_(bindparam("asked", expanding=True))
    return select(table.c.content).where(table.c.study == bindparam("own"), asked)


# What every transaction asks is put together once: that takes longer than asking it.
_LOCK = select(STUDIES.c.state).where(STUDIES.c.slug == bindparam("own")).with_for_update()
_KNOWN, _WITHDRAWN = _among(CONTENTS), _among(WITHDRAWN)
_SUMS = select(SUMS.c.sums).where(SUMS.c.study == bindparam("own"))
_WRITE = update(SUMS).where(SUMS.c.study == bindparam("own"))
_WRITE = _WRITE.values(sums=bindparam("sums"), count=bindparam("count"))


class StudyShelf:
    """The shelf of one study. For one thread at a time; other shelves of the study may be used at the same time."""

    def __init__(self, engine: Engine, study: str) -> None:
        self.engine, self.study = engine, study
        self.place = (str(engine.url), study)
        self.state = ""
        self._base: Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Alone with the study, whose row is locked; ``state`` is its state. One within another is a part of it."""
        if self._base is not None:
            yield
            return
        with self.engine.begin() as base:
            self.state = lock_study(base, self.study)
            self._base = base
            try:
                yield
            finally:
                self._base = None

    @property
    def writing(self) -> Connection:
        """The connection of the transaction that is open."""
        if self._base is None:
            raise RuntimeError("This is written within a transaction only.")
        return self._base

    @contextmanager
    def _asking(self) -> Iterator[Connection]:
        if self._base is not None:
            yield self._base
        else:
            with reading(self.engine) as base:
                yield base

    def begin(self, protocol: str, sums: Sums) -> str:
        """Write empty sums, unless there are some; the protocol is the study's."""
        with self._asking() as base:
            begun = base.execute(select(SUMS.c.count).where(SUMS.c.study == self.study)).first()
            text = base.execute(select(STUDIES.c.protocol).where(STUDIES.c.slug == self.study)).scalar_one()
        if begun is None:
            with self.engine.begin() as base:
                lock_study(base, self.study)
                row = {"study": self.study, "sums": sums.to_bytes(), "count": 0, "seeded": 0, "shared": 0}
                base.execute(insert_new(base, SUMS).values(row).on_conflict_do_nothing())
        return str(json.loads(text)["fingerprint"])

    def sums(self) -> Sums:
        """The sums."""
        with self._asking() as base:
            return Sums.from_bytes(base.execute(_SUMS, {"own": self.study}).scalar_one())

    def write(self, sums: Sums) -> None:
        """Replace the sums."""
        self.writing.execute(_WRITE, {"own": self.study, "sums": sums.to_bytes(), "count": sums.count})

    def known(self, contents: list[bytes]) -> set[bytes]:
        """Those that are counted."""
        return self._found(_KNOWN, contents)

    def withdrawn(self, contents: list[bytes]) -> set[bytes]:
        """Those that were taken back."""
        return self._found(_WITHDRAWN, contents)

    def _found(self, question: Select[Any], contents: list[bytes]) -> set[bytes]:
        found: set[bytes] = set()
        with self._asking() as base:
            for start in range(0, len(contents), ASKED):
                asked = {"own": self.study, "asked": contents[start : start + ASKED]}
                found.update(base.execute(question, asked).scalars())
        return found

    def keep(self, contents: list[bytes]) -> None:
        """Remember them, in the order of the hashes: nothing of the order in which they came."""
        mark, ordered = "?" if self.engine.dialect.name == "sqlite" else "%s", sorted(contents)
        for start in range(0, len(ordered), ASKED):  # one statement for many rows: the driver waits once
            part = ordered[start : start + ASKED]
            rows = ", ".join([f"({mark}, {mark})"] * len(part))
            values = tuple(value for content in part for value in (self.study, content))
            self.writing.exec_driver_sql(f"INSERT INTO contents (study, content) VALUES {rows}", values)

    def contents(self) -> Iterator[list[bytes]]:
        """All that is counted, in parts."""
        with self._asking() as base:
            found = base.execute(select(CONTENTS.c.content).where(CONTENTS.c.study == self.study))
            for part in found.scalars().partitions(ROWS):
                yield list(part)

    def withdraw(self, content: bytes) -> None:
        """Move it from those that are counted to those that were taken back."""
        own = (CONTENTS.c.study == self.study, CONTENTS.c.content == content)
        self.writing.execute(delete(CONTENTS).where(*own))
        self.writing.execute(insert(WITHDRAWN).values(study=self.study, content=content))

    def count(self, reasons: Mapping[str, int]) -> None:
        """Add to the refusals."""
        if reasons:
            more = insert_new(self.writing, REFUSALS)
            more = more.on_conflict_do_update(
                index_elements=["study", "reason"], set_={"count": REFUSALS.c.count + more.excluded.count}
            )
            rows = [{"study": self.study, "reason": reason, "count": number} for reason, number in reasons.items()]
            self.writing.execute(more, rows)

    def refused(self) -> dict[str, int]:
        """The refusals."""
        with self._asking() as base:
            own = select(REFUSALS.c.reason, REFUSALS.c.count).where(REFUSALS.c.study == self.study)
            return {row["reason"]: row["count"] for row in base.execute(own.order_by(REFUSALS.c.reason)).mappings()}

    def marked(self, mark: Mark) -> bool:
        """Whether a fact is true."""
        with self._asking() as base:
            return bool(base.execute(select(SUMS.c[mark]).where(SUMS.c.study == self.study)).scalar_one())

    def mark(self, mark: Mark) -> None:
        """Make it true."""
        made = update(SUMS).where(SUMS.c.study == self.study).values({mark: 1})
        if self._base is not None:
            self._base.execute(made)
        else:
            with self.engine.begin() as base:
                base.execute(made)

    def trainings(self) -> tuple[Training, ...]:
        """All trainings, in order."""
        t = TRAININGS.c
        with self._asking() as base:
            rows = base.execute(
                select(t.kind, t.digest, t.count, t.seeded, t.weights).where(t.study == self.study).order_by(t.number)
            )
            return tuple(Training.of_row(*row) for row in rows)

    def record(self, training: Training) -> int:
        """Write a training down."""
        base, t = self.writing, TRAININGS.c
        last = base.execute(select(func.max(t.number)).where(t.study == self.study)).scalar()
        number = int(last or 0) + 1
        names = ("kind", "digest", "count", "seeded", "weights")
        row = dict(zip(names, training.to_row(), strict=True))
        base.execute(insert(TRAININGS).values(study=self.study, number=number, **row))
        return number

    def keep_weights(self, number: int, weights: Iterable[float]) -> None:
        """Add the weights to a training."""
        own = (TRAININGS.c.study == self.study, TRAININGS.c.number == number)
        self.writing.execute(update(TRAININGS).where(*own).values(weights=json.dumps(list(weights))))

    def close(self) -> None:
        """Nothing is held between transactions."""


def lock_study(base: Connection, study: str) -> str:
    """Wait until nobody else writes to the study, and return its state. (SQLite has one writer in any case.)"""
    state = base.execute(_LOCK, {"own": study}).scalar()
    check(state is not None, "There is no such study.")
    return str(state)
