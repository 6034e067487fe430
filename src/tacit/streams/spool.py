"""Rows that can be read once only, kept on disk for as long as somebody holds them, and no longer."""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path
from typing import IO


class Spool:
    """A temporary file that only its owner can read, at ``path``; ``name`` is what sentences call it.

    On Linux it has no name in any folder: however this process ends, by SIGKILL too, nothing stays, and no other
    process can remove it; those of the same user on this machine read it by ``path`` meanwhile. Elsewhere it has a
    name, goes with the process that made it, and stays where that is killed.
    """

    def __init__(self) -> None:
        self.name = tempfile.gettempdir()
        found = _nameless()
        if found is not None:
            file, self.path = found
            weakref.finalize(self, file.close)
            return
        handle, name = tempfile.mkstemp(prefix="tacit-", suffix=".arrow")  # mode 0600
        os.close(handle)
        self.path = Path(name)
        weakref.finalize(self, _remove, self.path, os.getpid())


def _nameless() -> tuple[IO[bytes], Path] | None:
    """A file that is in no folder, and where it can be opened all the same, if the system has such a place."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # mode 0600
    path = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    if path.exists():
        return file, path
    file.close()
    return None


def _remove(path: Path, maker: int) -> None:
    """A child that was forked holds a copy of the object, and not the file."""
    if os.getpid() == maker:
        path.unlink(missing_ok=True)
