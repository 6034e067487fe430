"""What the built archives hold: the package, all of it, and nothing else. ``make package`` runs this on ``dist``."""

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from packaging.metadata import Metadata

ROOT = Path(__file__).parent.parent.parent
LARGEST = 300_000
"""Bytes of one file. The largest today is a tenth of it; a report or a data set is not a part of a package."""


def expected():
    """Every file of the package that is not made by running it."""
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file())
    return {path.relative_to(ROOT / "src").as_posix() for path in files if "__pycache__" not in path.parts}


def wheel(path):
    """(name, size) of the files in a wheel, without those that describe it."""
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: entry.file_size for entry in archive.infolist() if ".dist-info/" not in entry.filename}


def sdist(path):
    """(name, size) of the files in a source archive, without its one top folder."""
    with tarfile.open(path) as archive:
        entries = [entry for entry in archive.getmembers() if entry.isfile()]
    return {PurePosixPath(*PurePosixPath(entry.name).parts[1:]).as_posix(): entry.size for entry in entries}


def check(name, found, wanted):
    """End with a sentence unless the archive holds what it should, and no large file."""
    missing, extra = wanted - found.keys(), found.keys() - wanted
    large = [file for file, size in found.items() if size > LARGEST]
    if missing or extra or large:
        sys.exit(f"{name}: missing {sorted(missing)}, not wanted {sorted(extra)}, too large {large}.")
    print(f"{name}: {len(found)} files, {sum(found.values()) / 1e3:.0f} kB.")


def check_metadata(path):
    """End with a sentence unless the wheel's description of itself is valid, with no version left to chance."""
    with zipfile.ZipFile(path) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        raw = archive.read(place)
    try:
        found = Metadata.from_email(raw, validate=True)
    except ExceptionGroup as errors:
        sys.exit(f"{path.name}: {'; '.join(map(str, errors.exceptions))}")
    loose = [str(need) for need in found.requires_dist or () if not need.specifier or "==" in str(need.specifier)]
    if loose or not (found.description and found.description_content_type == "text/markdown"):
        sys.exit(f"{path.name}: the README is missing, or these have no range of versions: {loose}.")
    print(f"{path.name}: valid metadata of version {found.metadata_version}, {len(found.requires_dist or ())} needs.")


if __name__ == "__main__":
    (built,), (source,) = (Path(sys.argv[1]).glob(kind) for kind in ("*.whl", "*.tar.gz"))
    beside = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "SECURITY.md", "constraints.txt"}
    package = expected()
    check_metadata(built)
    check(built.name, wheel(built), package)
    check(
        source.name,
        {name.removeprefix("src/"): size for name, size in sdist(source).items()},
        package | beside | {"pyproject.toml", ".gitignore"},
    )
