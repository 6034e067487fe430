"""Parquet and Arrow files: rows are counted and types compared from what the files say about themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tacit.checks import check
from tacit.data.tables import Table
from tacit.streams.pieces import BATCH, counted, file_faults, kept
from tacit.streams.states import FileState

PIECE = 2**18
"""Row groups of a Parquet file that follow one another are one piece as long as they have at most so many rows."""
_BUFFER = 2**18
_ELSEWHERE = (
    "{key} was written to a temporary file of the process that opened it, which this process cannot see. Write it to a "
    "file that all can read, and pass that file."
)
_ENDS = (b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0")
"""How a stream ends: as it is written now, and as it was before version 0.15 of Arrow."""
_TEXT = ("string", "large_string", "string_view")
Types = dict[str, str]


@dataclass(frozen=True)
class ParquetPiece:
    """Some row groups of a file, one after the other."""

    path: Path
    key: str
    rows: int
    groups: tuple[int, ...]
    state: FileState = field(repr=False)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, BATCH at a time."""
        return counted(self.key, self.rows, self.state.during(self._read(columns)))

    def _read(self, columns: Sequence[str] | None) -> Iterator[Table]:
        from pyarrow import parquet

        with file_faults(self.key, "Parquet"), self.path.open("rb") as opened:
            names = parquet.read_schema(opened)
            texts = [name for name in names.names if type_of(names.field(name).type) == "text"]
            # Columns are read a buffer at a time: whole row groups may be larger than memory. Texts come as a
            # dictionary where they are stored as one: each is then read once.
            with parquet.ParquetFile(
                opened, read_dictionary=texts, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
            ) as file:
                for batch in file.iter_batches(BATCH, list(self.groups), kept(names.names, columns)):
                    yield dict(zip(batch.schema.names, batch.columns, strict=True))


@dataclass(frozen=True)
class ArrowPiece:
    """A file of Arrow batches, as ``pyarrow.feather`` and ``pyarrow.ipc`` write them.

    ``owner``, of a temporary file, is kept alive; ``sent``: another process has it.
    """

    path: Path
    key: str
    rows: int
    state: FileState = field(repr=False)
    owner: Any = field(default=None, repr=False, compare=False)
    sent: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        if not (self.sent or self.owner is not None):
            return ArrowPiece, (self.path, self.key, self.rows, self.state)
        return _sent, (
            self.path,
            self.key,
            self.rows,
            self.state.size,
            self.state.own,
        )  # the maker looks after the file

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, at most BATCH at a time."""
        check(not self.sent or self.state.holds(), _ELSEWHERE.format(key=self.key))
        return counted(self.key, self.rows, self.state.during(self._read(columns)))

    def _read(self, columns: Sequence[str] | None) -> Iterator[Table]:
        with file_faults(self.key, "Arrow"):
            for batch in _arrow_batches(self.path, columns):
                for start in range(0, batch.num_rows, BATCH):
                    part = batch.slice(start, BATCH)
                    yield dict(zip(part.schema.names, part.columns, strict=True))


def parquet_pieces(path: Path, key: str) -> tuple[list[ParquetPiece], Types]:
    """The pieces of a Parquet file, and the types of its columns."""
    from pyarrow import parquet

    state = FileState.of(path, key)
    with file_faults(key, "Parquet"), path.open("rb") as opened, parquet.ParquetFile(opened) as file:
        types = types_of(key, file.schema_arrow)
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    runs: list[list[int]] = []
    for group, size in enumerate(sizes):
        if runs and sum(sizes[one] for one in runs[-1]) + size <= PIECE:
            runs[-1].append(group)
        else:
            runs.append([group])
    names = [key] if len(runs) == 1 else [f"{key}, row groups from {run[0]}" for run in runs]
    pieces = [
        ParquetPiece(path, name, sum(sizes[group] for group in run), tuple(run), state)
        for name, run in zip(names, runs, strict=True)
    ]
    return pieces or [ParquetPiece(path, key, 0, (), state)], types


def arrow_pieces(path: Path, key: str, owner: Any = None) -> tuple[list[ArrowPiece], Types]:
    """The piece of an Arrow file, and the types of its columns."""
    state = FileState.of(path, key)
    with file_faults(key, "Arrow"):
        with _arrow_reader(path) as (reader, _):
            schema = reader.schema
        types = types_of(key, schema)
        # No more than one column is read to count rows, and none is decompressed where there is no need to.
        rows = sum(batch.num_rows for batch in _arrow_batches(path, schema.names[:1]))
    return [ArrowPiece(path, key, rows, state, owner)], types


def _sent(path: Path, key: str, rows: int, size: int, own: tuple[int, int, int, int] | None) -> ArrowPiece:
    """A piece of a temporary file in another process: that very file, or none. Who made the file looks after it."""
    return ArrowPiece(path, key, rows, FileState(path, key, size, own), sent=True)


def need_pyarrow(kind: str) -> None:
    """Refuse, where pyarrow is not installed, what is read by it."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ValueError(f"Reading {kind} needs pyarrow. In Tacit's source: pip install '.[parquet]'") from error


