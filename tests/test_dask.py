"""Fits on a real cluster of processes: the same bits as in this process, whatever happens to the workers."""

import os
import signal
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tacit import LinearRegression, LogisticRegression
from tacit.data import tables
from tacit.linear.cluster import Found, Sent, ToldError, cluster_of, merged, of_piece
from tacit.linear.records import Records
from tacit.linear.streamed import Here, Persons, added_once, stream
from tacit.linear.whole import added
from tacit.mechanisms import GradientPerturbation
from tacit.streams import Source
from tacit.streams.partitions import PartitionPiece
from tacit.streams.reader import NumberRows, Reader
from tacit.streams.scanned import Scan, scan
from tacit.streams.watching import watched

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")
frames = pytest.importorskip("dask.dataframe", reason="Dask's data frames are not installed")
arrays = pytest.importorskip("dask.array", reason="Dask's arrays are not installed")

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
PARTS = [TABLE.iloc[first:last].reset_index(drop=True) for first, last in pairwise(CUTS)]


@pytest.fixture(scope="module")
def cluster():
    settings = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.scheduler.allowed-failures": 1,
        "distributed.admin.log-format": "",
        "logging.distributed": "critical",
    }
    with dask.config.set(settings):
        # Workers start as copies of a process that has imported all they need.
        needed = ["distributed", "pandas", "pyarrow.parquet", "tacit.linear.cluster", "tacit.training"]
        distributed.utils.get_mp_context().set_forkserver_preload(needed)
        own = distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
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


def line(X, y="y", method="statistics"):
    """One pass."""
    return LinearRegression(epsilon=1.0, target_bound=1.0, random_state=3, method=method).fit(X, y)


def curve(X, y="label"):
    """A few passes."""
    steps = GradientPerturbation(steps=3)
    return LogisticRegression(epsilon=1.0, classes=[0, 1], random_state=3, method=steps).fit(X, y)


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


# --- one worker -------------------------------------------------------------------------------------------------------
def test_files_are_added_up_by_a_worker(client, folder, tmp_path):
    """An empty file and one of a single row among them; nothing stays on the cluster, and progress is told."""
    plain, told = line(numbers(folder)), []
    with watched(lambda *now: told.append(now)):
        same(line(numbers(folder, client)), plain)
    assert told[0] == (1, 0, ROWS)
    assert sum(now[1:] == (ROWS, ROWS) for now in told) == told[-1][0]
    same(line(numbers(folder, "dask")), plain)
    same(line(numbers(folder, client.scheduler.address)), plain)
    same(curve(labels(folder, client)), curve(labels(folder)))
    assert not left(client)


def test_a_worker_that_is_killed_is_replaced_and_its_pieces_count_once(client, folder, tmp_path):
    """There is one worker: with it goes all that it had added up, so pieces are read twice."""
    log = tmp_path / "log"
    asked = watching(numbers(folder, client), log, 5, kills=True)
    same(line(asked), line(numbers(folder)))
    read = log.read_text().splitlines()
    assert (tmp_path / "log.died").exists()
    assert set(read) == {f"{place}.parquet" for place in range(6)}
    assert len(read) > 6


def test_a_piece_that_kills_every_worker_ends_the_fit(client, folder, tmp_path):
    """Dask blames all that the worker had, the pieces next to it among it."""
    model = LinearRegression(epsilon=1.0, target_bound=1.0, method="statistics")
    asked = watching(numbers(folder, client), tmp_path / "log", 3, kills=True, always=True)
    with pytest.raises(ValueError, match=r"^\d\.parquet: every worker that had it to do died\. Was th"):
        model.fit(asked, "y")
    assert not hasattr(model, "coef_")
    assert model.guarantee_.epsilon == 1.0  # it is spent


