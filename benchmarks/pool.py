"""Jobs on several processes, one thread of linear algebra each, with progress on stderr."""

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))  # where papers/ is, also when this is run as a script

from papers.engine.workers import one_thread


def progress(text: str) -> None:
    """A line for whoever waits."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def each(function: Callable[..., dict], jobs: Iterable[tuple], workers: int, title: str) -> Iterator[dict]:
    """Results of ``function(*job)`` as they come."""
    jobs = list(jobs)
    with one_thread():
        executor = ProcessPoolExecutor(max(1, workers), mp_context=multiprocessing.get_context("spawn"))
        try:
            futures = [executor.submit(function, *job) for job in jobs]
            for done, future in enumerate(as_completed(futures), 1):
                row = future.result()
                progress(f"{title} {done}/{len(jobs)}: {_words(row)}")
                yield row
        finally:
            executor.shutdown(cancel_futures=True)


def _words(row: dict) -> str:
    named = " ".join(
        str(row[key]) for key in ("data", "model", "adjacency", "method", "multiclass", "epsilon") if key in row
    )
    if "note" in row:
        return f"{named}: {row['note']}, {row['why']}"
    score = row.get("accuracy", row)
    return f"{named}: {score['mean']:.4f} ± {score['std']:.4f}, {row['seeds']} seeds, {row['seconds']:.2f} CPU s a fit"
