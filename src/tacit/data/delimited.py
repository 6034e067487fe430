"""CSV files, a batch of rows at a time: by Arrow's reader where it is installed, else by the standard library's.

Both give the same cells: the standard library's reader says what a file holds, and Arrow's is used as far as it agrees
(both were compared on quotes, line ends and spaces wherever they may stand). Where a file has something that they read
differently, or that Arrow refuses, the standard library reads on from the row that was reached, or says what is wrong.
"""

from __future__ import annotations

import codecs
import csv
import importlib.util
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tacit.checks import check, counted
from tacit.data.compressed import compression, is_damage, opened
from tacit.data.record_ends import DisagreementError, whole_records
from tacit.data.texts import COMMA, POINT, Texts

BATCH = 2**16
"""Rows that are in memory at a time."""
_ENCODINGS = (
    "Name its encoding (--encoding cp1252 for many files from Windows; in Python, encoding='cp1252'), or save it as "
    "UTF-8."
)
_LONGEST = 2**20
_LONGEST_LINE = 2**24
_BLOCK = 2**22
_WITHIN = "unexpected end of data"  # as the standard library says it
_OTHER_SEPARATORS = (";", "\t", "|")
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written. Without a separator a file's first line decides: it holds names, which are public."""

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
        sentence = f"{name} is not {kind} text. {_ENCODINGS}"
    except csv.Error:
        sentence = f"{name} is not a readable CSV file."
    except Exception as error:
        if not is_damage(error):
            raise
        sentence = f"{name} is not a readable {compression(path)} file, or it was cut off."
    if sentence:
        raise ValueError(sentence) from None


def header_of(path: str | Path, dialect: Dialect, wanted: Sequence[str] = ()) -> list[str]:
    """The names in a file's first line, once each. A lone column that is ``wanted`` may have a strange name."""
    with delimited_faults(path, dialect):
        return _header(path, dialect, wanted).names


def separator_of(path: str | Path, dialect: Dialect) -> str:
    """What separates the cells of a file: as the dialect says, or else its first line."""
    with delimited_faults(path, dialect):
        return _header(path, dialect, ()).dialect.sign


def batches(path: str | Path, dialect: Dialect, columns: Sequence[str] | None = None) -> Iterator[dict[str, Texts]]:
    """The columns of a file, BATCH rows or fewer at a time; ``columns`` names the ones to keep.

    Edges: blank lines are skipped, and so are spaces before a cell; a name that the file lacks is left out.
    """
    with delimited_faults(path, dialect):
        names, first, dialect = _header(path, dialect, columns or ())
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


def _lines(file: Any, dialect: Dialect, errors: str = "strict") -> io.TextIOWrapper:
    return io.TextIOWrapper(file, "utf-8-sig" if dialect.plain else dialect.encoding, errors, newline="")


def _reader(lines: Any, dialect: Dialect) -> Any:
    """The standard library's. A quote that nobody closes would take all rows behind it into one cell, so it is strict:
    quotes are closed, and a cell ends there.
    """
    return csv.reader(lines, delimiter=dialect.sign, skipinitialspace=True, strict=True)


class Header(NamedTuple):
    """The names of the columns, the text in which they stand, and how the file is written."""

    names: list[str]
    text: str
    dialect: Dialect


def _header(path: str | Path, dialect: Dialect, wanted: Sequence[str]) -> Header:
    """The first line; it decides about a separator that is not given, and about UTF-16, which it marks.

    Where a comma gives one name only, the first other separator that gives several is taken.
    """
    if dialect.plain:
        with opened(path) as file:
            wide = file.read(2) in _WIDE_MARKS
        dialect = replace(dialect, encoding="utf-16") if wide else dialect
    header = _first_line(path, dialect)
    if dialect.separator is None and len(header.names) < 2 and not set(header.names) & set(wanted):
        tried = (_first_line(path, replace(dialect, separator=sign)) for sign in _OTHER_SEPARATORS)
        header = next((other for other in tried if len(other.names) > 1), header)
    _check_names(Path(path).name, header)
    return header


def _first_line(path: str | Path, dialect: Dialect) -> Header:
    """What the separator makes of the first line; nothing, where it makes no sense of its quotes."""
    read: list[str] = []
    csv.field_size_limit(_LONGEST)
    with _lines(opened(path), dialect, "surrogateescape") as file:  # of bytes further on nothing is said here
        whole = _whole_lines(file, Path(path).name)
        lines = (read.append(line) or line for line in whole)  # type: ignore[func-returns-value]
        try:
            names = [cell.strip() for cell in next(_reader(lines, dialect), [])]
        except csv.Error:
            names = []
    text = "".join(read)
    text.encode()  # which a wrong byte in this line stops
    return Header(names, text, dialect)


def _whole_lines(file: io.TextIOWrapper, name: str) -> Iterator[str]:
    """Line by line; one without an end, which a small compressed file can hold, is refused before memory is full."""
    while line := file.readline(_LONGEST_LINE):
        check(len(line) < _LONGEST_LINE, f"The first line of {name} is longer than {_LONGEST_LINE:,} characters.")
        yield line


def _check_names(name: str, header: Header) -> None:
    names, text, _ = header
    check(text.strip("\r\n"), f"{name} is empty: expected a line with the names of the columns.")
    check(names, f"{name} is not a readable CSV file, at line 1.")
    zero = any("\0" in column for column in names)
    check(not zero, f"{name} has zero bytes in its first line: is it UTF-16? Then use --encoding utf-16-le.")
    again = next((column for place, column in enumerate(names) if column in names[:place]), None)
    ends = "are there separators at the ends of its lines?"
    check(again != "", f"{name} has two columns without a name in its first line: {ends}")
    check(again is None, f"{name} gives the same name to two columns in its first line: {again!r}.")


def _slow(
    path: str | Path, dialect: Dialect, names: Sequence[str], kept: Sequence[str], done: int
) -> Iterator[dict[str, Texts]]:
    """By the standard library, from the row after those that are done."""
    name, places = Path(path).name, [names.index(column) for column in kept]
    with _lines(opened(path), dialect) as file:
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
                            f"Line {reader.line_num} of {name} has {counted(len(row), 'cell')}, but its first line "
                            f"names {len(names)}.",
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
    with opened(path) as file:
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
