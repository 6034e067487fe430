"""Sources: the same rows whatever holds them, read twice, in another process, and refused in a sentence."""

import errno
import gc
import gzip
import os
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tacit.checks import PrivacyError
from tacit.data.cells import columns_of
from tacit.data.tables import numbers, read_table
from tacit.schema import Category, Number, Schema
from tacit.streams import BATCH, is_source, open_source

pa = pytest.importorskip("pyarrow", reason="most sources are read by pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")
dataset = pytest.importorskip("pyarrow.dataset")

ROWS = 500
SECRET = "Zaphod"
SCHEMA = Schema((Number("a", 0, 600), Category("b", ("x", "ÿ", "<z>")), Number("c", -1, 1, missing=True)))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    texts = rng.choice(["x", "ÿ", "<z>", SECRET], ROWS)
    numbers = rng.normal(size=ROWS).astype(np.float32)
    return pa.table({"a": np.arange(ROWS), "b": texts, "c": pa.array(numbers, mask=rng.random(ROWS) < 0.1)})


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    place = tmp_path_factory.mktemp("tables")
    parquet.write_table(table, place / "t.parquet", row_group_size=70)
    feather.write_feather(table, place / "t.feather", chunksize=90)
    with pa.ipc.new_stream(place / "t.arrows", table.schema) as file:
        file.write_table(table, 90)
    text = table.to_pandas().astype({"c": float}).to_csv(index=False)  # every digit: those of float32 are fewer
    (place / "t.csv").write_text(text, encoding="utf-8")
    (place / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    (place / "parts").mkdir()
    for part in range(4):
        parquet.write_table(table.slice(part * 125, 125), place / "parts" / f"p{part}.parquet")
    return place


def _relation(table, folder):
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.connect().sql(f"select * from '{folder / 't.parquet'}'")


def _dask(table, folder):
    return pytest.importorskip("dask.dataframe", reason="Dask is not installed").read_parquet(folder / "parts")


KINDS = {
    "parquet": lambda table, folder: folder / "t.parquet",
    "feather": lambda table, folder: str(folder / "t.feather"),
    "stream": lambda table, folder: folder / "t.arrows",
    "csv": lambda table, folder: folder / "t.csv",
    "gzip": lambda table, folder: folder / "t.csv.gz",
    "folder": lambda table, folder: folder / "parts",
    "pattern": lambda table, folder: str(folder / "parts" / "p*.parquet"),
    "list": lambda table, folder: [folder / "parts" / f"p{part}.parquet" for part in range(4)],
    "dataset": lambda table, folder: dataset.dataset(folder / "parts"),
    "filtered": lambda table, folder: dataset.dataset(folder / "parts").filter(dataset.field("a") >= 0),
    "reader": lambda table, folder: table.to_reader(100),
    "lazy": lambda table, folder: pl.scan_parquet(folder / "t.parquet").filter(pl.col("a") >= 0),
    "relation": _relation,
    "dask": _dask,
    "arrow": lambda table, folder: table,
    "polars": lambda table, folder: pl.from_arrow(table),
    "pandas": lambda table, folder: table.to_pandas(),
    "mapping": lambda table, folder: table.to_pydict(),
}
IN_MEMORY = {"arrow", "polars", "pandas", "mapping"}
STAY = {"filtered": PrivacyError}
"""Kinds that cannot be sent to other processes."""


def rows_of(pieces, columns=None):
    return np.concatenate([SCHEMA.encode(batch) for piece in pieces for batch in piece.tables(columns)])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Dask, about pandas
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_whatever_holds_them(kind, table, folder, monkeypatch):
    monkeypatch.setattr("tacit.streams.columnar.PIECE", 200)
    thing = KINDS[kind](table, folder)
    source = open_source(thing)
    assert is_source(thing) == (kind not in IN_MEMORY)
    assert is_source(source)
    assert open_source(source) is source
    assert (source.rows, source.names) == (ROWS, ("a", "b", "c"))
    whole = SCHEMA.encode(table)
    np.testing.assert_array_equal(rows_of(source.pieces), whole)
    np.testing.assert_array_equal(rows_of(source.pieces, ["c", "b", "a", "none"]), whole)  # again, and by name
    assert all(list(batch) == ["c"] for piece in source.pieces for batch in piece.tables(["c"]))
    if kind in STAY:
        with pytest.raises(STAY[kind]):
            pickle.dumps(source.pieces)
    else:
        sent = pickle.loads(pickle.dumps(source.pieces))
        np.testing.assert_array_equal(rows_of(sent), whole)


def test_a_piece_is_read_in_another_process(folder):
    (piece,) = open_source(folder / "t.csv").pieces
    program = (
        "import pickle, sys; p = pickle.loads(sys.stdin.buffer.read()); print(sum(len(t['a']) for t in p.tables()))"
    )
    done = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(piece), capture_output=True, check=True)
    assert int(done.stdout) == ROWS


