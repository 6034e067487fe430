"""Records that are read again for every sum: a piece of the table at a time, in this process or in others.

A piece's part of a sum is exact (:mod:`tacit.linear.whole`), so it does not matter who adds it up, in which batches, or
in which order. Each piece has its place, and is added once, however often it was tried. Where people have several rows,
a person's must follow one another: the order of names is checked whenever rows are read, and pieces that share a person
are read as one.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tacit.checks import check
from tacit.data.rows import rounded_intercept
from tacit.data.tables import Table
from tacit.linear.records import Block, Change, Held, Part, Records, total
from tacit.linear.whole import Whole
from tacit.streams.named import Span
from tacit.streams.pieces import Piece, Source
from tacit.streams.reader import Joined, Reader, SchemaRows
from tacit.streams.textual import DelimitedPiece
from tacit.streams.watching import watch_pass
from tacit.types import Array

SMALL, SMALL_COSTLY = 2**26, 2**29
"""Bytes of design rows, in float32, up to which they are read into memory once; of those that are costly to read."""
SPARE = 2.0
"""How many times its size a disk must have left for a file of rows: mapped rows need another."""
THREADS = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
"""Pieces that are read at once: each takes the memory of a batch."""
Taken = NDArray[np.intp] | None
Task = Callable[[Piece, Taken], Any]
LOST = "A piece of the table was not added up. Fit again."


class Engine(Protocol):
    """Who does the work: in this process, or in others."""

    def run(self, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken]) -> Iterator[tuple[int, Any]]:
        """The task's result for every piece, with its place, each once, in any order."""

    def add_up(self, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken]) -> tuple[Whole, ...]:
        """The sum of the results of a task that gives exact sums: every piece's once, or a sentence."""


@dataclass(frozen=True)
class Here:
    """In this process, a few pieces at a time: NumPy and Arrow let threads work side by side."""

    threads: int = THREADS

    def run(self, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken]) -> Iterator[tuple[int, Any]]:
        """As threads are free for them. Whoever stops asking, or presses Ctrl-C, waits for a batch and no longer."""
        workers, stopped = min(self.threads, len(pieces)), Event()
        with watch_pass(sum(piece.rows for piece in pieces)) as done:
            if workers < 2:
                for place, (piece, some) in enumerate(zip(pieces, taken, strict=True)):
                    yield place, task(piece, some)
                    done(piece.rows)
                return
            # Each thread's products are small: threads within them would only wait for one another.
            with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
                jobs = zip(pieces, taken, strict=True)
                places = {
                    pool.submit(copy_context().run, task, _until(piece, stopped), some): i
                    for i, (piece, some) in enumerate(jobs)
                }
                try:
                    for job in as_completed(places):
                        place = places.pop(job)  # nobody holds what was added up already
                        yield place, job.result()
                        done(pieces[place].rows)
                finally:
                    stopped.set()
                    pool.shutdown(wait=False, cancel_futures=True)

    def add_up(self, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken]) -> tuple[Whole, ...]:
        """As results come."""
        return added_once(self.run(task, pieces, taken), len(pieces))


@dataclass(frozen=True)
class _Until:
    """A piece that is read until it is no longer wanted."""

    piece: Piece
    stopped: Event

    @property
    def key(self) -> str:
        """As the piece's."""
        return self.piece.key

    @property
    def rows(self) -> int:
        """As the piece's."""
        return self.piece.rows

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """As the piece's."""
        for table in self.piece.tables(columns):
            check(not self.stopped.is_set(), "Reading was stopped.")
            yield table


def _until(piece: Piece, stopped: Event) -> Piece:
    if isinstance(piece, Joined):
        return replace(piece, parts=tuple(_Until(part, stopped) for part in piece.parts))
    return _Until(piece, stopped)


def added_once(found: Iterable[tuple[int, tuple[Whole, ...]]], count: int) -> tuple[Whole, ...]:
    """The sum of what so many pieces gave, each once however often it came; no more than two are in memory."""
    seen: set[int] = set()

    def first_ones() -> Iterator[tuple[Whole, ...]]:
        for place, sums in found:
            if place not in seen:
                seen.add(place)
                yield sums

    sums = total(first_ones())
    check(seen == set(range(count)), LOST)
    return sums


