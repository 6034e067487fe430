"""Which state of the code makes a row: Tacit's version and a commit."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tacit._version import __version__

DIRTY = "-dirty"
"""How the name ends when the code was not that of the commit."""
_CODE = (":(top)papers", ":(top)src")
_EVERY = 10.0
"""Seconds between two looks at a checkout during a run."""


def version_of(folder: Path) -> str:
    """The version of Tacit and, in a checkout, the commit of that folder ('dirty' where code was changed or added).

    On a machine that has a copy of the files and no checkout, TACIT_COMMIT names the commit that was copied. In a
    checkout it counts for nothing: git knows better.
    """
    if not any((place / ".git").exists() for place in (folder.resolve(), *folder.resolve().parents)):
        commit: str | None = os.environ.get("TACIT_COMMIT")
        return f"{__version__}+{commit}" if commit else __version__
    commit = _git(folder, "describe", "--always", "--exclude", "*")
    changed = _git(folder, "status", "--porcelain", "--", ".", *_CODE)
    if not commit:
        return __version__
    return f"{__version__}+{commit}{'' if changed == '' else DIRTY}"


class RunVersion:
    """The name of a run's rows: that of its start; 'dirty' from when the checkout is found to have moved.

    Processes load code when they first need it, so a commit or a merge during a run may be in any later row.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._clock, self._asked = folder, clock, clock()
        self.name = self._first = version_of(folder)

    def now(self) -> str:
        """The name for a row that is finished now."""
        if self._clock() - self._asked >= _EVERY and not self.name.endswith(DIRTY):
            self._asked = self._clock()
            self.name = self._first if version_of(self._folder) == self._first else self._first + DIRTY
        return self.name


def _git(folder: Path, *words: str) -> str | None:
    """What git says; None where it cannot be asked. It takes no lock: somebody may be at work in the checkout."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
