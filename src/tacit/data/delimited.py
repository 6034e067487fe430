"""CSV files, a batch of rows at a time: by Arrow's reader where it is installed, else by the standard library's.

Both give the same cells: the standard library's reader says what a file holds, and Arrow's is used as far as it agrees
(both were compared on quotes, line ends and spaces wherever they may stand). Where a file has something that they read
differently, or that Arrow refuses, the standard library reads on from the row that was reached, or says what is wrong.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import importlib.util
import io
import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.checks import check
from tacit.data.record_ends import DisagreementError, whole_records
from tacit.data.texts import COMMA, POINT, Texts

BATCH = 2**16
"""Rows that are in memory at a time."""
_LONGEST = 2**20
_BLOCK = 2**22
_WITHIN = "unexpected end of data"  # as the standard library says it
_OTHER_SEPARATORS = {";": "';'", "\t": "a tab"}


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written; no separator is a comma. A file whose name ends in .gz is compressed."""

    separator: str | None = None
    decimal: str = POINT
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        sign = self.separator
        check(
            sign is None or (isinstance(sign, str) and len(sign) == 1 and sign.isascii() and sign not in '" \r\n'),
            "Expected the separator to be one character: a comma, a semicolon, a tab, or another that is not a space.",
        )
        check(self.decimal in (POINT, COMMA), "Expected the decimal mark to be '.' or ','.")
        try:
            "".encode(self.encoding)  # of what is known, some encodings are not of text
        except (LookupError, TypeError) as error:
            raise ValueError("Expected a known encoding, such as utf-8 or latin-1.") from error

    @property
    def sign(self) -> str:
        """The separator."""
        return self.separator or ","

    @property
    def plain(self) -> bool:
        """Whether files are UTF-8."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")


@contextmanager
def delimited_faults(path: str | Path, dialect: Dialect) -> Iterator[None]:
    """What goes wrong in reading a CSV file as a sentence that names it, and quotes nothing of it."""
    name = Path(path).name
    sentence = ""
    try:
        yield
    except UnicodeError:  # a wrong byte, or no mark at the start that says in which order bytes stand
        kind = "UTF-8" if dialect.plain else dialect.encoding
        sentence = f"{name} is not {kind} text. Save it as UTF-8, or as Parquet."
    except csv.Error:
        sentence = f"{name} is not a readable CSV file."
    except (EOFError, gzip.BadGzipFile, zlib.error):
        sentence = f"{name} is not a readable gzip file, or it was cut off."
    if sentence:
        raise ValueError(sentence) from None


def header_of(path: str | Path, dialect: Dialect, wanted: Sequence[str] = ()) -> list[str]:
    """The names in a file's first line, once each. A lone column that is ``wanted`` may have a strange name."""
    with delimited_faults(path, dialect):
        return _header(path, dialect, wanted)[0]


def batches(path: str | Path, dialect: Dialect, columns: Sequence[str] | None = None) -> Iterator[dict[str, Texts]]:
    """The columns of a file, BATCH rows or fewer at a time; ``columns`` names the ones to keep.

    Edges: blank lines are skipped, and so are spaces before a cell; a name that the file lacks is left out.
    """
    with delimited_faults(path, dialect):
        names, first = _header(path, dialect, columns or ())
        kept = [name for name in names if columns is None or name in columns]
        done = 0
        if kept and importlib.util.find_spec("pyarrow"):
            for texts in _fast(path, dialect, names, kept, first):
                if texts is None:
                    break
                done += len(texts[kept[0]])
                yield texts
            else:
                return
        yield from _slow(path, dialect, names, kept, done)


def count_rows(path: str | Path, dialect: Dialect) -> int:
    """How many rows a file has; one pass over it, in which every line is checked."""
    names = header_of(path, dialect)
    return sum(len(table[names[0]]) for table in batches(path, dialect, names[:1]))


def _open(path: str | Path) -> Any:
    return gzip.open(path, "rb") if str(path).lower().endswith(".gz") else Path(path).open("rb")


def _lines(file: Any, dialect: Dialect) -> io.TextIOWrapper:
    return io.TextIOWrapper(file, "utf-8-sig" if dialect.plain else dialect.encoding, newline="")


def _reader(lines: Any, dialect: Dialect) -> Any:
    """The standard library's. A quote that nobody closes would take all rows behind it into one cell, so it is strict:
    quotes are closed, and a cell ends there.
    """
    return csv.reader(lines, delimiter=dialect.sign, skipinitialspace=True, strict=True)


