"""A published file is known by the checksum of its content, whatever it is wrapped in.

Plain, gzip, zip, tar, or a zip in a zip, as repositories serve them. Archives are read in memory: a data folder may be
one that nobody can write to.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tacit.checks import check

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
    ``made`` makes the content from other public files, which are large: only when a user asks for the file by itself;
    ``remark`` says from which.
    """

    place: str
    sha256: str
    addresses: tuple[str, ...] = ()
    archive: str = ""
    remark: str = ""
    made: Callable[[], Iterator[bytes]] | None = None

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

    def agrees(self, content: bytes | None) -> bool:
        """Whether this is the published content."""
        return content is not None and hashlib.sha256(content).hexdigest() == self.sha256

    def checked(self, content: bytes | None, where: str | Path, verify: bool = True) -> bytes:
        """The content itself, or a sentence when it is not the published one."""
        if content is None:
            raise ValueError(f"The file {where} contains no readable {self.name}; replace or delete it.")
        check(
            not verify or self.agrees(content),
            f"The content of {where} ({self.name}) differs from the published one; replace or delete the file, or pass "
            "verify=False.",
        )
        return content


def unpack(path: Path, called: str, names: Collection[str]) -> dict[str, bytes]:
    """The files of these names inside a stored one, which is ``called`` so where it is public; none where damaged."""
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
