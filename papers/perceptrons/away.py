"""Trains the perceptrons of figures side by side, on this machine's GPU where it has one, and stores finished cells.

    python -m papers.perceptrons.away --out FOLDER --seconds 600
    python -m papers kang_2023 --figure figures1-2-mlp --adopt FOLDER     (where the other rows are)

A cell asks for fits by setting and seed. What is not known yet is noted and trained with what all other cells ask for,
then the cell is asked again: so its points are computed from fits exactly as they would be from fits made one by one.
Finished cells are stored at once, and fits in a file beside them: a run that was stopped goes on with the same command.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path
from typing import Any

import torch

from papers.engine.figure import Size
from papers.engine.grid import Cell, checked_points, grid
from papers.engine.library import folder_of, load
from papers.engine.store import Store
from papers.engine.versions import version_of
from papers.perceptrons.fleet import Measured, Member, Yard, member
from papers.shared.accuracy import Wanted, parts

FIGURES = (("kang_2023", "figures1-2-mlp"), ("kang_2020b", "figures1-2-mlp"), ("kang_2020a", "figures2-3-mlp"))
MOST = {"pidp_sgd": 192, "pi_dbdp_erm": 192, "perturbed_input": 96, "dp_sgd": 96}
"""Networks of a fleet, by algorithm: what fits into the memory of a large GPU."""
FLEETS = 8
"""Fleets that a GPU trains at a time: a walk is a program a network, and waits more than it computes."""
EVERY = 15.0
"""Seconds after which fits are written down."""
Key = tuple[str, str, int]
Place = tuple[str, int | None]
"""A data set, and how many of its records."""


class Missing(LookupError):
    """Fits that are not known, with the models to fit."""

    def __init__(self, wanted: dict[Key, Any]) -> None:
        super().__init__(f"{len(wanted)} fits are not known.")
        self.wanted = wanted


def perceptron_cells(figures: Sequence[tuple[str, str]] = FIGURES, size: Size = Size()) -> list[Cell]:  # noqa: B008
    """The cells that train private perceptrons; the reference has no privacy and is not ours to train."""
    found = [cell for name, figure in figures for cell in _cells(name, figure, size)]
    return [cell for cell in found if cell.settings["epsilon"] is not None]


def _cells(name: str, figure: str, size: Size) -> list[Cell]:
    paper = load("papers", name)
    return grid(paper, paper.figure(figure), size)


class Work:
    """Fits that are known, by cell, setting and seed; and the seconds that each took. ``kept`` is a file for them."""

    def __init__(
        self, device: str, until: float, note: Callable[[str], None] = print, kept: Path | None = None
    ) -> None:
        self.device, self.until, self.note, self.kept = device, until, note, kept
        self.known: dict[Key, Measured] = {}
        self.seconds: dict[Key, float] = {}
        self.pace: dict[tuple[Any, ...], float] = {}
        self.writing, self.saved = threading.Lock(), time.monotonic()
        if kept is not None and kept.exists():
            for cell, setting, seed, values, took in json.loads(kept.read_text(encoding="utf-8")):
                status, noiseless, validation, accuracy, loss = values
                self.known[cell, setting, seed] = Measured(status, noiseless, tuple(validation), accuracy, loss)
                self.seconds[cell, setting, seed] = took

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

    def train(self, asked: Mapping[Place, Mapping[Key, Any]]) -> bool:
        """Train what is asked for, on every data set, several fleets at a time; False when time ran out."""
        jobs = []
        for place, wanted in asked.items():
            yard = _yard(*place, self.device)
            members = {key: member(model, yard.shape) for key, model in wanted.items()}
            for company in dict.fromkeys(m.company for m in members.values()):
                mine = {key: m for key, m in members.items() if m.company == company}
                jobs += [(yard, place[0], fleet) for fleet in _split(mine, MOST[company[0]])]
        jobs.sort(key=lambda job: -_waits(next(iter(job[2].values()))))  # so that no long one is the last
        with ThreadPoolExecutor(FLEETS if self.device.startswith("cuda") else 1) as pool:
            return all(list(pool.map(lambda job: self._fleet(*job), jobs)))

    def _fleet(self, yard: Yard, data: str, fleet: dict[Key, Member]) -> bool:
        company = next(iter(fleet.values())).company
        guess = self.pace.get((data, company), 0.0)
        if time.monotonic() + guess > self.until:
            self.note(f"{data} {company[:4]}: {len(fleet)} networks would take {guess:.0f} s: too little time is left.")
            return False
        started = time.monotonic()
        with torch.cuda.stream(torch.cuda.Stream()) if self.device.startswith("cuda") else contextlib.nullcontext():
            found = yard.trained(list(fleet.values()), _seed(fleet))
        took = time.monotonic() - started
        with self.writing:
            self.pace[data, company] = took
            self.known.update(zip(fleet, found, strict=True))
            self.seconds.update(dict.fromkeys(fleet, took / len(fleet)))
            if time.monotonic() - self.saved > EVERY:
                self.save()
        best = max(one.validation[0] for one in found)
        self.note(f"{data} {company[:4]}: {len(fleet)} networks, {took:.1f} s; best on validation {best:.4f}")
        return True


def _waits(one: Member) -> float:
    """About how often a fleet has to be called: walks go by themselves for long."""
    return one.plan.rounds * (1 + one.plan.local / 50) if hasattr(one.plan, "rounds") else float(one.plan.steps)


def _seed(keys: Iterable[Key]) -> int:
    """A number that differs between fleets and does not change from one time to the next."""
    return int.from_bytes(hashlib.sha256(repr(sorted(keys)).encode()).digest()[:7], "little")


@functools.cache
def _yard(data: str, rows: int | None, device: str) -> Yard:
    return Yard(parts(data, rows), device, torch.float32 if device.startswith("cuda") else torch.float64)


def _split(members: dict[Key, Member], most: int) -> Iterator[dict[Key, Member]]:
    keys = list(members)
    for start in range(0, len(keys), most):
        yield {key: members[key] for key in keys[start : start + most]}


def run(cells: Sequence[Cell], store: Store, work: Work, version: str) -> int:
    """Ask, train and store until every cell is stored or time runs out; how many cells are left."""
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
        going = work.train(asked)
        work.save()
    return len(left)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every cell is stored, 1 when time ran out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True, help="no fleet is begun that would end later")
    parser.add_argument("--paper", action="append", help="only this paper's; may be given more than once")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_num_threads(1)
    sys.setswitchinterval(1e-4)  # a fleet that waited for the device is not to wait for the others' Python as well
    began = time.monotonic()
    clock = functools.partial(_note, began)
    work = Work(options.device, began + options.seconds, clock, options.out / "fits.json")
    if options.device.startswith("cuda"):
        work.note(f"The kernel beside PyTorch's steps: {_checked(options.device)}")
    options.out.mkdir(parents=True, exist_ok=True)
    cells = perceptron_cells([place for place in FIGURES if not options.paper or place[0] in options.paper])
    with contextlib.closing(Store(options.out)) as store:
        left = run(cells, store, work, version_of(folder_of("papers")))
    work.note(f"{left} cells are left." if left else "Every cell is stored.")
    return int(left > 0)


def _note(began: float, text: str) -> None:
    print(f"[{time.monotonic() - began:6.1f} s] {text}", flush=True)


def _checked(device: str) -> str:
    """Refuse to train with a kernel that differs from PyTorch's steps; the differences in words.

    PyTorch loads its solvers and transforms when they are first called, and not by several threads at once: so now.
    """
    from papers.perceptrons.kernel import agreement

    some = torch.eye(3, dtype=torch.float64, device=device)
    torch.linalg.eigh(some[None])
    torch.fft.irfft(torch.fft.rfft(some))
    return agreement(device)


if __name__ == "__main__":
    raise SystemExit(main())
