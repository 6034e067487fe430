"""Files that stay as they are between two passes: no sum over several passes is otherwise a sum over one table.

A file that was written anew may have as many rows as before, and other people: who shares a piece with whom was decided
in the first pass, so a person would be in two records, and the guarantee would not hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.checks import check
from tacit.data.tables import Table


@dataclass(frozen=True)
class FileState:
    """What the operating system said of a file when it was opened: its size, when it was written, and which it is.

    ``own`` holds for this machine alone, (st_mtime_ns, st_ctime_ns, st_dev, st_ino): another may have the file under
    another number, or a copy of it. There the size is compared, and where the file was opened all of it
    (:meth:`tacit.linear.cluster.Cluster.run`).
    """

    path: Path
    key: str
    size: int
    own: tuple[int, int, int, int] | None = None

    @classmethod
    def of(cls, path: Path, key: str) -> FileState:
        """As the file is now. Take it before anything is read."""
        size, own = _looked_up(path, key)
        return cls(path, key, size, own)

    def __reduce__(self) -> tuple[Any, ...]:
        return FileState, (self.path, self.key, self.size)

    def holds(self) -> bool:
        """Whether the file is there, and still that one."""
        try:
            size, own = _looked_up(self.path, self.key)
        except OSError:
            return False
        return size == self.size and self.own in (None, own)

    def check(self) -> None:
        """Refuse a file that is another one by now, or was written to."""
        size, own = _looked_up(self.path, self.key)
        same = size == self.size and self.own in (None, own)
        check(same, f"{self.key} was changed since it was opened. Give a table that does not change.")

    def during(self, tables: Iterable[Table]) -> Iterator[Table]:
        """The tables of one pass, if the file is the same before the first and after the last of them."""
        self.check()
        yield from tables
        self.check()


def check_unchanged(piece: Any) -> None:
    """Refuse a piece of files, one of which was changed since it was opened; other pieces have none."""
    for part in getattr(piece, "parts", (piece,)):
        state = getattr(part, "state", None)
        if state is not None:
            state.check()


def _looked_up(path: Path, key: str) -> tuple[int, tuple[int, int, int, int]]:
    try:
        found = path.stat()
    except OSError as error:
        number, refused = error.errno, type(error)
    else:
        return found.st_size, (found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino)
    raise refused(number, os.strerror(number or 0), key)
