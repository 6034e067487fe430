"""Trains the perceptrons of figures side by side, on this machine's GPU where it has one, and stores finished cells.

    python -m papers.perceptrons.away --out FOLDER
    python -m papers kang_2023 --figure figures1-2-mlp --adopt FOLDER     (where the other rows are)

How cells and fits come together: :mod:`papers.shared.together`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from papers.engine.figure import Size
from papers.engine.grid import Cell, grid
from papers.engine.library import folder_of, load
from papers.engine.store import Store
from papers.engine.versions import version_of
from papers.perceptrons.fleet import Member, Yard, member
from papers.shared.accuracy import parts
from papers.shared.together import Key, Place, Together, at_hand, fits_file, run, seed_of

FIGURES = (("kang_2023", "figures1-2-mlp"), ("kang_2020b", "figures1-2-mlp"), ("kang_2020a", "figures2-3-mlp"))
MOST = {"pidp_sgd": 192, "pi_dbdp_erm": 192, "perturbed_input": 96, "dp_sgd": 96}
"""Networks of a fleet, by algorithm: what fits into the memory of a large GPU."""
FLEETS = 8
"""Fleets that a GPU trains at a time: a walk is a program a network, and waits more than it computes."""


def perceptron_cells(figures: Sequence[tuple[str, str]] = FIGURES, size: Size = Size()) -> list[Cell]:  # noqa: B008
    """The cells that train private perceptrons; the reference has no privacy and is not ours to train."""
    found = [cell for name, figure in figures for cell in _cells(name, figure, size)]
    return [cell for cell in found if cell.settings["epsilon"] is not None]


def _cells(name: str, figure: str, size: Size) -> list[Cell]:
    paper = load("papers", name)
    return grid(paper, paper.figure(figure), size)


class Work(Together):
    """Perceptrons, on a device."""

    def __init__(
        self, device: str, until: float, note: Callable[[str], None] = print, kept: Path | None = None
    ) -> None:
        super().__init__(until, note, kept)
        self.device = device
        self.pace: dict[tuple[Any, ...], float] = {}

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
            found = yard.trained(list(fleet.values()), seed_of(fleet))
        took = time.monotonic() - started
        self.pace[data, company] = took
        self.keep(dict(zip(fleet, found, strict=True)), took)
        best = max(one.validation[0] for one in found)
        self.note(f"{data} {company[:4]}: {len(fleet)} networks, {took:.1f} s; best on validation {best:.4f}")
        return True


def _waits(one: Member) -> float:
    """About how often a fleet has to be called: walks go by themselves for long."""
    return one.plan.rounds * (1 + one.plan.local / 50) if hasattr(one.plan, "rounds") else float(one.plan.steps)


@functools.cache
def _yard(data: str, rows: int | None, device: str) -> Yard:
    return Yard(parts(data, rows), device, torch.float32 if device.startswith("cuda") else torch.float64)


def _split(members: dict[Key, Member], most: int) -> Iterator[dict[Key, Member]]:
    keys = list(members)
    for start in range(0, len(keys), most):
        yield {key: members[key] for key in keys[start : start + most]}


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every cell whose data set is here is stored, 1 when time ran out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no fleet is begun that would end later")
    parser.add_argument("--only-gpu", action="store_true", help="do nothing on a machine without a GPU")
    parser.add_argument("--paper", action="append", help="only this paper's; may be given more than once")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    if options.only_gpu and not options.device.startswith("cuda"):
        print("There is no GPU here: `python -m papers` trains perceptrons one by one, which takes days at this size.")
        return 0
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_num_threads(1)
    sys.setswitchinterval(1e-4)  # a fleet that waited for the device is not to wait for the others' Python as well
    began, version = time.monotonic(), version_of(folder_of("papers"))
    clock = functools.partial(_note, began)
    work = Work(options.device, began + options.seconds, clock, fits_file(options.out, version))
    if options.device.startswith("cuda"):
        work.note(f"The kernel beside PyTorch's steps: {_checked(options.device)}")
    options.out.mkdir(parents=True, exist_ok=True)
    asked = perceptron_cells([place for place in FIGURES if not options.paper or place[0] in options.paper])
    cells = at_hand(asked, work.note)
    with contextlib.closing(Store(options.out)) as store:
        left = run(cells, store, work, version)
        if options.device.startswith("cuda"):
            for place in FIGURES:
                store.share_seconds([cell for cell in cells if (cell.paper, cell.figure) == place])
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
