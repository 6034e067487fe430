"""Numbers of a study while it runs, as server-sent events (HTML standard, 9.2) for those who are signed in.

The database is asked at most once a second for a study, whoever watches it. A stream ends with its session, with the
service, and after LIFE seconds in any case; browsers then ask for it again by themselves.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

EVERY, HEARTBEAT, LIFE = 1.0, 10.0, 600.0
"""Seconds between two questions to the database, between two signs of life, and of one stream."""
LISTENERS = 64
"""Streams at a time."""
END = "event: end\ndata: {}\n\n"
Ask = Callable[[str], dict[str, Any]]


class Watched:
    """The latest numbers of one study, and those who wait for the next ones."""

    def __init__(self) -> None:
        self.listeners, self.version, self.text = 0, 0, ""
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def tell(self, text: str) -> None:
        """New numbers: wake everyone up."""
        if text != self.text:
            self.text, self.version = text, self.version + 1
            self.changed.set()
            self.changed = asyncio.Event()


class Live:
    """All streams of a service. ``ask`` gives the numbers of a study; it runs in a thread."""

    def __init__(self, ask: Ask, *, every: float = EVERY, heartbeat: float = HEARTBEAT) -> None:
        self.ask, self.every, self.heartbeat = ask, every, heartbeat
        self.listeners, self.stopped = 0, False
        self._watched: dict[str, Watched] = {}

    @property
    def full(self) -> bool:
        """Whether nobody more is let in."""
        return self.stopped or self.listeners >= LISTENERS

    def stop(self) -> None:
        """End all streams: each one wakes up, and sees that it is over."""
        self.stopped = True
        for watched in self._watched.values():
            watched.changed.set()

    async def stream(self, slug: str, present: Callable[[], bool]) -> AsyncIterator[str]:
        """Events of a study, for as long as ``present`` says that the listener's session lasts."""
        if self.full:
            return
        watched = self._watched.setdefault(slug, Watched())
        self.listeners += 1
        watched.listeners += 1
        if watched.task is None:
            watched.task = asyncio.create_task(self._poll(slug, watched))
        try:
            seen, end = 0, time.monotonic() + LIFE
            yield "retry: 2000\n\n"
            while not self.stopped and time.monotonic() < end:
                if not await run_in_threadpool(present):
                    yield END
                    return
                if watched.version != seen:
                    seen = watched.version
                    yield f"data: {watched.text}\n\n"
                elif not await self._change(watched):
                    yield ": still here\n\n"
        finally:
            self.listeners -= 1
            watched.listeners -= 1
            if not watched.listeners and watched.task is not None:
                watched.task.cancel()
                self._watched.pop(slug, None)

    async def _change(self, watched: Watched) -> bool:
        """Wait until there are new numbers; False if that takes longer than a sign of life may."""
        try:
            await asyncio.wait_for(watched.changed.wait(), self.heartbeat)
        except TimeoutError:
            return False
        return True

    async def _poll(self, slug: str, watched: Watched) -> None:
        while not self.stopped:
            with suppress(SQLAlchemyError):  # a database that is busy for a moment: the next question may be answered
                watched.tell(json.dumps(await run_in_threadpool(self.ask, slug)))
            await asyncio.sleep(self.every)
