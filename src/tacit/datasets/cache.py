"""Where published files are: in the folder that TACIT_DATA names, else in the cache, else at their public address.

Fetching is pooch's work (the extra ``datasets``): a file is in the cache whole and as published, or not at all.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from tacit._version import __version__
from tacit.checks import check
from tacit.datasets.contents import File, unpack

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

TIMEOUT = 60.0
"""Seconds without a byte after which a server counts as gone."""
_INSTALL = "Fetching data sets, and finding their cache, needs pooch. Install it with: pip install 'tacit[datasets]'."


def cache_folder() -> Path:
    """Where fetched files stay: the folder that TACIT_CACHE names, else the user's cache folder for ``tacit``."""
    if os.environ.get("TACIT_CACHE"):
        return Path(os.environ["TACIT_CACHE"])
    try:
        import pooch
    except ImportError as error:
        raise ValueError(_INSTALL) from error
    return Path(pooch.os_cache("tacit"))


def data_folders() -> list[Path]:
    """Where files are looked for: the folder that TACIT_DATA names, then the cache, which nobody has without pooch."""
    folders = [Path(os.environ["TACIT_DATA"])] if os.environ.get("TACIT_DATA") else []
    if os.environ.get("TACIT_CACHE") or importlib.util.find_spec("pooch"):
        folders.append(cache_folder())
    return folders


def find(file: File) -> Path | None:
    """A stored copy, if there is one."""
    paths = (folder / place for folder in data_folders() for place in file.places)
    return next((path for path in paths if path.is_file()), None)


def read(files: Sequence[File], verify: bool = True) -> list[bytes]:
    """The contents of published files, found or else fetched, each compared with its checksum (``verify``)."""
    paths = {file: find(file) or fetch(file) for file in files}
    contents: dict[tuple[Path, str], bytes] = {}
    for path in dict.fromkeys(paths.values()):
        names = [file.name for file in files if paths[file] == path]
        contents |= {(path, name): data for name, data in unpack(path, path.name, names).items()}
    return [file.checked(contents.get((paths[file], file.name)), paths[file], verify) for file in files]


def fetch(file: File) -> Path:
    """Fetch a file from its public address into the cache; its content is compared before it is put there.

    Edges: with TACIT_OFFLINE set, without an address, and when no address serves the published content, raises a
    sentence that says where to put which file.
    """
    if not file.addresses:
        raise FileNotFoundError(f"{file.name} cannot be fetched: {file.remark} {_advice(file)}")
    if os.environ.get("TACIT_OFFLINE", "0") not in ("", "0"):
        raise FileNotFoundError(
            f"{file.name} is not stored here, and TACIT_OFFLINE forbids to fetch it from {file.addresses[0]}. "
            f"{_advice(file)}"
        )
    try:
        import pooch
    except ImportError as error:
        raise FileNotFoundError(f"{file.name} is not stored here. {_INSTALL} {_advice(file)}") from error
    reasons = []
    for address in file.addresses:
        store = pooch.Pooch(cache_folder(), "", {file.kept: None}, {file.kept: address})
        try:
            return Path(store.fetch(file.kept, downloader=_Download(file)))
        except (OSError, ValueError) as error:
            reasons.append(f"{address} ({error})")
    raise FileNotFoundError(f"Could not fetch {file.name} from {', nor from '.join(reasons)}. {_advice(file)}")


class _Download:
    """How pooch gets a file: over HTTP, with a bar on a terminal, and refused where the content is not the published.

    pooch moves the file into place only when this returns.
    """

    def __init__(self, file: File) -> None:
        self.file = file

    def __call__(self, address: str, partial: str, store: Any) -> None:
        from pooch import HTTPDownloader
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as shown:
            bar = _Bar(shown, shown.add_task(self.file.name, total=None))
            agent = {"User-Agent": f"tacit/{__version__}"}
            HTTPDownloader(progressbar=bar, timeout=TIMEOUT, headers=agent)(address, partial, store)
        content = unpack(Path(partial), PurePosixPath(self.file.kept).name, [self.file.name]).get(self.file.name)
        check(self.file.agrees(content), "what came is not the published file")


class _Bar:
    """A bar of rich with the methods that pooch calls."""

    def __init__(self, shown: Progress, task: TaskID) -> None:
        self.shown, self.task, self.total = shown, task, 0

    def update(self, count: int) -> None:
        """So many bytes more."""
        self.shown.update(self.task, total=self.total or None, advance=count)

    def reset(self) -> None:
        """From the beginning."""
        self.shown.reset(self.task)

    def close(self) -> None:
        """The end; who made the bar takes it away."""


def _advice(file: File) -> str:
    archive = f" (or {file.archive})" if file.archive else ""
    here = [f"Put the file {folder / file.place}{archive} or {file.name}.gz in place, or" for folder in data_folders()]
    return f"{here[0] if here else 'To use a copy,'} set TACIT_DATA to the folder that holds {file.place}."
