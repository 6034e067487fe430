"""Sums over pieces on a cluster of dask.distributed: workers read and add up, the driver gets one sum.

What goes there in a pass: the task, once; each piece with its place and the places of the records that take part; and
the functions of this module. A piece's part is exact, and bears its place. Parts are merged on the workers, in a tree,
and what comes back says which places it holds: the driver takes it if every place is there once. So a piece that was
tried twice (its worker died, or was slow) counts once: the results of both have one key, and the cluster keeps one.
Nothing is drawn there: noise is added by the driver, to the sum.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Never

from tacit._version import __version__
from tacit.checks import check
from tacit.linear.records import total
from tacit.linear.streamed import LOST, Taken, Task
from tacit.linear.whole import Whole
from tacit.streams.partitions import filled, hollow, partitions
from tacit.streams.pieces import Piece
from tacit.streams.states import check_unchanged
from tacit.streams.watching import watch_pass

FAN = 16
"""So many sums are merged into one at a time."""
WAIT = 30.0
"""Seconds in which a cluster without workers must get one."""
_RUNS = itertools.count()
_ENGINES = "Expected engine to be 'dask', the address of a scheduler ('tcp://host:8786'), or a dask.distributed client."


@dataclass(frozen=True)
class Cluster:
    """The workers of a client of dask.distributed."""

    client: Any = field(repr=False)

    def run(self, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken]) -> Iterator[tuple[int, Any]]:
        """Results as they come: all of them, to this process."""
        with self._submitted(task, pieces, taken, False) as (futures, _):
            for found in self._done(futures, pieces, fetched=True):
                yield found.places[0], found.value

    def add_up(self, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken]) -> tuple[Whole, ...]:
        """The sum, merged on the workers."""
        with self._submitted(task, pieces, taken, True) as (futures, root):
            for _ in self._done(futures, pieces, fetched=False):
                pass
            try:
                found: Found = root.result()
            except Exception as error:
                kind = type(error).__name__
            else:
                check(sorted(found.places) == list(range(len(pieces))), LOST)
                sums: tuple[Whole, ...] = found.value
                return sums
        raise ValueError(f"The sums of the workers could not be merged: {kind}. Fit again.")

    @contextmanager
    def _submitted(
        self, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken], merging: bool
    ) -> Iterator[tuple[list[Any], Any]]:
        """A future for every piece, and that of their sum. However the block ends, nothing of them stays there."""
        name = f"{self.client.id}-{next(_RUNS)}"  # no two passes share a key, so none is given another's results
        graph, leaves = _leaves(name, task, pieces, taken, self._threads())
        roots = _tree(name, graph, leaves) if merging else []
        futures = self.client.get(graph, [*leaves, *roots], sync=False)
        try:
            yield futures[: len(leaves)], futures[-1]
        finally:
            waiting = [future for future in futures if not future.done()]
            if waiting:
                self.client.cancel(waiting)
            for future in futures:
                future.release()
        for piece in pieces:
            check_unchanged(piece)  # workers compare sizes of files; here, where they were opened, more is known

    def _threads(self) -> int:
        """How many pieces are worked on at once. Workers that died may be on their way back, for a while."""
        if not self.client.nthreads():
            with suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=WAIT)
        threads = sum(self.client.nthreads().values())
        check(threads, f"The cluster had no workers for {WAIT:g} seconds. Start some, and fit again.")
        return int(threads)

    def _done(self, futures: Sequence[Any], pieces: Sequence[Piece], fetched: bool) -> Iterator[Any]:
        """Each piece when it is done, with what was found where that is to be fetched; then it is held no longer."""
        places = {future.key: place for place, future in enumerate(futures)}
        with watch_pass(sum(piece.rows for piece in pieces)) as told:
            for future in import_module("distributed").as_completed(futures, loop=self.client.loop):
                piece = pieces[places[future.key]]
                found, failure = None, None
                try:
                    if fetched or future.status != "finished":
                        found = future.result()
                except Exception as error:
                    failure = error
                if failure is not None:
                    _fail(piece, failure)  # out here, so that the sentence does not bring the other along
                yield found
                future.release()
                told(piece.rows)


@dataclass(frozen=True)
class Found:
    """What a task gave for a piece, or the sum of it for several, with their places."""

    places: tuple[int, ...]
    value: Any = field(repr=False)


@dataclass(frozen=True)
class Sent:
    """What is sent, pickled here, where the sentence of what cannot be sent is heard; logs do not show it."""

    pickled: bytes = field(repr=False)

    @classmethod
    def of(cls, *things: Any) -> Sent:
        """These."""
        return cls(import_module("cloudpickle").dumps(things))

    def opened(self) -> Any:
        """A tuple of them."""
        return import_module("cloudpickle").loads(self.pickled)


class ToldError(Exception):
    """An error whose sentence is ours: it names the piece and quotes no cell."""


def open_task(sent: Sent) -> Task:
    """On a worker: the task of a pass, which the others have from there."""
    task: Task
    (task,) = sent.opened()
    return task


def of_piece(version: str, task: Task, sent: Sent, results: Sequence[Any]) -> Found:
    """On a worker: what the task gives for a piece; ``results`` are those of the tasks of its partitions, if any.

    ``version`` is the driver's: another may clip or round in other ways than the price says.
    """
    if version != __version__:
        raise ToldError(
            ValueError(f"A worker has tacit {__version__}, the driver {version}. Install the same version.")
        )
    place, piece, taken = sent.opened()
    try:
        return Found((place,), task(filled(piece, iter(results)), taken))
    except FileNotFoundError:
        told: Exception = ValueError(f"{piece.key} is not there for a worker: all must see the files at the same path.")
    except (ValueError, OSError) as error:
        told = error
    raise ToldError(told)


def merged(many: Sequence[Found]) -> Found:
    """On a worker: the sum of sums, none of which has a piece of another's."""
    places = tuple(place for one in many for place in one.places)
    check(len(set(places)) == len(places), "A piece of the table was added up twice. Fit again.")
    return Found(places, total(one.value for one in many))


