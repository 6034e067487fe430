"""Trainings that the curator's pages have begun: in a thread, and never two of one study at the same time."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, Literal

from tacit.collector.collection import Collector
from tacit.collector.studies import Study
from tacit.collector.study_shelf import StudyShelf

Standing = Literal["fresh", "kept", "lost"]
"""What a training that did not end has left: nothing, weights that give the very model, or a record without a model."""


def standing(collector: Collector, study: Study) -> Standing:
    """What is on record of a study's training.

    'lost': it was begun and its model was not kept, so it counts as released, and another model would share its
    contributors' noise. What holds for that other model is the guarantee of one record alone.
    """
    made = StudyShelf(collector.engine, study.slug).trainings()
    if not made:
        return "fresh"
    return "lost" if made[-1].weights is None else "kept"


class Trainer:
    """Begins trainings, and knows those that run in this process and why the last one of a study failed."""

    def __init__(self, collector: Collector) -> None:
        self.collector = collector
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="training")
        self._running: dict[str, Future[Any]] = {}
        self._failed: dict[str, str] = {}
        self._lock = Lock()

    def start(self, slug: str, *, who: str, accept_record_guarantee: bool = False) -> bool:
        """Begin; False where one of this study is under way."""
        with self._lock:
            if self.running(slug):
                return False
            self._failed.pop(slug, None)
            accept = accept_record_guarantee
            self._running[slug] = self._threads.submit(self._train, slug, who, accept)
            return True

    def _train(self, slug: str, who: str, accept: bool) -> None:
        try:
            self.collector.train(slug, accept_record_guarantee=accept, who=who)
        except ValueError as error:  # a sentence of ours, about public numbers
            self._failed[slug] = str(error)
        except Exception:
            self._failed[slug] = "The training stopped because of an error in the service or its database."
            raise

    def running(self, slug: str) -> bool:
        """Whether a training of this study is under way here."""
        found = self._running.get(slug)
        return found is not None and not found.done()

    def failed(self, slug: str) -> str:
        """Why the last training that was begun here ended without a model; empty if it did not."""
        return self._failed.get(slug, "")

    def stop(self) -> None:
        """Wait for what is under way."""
        self._threads.shutdown()