def test_what_a_worker_refuses_is_said_here(client, folder, tmp_path):
    """A file that is not there, and one that is no table any more: a sentence with its name, and no half model."""
    for number, part in enumerate(PARTS):
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    asked, model = numbers(tmp_path, client), LinearRegression(epsilon=1.0, target_bound=1.0, method="statistics")
    (tmp_path / "4.parquet").write_bytes(bytes((tmp_path / "4.parquet").stat().st_size))
    with pytest.raises(ValueError, match=r"^4\.parquet is not a readable Parquet file, or it was cut off\.$"):
        model.fit(asked, "y")
    (tmp_path / "4.parquet").unlink()
    with pytest.raises(ValueError, match=r"^4\.parquet is not there for a worker: all must see the files at the same"):
        model.fit(asked, "y")
    assert not hasattr(model, "coef_")
    assert model.guarantee_.epsilon == 1.0


def test_an_interrupt_leaves_nothing_on_the_cluster(client, folder):
    def interrupt(number, done, rows):
        if done:
            raise KeyboardInterrupt

    with watched(interrupt), pytest.raises(KeyboardInterrupt):
        line(numbers(folder, client))
    assert any(not left(client) for _ in range(10_000))  # the piece at work is finished first
    line(numbers(folder, client))


def test_other_libraries_sentences_are_not_repeated(client):
    """A partition that cannot be computed: the error may quote a cell."""
    frame = frames.from_map(secretly, range(3), meta=PARTS[0][[*NAMES, "y"]])
    source = Source(tuple(PartitionPiece(dict(part.dask), (part.key,), (None,), (*NAMES, "y"), 300, f"partition {at}")
                    for at, part in enumerate(frame.to_delayed())), (*NAMES, "y"))  # fmt: skip
    with pytest.raises(ValueError, match=r"^partition \d: it could not be computed on the cluster: KeyError\.") as told:
        line(Scan(source, engine=client))
    assert "secret" not in str(told.value)


def secretly(place):
    raise KeyError("a secret cell")


# --- Dask's own collections -------------------------------------------------------------------------------------------
def partition(place):
    return PARTS[place][[*NAMES, "y"]]


def grouped(place):
    return PARTS[place][[*NAMES, "y", "person"]]


@pytest.mark.parametrize("kept", [False, True], ids=["lazy", "persisted"])
def test_frames_are_added_up_where_their_partitions_are(client, kept, monkeypatch):
    plain = line(X, Y)
    frame = frames.from_map(partition, range(len(PARTS)), meta=PARTS[0][[*NAMES, "y"]])
    frame = frame.persist() if kept else frame
    monkeypatch.setattr(PartitionPiece, "tables", None)  # the driver reads none
    same(line(frame), plain)
    same(line(scan(frame, engine="dask")), plain)
    same(line(frame[NAMES], frame["y"]), plain)


def test_frames_without_a_cluster(monkeypatch):
    monkeypatch.setattr("tacit.estimators.streaming.current_client", lambda: None)
    frame = frames.from_map(partition, range(len(PARTS)), meta=PARTS[0][[*NAMES, "y"]])
    with dask.config.set(scheduler="sync"):
        same(line(frame), line(X, Y))


@pytest.mark.parametrize("kept", [False, True], ids=["lazy", "persisted"])
def test_arrays(client, kept):
    """Cut along rows and columns, the targets elsewhere."""
    rows, targets = arrays.from_array(X, chunks=((1, 700, 699), (2, 1))), arrays.from_array(Y, chunks=500)
    if kept:
        rows, targets = rows.persist(), targets.persist()
    same(line(rows, targets), line(X, Y))
    same(line(rows, Y), line(X, Y))
    same(curve(rows, arrays.from_array(LABELS, chunks=200)), curve(X, LABELS))
    single = Y.astype(np.float32)
    same(line(rows, arrays.from_array(single)), line(X, single))


