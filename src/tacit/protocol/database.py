"""The database: sums of submissions, in one SQLite file (or in memory), one transaction a block.

It keeps d^2 numbers and which submissions it has had, as one hash of the content of each; never the submissions. A
stop at any point leaves either all of a block or nothing of it. Several processes may add to one file. It also keeps
what was trained: a collection gives one model (:mod:`tacit.protocol.trainings`).
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.checks import check, refuse
from tacit.ledger import Ledger
from tacit.mechanisms.moments import Sums
from tacit.privacy.noise import Source, SystemSource
from tacit.protocol import trainings as training
from tacit.protocol.agreement import Protocol
from tacit.protocol.blocks import gathered, whole, within
from tacit.protocol.submission import ROWS, Submission, Submissions, read
from tacit.training import Prepared, charge

_TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS taken (content BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (reason TEXT PRIMARY KEY, count INTEGER NOT NULL);
"""
_ASKED = 500
"""Hashes in one question to the file: SQLite takes 999 values at least."""
FOREIGN = "Submissions of another protocol."
SHAPE = "Submissions of the wrong size."
DAMAGED = "Submissions with NaN, fractions, or numbers of more than 53 bits."
LONG = "Submissions beyond the protocol's limits: its noise does not make them."
AGAIN = "Submissions whose very numbers were counted before: each counts once."


@dataclass(frozen=True)
class Receipt:
    """What became of submissions: how many were added, and how many were refused for which reason."""

    added: int
    refused: dict[str, int] = field(default_factory=dict)

    def plus(self, other: Receipt) -> Receipt:
        """Both together."""
        return Receipt(self.added + other.added, dict(Counter(self.refused) + Counter(other.refused)))

    def __str__(self) -> str:
        lines = [f"{self.added:,} submissions added."]
        return "\n".join([*lines, *(f"{count:,} refused: {reason}" for reason, count in self.refused.items())])


