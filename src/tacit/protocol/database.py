"""The database: sums of submissions on a shelf (a SQLite file, or memory, or a service's), one transaction a block.

It keeps d^2 numbers and which submissions it has had, as one hash of the content of each; never the submissions. A
stop at any point leaves either all of a block or nothing of it. Several processes may add to one file. It also keeps
what was trained: a collection gives one model (:mod:`tacit.protocol.trainings`).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arguments import checked
from tacit.checks import check, counted, refuse, shown
from tacit.ledger import Ledger
from tacit.mechanisms.moments import Sums
from tacit.privacy.noise import Source, SystemSource
from tacit.protocol import trainings as training
from tacit.protocol.agreement import Protocol
from tacit.protocol.blocks import DAMAGED, FOREIGN, LONG, SHAPE, gathered, judged
from tacit.protocol.file_shelf import FileShelf
from tacit.protocol.shelf import Shelf
from tacit.protocol.submission import ROWS, Submission, Submissions, read
from tacit.training import Prepared, charge

AGAIN = "Submissions whose very numbers were counted before: each counts once."
WITHDRAWN = "Submissions that were taken back: they do not come in again."
_ORDER = (FOREIGN, SHAPE, DAMAGED, LONG, WITHDRAWN, AGAIN)
_NOT_COUNTED = "These numbers are not counted here: there is nothing to withdraw."
Admit = Callable[[NDArray[np.intp]], list[str | None]]
"""Asked, within the transaction, about rows of a block that would be added: for each, why it is not, or None."""


@dataclass(frozen=True)
class Receipt:
    """What became of submissions: how many were added, and how many were refused for which reason."""

    added: int
    refused: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: Iterable[str | None]) -> Receipt:
        """What became of each: None for one that was added."""
        counts = Counter(outcomes)
        added = counts.pop(None, 0)
        order = [*_ORDER, *sorted(str(reason) for reason in counts if reason not in _ORDER)]
        return cls(added, {reason: counts[reason] for reason in order if counts[reason]})

    def plus(self, other: Receipt) -> Receipt:
        """Both together."""
        return Receipt(self.added + other.added, dict(Counter(self.refused) + Counter(other.refused)))

    def __str__(self) -> str:
        lines = [f"{counted(self.added, 'submission')} added."]
        return "\n".join([*lines, *(f"{count:,} refused: {reason}" for reason, count in self.refused.items())])


class Database:
    """Sums of the submissions of one protocol. ``place`` is a file or a shelf; None keeps them in memory."""

    @checked
    def __init__(self, protocol: Protocol, place: str | Path | Shelf | None = None) -> None:
        known = place is None or isinstance(place, str | Path) or hasattr(type(place), "begin")
        check(known, f"Expected place to be a file, a shelf, or None for a database in memory, not {shown(place)}.")
        self.protocol = protocol
        self._shelf: Shelf = FileShelf(place) if place is None or isinstance(place, str | Path) else place
        if self._shelf.begin(protocol.fingerprint, Sums.empty(protocol.numbers.features)) != protocol.fingerprint:
            refuse("This database contains the submissions of another protocol.")
        made = [one.name for one in self.trainings if one.kind != "merged"]
        if made:  # in an earlier process, perhaps: this one should know
            training.remember(protocol.fingerprint, self._names(), made)

    def close(self) -> None:
        """Close the file; what this process knows of other models of its submissions is written down first."""
        with suppress(sqlite3.Error):  # closed already, or not to be written to
            self._alone()
        self._shelf.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def sums(self) -> Sums:
        """The count and the sums so far."""
        return self._shelf.sums()

    def __len__(self) -> int:
        return self.sums.count

    @property
    def seeded(self) -> bool:
        """Whether any submission was made with predictable noise."""
        return self._shelf.marked("seeded")

    @property
    def trainings(self) -> tuple[training.Training, ...]:
        """The trainings of what it holds, or of part of it, in order."""
        return self._shelf.trainings()

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
        lines = [f"{counted(len(self), 'contributor')} in all; the protocol is calibrated for {cohort:,}."]
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
        if len(made) > 1 or self._shelf.marked("shared"):
            return False
        if made and training.in_others(self.protocol.fingerprint, self._names(), made[0].name):
            self._shelf.mark("shared")
            return False
        return True

    @property
    def refused(self) -> dict[str, int]:
        """How many submissions were refused, by reason."""
        return self._shelf.refused()

    def add(self, submissions: Submission | Submissions) -> Receipt:
        """Add one submission or a table of them. Bad ones are refused and counted, the others are kept."""
        many = submissions.many() if isinstance(submissions, Submission) else submissions
        receipt = Receipt(0)
        for start in range(0, len(many), ROWS):
            receipt = receipt.plus(Receipt.of(self.settle(many.take(slice(start, start + ROWS)))))
        return receipt

    def add_file(self, path: str | Path) -> Receipt:
        """Add a file of submissions, block by block."""
        receipt = Receipt(0)
        for part in gathered(read(path, self.protocol.numbers.features)):
            receipt = receipt.plus(self._refuse({part: 1}) if isinstance(part, str) else self.add(part))
        return receipt

    def _refuse(self, reasons: dict[str, int]) -> Receipt:
        with self._shelf.transaction():
            self._shelf.count(reasons)
        return Receipt(0, reasons)

    def settle(self, block: Submissions, admit: Admit | None = None) -> list[str | None]:
        """Add a block in one transaction, and say what became of each row: None for one that was added, else why not.

        ``admit`` may refuse rows for reasons of its own; what it writes belongs to the same transaction. A row that was
        counted before is :data:`AGAIN`, and not asked about.
        """
        found = judged(block, self.protocol)
        contents, outcomes = found.kept.contents(), found.reasons
        with self._shelf.transaction():
            taken_back = self._shelf.withdrawn(contents) if self.protocol.withdrawal else ()
            reasons = dict.fromkeys(taken_back, WITHDRAWN)
            reasons |= dict.fromkeys(self._shelf.known(contents), AGAIN)
            first: dict[bytes, int] = {}
            for row, content in enumerate(contents):
                if content not in reasons:
                    first.setdefault(content, row)
            asked = admit(found.places[list(first.values())]) if first and admit is not None else [None] * len(first)
            reasons |= {content: why for content, why in zip(first, asked, strict=True) if why is not None}
            fresh = [row for content, row in first.items() if content not in reasons]
            for row, content in enumerate(contents):  # a copy within the block shares the fate of the first
                fate = reasons[content] if content in reasons else None if first[content] == row else AGAIN
                outcomes[found.places[row]] = fate
            if fresh:
                kept = found.kept.take(np.array(fresh))
                self._shelf.keep([contents[row] for row in fresh])
                self._shelf.write(self.sums.plus(Sums.of(kept.q, kept.p)))
                if block.seeded:  # for good
                    self._shelf.mark("seeded")
            self._shelf.count(Receipt.of(outcomes).refused)
        return outcomes

    def withdraw(self, submission: Submission) -> bool:
        """Withdraw a submission, as if it had never come: its exact numbers are taken from the sums. False if it was.

        Whoever knows all the numbers may ask. It is possible where the protocol allows it, until a model is trained;
        what was withdrawn cannot be counted again. What that does to the guarantees is on the docs' page "Input
        perturbation".
        """
        if not self.protocol.withdrawal:
            refuse("The protocol of this collection does not allow contributors to withdraw a submission.")
        found = judged(submission.many(), self.protocol)
        check(len(found.kept), found.reasons[0] or _NOT_COUNTED)
        contents = found.kept.contents()
        with self._shelf.transaction():
            if self._shelf.withdrawn(contents):
                return False
            check(self._shelf.known(contents), _NOT_COUNTED)
            if self.trained:
                refuse("A model was trained on these submissions: they can no longer be withdrawn.")
            self._shelf.withdraw(contents[0])
            self._shelf.write(self.sums.minus(Sums.of(found.kept.q, found.kept.p)))
        return True

    def _names(self) -> training.ShortNames:
        return training.short_names(self._shelf.contents())

    def merge(self, other: Database) -> Receipt:
        """Add all that another database of the same protocol holds; nothing, if any submission is in both.

        If the other was trained, this one counts as trained. The other counts as trained from now on: its submissions
        are in two places, and models of both would share their noise.
        """
        ours, theirs = self._shelf, other._shelf
        same = other is self or (ours.place is not None and ours.place == theirs.place)
        check(not same, "A database cannot be merged with itself.")
        if other.protocol.fingerprint != self.protocol.fingerprint:
            refuse("The other database contains the submissions of another protocol.")
        with ours.transaction(), theirs.transaction():  # the other's mark is written first
            sums = theirs.sums()
            for contents in theirs.contents():
                if ours.known(contents):
                    refuse("Some submissions are in both databases, and sums cannot be separated: nothing was merged.")
                if ours.withdrawn(contents):
                    refuse("Some submissions of the other database were withdrawn here: nothing was merged.")
                ours.keep(contents)
            ours.write(ours.sums().plus(sums))
            if other.seeded:
                ours.mark("seeded")
            if not other._alone():
                ours.mark("shared")
            for one in other.trainings:
                ours.record(one)
            if sums.count:
                theirs.record(training.Training.of("merged", sums))
            refused = other.refused
            ours.count(refused)
        return Receipt(sums.count, refused)

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
        with self._shelf.transaction():
            sums, seeded, before = self.sums, self.seeded, self.trainings
            if sums.count < numbers.cohort and short == "refuse":
                held = counted(sums.count, "contributor")
                refuse(f"The database contains {held}, but the protocol is calibrated for {numbers.cohort:,}.")
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
                number = self._shelf.record(begun)
            else:
                kind = kept.kind if self._alone() else "record"
        if kept is not None:
            prepared = self._prepared(kind, sums.count, seeded or kept.seeded)
            return self.protocol.model(np.array(kept.weights), prepared)
        weights = numbers.train(sums, chosen).weights[:, 0]
        claim.model = replace(begun, weights=tuple(weights.tolist())).name
        with self._shelf.transaction():
            self._shelf.keep_weights(number, weights.tolist())
            if kind == "model" and not self._alone():  # another training was accepted while this one ran
                prepared = self._prepared("record", sums.count, seeded or chosen.seeded)
        return self.protocol.model(weights, prepared)

    def _prepared(self, kind: training.Kind, count: int, seeded: bool) -> Prepared:
        return self.protocol.prepared(count, seeded, again=kind != "model")
