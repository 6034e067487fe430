"""Cells whose fits are made together: asked for all that they need, trained side by side, asked again.

A cell asks for fits by setting and seed. What is not known yet is noted and trained with what all other cells ask for,
then the cell is asked again: so its points are computed from fits exactly as they would be from fits made one by one.
Finished cells are stored at once, and fits in a file beside them: a run that was stopped goes on with the same command.
"""

from __future__ import annotations

import abc
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from papers.engine.grid import Cell, checked_points
from papers.engine.library import load, why_absent
from papers.engine.store import Store
from papers.shared.accuracy import Wanted
from tacit.checks import check

EVERY = 15.0
"""Seconds after which fits are written down."""
Key = tuple[str, str, int]
"""A cell's key, a setting as text, and a seed."""
Place = tuple[str, int | None]
"""A data set, and how many of its records."""


@dataclass(frozen=True)
class Measured:
    """What a figure asks of a fitted model: :class:`papers.shared.accuracy.Fit`."""

    status: str
    noiseless: float | None
    validation: tuple[float, float]
    accuracy: float
    loss: float


class Missing(LookupError):
    """Fits that are not known, with the models to fit."""

    def __init__(self, wanted: dict[Key, Any]) -> None:
        super().__init__(f"{len(wanted)} fits are not known.")
        self.wanted = wanted


class Together(abc.ABC):
    """Fits that are known, by cell, setting and seed; and the seconds that each took. ``kept`` is a file for them."""

    def __init__(self, until: float, note: Callable[[str], None] = print, kept: Path | None = None) -> None:
        self.until, self.note, self.kept = until, note, kept
        self.known: dict[Key, Measured] = {}
        self.seconds: dict[Key, float] = {}
        self.writing, self.saved = threading.Lock(), time.monotonic()
        if kept is not None and kept.exists():
            for cell, setting, seed, values, took in json.loads(kept.read_text(encoding="utf-8")):
                status, noiseless, validation, accuracy, loss = values
                self.known[cell, setting, seed] = Measured(status, noiseless, tuple(validation), accuracy, loss)
                self.seconds[cell, setting, seed] = took

    @abc.abstractmethod
    def train(self, asked: Mapping[Place, Mapping[Key, Any]]) -> bool:
        """Train what is asked for, and :meth:`keep` it; False when time ran out."""

    def keep(self, fits: Mapping[Key, Measured], seconds: float) -> None:
        """Fits that took so many seconds together; shares differ a little, for equal ones are taken for a GPU's."""
        with self.writing:
            self.known.update(fits)
            self.seconds.update({key: seconds / len(fits) * (1 + 1e-9 * place) for place, key in enumerate(fits)})
            if time.monotonic() - self.saved > EVERY:
                self.save()

    def save(self) -> None:
        """Write the fits down, in one step."""
        if self.kept is not None:
            new = self.kept.with_suffix(".new")
            rows = [[*key, list(astuple(fit)), self.seconds[key]] for key, fit in self.known.items()]
            new.write_text(json.dumps(rows), encoding="utf-8")
            new.replace(self.kept)
        self.saved = time.monotonic()

    def points(self, cell: Cell) -> tuple[str, float]:
        """The points of a cell as JSON and the seconds of its fits; or Missing is raised."""
        check(
            not cell.settings.get("resplit"), "Fits are told apart by setting and seed, and here each seed has a split."
        )
        used: set[Key] = set()

        def trained(wanted: Sequence[Wanted], make: Callable[..., Any]) -> list[Measured]:
            keys = [(cell.key, json.dumps(dict(setting), sort_keys=True), seed) for setting, seed in wanted]
            absent = {key: make(*one) for key, one in zip(keys, wanted, strict=True) if key not in self.known}
            if absent:
                raise Missing(absent)
            used.update(keys)
            return [self.known[key] for key in keys]

        measure: Any = load(cell.package, cell.paper).figure(cell.figure).measure
        made = checked_points(measure(**cell.asked, trained=trained), str(cell))
        return made, sum(self.seconds[key] for key in used)


def at_hand(cells: Sequence[Cell], note: Callable[[str], None] = print) -> list[Cell]:
    """The cells whose data set is here or can be fetched; of the others, a sentence says why not."""
    absent = {data: why_absent(data) for data in dict.fromkeys(str(cell.settings["data"]) for cell in cells)}
    for why in filter(None, absent.values()):
        note(f"Left out: {why}")
    return [cell for cell in cells if not absent[str(cell.settings["data"])]]


def run(cells: Sequence[Cell], store: Store, work: Together, version: str) -> int:
    """Ask, train and store until every cell is stored or time runs out; how many cells are left.

    The seconds of fits that were trained at the same time are scaled, so that they add up to the time that passed.
    """
    stored = store.keys()
    left = [cell for cell in cells if cell.key not in stored]
    going = True
    while left and going:
        asked: dict[Place, dict[Key, Any]] = {}
        for cell in list(left):
            try:
                points, seconds = work.points(cell)
            except Missing as missing:
                place: Any = cell.settings["data"], cell.settings["rows"]
                asked.setdefault(place, {}).update(missing.wanted)
            else:
                store.add(cell, points, version, seconds)
                left.remove(cell)
        work.note(
            f"{len(cells) - len(left)} of {len(cells)} cells are done; {sum(map(len, asked.values()))} fits next."
        )
        began = time.monotonic()
        going = work.train(asked)
        new = [key for wanted in asked.values() for key in wanted if key in work.known]
        share = (time.monotonic() - began) / max(sum(work.seconds[key] for key in new), 1e-9)
        work.seconds.update({key: share * work.seconds[key] for key in new})
        work.save()
    return len(left)


def fits_file(folder: Path, version: str) -> Path:
    """Where the fits of this state of the code are kept: those of another are not taken for its own."""
    return folder / f"fits-{version}.json"


def seed_of(keys: Iterable[Key]) -> int:
    """A number that differs between fleets and does not change from one time to the next."""
    return int.from_bytes(hashlib.sha256(repr(sorted(keys)).encode()).digest()[:7], "little")