def test_pieces_are_runs_of_row_groups(folder, monkeypatch):
    monkeypatch.setattr("tacit.streams.columnar.PIECE", 200)
    pieces = open_source(folder / "t.parquet").pieces
    assert [(piece.key, piece.rows) for piece in pieces] == [
        ("t.parquet, row groups from 0", 140), ("t.parquet, row groups from 2", 140),
        ("t.parquet, row groups from 4", 140), ("t.parquet, row groups from 6", 80),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream", "csv", "reader", "pandas", "polars", "mapping"])
def test_batches_are_bounded_and_types_stay(kind, tmp_path, table):
    long = pa.table({"a": np.arange(2 * BATCH + 5, dtype=np.float32)})
    parquet.write_table(long, tmp_path / "t.parquet")
    feather.write_feather(long, tmp_path / "t.feather", chunksize=10**6)
    with pa.ipc.new_stream(tmp_path / "t.arrows", long.schema) as file:
        file.write_table(long)
    pl.from_arrow(long).write_csv(tmp_path / "t.csv")
    make = {**KINDS, "mapping": lambda table, folder: {"a": long["a"].to_numpy()}}[kind]
    (piece,) = open_source(make(long, tmp_path)).pieces
    columns = [batch["a"] for batch in piece.tables()]
    assert max(map(len, columns)) <= BATCH
    assert sum(map(len, columns)) == piece.rows == 2 * BATCH + 5
    arrays = [columns_of({"a": column}, ["a"])[0] for column in columns]
    assert {array.dtype for array in arrays} == {np.dtype(object if kind == "csv" else np.float32)}


def test_a_frame_is_not_copied():
    values = np.arange(3.0 * BATCH)
    (piece,) = open_source({"a": values}).pieces
    assert all(np.shares_memory(batch["a"], values) for batch in piece.tables())
    tracemalloc.start()
    for _ in open_source(pd.DataFrame({"a": values}, copy=False)).pieces[0].tables():
        pass
    assert tracemalloc.get_traced_memory()[1] < values.nbytes / 3
    tracemalloc.stop()


def test_a_relation_of_a_closed_connection_is_told():
    connection = pytest.importorskip("duckdb", reason="DuckDB is not installed").connect()
    relation = connection.sql("select 1 a")
    connection.close()
    with pytest.raises(ValueError, match=r"^the DuckDB relation could not be computed: \w+\."):
        open_source(relation)


def _relation_of_groups():
    """In another order every time, where several threads work it out."""
    connection = pytest.importorskip("duckdb", reason="DuckDB is not installed").connect()
    connection.execute("set threads = 4")
    connection.execute("create table t as select (i * 7919) % 100000 as k from range(400000) s(i)")
    return connection.sql("select k as a from t group by k"), 100000


def _shuffled_frame():
    """In another order every time, and with other texts first in each batch's dictionary."""
    names = pl.Series("b", [f"n{place}" for place in range(BATCH + 1000)], dtype=pl.Categorical)
    frame = pl.DataFrame({"a": np.arange(len(names)), "b": names}).lazy()
    return frame.map_batches(lambda found: found.sample(fraction=1, shuffle=True)), len(names)


@pytest.mark.parametrize("made", [_relation_of_groups, _shuffled_frame])
def test_a_query_is_worked_out_once(made):
    """A record that was drawn by its place must be the same record in every pass."""
    query, rows = made()
    (piece,) = open_source(query).pieces
    once, again = (np.concatenate([np.asarray(table["a"]) for table in piece.tables(["a"])]) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(np.sort(once), np.arange(rows))


def test_a_temporary_file_that_another_process_does_not_see(table, folder):
    source = open_source(KINDS["lazy"](table, folder))
    (sent,) = pickle.loads(pickle.dumps(source.pieces))
    (again,) = pickle.loads(pickle.dumps([sent]))
    assert rows_of([again]).shape == (ROWS, SCHEMA.width)
    del source
    gc.collect()
    with pytest.raises(ValueError, match=r"^the LazyFrame was written to a temporary file .* that all can read"):
        rows_of([again])


def test_names_that_differ_and_types_that_change_are_refused(table, tmp_path):
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    parquet.write_table(table, first)
    refused = {
        "2.parquet has no column 'b', and 1.parquet has one.": table.drop_columns("b"),
        "1.parquet has no column 'd', and 2.parquet has one.": table.append_column("d", table["a"]),
        "Column 'a' is text in 2.parquet and int64 in 1.parquet. Write both files with one type.": table.set_column(
            0, "a", table["a"].cast(pa.string())
        ),
    }
    for sentence, other in refused.items():
        parquet.write_table(other, second)
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            open_source(tmp_path)
        assert str(caught.value) == sentence
    same = table.select(["c", "a", "b"]).set_column(2, "b", table["b"].dictionary_encode())
    parquet.write_table(same, second)
    np.testing.assert_array_equal(rows_of(open_source(tmp_path).pieces), np.tile(SCHEMA.encode(table), (2, 1)))
    empty = table.set_column(2, "c", pa.nulls(ROWS))
    parquet.write_table(empty, second)
    assert open_source(tmp_path).rows == 2 * ROWS


def test_files_that_are_not_there_or_twice_or_of_two_kinds(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link.parquet").symlink_to(folder / "t.parquet")
    (tmp_path / "none.csv").write_text("a,b\n", encoding="utf-8")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "t.csv.zst").write_bytes(b"")
    cases = {
        "The folder .* is empty": tmp_path / "empty",
        r"^No file matches '.*\*\.pq'\.$": str(tmp_path / "*.pq"),
        "Expected every file only once": [folder / "t.parquet", tmp_path / "link.parquet"],
        "Expected files of one kind, not CSV and Parquet": [folder / "t.parquet", folder / "t.csv"],
        r"^none\.csv has no rows": tmp_path / "none.csv",
        r"^t\.csv\.zst in the folder .* is not a table": tmp_path / "odd",
        "Expected files, a data frame, or a query": np.zeros((3, 2)),
        "text": pd.DataFrame({1: [2]}),
    }
    for sentence, thing in cases.items():
        with pytest.raises(ValueError, match=sentence):
            open_source(thing)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.parquet"):
        open_source(tmp_path / "nowhere.parquet")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrows", "t.csv.gz"])
@pytest.mark.parametrize("harm", ["cut", "nothing", "other", "inside"])
def test_a_damaged_file_is_named(folder, tmp_path, name, harm):
    """When it is opened, or in the middle of a pass."""
    whole = (folder / name).read_bytes()
    harmed = {
        "cut": whole[: len(whole) // 2],
        "nothing": b"",
        "other": b"something else altogether",
        "inside": whole[:100] + b"\xff" * (len(whole) // 3) + whole[100 + len(whole) // 3 :],
    }[harm]
    (tmp_path / name).write_bytes(harmed)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        rows_of(open_source(tmp_path / name).pieces)
    assert name in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", ["plain", "dictionary", "compressed", "old"])
def test_a_stream_that_was_cut_between_two_batches_is_named(tmp_path, kind):
    """Also where the last cells look like the mark of an end."""
    column = pa.array([-1, 0] * 50, pa.int32()) if kind != "dictionary" else pa.array(["x", "y"] * 50)
    table = pa.table({"b": ["u"] * 100, "a": column.dictionary_encode() if kind == "dictionary" else column})
    options = pa.ipc.IpcWriteOptions(
        compression="zstd" if kind == "compressed" else None, use_legacy_format=kind == "old"
    )
    path = tmp_path / "s.arrows"
    for ended in (True, False):
        with pa.OSFile(str(path), "wb") as sink:
            writer = pa.ipc.new_stream(sink, table.schema, options=options)
            writer.write_table(table, 20)
            if ended:
                writer.close()
        if ended:
            (piece,) = open_source(path).pieces
            assert sum(len(batch["a"]) for batch in piece.tables(["a"])) == 100
            continue
        with pytest.raises(ValueError, match=r"^s\.arrows is not a readable Arrow file, or it was cut off"):
            open_source(path)


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_under_two_names_is_one(folder, tmp_path, link):
    (tmp_path / "x.parquet").write_bytes((folder / "t.parquet").read_bytes())
    link(tmp_path / "x.parquet", tmp_path / "y.parquet")
    with pytest.raises(ValueError, match="Expected every file only once"):
        open_source(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_pipe_is_refused_before_anything_is_read(tmp_path, encoding):
    ending, beginning = os.pipe()
    os.write(beginning, b"a,b\n1,2\n")
    os.close(beginning)
    os.mkfifo(tmp_path / "f.csv")
    try:
        for path in (f"/dev/fd/{ending}", tmp_path / "f.csv", str(tmp_path / "*.csv")):
            with pytest.raises(ValueError, match=r"is a pipe or a device, and tables are read more than once"):
                open_source(path, encoding=encoding)
        with pytest.raises(ValueError, match=r"is a pipe or a device"):
            read_table(f"/dev/fd/{ending}", encoding=encoding)
        assert os.read(ending, 100) == b"a,b\n1,2\n"
    finally:
        os.close(ending)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv"])
def test_a_file_that_changed_is_refused_in_the_next_pass(folder, tmp_path, table, name):
    path = tmp_path / name
    path.write_bytes((folder / name).read_bytes())
    pieces = open_source(path).pieces
    short = table.slice(0, 100)
    parquet.write_table(short, tmp_path / "t.parquet")
    feather.write_feather(short, tmp_path / "t.feather")
    short.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=rf"^{name} "):
        rows_of(pieces)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=name):
        rows_of(pieces)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv"])
def test_no_permission_is_an_operating_systems_error_with_the_name(folder, monkeypatch, name):
    (piece, *_) = open_source(folder / name).pieces

    def closed(path, *rest, **more):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "open", closed)
    for reading in (lambda: open_source(folder / name), lambda: list(piece.tables())):
        with pytest.raises(PermissionError, match=name):
            reading()


def test_a_query_that_fails_quotes_no_cell(tmp_path):
    frame = pl.DataFrame({"a": ["1", SECRET]}).lazy().select(pl.col("a").cast(pl.Int64))
    with pytest.raises(ValueError, match=r"^the LazyFrame could not be computed: \w+\.") as caught:
        rows_of(open_source(frame).pieces)
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__
    spoilt = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), (1 / 0 for _ in range(1)))
    with pytest.raises(ValueError, match=r"^the record batch reader could not be computed"):
        open_source(spoilt)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Dask, about pandas