def types_of(key: str, schema: Any) -> Types:
    """The types of an Arrow schema's columns, as words to compare."""
    check(len(set(schema.names)) == len(schema.names), f"{key} gives the same name to two columns.")
    return {entry.name: type_of(entry.type) for entry in schema}


def type_of(kind: Any) -> str:
    """The type of a column as a word; texts are of one type, however they are stored."""
    word = str(getattr(kind, "value_type", kind) if hasattr(kind, "index_type") else kind)
    return "text" if word in _TEXT else word


def check_same(first: str, types: Types, key: str, others: Types) -> None:
    """Refuse a file with other columns than the first one, or with another type of one.

    Edges: a column of a file in which no cell was ever filled has the type 'null', which goes with any.
    """
    for one, absent in ((key, set(types) - set(others)), (first, set(others) - set(types))):
        other = first if one == key else key
        check(not absent, f"{one} has no column {min(absent, default='')!r}, and {other} has one.")
    for name, kind in others.items():
        check(
            kind == types[name] or "null" in (kind, types[name]),
            f"Column {name!r} is {kind} in {key} and {types[name]} in {first}. Write both files with one type.",
        )


@contextmanager
def _arrow_reader(path: Path, names: Sequence[int] | None = None) -> Iterator[tuple[Any, Any]]:
    """A reader of a file, or of a stream that was written to one; and its bytes.

    A mapped file would be copied less, and would look like memory that grows with the file.
    """
    import pyarrow

    options = pyarrow.ipc.IpcReadOptions(included_fields=names)
    with path.open("rb") as file:
        whole = file.read(6) == b"ARROW1"
    way = pyarrow.ipc.open_file if whole else pyarrow.ipc.open_stream
    with pyarrow.OSFile(str(path)) as opened, way(opened, options=options) as reader:
        yield reader, opened


def _arrow_batches(path: Path, columns: Sequence[str] | None) -> Iterator[Any]:
    with _arrow_reader(path) as (reader, _):
        names = reader.schema.names
    with _arrow_reader(path, [names.index(name) for name in kept(names, columns)]) as (reader, opened):
        if hasattr(reader, "num_record_batches"):
            yield from (reader.get_batch(place) for place in range(reader.num_record_batches))
        else:
            yield from _whole_stream(reader, opened)


def _whole_stream(reader: Any, opened: Any) -> Iterator[Any]:
    """The batches of a stream, if its end is marked: Arrow takes the end of the file for one, also where it was cut."""
    import pyarrow

    end = opened.tell()
    for batch in reader:
        end = opened.tell()
        yield batch
    opened.seek(end)
    if not opened.read(8).startswith(_ENDS):
        raise pyarrow.ArrowInvalid("The stream was cut off between two batches.")