class Database:
    """Sums of the submissions of one protocol. ``path`` None keeps them in memory."""

    def __init__(self, protocol: Protocol, path: str | Path | None = None) -> None:
        self.protocol = protocol
        self._place = None if path is None else Path(path).resolve()
        try:
            self._base = sqlite3.connect(":memory:" if path is None else str(path), timeout=60, isolation_level=None)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            self._base.executescript(_TABLES + training.TABLE)
        except sqlite3.DatabaseError as error:
            raise ValueError("This file is not a Tacit database, or it is damaged.") from error
        with self._transaction():
            self._base.execute("INSERT OR IGNORE INTO facts VALUES ('protocol', ?)", (protocol.fingerprint,))
            self._base.execute(
                "INSERT OR IGNORE INTO facts VALUES ('sums', ?)",
                (Sums.empty(protocol.numbers.features).to_bytes(),),
            )
            self._base.execute("INSERT OR IGNORE INTO facts VALUES ('seeded', 'false')")
        if self._fact("protocol") != protocol.fingerprint:
            refuse("This database holds the submissions of another protocol.")
        made = [one.name for one in self.trainings if one.kind != "merged"]
        if made:  # in an earlier process, perhaps: this one should know
            training.remember(protocol.fingerprint, self._names(), made)

    def close(self) -> None:
        """Close the file; what this process knows of other models of its submissions is written down first."""
        with suppress(sqlite3.Error):  # closed already, or not to be written to
            self._alone()
        self._base.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    def _fact(self, name: str) -> Any:
        (value,) = self._base.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return value

    @property
    def sums(self) -> Sums:
        """The count and the sums so far; lists of JSON in files of before they were bytes."""
        kept = self._fact("sums")
        return Sums.from_bytes(kept) if isinstance(kept, bytes) else Sums.from_lists(json.loads(kept))

    def _write(self, sums: Sums) -> None:
        self._base.execute("UPDATE facts SET value = ? WHERE name = 'sums'", (sums.to_bytes(),))

    def __len__(self) -> int:
        return self.sums.count

    @property
    def seeded(self) -> bool:
        """Whether any submission was made with predictable noise."""
        return bool(self._fact("seeded") == "true")

    @property
    def trainings(self) -> tuple[training.Training, ...]:
        """The trainings of what it holds, or of part of it, in order."""
        return training.recorded(self._base)

    @property
    def trained(self) -> bool:
        """Whether a model was trained on what it holds, or on part of it."""
        return bool(self.trainings)

    def __repr__(self) -> str:
        state = "trained" if self.trained else "not trained"
        cohort = self.protocol.numbers.cohort
        return f"Database(protocol {self.protocol.fingerprint}, {len(self):,} of {cohort:,} contributors, {state})"

    def status(self) -> str:
        """What it holds, in words; all of it is public to whoever may see the database."""
        cohort = self.protocol.numbers.cohort
        lines = [f"{len(self):,} contributors in all; the protocol is calibrated for {cohort:,}."]
        lines += [f"{number:,} refused so far: {reason}" for reason, number in self.refused.items()]
        if self.seeded:
            lines.append("Some submissions have predictable noise (a seed): for experiments only.")
        alone = self._alone()
        return "\n".join([*lines, *([one.state(alone) for one in self.trainings] or ["Not trained yet."])])

    def _alone(self) -> bool:
        """Whether what was trained is the only model of these submissions, as far as the file and this process know.

        Once it is not, that stays in the file: later processes do not know what this one does.
        """
        made = self.trainings
        if len(made) > 1 or self._base.execute("SELECT 1 FROM facts WHERE name = 'shared'").fetchone():
            return False
        if made and training.in_others(self.protocol.fingerprint, self._names(), made[0].name):
            self._base.execute("INSERT OR IGNORE INTO facts VALUES ('shared', 'true')")
            return False
        return True

    @property
    def refused(self) -> dict[str, int]:
        """How many submissions were refused, by reason."""
        return dict(self._base.execute("SELECT reason, count FROM refused ORDER BY reason").fetchall())

    def add(self, submissions: Submission | Submissions) -> Receipt:
        """Add one submission or a table of them. Bad ones are refused and counted, the others are kept."""
        many = submissions.many() if isinstance(submissions, Submission) else submissions
        receipt = Receipt(0)
        for start in range(0, len(many), ROWS):
            receipt = receipt.plus(self._add_block(many.take(slice(start, start + ROWS))))
        return receipt

    def add_file(self, path: str | Path) -> Receipt:
        """Add a file of submissions, block by block."""
        receipt = Receipt(0)
        for part in gathered(read(path, self.protocol.numbers.features)):
            receipt = receipt.plus(self._refuse({part: 1}) if isinstance(part, str) else self.add(part))
        return receipt

    def _refuse(self, reasons: dict[str, int]) -> Receipt:
        with self._transaction():
            self._count(reasons)
        return Receipt(0, reasons)

    def _count(self, reasons: dict[str, int]) -> None:
        self._base.executemany(
            "INSERT INTO refused VALUES (?, ?) ON CONFLICT (reason) DO UPDATE SET count = count + excluded.count",
            list(reasons.items()),
        )

    def _add_block(self, block: Submissions) -> Receipt:
        if block.protocol != self.protocol.fingerprint:
            return self._refuse({FOREIGN: len(block)})
        d = self.protocol.numbers.features
        if {part.shape for part in (block.q, block.p)} != {(len(block), d)}:
            return self._refuse({SHAPE: len(block)})
        sound = whole(block.q) & whole(block.p)
        clean = block.take(sound)
        clean = replace(clean, q=clean.q.astype(np.int64), p=clean.p.astype(np.int64))
        row, cross = self.protocol.numbers.limits
        short = within(clean.q, row) & within(clean.p, cross)
        clean = clean.take(short)
        contents = clean.contents()
        with self._transaction():
            known, fresh = self._known(contents), np.zeros(len(clean), dtype=np.bool_)
            for place, content in enumerate(contents):
                fresh[place] = content not in known
                known.add(content)
            kept = clean.take(fresh)
            if len(kept):
                self._keep([contents[place] for place in np.flatnonzero(fresh)])
                self._write(self.sums.plus(Sums.of(kept.q, kept.p)))
                self._mark(block.seeded)
            counts = {DAMAGED: int((~sound).sum()), LONG: int((~short).sum()), AGAIN: int((~fresh).sum())}
            reasons = {reason: count for reason, count in counts.items() if count}
            self._count(reasons)
        return Receipt(int(fresh.sum()), reasons)

    def _known(self, contents: list[bytes]) -> set[bytes]:
        """Those of the contents that were counted before."""
        found: set[bytes] = set()
        for start in range(0, len(contents), _ASKED):
            part = contents[start : start + _ASKED]
            question = f"SELECT content FROM taken WHERE content IN ({', '.join('?' * len(part))})"
            found.update(row[0] for row in self._base.execute(question, part))
        return found

    def _keep(self, contents: list[bytes]) -> None:
        self._base.executemany("INSERT INTO taken VALUES (?)", [(content,) for content in contents])

    def _contents(self) -> Iterator[list[bytes]]:
        """All that was counted, in parts."""
        cursor = self._base.execute("SELECT content FROM taken")
        while part := cursor.fetchmany(ROWS):
            yield [row[0] for row in part]

    def _names(self) -> training.ShortNames:
        return training.short_names(self._contents())

    def _mark(self, seeded: bool) -> None:
        """Remember for good that predictable noise came in."""
        if seeded:
            self._base.execute("UPDATE facts SET value = 'true' WHERE name = 'seeded'")

    def merge(self, other: Database) -> Receipt:
        """Add all that another database of the same protocol holds; nothing, if any submission is in both.

        If the other was trained, this one counts as trained. The other counts as trained from now on: its submissions
        are in two places, and models of both would share their noise.
        """
        same = other is self or (self._place is not None and self._place == other._place)
        check(not same, "A database cannot be merged with itself.")
        if other.protocol.fingerprint != self.protocol.fingerprint:
            refuse("The other database holds the submissions of another protocol.")
        with self._transaction(), other._transaction():  # the other's mark is written first
            theirs = other.sums
            for contents in other._contents():
                if self._known(contents):
                    refuse("Some submissions are in both databases, and sums cannot be told apart: nothing was merged.")
                self._keep(contents)
            self._write(self.sums.plus(theirs))
            self._mark(other.seeded)
            if not other._alone():
                self._base.execute("INSERT OR IGNORE INTO facts VALUES ('shared', 'true')")
            for one in other.trainings:
                training.record(self._base, one)
            if theirs.count:
                training.record(other._base, training.Training.of("merged", theirs))
            refused = other.refused
            self._count(refused)
        return Receipt(theirs.count, refused)

    def train(
        self,
        *,
        short: str = "top-up",
        accept_record_guarantee: bool = False,
        source: Source | None = None,
        ledger: Ledger | str | None = None,
    ) -> Any:
        """A fitted model with two guarantees, ``guarantee_`` of the model and ``record_guarantee_`` of one submission.

        With fewer contributors than the cohort, 'top-up' adds the missing noise (the database knows it: it protects
        against whoever sees the model), 'refuse' refuses. A collection gives one model: trained again unchanged, the
        database gives the same model back; once anything was added, or if any of its submissions is in another database
        of this process that was trained, it refuses, unless ``accept_record_guarantee``. Then ``guarantee_`` is that
        of one record, and so is all that holds for the earlier model: given back after that, or after its submissions
        were merged into another database, it states the record's guarantee. A new training is charged to the ledger.

        Edges: the training is on record before its model exists; after a stop in between, it counts as released.
        """
        check(short in ("top-up", "refuse"), f"Expected short={short!r} to be 'top-up' or 'refuse'.")
        chosen: Source = source or SystemSource()
        numbers = self.protocol.numbers
        kind: training.Kind
        with self._transaction():
            sums, seeded, before = self.sums, self.seeded, self.trainings
            if sums.count < numbers.cohort and short == "refuse":
                refuse(f"There are {sums.count:,} contributors and the protocol is calibrated for {numbers.cohort:,}.")
            check(sums.count >= 1, "There are no submissions to train on.")
            same = [one for one in before if one.weights is not None and one.digest == training.digest(sums)]
            kept = same[-1] if same else None
            record = self.protocol.record_guarantee().epsilon
            if before and not accept_record_guarantee and (kept is None or kept.kind != "model"):
                refuse(before[-1].refusal(record))
            if kept is None:
                shared, claim = training.claim(self.protocol.fingerprint, self._names(), accept_record_guarantee)
                if shared and not accept_record_guarantee:
                    refuse(training.elsewhere(record))
                kind = "record" if before or shared else "model"
                prepared = self._prepared(kind, sums.count, seeded or chosen.seeded)
                try:
                    charge(prepared, ledger)
                except BaseException:
                    training.withdraw(self.protocol.fingerprint, claim)
                    raise
                begun = training.Training.of(kind, sums, chosen.seeded)
                number = training.record(self._base, begun)
            else:
                kind = kept.kind if self._alone() else "record"
        if kept is not None:
            prepared = self._prepared(kind, sums.count, seeded or kept.seeded)
            return self.protocol.model(np.array(kept.weights), prepared)
        weights = numbers.train(sums, chosen).weights[:, 0]
        with self._transaction():
            training.keep(self._base, number, tuple(weights.tolist()))
        claim.model = replace(begun, weights=tuple(weights.tolist())).name
        return self.protocol.model(weights, prepared)

    def _prepared(self, kind: training.Kind, count: int, seeded: bool) -> Prepared:
        return self.protocol.prepared(count, seeded, again=kind != "model")
