"""Opening a CSV file that may be compressed: by what its name says, else by its first bytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from tacit.checks import check

_BY_NAME = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}
SUFFIXES = ("", *_BY_NAME)
"""What may stand behind .csv in the name of a file."""
_MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}
_STARTS: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("gzip", lambda start: start.startswith(b"\x1f\x8b\x08")),
    ("bzip2", lambda start: start.startswith(b"BZh") and start[4:10] == b"1AY&SY"),
    ("xz", lambda start: start.startswith(b"\xfd7zXZ\0")),
)
_OTHERS = {
    b"PK\3\4": "a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel workbook. Save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "compressed by zstd. Unpack it, or compress it with gzip",
    b"PAR1": "a Parquet file. Let its name end in .parquet",
    b"ARROW1": "an Arrow file. Let its name end in .arrow",
}
"""What is no CSV file, by its first bytes, and what to do with it."""


def compression(path: str | Path) -> str:
    """How a file is compressed: 'gzip', 'bzip2', 'xz' or, where it is not, ''."""
    named = _BY_NAME.get(Path(path).suffix.lower())
    start = first_bytes(path)
    return named or next((kind for kind, fits in _STARTS if fits(start)), "")


def opened(path: str | Path) -> Any:
    """The bytes of a file, decompressed as they are read; a file of another format is refused by name."""
    kind = compression(path)
    if kind:
        return import_module(_MODULES[kind]).open(path, "rb")  # Python can be built without some of them
    for start, words in _OTHERS.items():
        check(not first_bytes(path).startswith(start), f"{Path(path).name} is {words}.")
    return Path(path).open("rb")


def first_bytes(path: str | Path) -> bytes:
    """The first sixteen bytes of a file as it is stored."""
    with Path(path).open("rb") as file:
        return file.read(16)


def is_damage(error: Exception) -> bool:
    """Whether a decompressor says that a file is damaged: it then raises an error that is not the system's."""
    unnumbered = isinstance(error, OSError) and error.errno is None
    return unnumbered or isinstance(error, EOFError | zlib.error) or type(error).__name__ == "LZMAError"
