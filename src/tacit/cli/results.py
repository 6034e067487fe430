"""Results that were paid for: each is kept, under another name if it must be, and no file is replaced unasked.

A name that was free when the command began may be taken when it ends, and a folder or a disk may be gone. What the
budget was spent on exists only once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tacit.checks import check
from tacit.cli.terminal import one_line
from tacit.reading import hidden

Save = Callable[[Path], None]
"""Writes a result to a file."""
_TRIES = 100
_LONGEST = 50
"""Characters of a name that are kept where more are added."""


class Keep(Protocol):
    """Writes one result."""

    def __call__(self, what: str, place: str, save: Save, *, overwrite: bool = False) -> str | None:
        """The file that it was written to, which is another one if this place cannot be used; None if none can."""


@contextmanager
def results(options: argparse.Namespace) -> Iterator[Keep]:
    """Write results inside, over others with ``--overwrite`` alone; then say which files were written.

    What is not where it was wanted is told in an error, after all of them. Write first, and print then: whoever reads
    what is printed may be gone.
    """
    written: list[str] = []
    wrong: list[str] = []

    def keep(what: str, place: str, save: Save, *, overwrite: bool = False) -> str | None:
        found: str | None = place
        try:
            if (overwrite or options.overwrite) and Path(place).is_file():
                save(Path(place))
            else:
                _save_new(Path(os.path.realpath(place)), save)
        except OSError as error:
            taken = isinstance(error, FileExistsError)
            why = "Something else has appeared there" if taken else error.strerror or str(error)
            found = _saved_beside(Path(place), save) or _saved_aside(Path(place), save)
            wrong.append(f"{place}: {why}. {what} is {'lost' if found is None else f'in {found} instead'}.")
        if found is not None:
            written.append(found)
        return found

    yield keep
    if written:
        print("", one_line(f"Wrote {' and '.join(written)}."), sep="\n")
    check(not wrong, " ".join(wrong))


def _save_new(place: Path, save: Save) -> None:
    """Write a file under a name that is free, in one move; one that is taken is a FileExistsError."""
    partial = hidden(place, _suffix(place))  # which may say how it is written
    try:
        save(partial)
        try:
            os.link(partial, place)
        except FileExistsError:
            raise
        except OSError:  # a file system without such links
            if os.path.lexists(place):
                raise FileExistsError from None
            partial.rename(place)
    finally:
        partial.unlink(missing_ok=True)


def _saved_beside(place: Path, save: Save) -> str | None:
    """The file that was written in the same folder, under the next name that is free."""
    for number in range(1, _TRIES):
        other = place.with_name(f"{place.stem[:_LONGEST]}.{number}{_suffix(place)}")
        try:
            _save_new(other, save)
            return str(other)
        except FileExistsError:
            continue
        except OSError:
            break
    return None


def _saved_aside(place: Path, save: Save) -> str | None:
    """The file that was written to a folder of its own among temporary files, for its owner alone."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="tacit-"))
    except OSError:
        return None
    other = folder / f"{place.stem[:_LONGEST]}{_suffix(place)}"
    try:
        save(other)
        return str(other)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        return None


def _suffix(place: Path) -> str:
    return place.suffix if len(place.suffix) <= _LONGEST else ""