def test_arrays_of_unknown_length_go_together_by_partition(client):
    frame = frames.from_map(partition, range(len(PARTS)), meta=PARTS[0][[*NAMES, "y"]])
    same(line(frame[NAMES].values, frame["y"].values), line(X, Y))
    with pytest.raises(ValueError, match=r"^Expected y, groups and sample_weight in partitions of the same sizes"):
        line(frame[NAMES].values, arrays.from_array(Y, chunks=100))


def test_people_whose_rows_are_in_several_partitions(client, folder):
    given = {"rows_per_person": 4, "method": "statistics"}
    model = LinearRegression(epsilon=1.0, target_bound=1.0, random_state=3, **given).fit(X, Y, groups=PEOPLE)
    frame = frames.from_map(grouped, range(len(PARTS)), meta=PARTS[0][[*NAMES, "y", "person"]])
    again = LinearRegression(epsilon=1.0, target_bound=1.0, random_state=3, **given)
    same(again.fit(frame, "y", groups="person"), model)
    same(again.fit(arrays.from_array(X, chunks=100), Y, groups=arrays.from_array(PEOPLE)), model)
    source = replace(numbers(folder).source, names=(*NAMES, "y", "person"))
    same(again.fit(Scan(source, engine=client), "y", groups="person"), model)


def test_collections_that_do_not_fit_together():
    rows, frame = arrays.from_array(X, chunks=100), frames.from_pandas(TABLE, npartitions=2)
    for wrong, sentence in [
        ((rows, "y"), "Expected y as a Dask array or series too"),
        ((rows, Y[:-1]), "Expected one target, person and weight for each row"),
        ((rows, Y[:, None]), "Expected y, groups and sample_weight to have one dimension"),
        ((rows, frame), "Expected y, groups and sample_weight as one column each"),
        ((rows[:, 0], Y), "Expected X to have two dimensions"),
        ((rows[:0], Y[:0]), "The table has no rows"),
        ((frame[NAMES], Y), "Expected y, groups and sample_weight as names of columns or Dask series"),
        ((frame.rename(columns={"a": "targets"}), frame["y"]), "Rename the column 'targets' of X"),
    ]:
        with pytest.raises(ValueError, match=f"^{sentence}"):
            line(*wrong)


# --- what is sent and what comes back ---------------------------------------------------------------------------------
def exact(*values):
    return (added(np.array(values)[:, None], 1.0, 4),)


def test_a_piece_counts_once_however_often_it_comes():
    one, two = exact(0.5), exact(0.25)
    (sums,) = added_once([(0, one), (1, two), (0, one)], 2)
    assert sums.value() == 0.75
    with pytest.raises(ValueError, match="not added up"):
        added_once([(0, one), (0, one)], 2)
    both = merged([Found((0,), one), Found((1,), two)])
    assert both.places == (0, 1)
    assert both.value[0].value() == 0.75
    with pytest.raises(ValueError, match="added up twice"):
        merged([both, Found((1,), two)])


def test_a_sum_that_lacks_a_piece_is_not_taken(client, folder, monkeypatch):
    monkeypatch.setattr("tacit.linear.cluster.merged", forgetful)
    with pytest.raises(ValueError, match=r"^A piece of the table was not added up\. Fit again\.$"):
        line(numbers(folder, client))


def forgetful(many):
    return merged(many[1:])


@dataclass(frozen=True)
class Lengths:
    """A task that knows how often it was pickled."""

    pickled: list

    def __reduce__(self):
        self.pickled.append(1)
        return Lengths, ([],)

    def __call__(self, piece, taken):
        return sum(len(table["a"]) for table in piece.tables(["a"]))


def test_the_task_is_sent_once(client, folder):
    task, pieces = Lengths([]), numbers(folder).source.pieces
    assert dict(cluster_of(client).run(task, pieces, [None] * 6)) == dict(enumerate(SIZES))
    assert len(task.pickled) == 1


def test_what_is_sent_is_not_shown():
    assert repr(Sent.of("a secret")) == "Sent()"


