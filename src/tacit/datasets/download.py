"""One file over HTTP: shown while it comes, compared before it is used, in place whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

from tacit._version import __version__
from tacit.checks import check

TIMEOUT = 60.0
"""Seconds without a byte after which a server counts as gone."""
_PART = 2**18
_MEGABYTE = 1e6


class DownloadError(Exception):
    """Why a file did not come."""


def download(address: str, target: Path, accept: Callable[[Path], None]) -> Path:
    """Fetch an address to a new file at ``target``.

    ``accept`` looks at the whole file under a passing name and raises ValueError to refuse it.

    Edges: on any failure, a refusal and a connection that closed early included, nothing stays behind and a
    DownloadError says why.
    """
    partial: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        partial = Path(name)
        with os.fdopen(handle, "wb") as file:
            _copy(address, target.name, file.write)
        accept(partial)
        partial.replace(target)
    except (OSError, HTTPException, ValueError) as error:
        raise DownloadError(str(getattr(error, "reason", "") or error or type(error).__name__)) from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)
    return target


def _copy(address: str, name: str, write: Callable[[bytes], object]) -> None:
    check(address.startswith(("https://", "http://")), f"Expected a web address, not {address!r}.")
    request = Request(address, headers={"User-Agent": f"tacit/{__version__}"})
    with urlopen(request, timeout=TIMEOUT) as answer:
        stated = answer.headers.get("Content-Length")
        total, done = int(stated) if stated else 0, 0
        progress = Progress(name, address, total)
        while part := answer.read(_PART):
            write(part)
            done += len(part)
            progress.show(done)
        progress.close()
    if total and done != total:
        raise ValueError(f"the connection closed after {done:,} of {total:,} bytes")


class Progress:
    """Says on stderr what is being fetched from where; on a terminal, with a bar."""

    def __init__(self, name: str, address: str, total: int) -> None:
        self.name, self.total, self.shown = name, total, -1
        self.bar = sys.stderr.isatty()
        size = f" ({total / _MEGABYTE:.1f} MB)" if total else ""
        print(f"Fetching {name} from {address}{size}", file=sys.stderr, flush=True)

    def show(self, done: int) -> None:
        """Draw the bar again when it has grown by a hundredth, or by a megabyte where the size is unknown."""
        step = 100 * done // self.total if self.total else int(done / _MEGABYTE)
        if not self.bar or step == self.shown:
            return
        self.shown = step
        of = f" of {self.total / _MEGABYTE:.1f}" if self.total else ""
        filled = f"[{'#' * (step // 4):<25}] " if self.total else ""
        print(f"\r{filled}{done / _MEGABYTE:.1f}{of} MB", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """End the line of the bar."""
        if self.bar:
            print(file=sys.stderr)
