"""Contents of published files as tables and images. Nothing is scaled, filled or dropped but what a reader says."""

from __future__ import annotations

import csv
import importlib.util
import io
import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = dict[str, NDArray[Any]]
Images = tuple[NDArray[np.uint8], NDArray[np.int64]]
Reader = Callable[[Sequence[bytes]], Table]


def delimited(
    columns: Sequence[str] | None, numbers: Collection[str], wanted: Collection[str] = (), delimiter: str = ","
) -> Reader:
    """Columns of a delimited file: numbers as float64, the others as stripped text; other lines are no records.

    ``columns`` names them where the file has no header; ``wanted`` are those to keep. With pyarrow installed (the
    extra ``parquet``) this is three to ten times faster than with the standard library.
    """

    def read(contents: Sequence[bytes]) -> Table:
        (content,) = contents
        lines = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline=""), delimiter=delimiter)
        names = tuple(columns or next(lines))
        kept = [column for column in names if not wanted or column in wanted]
        if importlib.util.find_spec("pyarrow"):
            types = {column: "float64" if column in numbers else "string" for column in kept}
            cells = _arrow_cells(content, names, types, delimiter, skipped=0 if columns else 1)
        else:
            cells = _plain_cells(lines, names, kept, numbers)
        return {
            column: cells[column]
            if column in numbers
            else np.array([text.strip() for text in cells[column]], dtype=object)
            for column in kept
        }

    return read


def _arrow_cells(
    content: bytes, names: Sequence[str], types: Mapping[str, str], delimiter: str, skipped: int
) -> dict[str, Any]:
    import pyarrow
    from pyarrow import csv as arrow

    table = arrow.read_csv(
        pyarrow.BufferReader(content),
        arrow.ReadOptions(column_names=names, skip_rows=skipped),
        arrow.ParseOptions(delimiter=delimiter, invalid_row_handler=lambda row: "skip"),
        arrow.ConvertOptions(include_columns=list(types), column_types=types, null_values=["", "?"]),
    )
    return {column: table[column].to_numpy() for column in types}


class _Floats(dict[str, float]):
    """Texts and their numbers, each read once: columns of codes and whole numbers repeat a lot."""

    def __missing__(self, text: str) -> float:
        self[text] = number = np.nan if text in ("", "?") else float(text)
        return number


def _plain_cells(
    lines: Iterable[list[str]], names: Sequence[str], kept: Sequence[str], numbers: Collection[str]
) -> dict[str, Any]:
    places = [names.index(column) for column in kept]
    pick = itemgetter(*places) if len(places) > 1 else lambda line: (line[places[0]],)
    records = (pick(line) for line in lines if len(line) == len(names))
    floats = _Floats()
    parts: dict[str, list[NDArray[Any]]] = {column: [] for column in kept}
    while chunk := list(itertools.islice(records, 2**16)):
        for column, texts in zip(kept, zip(*chunk, strict=True), strict=True):
            if column in numbers:
                parts[column].append(np.fromiter(map(floats.__getitem__, texts), np.float64, len(texts)))
            else:
                parts[column].append(np.array(texts, dtype=object))
    return {column: np.concatenate(part) for column, part in parts.items()}


def adult(read: Reader) -> Reader:
    """The labels of the test part end with a full stop."""

    def cleaned(contents: Sequence[bytes]) -> Table:
        table = read(contents)
        return table | {"income": np.array([label.rstrip(".") for label in table["income"]], dtype=object)}

    return cleaned


def one_against_rest(read: Reader, column: str, label: str, names: tuple[str, str]) -> Reader:
    """Adds ``class``: the first name where the column has this label, else the second."""

    def grouped(contents: Sequence[bytes]) -> Table:
        table = read(contents)
        return table | {"class": np.where(table[column] == label, *names).astype(object)}

    return grouped


def complete(read: Reader) -> Reader:
    """Records with a number in every column."""

    def kept(contents: Sequence[bytes]) -> Table:
        table = read(contents)
        keep = ~np.any([np.isnan(cells) for cells in table.values()], axis=0)
        return {column: cells[keep] for column, cells in table.items()}

    return kept


def idx_pair(contents: Sequence[bytes]) -> Images:
    """Images (n, height, width) and labels of two idx files: big-endian header, then bytes."""
    images, labels = contents
    shape = np.frombuffer(images, dtype=">i4", count=3, offset=4).tolist()
    pixels = np.frombuffer(images, dtype=np.uint8, offset=16).reshape(shape)
    return pixels, np.frombuffer(labels, dtype=np.uint8, offset=8).astype(np.int64)


def cifar_batches(contents: Sequence[bytes]) -> Images:
    """Images (n, 3, 32, 32) and labels of binary batches: a byte of label, then the planes of red, green and blue."""
    rows = np.frombuffer(b"".join(contents), dtype=np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(np.int64)


def pixels(count: int) -> tuple[str, ...]:
    """Names of the columns of an image, in the order of its bytes."""
    return tuple(f"pixel{position}" for position in range(1, count + 1))


def flat(read: Callable[[Sequence[bytes]], Images]) -> Reader:
    """Images as a table, one column a pixel."""

    def table(contents: Sequence[bytes]) -> Table:
        images, labels = read(contents)
        columns = np.ascontiguousarray(images.reshape(len(images), -1).T)
        return {**dict(zip(pixels(len(columns)), columns, strict=True)), "label": labels.astype(np.uint8)}

    return table