def _leaves(
    name: str, task: Task, pieces: Sequence[Piece], taken: Sequence[Taken], threads: int
) -> tuple[dict[Any, Any], list[tuple[str, int]]]:
    """Dask's graph of all pieces, and the keys of their results.

    Of many pieces Dask gives each worker its next one when it is free. Of few, at most two a thread, it sends all to
    the worker that has what they need: the task must then be in several places.
    """
    opened, copies = Sent.of(task), len(pieces) if len(pieces) <= 2 * threads else 1
    graph: dict[Any, Any] = {(f"tacit-task-{name}", place): (open_task, opened) for place in range(copies)}
    known: set[int] = set()
    for place, (piece, some) in enumerate(zip(pieces, taken, strict=True)):
        parts = partitions(piece)
        for part in parts:
            if id(part.tasks) not in known:  # all of a collection share one
                known.add(id(part.tasks))
                graph.update(part.tasks)
        keys = [key for part in parts for key in part.keys]
        shared = (f"tacit-task-{name}", place % copies)
        graph[_leaf(name, place)] = (of_piece, __version__, shared, Sent.of(place, hollow(piece), some), keys)
    return graph, [_leaf(name, place) for place in range(len(pieces))]


def _leaf(name: str, place: int) -> tuple[str, int]:
    return f"tacit-piece-{name}", place


def _tree(name: str, graph: dict[Any, Any], keys: list[Any]) -> list[Any]:
    """Add the merging of these results to the graph; the key of the last."""
    for level in itertools.count():
        groups = [keys[start : start + FAN] for start in range(0, len(keys), FAN)]
        keys = [(f"tacit-merge-{name}", level, place) for place in range(len(groups))]
        graph.update({key: (merged, group) for key, group in zip(keys, groups, strict=True)})
        if len(keys) == 1:
            break
    return keys


def _fail(piece: Piece, error: Exception) -> Never:
    """Why a piece has no result, in a sentence that names it; that of another library may quote a cell."""
    if isinstance(error, ToldError):
        raise error.args[0]
    kind = type(error).__name__
    if "Cancelled" in kind:
        sentence = "the cluster gave it up. Is its scheduler still there?"
    elif kind == "KilledWorker":
        sentence = "every worker that had it to do died. Was there too little memory?"
    else:
        sentence = f"it could not be computed on the cluster: {kind}. The logs of the workers say why."
    raise ValueError(f"{piece.key}: {sentence}")


def cluster_of(engine: Any) -> Cluster:
    """The cluster that ``engine`` stands for: 'dask' (the current client's), an address, or a client."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise ValueError("A cluster needs dask.distributed. In Tacit's source: pip install '.[dask]'") from error
    client = engine
    if isinstance(engine, str):
        check(engine == "dask" or "://" in engine, _ENGINES)
        client = current_client() if engine == "dask" else _connected(engine)
        check(
            client is not None, "There is no current client of dask.distributed. Make one: Client('tcp://host:8786')."
        )
    check(isinstance(client, distributed.Client), _ENGINES)
    check(not client.asynchronous, "Expected a client that waits for results: Client(asynchronous=False).")
    check(client.status == "running", "The client of dask.distributed is closed. Make another.")
    return Cluster(client)


def current_client() -> Any:
    """The client of dask.distributed that was made last, or None."""
    distributed = sys.modules.get("distributed")  # without it there is none
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


@cache
def _connected(address: str) -> Any:
    """One client an address, for as long as this process lives."""
    try:
        return import_module("distributed").Client(address, set_as_default=False)
    except (OSError, ValueError):
        pass
    raise ValueError(f"No scheduler of dask.distributed answers at {address}.")
