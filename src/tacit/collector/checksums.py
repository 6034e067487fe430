"""What browsers are served, by its hashes: anyone can compare the files that came with those of the released package.

Whoever serves the pages could serve others. A browser cannot know that, but people can: the list below, of the package
that they trust, says what every file must be.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

STATIC = Path(__file__).parent / "static"


def hashes(folder: Path = STATIC) -> dict[str, str]:
    """Path -> SHA-256 in hexadecimal, of all files under ``folder``, in order; paths have slashes on every system."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
