"""Fits on a real cluster of processes: the same bits as in this process, whatever happens to the workers."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tacit import LinearRegression, LogisticRegression
from tacit.linear.cluster import Found, Sent, ToldError, cluster_of, merged, of_piece
from tacit.linear.streamed import Here, Persons, added_once
from tacit.linear.whole import added
from tacit.mechanisms import GradientPerturbation
from tacit.mechanisms.samplers import Poisson
from tacit.streams import Source
from tacit.streams.partitions import PartitionPiece
from tacit.streams.scanned import Scan, scan
from tacit.streams.watching import watched

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")

SIZES = (300, 0, 1, 500, 250, 349)
NAMES = ["a", "b", "c"]
ROWS = sum(SIZES)
_rng = np.random.default_rng(5)
X = _rng.normal(size=(ROWS, 3)) * 0.6
Y = np.clip(X @ [0.8, -0.5, 0.1] + 0.1 * _rng.normal(size=ROWS), -1, 1)
LABELS = (Y > 0).astype(int)
PEOPLE = np.arange(ROWS) // 7  # the ends of files part some of them
TABLE = pandas.DataFrame(X, columns=NAMES).assign(y=Y, label=LABELS, person=PEOPLE)
CUTS = np.cumsum((0, *SIZES))
PARTS = [TABLE.iloc[first:last].reset_index(drop=True) for first, last in zip(CUTS[:-1], CUTS[1:], strict=True)]


@pytest.fixture(scope="module")
def cluster():
    settings = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.scheduler.allowed-failures": 1,
        "distributed.admin.log-format": "",
        "logging.distributed": "critical",
    }
    with dask.config.set(settings):
        own = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50)
        with own, distributed.Client(own) as client:
            yield own, client


@pytest.fixture
def client(cluster):
    return cluster[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("people")
    for number, part in enumerate(PARTS):
        part.to_parquet(place / f"{number}.parquet", index=False)
    return place


def line(X, y="y", **given):
    return LinearRegression(epsilon=1.0, target_bound=1.0, random_state=3, **given).fit(X, y)


def curve(X, y="label", **given):
    return LogisticRegression(epsilon=1.0, classes=[0, 1], random_state=3, **given).fit(X, y)


def numbers(folder, engine=None):
    """The files without what is no number to learn from."""
    source = scan(str(folder / "*.parquet")).source
    return Scan(replace(source, names=(*NAMES, "y")), engine=engine)


def labels(folder, engine=None):
    return replace(numbers(folder, engine), source=replace(numbers(folder).source, names=(*NAMES, "label")))


def same(one, other):
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.intercept_, other.intercept_)
    assert one.guarantee_ == other.guarantee_


@dataclass(frozen=True)
class Watched:
    """A piece that does something first, in whatever process it is read; a line a reading in the log."""

    piece: object
    log: Path
    kills: bool = False
    always: bool = False
    waits: Path | None = None
    driver: int = os.getpid()

    key = property(lambda self: self.piece.key)
    rows = property(lambda self: self.piece.rows)

    def tables(self, columns=None):
        with self.log.open("a") as log:
            log.write(f"{self.key}\n")
        marker = self.log.with_suffix(".died")
        if self.kills and os.getpid() != self.driver and (self.always or not marker.exists()):
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if self.waits is not None:
            self.waits.read_text()  # a pipe: until somebody writes to it
        return self.piece.tables(columns)


def watching(asked, log, place=None, **does):
    pieces = asked.source.pieces
    own = [Watched(piece, log, **(does if at == place else {})) for at, piece in enumerate(pieces)]
    return replace(asked, source=replace(asked.source, pieces=tuple(own)))


def left(client):
    """What of ours the scheduler still knows."""
    return client.run_on_scheduler(lambda dask_scheduler: [key for key in dask_scheduler.tasks if "tacit" in str(key)])


# --- one worker ---------------------------------------------------------------------------------------------------
def test_a_worker_that_is_killed_is_replaced_and_its_pieces_count_once(client, folder, tmp_path):
    """There is one worker: with it goes all that it had added up, so pieces are read twice."""
    log = tmp_path / "log"
    same(line(watching(numbers(folder, client), log, 5, kills=True), method="statistics"), line(numbers(folder), method="statistics"))
    read = log.read_text().splitlines()
    assert (tmp_path / "log.died").exists()
    assert set(read) == {f"{place}.parquet" for place in range(6)}
    assert len(read) > 6
