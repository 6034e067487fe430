"""One way in: whatever holds a table becomes a source."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from tacit.checks import check
from tacit.data.compressed import SUFFIXES
from tacit.data.delimited import Dialect, header_of
from tacit.data.tables import check_regular
from tacit.streams.columnar import Types, arrow_pieces, check_same, need_pyarrow, parquet_pieces
from tacit.streams.frames import frame_source
from tacit.streams.partitions import partition_source
from tacit.streams.pieces import Piece, Source
from tacit.streams.queries import dataset_source, lazy_source, reader_source, relation_source
from tacit.streams.textual import delimited_pieces

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".arrows", ".feather", ".ipc")
TEXT = tuple(f"{kind}{packed}" for kind in (".csv", ".tsv") for packed in SUFFIXES)
_LAZY: dict[tuple[str, str], Callable[[Any], Source]] = {
    ("pyarrow", "Dataset"): dataset_source,
    ("pyarrow", "RecordBatchReader"): reader_source,
    ("polars", "LazyFrame"): lazy_source,
    ("duckdb", "DuckDBPyRelation"): relation_source,
    ("dask", "DataFrame"): partition_source,
}
"""What is no array, by the library and the name of its class: none is imported to find out."""
_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")}


def is_source(thing: Any) -> bool:
    """Whether this is to be streamed rather than taken as an array: files, or a table that is not in memory."""
    return isinstance(thing, Source) or _is_path(thing) or _are_paths(thing) or _known(thing, _LAZY) is not None


def open_source(thing: Any, *, separator: str | None = None, decimal: str = ".", encoding: str = "utf-8") -> Source:
    """The source that a path, a pattern, a folder, a list of paths, a data frame or a query stands for.

    ``separator``, ``decimal`` and ``encoding`` are those of CSV files. Files of a pattern or folder come in the order
    of their names; a list keeps its own. Nothing but the number of rows, names and types is read.

    Edges: no file, no row, files that differ in their columns, one file twice, and what is damaged raise a sentence.
    """
    dialect = Dialect(separator, decimal, encoding)
    if isinstance(thing, Source):
        return thing
    lazy = _known(thing, _LAZY)
    if lazy is not None:
        source = _LAZY[lazy](thing)
    elif _is_path(thing) or _are_paths(thing):
        paths = [thing] if _is_path(thing) else thing
        source = _file_source([path for place in paths for path in found(place)], dialect)
    else:
        table = isinstance(thing, Mapping) or _known(thing, _FRAMES) is not None
        check(table, "Expected files, a data frame, or a query of Arrow, polars, DuckDB or Dask.")
        source = frame_source(thing)
    check(source.rows, "The table has no rows.")
    return source


def found(place: str | Path) -> list[Path]:
    """The files that a path, a pattern or a folder stands for, in the order of their names.

    Edges: of a folder, names that begin with a dot or an underscore are left out; any other that is no table raises,
    for a file that is left out is people left out.
    """
    path = Path(place)
    if path.is_dir():
        files = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_")))
        check(files, f"The folder {str(place)!r} is empty.")
        for file in files:
            check(
                file.is_file() and file.name.lower().endswith((*PARQUET, *ARROW, *TEXT)),
                f"{file.name} in the folder {str(place)!r} is not a table. Name the files: for instance "
                f"{str(path / '*.parquet')!r}. For folders in folders, give a pyarrow dataset.",
            )
        return files
    if not path.exists() and glob.has_magic(str(place)):
        files = sorted(Path(name) for name in glob.glob(str(place), recursive=True))
        check(files, f"No file matches {str(place)!r}.")
        for file in files:
            check(not file.is_dir(), f"{str(place)!r} matches a folder; name files.")
        return files
    return [path]


def would_find(place: str | Path, path: str | Path) -> bool:
    """Whether a file of this path, once it is written, is among those that a folder or a pattern stands for."""
    folder, pattern = os.path.split(os.path.join(glob.escape(os.getcwd()), place))
    if os.path.isdir(place):
        folders, pattern = [str(place)], "[!._]*"
    elif os.path.exists(place) or not glob.has_magic(str(place)):
        return False
    elif pattern == "**":
        folders, pattern = glob.glob(str(place), recursive=True), "[!.]*"
    else:
        folders = glob.glob(folder, recursive=True)
    return any(
        fnmatch(name, pattern)
        and (pattern.startswith(".") or not name.startswith("."))
        and any(os.path.isdir(one) and os.path.samefile(one, parent) for one in folders)
        for parent, name in map(os.path.split, (os.path.abspath(path), os.path.realpath(path)))
    )


def _file_source(paths: Sequence[Path], dialect: Dialect) -> Source:
    check(len(set(map(_identity, paths))) == len(paths), "Expected every file only once: people count once.")
    for path in paths:
        check_regular(path)
    short = len({path.name for path in paths}) == len(paths)
    kinds = {_kind(path) for path in paths}
    check(len(kinds) == 1, f"Expected files of one kind, not {' and '.join(sorted(kinds))} together.")
    kind = kinds.pop()
    if kind != "CSV":
        need_pyarrow(kind)
    openers: dict[str, Callable[[Path, str], tuple[Sequence[Piece], Types]]] = {
        "CSV": lambda path, key: delimited_pieces(path, key, dialect),
        "Parquet": parquet_pieces,
        "Arrow": arrow_pieces,
    }
    pieces: list[Piece] = []
    first, names = "", {}
    for path in paths:
        key = path.name if short else str(path)
        more, types = openers[kind](path.absolute(), key)  # another process may start in another folder
        if not first:
            first, names = key, types
        check_same(first, names, key, types)
        names = {name: types[name] if word == "null" else word for name, word in names.items()}
        pieces += more
    check(len(paths) > 1 or any(piece.rows for piece in pieces), f"{first} has no rows.")
    return Source(tuple(pieces), tuple(names), types=names)


def _identity(path: Path) -> Any:
    """Which file this is, under whatever name: links of both kinds lead to the same people."""
    try:
        found = path.stat()
    except OSError:
        return path.resolve()  # whoever opens it says why not
    return found.st_dev, found.st_ino


def _kind(path: Path) -> str:
    name = path.name.lower()
    return "Parquet" if name.endswith(PARQUET) else "Arrow" if name.endswith(ARROW) else "CSV"


def _is_path(thing: Any) -> bool:
    return isinstance(thing, str | os.PathLike)


def _are_paths(thing: Any) -> bool:
    return isinstance(thing, list | tuple) and bool(thing) and all(_is_path(entry) for entry in thing)


def _known(thing: Any, kinds: Any) -> tuple[str, str] | None:
    names = ((kind.__module__.split(".")[0], kind.__name__) for kind in type(thing).__mro__)
    return next((name for name in names if name in kinds), None)


def declared_types(places: Sequence[str | Path], *, separator: str | None = None, encoding: str = "utf-8") -> Types:
    """The columns of files, and the types that they declare; '' in CSV files, which declare none.

    Names and types are public. No cell is read, but for one column of an Arrow file, to see that it is whole.
    """
    dialect = Dialect(separator, encoding=encoding)
    paths = [path for place in places for path in found(place)]
    types: Types = {}
    for path in paths:
        check_regular(path)
        kind = _kind(path)
        if kind == "CSV":
            others = dict.fromkeys(header_of(path, dialect), "")
        else:
            need_pyarrow(kind)
            others = (parquet_pieces if kind == "Parquet" else arrow_pieces)(path.absolute(), path.name)[1]
        types = types or others
        check_same(paths[0].name, types, path.name, others)
    return types