@dataclass(frozen=True)
class Changed:
    """How a piece's records are made: read, mapped, and with some of their targets."""

    reader: Reader
    maps: tuple[tuple[Change, float, float], ...] = ()
    picked: NDArray[np.intp] | None = field(default=None, repr=False)

    def records(self, piece: Piece, taken: Taken = None) -> Iterator[Records]:
        """A batch at a time, none of which parts a person; only those at ``taken``, places among the piece's."""
        reader, start, none = self.reader, 0, True
        for chunk in reader.chunks(piece):
            records = Records.build(chunk.rows, chunk.targets, reader.clip, reader.intercept, chunk.shares)
            stop = start + records.count
            if taken is not None:
                first, last = np.searchsorted(taken, [start, stop])
                records = records.take(taken[first:last] - start)
            start = stop
            if records.count:
                yield self._changed(records)
                none = False
        if none:
            chunk = reader.nothing()
            yield self._changed(
                Records.build(chunk.rows, chunk.targets, reader.clip, reader.intercept, chunk.shares)
            )  # fmt: skip

    def _changed(self, records: Records) -> Records:
        for change, clip, intercept in self.maps:
            records = records.mapped(change, clip, intercept)
        return records if self.picked is None else records.pick(self.picked)


@dataclass(frozen=True)
class Adding:
    """The task of a sum: what is sent to where a piece is."""

    changed: Changed
    part: Part

    def __call__(self, piece: Piece, taken: Taken) -> tuple[Whole, ...]:
        """The sums over one piece."""
        return total(self.part(block) for records in self.changed.records(piece, taken) for block in records.blocks())


@dataclass(frozen=True)
class Persons:
    """The task of counting people."""

    reader: Reader

    def __call__(self, piece: Piece, taken: Taken) -> Span | None:
        """Those of one piece."""
        return self.reader.persons(piece)


@dataclass(frozen=True)
class Streamed:
    """Records of a table in pieces; ``sizes`` says how many there are in each: rows, or people.

    Made by :func:`stream`.
    """

    pieces: tuple[Piece, ...] = field(repr=False)
    sizes: tuple[int, ...] = field(repr=False)
    changed: Changed
    features: int
    engine: Engine = field(default_factory=Here)
    taken: Taken = field(default=None, repr=False)

    @property
    def count(self) -> int:
        """Number of records: of rows, or of people where they have several."""
        return sum(self.sizes) if self.taken is None else len(self.taken)

    @property
    def _last(self) -> tuple[float, float]:
        reader, maps = self.changed.reader, self.changed.maps
        return maps[-1][1:] if maps else (reader.clip, reader.intercept)

    @property
    def clip(self) -> float:
        """Largest norm of a row without the intercept's constant."""
        return self._last[0]

    @property
    def intercept(self) -> float:
        """The constant of the last column; 0: there is none."""
        clip, intercept = self._last
        return rounded_intercept(clip, intercept)

    @property
    def radius(self) -> float:
        """Largest norm that a design row can have."""
        return math.hypot(self.clip, self.intercept)

    @property
    def weighted(self) -> bool:
        """Whether rows came with weights of their own."""
        return self.changed.reader.weighted

    @property
    def rows_per_person(self) -> int | None:
        """The most rows of one person; None: every row is a record."""
        return self.changed.reader.rows_per_person

    def take(self, positions: NDArray[np.intp]) -> Streamed:
        """The records at these positions, which are found when they are read."""
        return replace(self, taken=positions if self.taken is None else self.taken[positions])

    def pick(self, columns: NDArray[np.intp]) -> Streamed:
        """The same records with some of their targets, where there are several."""
        if self.changed.reader.outputs == 1:
            return self
        picked = columns if self.changed.picked is None else self.changed.picked[columns]
        return replace(self, changed=replace(self.changed, picked=picked))

    def mapped(self, change: Change, clip: float, intercept: float) -> Streamed:
        """The same records with other rows, mapped whenever they are read."""
        nothing = next(self.changed.records(_Nothing()))
        (block,) = nothing.blocks()
        features = change(block.rows).shape[1] + (1 if intercept else 0)
        changed = replace(self.changed, maps=(*self.changed.maps, (change, clip, intercept)))
        return replace(self, changed=changed, features=features)

    def add_up(self, part: Part) -> list[Array]:
        """The sums over all pieces, each counted once; pieces of which no record takes part are not read."""
        shared = self._shared()
        wanted = [place for place, some in enumerate(shared) if some is None or len(some)] or [0]
        pieces, taken = [self.pieces[place] for place in wanted], [shared[place] for place in wanted]
        return [whole.value() for whole in self.engine.add_up(Adding(self.changed, part), pieces, taken)]

    def each(self, task: Task) -> list[Any]:
        """The task's result for every piece, in the order of the pieces: each once, however often it was tried."""
        return run_each(self.engine, task, self.pieces, self._shared())

    def read_by(self, reader: Reader) -> Streamed:
        """The same people and rows, read in another way."""
        features = reader.features + (1 if reader.intercept else 0)
        return replace(self, changed=Changed(reader), features=features)

    def blocks(self) -> Iterator[Block]:
        """All records in turn, in this process."""
        for piece, taken in zip(self.pieces, self._shared(), strict=True):
            for records in self.changed.records(piece, taken):
                yield from records.blocks()

    def _shared(self) -> list[Taken]:
        """Of the records that take part, the places in each piece."""
        if self.taken is None:
            return [None] * len(self.pieces)
        ends = np.cumsum(self.sizes)
        cuts = np.searchsorted(self.taken, np.concatenate([[0], ends]))
        starts = ends - np.asarray(self.sizes)
        return [self.taken[a:b] - start for a, b, start in zip(cuts[:-1], cuts[1:], starts, strict=True)]


