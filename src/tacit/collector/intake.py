"""Submissions on their way into the tables: many at a time in one transaction, and no answer before it is on the disk.

One thread writes. What arrives while it waits for the disk goes into the next transaction, so that the disk is waited
for once for all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.collector import invitations, traces
from tacit.collector.collection import Collector
from tacit.collector.refusals import BY_SENTENCE, CLOSED, NO_STUDY, SEEDED, UNAVAILABLE, UNREADABLE, Refusal, Refused
from tacit.collector.study_shelf import StudyShelf
from tacit.protocol import Database, Submission, Submissions
from tacit.protocol.blocks import FOREIGN, SHAPE
from tacit.protocol.database import AGAIN

_LOG = logging.getLogger(__name__)
TOGETHER = 1024
"""Submissions of one transaction."""
WAITING = 8192
"""Submissions that wait for it; more are told to come again."""
SOON = 0.5
"""Seconds after an arrival at which the database's log is emptied, so that it has no longer history than that."""


@dataclass(frozen=True)
class Arrival:
    """What one request brought: a submission (None for what is none), and the invitation that came with it."""

    study: str
    submission: Submission | None
    invitation: str | None
    answer: asyncio.Future[Answer] = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """A receipt, and whether the submission was counted just now or before."""

    receipt: dict[str, str]
    new: bool


class Intake:
    """A queue before the tables. Use it within one event loop: :meth:`start`, :meth:`bring`, :meth:`stop`."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._queue: asyncio.Queue[Arrival] = asyncio.Queue(WAITING)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="intake")
        self._task: asyncio.Task[None] | None = None
        self._tidy: asyncio.TimerHandle | None = None
        self._databases: dict[str, tuple[Database, StudyShelf, str]] = {}

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.get_running_loop().create_task(self._write())

    async def stop(self) -> None:
        """Write what waits, and end."""
        await self._queue.join()
        if self._task is not None:
            self._task.cancel()
        if self._tidy is not None:
            self._tidy.cancel()
        self._thread.shutdown()

    async def bring(self, study: str, submission: Submission | None, invitation: str | None) -> Answer:
        """Wait until a submission is on the disk, and return its receipt; raises :class:`Refused`."""
        arrival = Arrival(study, submission, invitation, asyncio.get_running_loop().create_future())
        try:
            self._queue.put_nowait(arrival)
        except asyncio.QueueFull:
            raise Refused(UNAVAILABLE) from None
        return await arrival.answer

    async def take_back(self, study: str, submission: Submission) -> dict[str, Any]:
        """Withdraw a submission, by the thread that writes."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, self.collector.withdraw, study, submission)
        finally:
            self._tidy_later()

    async def _write(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            arrivals = [await self._queue.get()]
            while len(arrivals) < TOGETHER and not self._queue.empty():
                arrivals.append(self._queue.get_nowait())
            answers = await loop.run_in_executor(self._thread, self.settled, arrivals)
            for arrival, answer in zip(arrivals, answers, strict=True):
                self._queue.task_done()
                if arrival.answer.done():  # who asked has gone
                    continue
                if isinstance(answer, Refusal):
                    arrival.answer.set_exception(Refused(answer))
                else:
                    arrival.answer.set_result(answer)
            self._tidy_later()

    def _tidy_later(self) -> None:
        """Empty the database's log soon, and often while many come: it tells who sent what."""
        if self._tidy is None:
            self._tidy = asyncio.get_running_loop().call_later(SOON, self._tidy_now)

    def _tidy_now(self) -> None:
        self._tidy = None
        self._thread.submit(traces.tidy, self.collector.engine)

    def settled(self, arrivals: list[Arrival]) -> list[Answer | Refusal]:
        """What becomes of arrivals: a transaction a study. It never raises: who waits is always answered."""
        answers: dict[int, Answer | Refusal] = {}
        by_study: dict[str, list[int]] = defaultdict(list)
        for place, arrival in enumerate(arrivals):
            by_study[arrival.study].append(place)
        for study, places in by_study.items():
            try:
                found = self._settle(study, [arrivals[place] for place in places])
            except Refused as refused:
                found = [refused.refusal] * len(places)
            except Exception as error:
                # The database is locked or gone, or there is a mistake in the code: what follows should not suffer.
                # The type alone is logged: messages of databases quote what they were given.
                _LOG.error("Submissions could not be stored: %s", type(error).__name__)
                self._databases.pop(study, None)
                found = [UNAVAILABLE] * len(places)
            answers.update(zip(places, found, strict=True))
        return [answers[place] for place in range(len(arrivals))]

    def _settle(self, study: str, arrivals: list[Arrival]) -> list[Answer | Refusal]:
        """Add the submissions of one study in one transaction."""
        database, shelf, admission = self._database(study)
        protocol, d = database.protocol, database.protocol.numbers.features
        outcomes: list[str | None] = [_flaw(arrival.submission, protocol.fingerprint, d) for arrival in arrivals]
        sound = [place for place, flaw in enumerate(outcomes) if flaw is None]
        rows = [arrivals[place].submission for place in sound]
        q, p = (np.array([getattr(row, part) for row in rows], dtype=np.int64).reshape(-1, d) for part in "qp")
        block = Submissions(protocol.fingerprint, q, p)

        def admit(asked: NDArray[np.intp]) -> list[str | None]:
            if shelf.state != "open":
                return [CLOSED] * len(asked)
            if admission == "open":
                return [None] * len(asked)
            return invitations.redeem(shelf.writing, study, [arrivals[sound[row]].invitation for row in asked])

        flaws = Counter(flaw for flaw in outcomes if flaw is not None)
        with shelf.transaction():
            shelf.count(flaws)
            for place, outcome in zip(sound, database.settle(block, admit), strict=True):
                outcomes[place] = outcome
        contents = dict(zip(sound, block.contents(), strict=True))
        return [
            Answer(self.collector.receipt(study, protocol.fingerprint, contents[place]), outcome is None)
            if outcome in (None, AGAIN)
            else BY_SENTENCE[str(outcome)]
            for place, outcome in enumerate(outcomes)
        ]

    def _database(self, study: str) -> tuple[Database, StudyShelf, str]:
        if study not in self._databases:
            found = self.collector.study(study)
            if found.state == "draft":  # nobody is told that it exists
                raise Refused(NO_STUDY)
            shelf = StudyShelf(self.collector.engine, study)
            self._databases[study] = Database(found.protocol, shelf), shelf, found.admission
        return self._databases[study]


def _flaw(submission: Submission | None, protocol: str, features: int) -> str | None:
    """Why something is no submission of this protocol, by its form alone."""
    if submission is None:
        return UNREADABLE
    if submission.protocol != protocol:
        return FOREIGN
    if len(submission.q) != features or len(submission.p) != features:
        return SHAPE
    return SEEDED if submission.seeded else None
