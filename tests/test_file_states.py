"""Files that change between two passes: refused, in a sentence that names them, however alike they look."""

import os
import pickle

import numpy as np
import pytest

from tacit import LogisticRegression
from tacit.linear import streamed
from tacit.linear.cluster import Cluster
from tacit.streams import open_source
from tacit.streams.named import Span
from tacit.streams.reader import Joined
from tacit.streams.scanned import scan
from tacit.streams.watching import watched

pa = pytest.importorskip("pyarrow", reason="most sources are read by pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")

WRITERS = {
    "t.parquet": lambda table, path: parquet.write_table(table, path, compression="none", use_dictionary=False),
    "t.feather": lambda table, path: feather.write_feather(table, path, compression="uncompressed"),
    "t.csv": lambda table, path: table.to_pandas().to_csv(path, index=False),
}
CHANGED = r"^{} was changed since it was opened\. Give a table that does not change\.$"


def people(first):
    """A hundred people of two rows each, all with names of three digits: files of one size."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, 200)
    return pa.table({"person": np.arange(200) // 2 + first, "a": rows / 2, "y": rows})


def replaced(path, table):
    """As jobs at night do it: the time of writing is the old one, too."""
    size, when = path.stat().st_size, path.stat().st_mtime_ns
    WRITERS[path.name](table, path.with_name("new"))
    os.utime(path.with_name("new"), ns=(when, when))
    os.replace(path.with_name("new"), path)
    assert path.stat().st_size == size


def written_again(path, table):
    """The same file, with other contents, at another time."""
    (inode, when), size = (path.stat().st_ino, path.stat().st_mtime_ns), path.stat().st_size
    WRITERS[path.name](table, path)
    os.utime(path, ns=(when + 1, when + 1))
    assert (path.stat().st_ino, path.stat().st_size) == (inode, size)


@pytest.mark.parametrize("way", [replaced, written_again])
@pytest.mark.parametrize("name", list(WRITERS))
def test_a_file_with_as_many_rows_and_bytes(tmp_path, name, way):
    """Before the first batch of a pass, and within one."""
    path = tmp_path / name
    WRITERS[name](people(200), path)
    (piece,) = open_source(path).pieces
    assert sum(len(table["a"]) for table in piece.tables()) == 200
    reading = piece.tables()
    next(reading)
    way(path, people(201))
    with pytest.raises(ValueError, match=CHANGED.format(name)):
        next(reading)
    with pytest.raises(ValueError, match=CHANGED.format(name)):
        next(piece.tables())
    (piece,) = open_source(path).pieces
    assert sum(len(table["a"]) for table in piece.tables()) == 200


@pytest.mark.parametrize("name", list(WRITERS))
def test_another_process_compares_sizes(tmp_path, name):
    """There the file may be a copy, with a number and a time of its own."""
    path = tmp_path / name
    WRITERS[name](people(200), path)
    sent = pickle.dumps(open_source(path).pieces[0])
    replaced(path, people(201))
    assert sum(len(table["a"]) for table in pickle.loads(sent).tables()) == 200
    with path.open("ab") as file:
        file.write(b"\n")
    with pytest.raises(ValueError, match=CHANGED.format(name)):
        next(pickle.loads(sent).tables())


@pytest.mark.parametrize("few", [False, True])
def test_no_person_is_in_two_records(tmp_path, monkeypatch, few):
    """Which pieces share a person is decided in the first pass; the second file changes after it."""
    monkeypatch.setattr(streamed, "SMALL", 2**26 if few else 0)  # read once, or in every pass
    for name, first in (("a", 100), ("b", 200)):
        (tmp_path / name).mkdir()
        WRITERS["t.parquet"](people(first), tmp_path / name / "t.parquet")
    files = [tmp_path / name / "t.parquet" for name in "ab"]
    table, seen = scan(files), []

    def change(number, *_):
        if number == 2 and not seen:
            seen.append(number)
            replaced(files[1], people(199))

    model = LogisticRegression(epsilon=1.0, classes=[0, 1], rows_per_person=1, random_state=0)
    with watched(change), pytest.raises(ValueError, match=CHANGED.format(files[1])):
        model.fit(table, "y", groups="person")
    assert seen
    assert not hasattr(model, "coef_")


class Future:
    """What is done already."""

    status = "finished"

    def done(self):
        return True

    def release(self):
        pass


class Client:
    """A cluster of which only the driver is looked at; while it works, the file changes."""

    id = "client"

    def __init__(self, change):
        self.change = change

    def nthreads(self):
        return {"worker": 1}

    def get(self, graph, keys, sync):
        self.change()
        return [Future() for _ in keys]


@pytest.mark.parametrize("joined", [False, True])
def test_the_driver_compares_all_after_a_pass_on_a_cluster(tmp_path, joined):
    """Also where a person's rows are in several files."""
    pytest.importorskip("cloudpickle", reason="dask.distributed is not installed")
    path = tmp_path / "t.parquet"
    WRITERS["t.parquet"](people(200), path)
    pieces = open_source(path).pieces
    given = [Joined(pieces, Span(100, "numbers", 0, 99))] if joined else pieces
    with Cluster(Client(lambda: None))._submitted(len, given, [None], merging=True):
        pass
    cluster = Cluster(Client(lambda: replaced(path, people(201))))
    with pytest.raises(ValueError, match=CHANGED.format("t.parquet")), cluster._submitted(len, given, [None], True):
        pass