class _Nothing:
    """A piece without rows."""

    key, rows = "nothing", 0

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """None."""
        return iter(())


def run_each(engine: Engine, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken] | None = None) -> list[Any]:
    """The task's results in the order of the pieces."""
    found = dict(engine.run(task, pieces, [None] * len(pieces) if taken is None else taken))
    check(len(found) == len(pieces), "A piece of the table was not added up. Try again.")
    return [found[place] for place in range(len(pieces))]


def held(records: Streamed) -> Held:
    """The same records, read once, where they are read in this process: in memory, where they are few enough.

    Rows that are costly to read again, text and what a schema encodes, are otherwise kept in a file without a name, if
    the temporary folder has twice the room. Which it is follows from public numbers alone: of columns, and of rows, or
    people and the most rows of one. Sums have the same bits in every case.
    """
    if not isinstance(records.engine, Here):
        return records
    texts = any(
        isinstance(part, DelimitedPiece) for piece in records.pieces for part in getattr(piece, "parts", (piece,))
    )
    most = records.count * (records.rows_per_person or 1)
    costly = texts or isinstance(records.changed.reader.encode, SchemaRows)
    size, rows = 4 * most * records.features, sum(piece.rows for piece in records.pieces)
    few = size <= (SMALL_COSTLY if costly else SMALL)
    if not few and not (costly and shutil.disk_usage(tempfile.gettempdir()).free > SPARE * (size + 32 * rows)):
        return records
    with watch_pass(rows) as done:
        return Records.joined(_told(records, done), rows, spooled=not few)


def _told(records: Streamed, done: Callable[[int], None]) -> Iterator[Records]:
    for piece, taken in zip(records.pieces, records._shared(), strict=True):
        yield from records.changed.records(piece, taken)
        done(piece.rows)


def stream(source: Source, reader: Reader, engine: Engine | None = None) -> Streamed:
    """The records of a source. Where people have several rows, one pass over their column counts them first."""
    engine, pieces = engine or Here(), source.pieces
    features = reader.features + (1 if reader.intercept else 0)
    if reader.person is None:
        return Streamed(pieces, tuple(piece.rows for piece in pieces), Changed(reader), features, engine)
    groups: list[Joined] = []
    before: Span | None = None
    for piece, span in zip(pieces, run_each(engine, Persons(reader), pieces), strict=True):
        if span is None:
            continue
        whole = span.follow(before, piece.key, reader.person)
        if before is not None and before.last == span.first:
            shared = groups.pop()
            groups.append(Joined((*shared.parts, piece), span.follow(shared.people, piece.key, reader.person)))
        else:
            groups.append(Joined((piece,), span))
        before = whole
    return Streamed(tuple(groups), tuple(group.people.count for group in groups), Changed(reader), features, engine)
