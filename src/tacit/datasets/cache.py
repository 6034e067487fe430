"""Where published files are: in a data folder, else in the cache, else at their public address.

A file is known by the checksum of its content, whatever it is wrapped in: plain, gzip, zip, tar, or a zip in a zip.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tacit.checks import check
from tacit.datasets.download import DownloadError, download

_BROKEN = (
    OSError,
    EOFError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
    NotImplementedError,
    RuntimeError,
    KeyError,
)


@dataclass(frozen=True)
class File:
    """One published file: its place under a data folder, the checksum of its content, and where it is public.

    ``archive`` names the file that the ``addresses`` serve, beside ``place``; without one it is ``place`` gzipped.
    ``remark`` says what a file without an address is made from.
    """

    place: str
    sha256: str
    addresses: tuple[str, ...] = ()
    archive: str = ""
    remark: str = ""

    @property
    def name(self) -> str:
        """The last part of the place."""
        return PurePosixPath(self.place).name

    @property
    def kept(self) -> str:
        """Where a fetched copy is kept, under the cache folder."""
        return str(PurePosixPath(self.place).with_name(self.archive or f"{self.name}.gz"))

    @property
    def places(self) -> tuple[str, ...]:
        """Where a copy may lie under a data folder."""
        return tuple(dict.fromkeys((self.place, f"{self.place}.gz", self.kept)))


def data_folders() -> list[Path]:
    """The folder that TACIT_DATA names; without it ``../shared/data``, seen from here and from the source tree."""
    if os.environ.get("TACIT_DATA"):
        return [Path(os.environ["TACIT_DATA"])]
    shared = Path("shared", "data")
    return [Path.cwd().parent / shared, *(folder / shared for folder in Path(__file__).resolve().parents[4:5])]


def cache_folder() -> Path:
    """Where fetched files stay: the folder that TACIT_CACHE names, else ``tacit`` in the user's cache folder."""
    if os.environ.get("TACIT_CACHE"):
        return Path(os.environ["TACIT_CACHE"])
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "tacit"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tacit" / "cache"
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "tacit"


def find(file: File) -> Path | None:
    """A stored copy, if there is one: in the data folders, then in the cache."""
    folders = [*data_folders(), cache_folder()]
    paths = (folder / place for folder in folders for place in file.places)
    return next((path for path in paths if path.is_file()), None)


def stored(files: Sequence[File]) -> bool:
    """Whether all of them are here."""
    return all(find(file) is not None for file in files)


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

    def accept(path: Path) -> None:
        data = _unpack(path, PurePosixPath(file.kept).name, [file.name]).get(file.name)
        check(data is not None and _digest(data) == file.sha256, "what came is not the published file")

    reasons = []
    for address in file.addresses:
        try:
            return download(address, cache_folder() / file.kept, accept)
        except DownloadError as error:
            reasons.append(f"{address} ({error})")
    raise FileNotFoundError(f"Could not fetch {file.name} from {', nor from '.join(reasons)}. {_advice(file)}")


def read(files: Sequence[File], verify: bool = True) -> list[bytes]:
    """The contents of published files, found or else fetched, each compared with its checksum (``verify``)."""
    paths = {file: find(file) or fetch(file) for file in files}
    contents: dict[tuple[Path, str], bytes] = {}
    for path in dict.fromkeys(paths.values()):
        names = [file.name for file in files if paths[file] == path]
        contents |= {(path, name): data for name, data in _unpack(path, path.name, names).items()}
    found = [contents.get((paths[file], file.name)) for file in files]
    return [checked(file, data, paths[file], verify) for file, data in zip(files, found, strict=True)]


def checked(file: File, data: bytes | None, path: Path, verify: bool = True) -> bytes:
    """The content itself, or a sentence when it is not the published one."""
    if data is None:
        raise ValueError(f"The file {path} holds no readable {file.name}; replace or delete it.")
    check(
        not verify or _digest(data) == file.sha256,
        f"The content of {path} ({file.name}) differs from the published one; replace or delete the file, or pass "
        "verify=False.",
    )
    return data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _advice(file: File) -> str:
    path = data_folders()[0] / file.place
    archive = f" (or {file.archive})" if file.archive else ""
    return (
        f"Put the file {path}{archive} or {path.name}.gz in place, or set TACIT_DATA to the folder that holds "
        f"{file.place}."
    )


def _unpack(path: Path, called: str, names: Collection[str]) -> dict[str, bytes]:
    """The files of these names inside a stored one; none where it is damaged."""
    found: dict[str, bytes] = {}
    data = path.read_bytes()
    try:
        for name, content in _members(called, data, names):
            if name in names:
                found.setdefault(name, content)
    except _BROKEN:
        return {}
    return found


def _members(called: str, data: bytes, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    if data[:2] == b"\x1f\x8b":
        called, data = called.removesuffix(".gz"), gzip.decompress(data)
    if called.endswith(".tar"):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                stream = archive.extractfile(member) if PurePosixPath(member.name).name in names else None
                if stream is not None:
                    yield PurePosixPath(member.name).name, stream.read()
    elif data[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(io.BytesIO(data)) as bundle:
            for entry in bundle.namelist():
                name = PurePosixPath(entry).name
                if name.endswith(".zip") or name.removesuffix(".gz") in names:
                    yield from _members(name, bundle.read(entry), names)
    else:
        yield called, data