def test_dask_counts_the_partitions_that_it_reads(table):
    """Which partitions there are after a column was taken is Dask's choice."""
    frame = pytest.importorskip("dask.dataframe", reason="Dask is not installed").from_pandas(
        table.to_pandas(), npartitions=4
    )
    few = frame[frame["a"] >= 490]
    source = open_source(few)
    assert [piece.rows for piece in source.pieces] == [0, 0, 0, 10]
    sizes = [len(pickle.dumps(piece)) for piece in open_source(frame).pieces]
    assert max(sizes) < 2 * len(pickle.dumps(frame)) / 4, "a piece carries its own rows"
    kept = [batch["a"].tolist() for piece in source.pieces for batch in piece.tables(["a"])]
    assert kept == [list(range(490, 500))]


def test_only_pyarrow_is_needed_for_files_and_not_for_csv(folder):
    program = f"""
import sys
for name in ("pyarrow", "pandas", "polars", "dask", "duckdb"):
    sys.modules[name] = None
from pathlib import Path
from tacit.streams import open_source
print(sum(len(t["a"]) for p in open_source({str(folder / "t.csv")!r}).pieces for t in p.tables()))
try: open_source({str(folder / "t.parquet")!r})
except ValueError as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, sentence = done.stdout.splitlines()
    assert int(count) == ROWS
    assert sentence.startswith("Reading Parquet needs pyarrow.")


def test_a_column_that_is_gone_in_a_later_pass_is_named():
    with pytest.raises(ValueError, match=r"^The table lacks the columns \['b'\]"):
        numbers({"a": np.zeros(3)}, ["a", "b"])