def _header(path: str | Path, dialect: Dialect, wanted: Sequence[str]) -> tuple[list[str], str]:
    """The names, and the text in which they stand."""
    name, read = Path(path).name, []
    csv.field_size_limit(_LONGEST)
    with _lines(_open(path), dialect) as file:
        lines = (read.append(line) or line for line in file)  # type: ignore[func-returns-value]
        names = [cell.strip() for cell in next(_reader(lines, dialect), [])]
    check(names, f"{name} is empty: expected a line with the names of the columns.")
    check(len(set(names)) == len(names), f"{name} gives the same name to two columns in its first line.")
    for sign, words in _OTHER_SEPARATORS.items():
        whole = len(names) == 1 and sign in names[0] and names[0] not in wanted and dialect.separator is None
        check(not whole, f"{name} has one column only. Is the separator {words}? Name it, or save it with commas.")
    return names, "".join(read)


def _slow(
    path: str | Path, dialect: Dialect, names: Sequence[str], kept: Sequence[str], done: int
) -> Iterator[dict[str, Texts]]:
    """By the standard library, from the row after those that are done."""
    name, places = Path(path).name, [names.index(column) for column in kept]
    with _lines(_open(path), dialect) as file:
        reader, whole = _reader(file, dialect), 0

        def rows() -> Iterator[list[str]]:
            nonlocal whole
            try:
                next(reader, None)
                whole = reader.line_num
                for row in reader:
                    whole = reader.line_num
                    if row:
                        check(
                            len(row) == len(names),
                            f"Line {reader.line_num} of {name} has {len(row)} cells, but its first line names "
                            f"{len(names)}.",
                        )
                        yield row
            except csv.Error as error:
                place = f"is not a readable CSV file, at line {reader.line_num}"
                if str(error) == _WITHIN:
                    place = f"ends within quotes that open after line {whole}: it was cut off, or a quote is missing"
                raise ValueError(f"{name} {place}.") from error

        left = itertools.islice(rows(), done, None)
        while chunk := list(itertools.islice(left, BATCH)):
            yield {
                column: Texts([row[place] for row in chunk], dialect.decimal)
                for column, place in zip(kept, places, strict=True)
            }


def _after_header(file: Any, dialect: Dialect, first: str) -> Callable[[int], bytes]:
    """Reads on after the first line, about so many bytes at a time, as UTF-8."""
    if dialect.plain:
        marked = file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
        file.seek(len(first.encode()) + (len(codecs.BOM_UTF8) if marked else 0))
        return lambda size: bytes(file.read(size))
    decoder, skipped = codecs.getincrementaldecoder(dialect.encoding)(), 0

    def take(size: int) -> bytes:
        nonlocal skipped
        while raw := file.read(size):
            text = decoder.decode(raw)
            before = min(len(first) - skipped, len(text))
            skipped += before
            if text[before:]:
                return text[before:].encode()
        return decoder.decode(b"", final=True).encode()

    return take


def _fast(
    path: str | Path, dialect: Dialect, names: Sequence[str], kept: Sequence[str], first: str
) -> Iterator[dict[str, Texts] | None]:
    """By Arrow; None, at last, where it cannot go on.

    Arrow is given whole records in memory, never a file of Python's: it would ask for its bytes from threads of its
    own, which can wait for each other forever.
    """
    import pyarrow
    from pyarrow import compute
    from pyarrow import csv as arrow

    parsing = arrow.ParseOptions(delimiter=dialect.sign, newlines_in_values=True)
    types = dict.fromkeys(kept, pyarrow.string())
    converting = arrow.ConvertOptions(include_columns=kept, column_types=types, check_utf8=False)
    with _open(path) as file:
        try:
            for records, spaces in whole_records(_after_header(file, dialect, first), dialect.sign, _BLOCK):
                reading = arrow.ReadOptions(column_names=names, block_size=len(records) + 1, use_threads=False)
                block = arrow.read_csv(pyarrow.BufferReader(records), reading, parsing, converting)
                columns = []
                for column in block.columns:
                    if column.nbytes > _LONGEST and compute.max(compute.binary_length(column)).as_py() > _LONGEST:
                        raise DisagreementError
                    spaced = spaces and compute.any(compute.starts_with(column, " ")).as_py()
                    columns.append((compute.ascii_ltrim(column, " ") if spaced else column).combine_chunks())
                for start in range(0, block.num_rows, BATCH):
                    yield {
                        name: Texts(column.slice(start, BATCH), dialect.decimal)
                        for name, column in zip(kept, columns, strict=True)
                    }
        except (pyarrow.ArrowInvalid, UnicodeDecodeError, DisagreementError):
            pass
        else:
            return
    yield None
