"""Reading files from an unknown source: bounded in size and depth, every number finite, no field twice; and writing
whole.

Whatever does not fit is a :class:`~tacit.checks.PrivacyError` with one sentence; nothing is built but numbers, text,
lists and mappings.
"""

from __future__ import annotations

import errno
import io
import json
import math
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Never

import numpy as np
from numpy.typing import NDArray

from tacit.checks import PrivacyError, refuse

LARGEST = 256 * 2**20
"""Bytes that a JSON file may have."""
DEPTH = 16
"""Lists and mappings that may lie within each other; what Tacit writes has nine at most."""
LISTS = 10**6
"""Lists and mappings in one file: an empty one takes two bytes to write and thirty times that in memory."""
_BUFFER = 2**20
WHOLE = 2**64
"""Whole numbers are smaller than this."""
Opened = Callable[[str | Path], AbstractContextManager[BinaryIO]]
"""What opens a file to write."""


@contextmanager
def named(path: str | Path) -> Iterator[None]:
    """Put the file's name before the sentence of whatever is refused inside."""
    try:
        yield
    except PrivacyError as error:
        raise type(error)(f"{Path(path).name}: {error}") from error


def read_bytes(path: str | Path, largest: int) -> bytes:
    """The bytes of a file of bounded size; no more than that is ever read."""
    with Path(path).open("rb") as file:
        raw = file.read(largest + 1)
    if len(raw) > largest:
        refuse(f"This file is larger than {largest // 2**20} MiB; it was not loaded.")
    return raw


def parse(text: str | bytes) -> object:
    """The value that a JSON text describes, checked by :func:`plain`."""
    try:
        words = text.decode("utf-8") if isinstance(text, bytes) else text
        if words.count("[") + words.count("{") > LISTS:
            refuse(f"This file has more than {LISTS:,} lists; it was not loaded.")
        data = json.loads(words, object_pairs_hook=_once, parse_constant=_constant)
    except PrivacyError:
        raise
    except (ValueError, RecursionError) as error:
        raise PrivacyError("This is not a Tacit file, or it was cut short: it is not readable JSON.") from error
    return plain(data)


def plain(data: object) -> object:
    """The same value, if JSON can hold it: finite numbers, whole numbers below 2**64, text, at most DEPTH levels."""
    level: list[Any] = [data]
    for _ in range(DEPTH + 1):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                deeper.extend(value)
                deeper.extend(value.values())
                if not all(type(key) is str for key in value):
                    refuse("This file has a field whose name is not text; it was not loaded.")
            elif isinstance(value, list):
                deeper.extend(value)
            else:
                _check_leaf(value)
        if not deeper:
            return data
        level = deeper
    refuse(f"This file has lists within lists, more than {DEPTH} deep; it was not loaded.")


def _check_leaf(value: object) -> None:
    if type(value) is float:
        if not math.isfinite(value):
            _constant("infinity or NaN")
    elif type(value) is int:
        if not -WHOLE < value < WHOLE:
            refuse("This file contains a whole number of more than 64 bits; it was not loaded.")
    elif type(value) is str:
        if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            refuse("This file contains text that is not Unicode; it was not loaded.")
    elif value is not None and type(value) is not bool:
        refuse("This file contains something that is neither a number nor text; it was not loaded.")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        refuse("This file states a field twice; it was not loaded.")
    return entries


def _constant(name: str) -> Never:
    refuse(f"This file contains {name} where a finite number belongs; it was not loaded.")


def need(condition: object, sentence: str) -> None:
    """Refuse a model file in a sentence that starts with "Its", unless the condition holds."""
    if not condition:
        refuse(f"This model file is malformed. {sentence}")


def floats(values: Any) -> NDArray[np.float64]:
    """A rectangle of finite numbers, written as numbers."""
    cells = np.asarray(values, dtype=object)  # of lists, where rows are uneven
    need(all(type(cell) in (int, float) for cell in cells.ravel()), "Its numbers are not all numbers in even rows.")
    array = cells.astype(np.float64)
    need(np.isfinite(array).all(), "Its numbers are not all finite.")
    return array


def labels(values: Any) -> NDArray[Any]:
    """At least two labels of one type: texts, whole numbers, floats or booleans."""
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    need(len(kinds) == 1 and kinds <= {str, int, float, bool} and len(values) >= 2, "Its classes are not a label set.")
    array = np.asarray(values)
    need(array.ndim == 1 and array.dtype.kind in "Uifb", "Its classes are not a label set.")
    return array


def write_whole(path: str | Path, data: str | bytes) -> None:
    """Write a file in one move: whoever looks sees the old file or the new one, never a part of it."""
    with opened_whole(path) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def opened_whole(path: str | Path) -> Iterator[BinaryIO]:
    """A file to write, which appears under its name once the block has ended well; otherwise nothing is left of it.

    Edges: links are followed. Whoever could not read the file that is replaced cannot read the new one. Pipes and
    devices are refused. A process that is killed leaves a hidden file that ends in .part beside it. A full disk is an
    OSError that names the file that was meant.
    """
    with opened_together() as opened, opened(path) as file:
        yield file


@contextmanager
def opened_together() -> Iterator[Opened]:
    """Opens files as :func:`opened_whole` does, which appear together once the block and all of theirs have ended well.

    Edges: if one cannot be put in its place, the files that were there before stay, all of them. At no moment does a
    new file stand beside an old one.
    """
    ended: list[tuple[Path, Path]] = []

    @contextmanager
    def opened(path: str | Path) -> Iterator[BinaryIO]:
        target = Path(os.path.realpath(path))
        if target.is_symlink():  # what a circle of links leads to
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        if target.exists() and not target.is_file() and not target.is_dir():
            refuse(f"{path} is a pipe or a device. Name a file.")
        partial = hidden(target)
        try:
            with io.BufferedWriter(_Output(partial, Path(path)), _BUFFER) as file:
                yield file
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        ended.append((partial, target))

    try:
        yield opened
        _put_in_place(ended)
    finally:
        for partial, _ in ended:
            partial.unlink(missing_ok=True)


def hidden(target: Path, end: str = ".part") -> Path:
    """A new name beside this one that is short whatever its length, and that nothing takes for a table."""
    return target.with_name(f".{secrets.token_hex(8)}{end}")


def _put_in_place(ended: Sequence[tuple[Path, Path]]) -> None:
    """Rename one file, or several: then those that were there before are moved aside first, or back."""
    if len(ended) == 1:
        _rename(*ended[0])
        return
    before = [(target, hidden(target)) for _, target in ended if target.is_file()]
    try:
        for target, aside in before:
            target.rename(aside)
        for partial, target in ended:
            _rename(partial, target)
    except BaseException as error:
        for partial, target in ended:
            if not partial.exists():
                target.unlink(missing_ok=True)
        for target, aside in before:
            if aside.exists():
                aside.replace(target)
        if isinstance(error, OSError):
            raise OSError(error.errno, f"{error.strerror}. No file was written or replaced", error.filename) from None
        raise
    for _, aside in before:
        aside.unlink()


def _rename(partial: Path, target: Path) -> None:
    try:
        partial.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None


class _Output(io.FileIO):
    """A file whose errors name the one that it will be."""

    def __init__(self, partial: Path, target: Path) -> None:
        self._target = str(target)
        mode = target.stat().st_mode & 0o666 if target.exists() else 0o666
        with self._named():
            super().__init__(
                partial, "x", opener=lambda name, flags: os.open(name, flags, mode)
            )  # less what umask takes

    def write(self, data: Any) -> int:
        """As of any file."""
        with self._named():
            return super().write(data)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._target) from None