def test_a_worker_of_another_version_is_refused():
    with pytest.raises(ToldError) as told:
        of_piece("0.0", Persons(None), Sent.of(0, None, None), [])
    assert "driver 0.0. Install the same version." in str(told.value.args[0])


def test_sampled_records_are_asked_of_the_pieces_that_have_them(client, folder, tmp_path):
    log, reader = tmp_path / "log", Reader(NumberRows(tuple(NAMES)), targets_of, (*NAMES, "y"), 3, 1.0, 0.5)
    source = watching(numbers(folder), log).source
    for taken in ([2, 299], [300], [0, 801, 1399], []):
        sampled = stream(source, reader, cluster_of(client)).take(np.array(taken, dtype=np.intp))
        (found,) = sampled.add_up(plain_sum)
        (expected,) = Records.build(X[taken], Y[taken], 1.0, 0.5).add_up(plain_sum)
        assert np.array_equal(found, expected)
    read = log.read_text().split()
    assert sorted(read) == sorted(f"{place}.parquet" for place in [0, 2, 0, 4, 5, 0])  # without any: one is asked


def targets_of(table):
    return tables.numbers(table, ["y"])


def plain_sum(block):
    return (block.gather(block.targets, 1.0),)


def test_a_relation_of_duckdb_where_workers_see_its_file(client):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    relation = duckdb.from_df(TABLE[[*NAMES, "y"]])
    same(line(scan(relation, engine=client)), line(scan(TABLE[[*NAMES, "y"]])))


def test_engines_that_are_none(folder, monkeypatch):
    expected = "Expected engine to be 'dask', the address of a scheduler"
    for wrong in ("spark", 7, Here()):
        with pytest.raises(ValueError, match=f"^{expected}"):
            cluster_of(wrong)
    nobody = r"^No scheduler of dask\.distributed answers at tcp://127\.0\.0\.1:9\.$"
    with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}), pytest.raises(ValueError, match=nobody):
        cluster_of("tcp://127.0.0.1:9")
    monkeypatch.setattr("tacit.linear.cluster.current_client", lambda: None)
    with pytest.raises(ValueError, match=r"^There is no current client of dask\.distributed\."):
        line(numbers(folder, "dask"))
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install '\.\[dask\]'$"):
        cluster_of("dask")


# --- more workers, last: the cluster grows ----------------------------------------------------------------------------
def test_an_address_needs_no_client_of_ones_own(cluster, folder, monkeypatch):
    own, _ = cluster
    monkeypatch.setattr(distributed.client, "_get_global_client", lambda: None)
    same(line(numbers(folder, own.scheduler_address)), line(numbers(folder)))


@pytest.mark.parametrize("workers", [2, 7])
def test_any_number_of_workers_gives_the_same_bits(cluster, folder, workers):
    own, client = cluster
    own.scale(workers)
    client.wait_for_workers(workers)
    same(line(numbers(folder, client)), line(numbers(folder)))
    same(curve(labels(folder, client)), curve(labels(folder)))


def test_a_straggler_is_waited_for(client, folder, tmp_path):
    """One piece goes on only when another is done: this process opens its pipe then."""
    pipe, plain, once = tmp_path / "pipe", line(numbers(folder)), []
    os.mkfifo(pipe)

    def let_go(number, done, rows):
        if done and not once:
            once.append(pipe.write_text(""))

    asked = watching(numbers(folder, client), tmp_path / "log", 0, waits=pipe)
    with watched(let_go):
        same(line(asked), plain)
    assert once


def test_a_cluster_without_workers_is_told(folder, monkeypatch):
    monkeypatch.setattr("tacit.linear.cluster.WAIT", 0.01)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as own,
        distributed.Client(own, set_as_default=False) as nobody,
        pytest.raises(
            ValueError, match=r"^The cluster had no workers for 0\.01 seconds\. Start some, and fit again\.$"
        ),
    ):
        line(numbers(folder, nobody))
