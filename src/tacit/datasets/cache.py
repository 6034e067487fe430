"""Where published files are: in the folder that TACIT_DATA names, else in the cache, else at their public address.

Fetching is pooch's work (the extra ``datasets``): a file is in the cache whole and as published, or not at all.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from tacit._version import __version__
from tacit.checks import check
from tacit.datasets.contents import File, unpack
from tacit.reading import opened_whole

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

TIMEOUT = (10.0, 60.0)
"""Seconds to reach a server, and seconds without a byte, after which it counts as gone."""
_INSTALL = "Fetching data sets, and finding their cache, needs pooch. In Tacit's source: pip install '.[datasets]'."


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


def obtain(file: File) -> Path:
    """A stored copy; else one that is fetched or, where no address serves it, made from other public files."""
    path = find(file)
    if path is not None:
        return path
    try:
        return fetch(file)
    except FileNotFoundError:
        if file.made is None:
            raise
    return keep(file, file.made())


def keep(file: File, content: Iterable[bytes]) -> Path:
    """Put a content that was made here into the cache, gzipped, if it is the known one."""
    target = cache_folder() / f"{file.place}.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with opened_whole(target) as raw, gzip.GzipFile(file.name, "wb", 6, raw, mtime=0) as packed:
        for chunk in content:
            digest.update(chunk)
            packed.write(chunk)
        check(
            digest.hexdigest() == file.sha256,
            f"What was made is not the known {file.name}, so it is not kept: a file that it is made from differs from "
            f"the earlier one. {_advice(file)}",
        )
    return target


def fetch(file: File) -> Path:
    """Fetch a file from its public address into the cache; its content is compared before it is put there.

    Edges: with TACIT_OFFLINE set, without an address, and when no address serves the published content, raises a
    sentence that says where to put which file.
    """
    if not file.addresses:
        raise FileNotFoundError(f"{file.name} cannot be fetched: {file.remark} {_advice(file)}")

    def published(partial: Path) -> bool:
        content = unpack(partial, PurePosixPath(file.kept).name, [file.name]).get(file.name)
        return file.agrees(content)

    return _fetch(file.kept, file.addresses, published, _advice(file))


def fetch_source(place: str, address: str, accept: Callable[[Path], bool]) -> Path:
    """A file that another is made from: found, or fetched if ``accept`` says yes.

    Its publisher gives no checksum; what is made from it is compared instead, by :func:`keep`.
    """
    paths = [folder / place for folder in data_folders()]
    advice = f"Put the file in place: {paths[0]}." if paths else ""
    return next((path for path in paths if path.is_file()), None) or _fetch(place, (address,), accept, advice)


def _fetch(place: str, addresses: Sequence[str], accept: Callable[[Path], bool], advice: str) -> Path:
    """Fetch from the first address that serves what is accepted, into this place of the cache."""
    name = PurePosixPath(place).name
    if os.environ.get("TACIT_OFFLINE", "0") not in ("", "0"):
        raise FileNotFoundError(
            f"{name} is not stored here, and TACIT_OFFLINE forbids to fetch it from {addresses[0]}. {advice}"
        )
    try:
        import pooch
    except ImportError as error:
        raise FileNotFoundError(f"{name} is not stored here. {_INSTALL} {advice}") from error
    reasons = []
    for address in addresses:
        store = pooch.Pooch(cache_folder(), "", {place: None}, {place: address})
        try:
            return Path(store.fetch(place, downloader=_Download(name, accept)))
        except (OSError, ValueError) as error:
            reasons.append(f"{address} ({error})")
    raise FileNotFoundError(f"Could not fetch {name} from {', nor from '.join(reasons)}. {advice}")


class _Download:
    """How pooch gets a file: over HTTP, with a bar on a terminal, and refused where it is not what was asked for.

    pooch moves the file into place only when this returns.
    """

    def __init__(self, name: str, accept: Callable[[Path], bool]) -> None:
        self.name, self.accept = name, accept

    def __call__(self, address: str, partial: str, store: Any) -> None:
        from pooch import HTTPDownloader
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as shown:
            bar = _Bar(shown, shown.add_task(self.name, total=None))
            agent = {"User-Agent": f"tacit/{__version__}"}
            HTTPDownloader(progressbar=bar, timeout=TIMEOUT, headers=agent)(address, partial, store)
        check(self.accept(Path(partial)), "what came is not the published file")


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
    return f"{here[0] if here else 'To use a copy,'} set TACIT_DATA to the folder that contains {file.place}."
