"""Runs for another machine, and their results back: ``pack`` writes a folder that ``away`` trains, ``adopt`` stores.

    python -m papers.wang_2020.packing pack FOLDER --data mnist --kept docs/reproduced
    python -m papers.wang_2020.packing adopt rows.json --out reproduced

The plan is made of the figures' own cells, so that what comes back are the runs that they ask for: a cell is computed
from results exactly as it would be from a training here.
"""

import argparse
import json
import os
import shutil
from pathlib import Path

from papers.engine.figure import Size
from papers.engine.grid import checked_points, grid
from papers.engine.library import load
from papers.engine.store import Store
from papers.engine.under_way import kept_keys
from papers.wang_2020 import convolutional as networks
from papers.wang_2020.rates import FURTHEST
from papers.wang_2020.runs import as_text, from_text
from tacit.checks import check

FIGURES = ("figure1", "figure5", "figure6", "figure7", "defaults")
EVERYWHERE = range(-FURTHEST, FURTHEST + 1)
"""All places at which learning rates may be tried."""
SHEET = 5_000
"""CIFAR-10 images in one packed picture."""


class Missing(LookupError):
    """Results do not hold these runs."""


def network_cells(figure, size=Size()):  # noqa: B008 - it is frozen
    """The cells of a figure that train networks."""
    paper = load("papers", "wang_2020")
    cells = grid(paper, paper.figure(figure), size)
    return [cell for cell in cells if cell.settings.get("part") != "logistic"]


def needed(cells):
    """The runs that cells ask for first; a learning rate is not chosen yet."""
    found = []

    def note(runs):
        found.extend(runs)
        raise Missing

    paper = load("papers", "wang_2020")
    for cell in cells:
        try:
            paper.figure(cell.figure).measure(**cell.settings, trained=note)
        except Missing:
            continue
    return list(dict.fromkeys(found))


def ladder(data, optimizer, smoothing, target, batch, epochs, rows, trials, runs, part):
    """Trials and final runs of a cell at every learning rate that it may come to try, by place."""
    del part
    trial, final = (
        networks.offered(data, optimizer, smoothing, target, batch, epochs, rows, seeds, EVERYWHERE, held)
        for seeds, held in ((networks.trial_seeds(trials), True), (range(runs), False))
    )
    return {k: [trial[k], final[k]] for k in EVERYWHERE}


def stages(kept=None):
    """What to train, the most important first: names, runs, and ladders of rates. Cells with rows in ``kept`` have
    been trained."""
    done = {name: kept_keys(kept, "wang_2020", name) if kept else set() for name in FIGURES}
    cells = {name: [cell for cell in network_cells(name) if cell.key[:12] not in done[name]] for name in FIGURES}
    plain = [cell for cell in cells["figure7"] if cell.settings["part"] == "aimed"]
    chosen = [cell for cell in cells["figure7"] if cell.settings["part"] == "chosen"]
    curves = [cell for name in ("figure5", "figure1", "figure7") for cell in cells[name] if "run" in cell.settings]

    return [
        {"name": "figure 6", "runs": needed(cells["figure6"])},
        {"name": "chosen rates", "ladders": [ladder(**cell.settings) for cell in chosen]},
        {"name": "figures 1, 5 and 7", "runs": needed(curves)},
        {"name": "the paper's rates, aimed", "runs": needed(plain)},
        {"name": "defaults", "runs": needed(cells["defaults"])},
    ]


def pack(folder, data, kept=None):
    """Write the plan of one data set and its images; those of CIFAR-10 as lossless pictures, as many as Figure 6
    takes."""
    folder.mkdir(parents=True)
    networks.read(data, "train")  # before anything else is made: it may be missing
    plan = [
        {"name": stage["name"], "runs": [as_text(run) for run in stage.get("runs", ()) if run.data == data],
         "ladders": [
             {k: [[as_text(run) for run in part] for part in rung] for k, rung in rungs.items()}
             for rungs in stage.get("ladders", ()) if data == "mnist"
         ]}
        for stage in stages(kept)
    ]  # fmt: skip
    plan = [stage for stage in plan if stage["runs"] or stage["ladders"]]
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    if data == "mnist":
        shutil.copytree(Path(os.environ["TACIT_DATA"]) / "mnist", folder / "mnist")
        return
    (run, *_) = needed(network_cells("figure6"))
    _draw(folder / "cifar10", "train", run.rows)
    _draw(folder / "cifar10", "test", run.scored)


def _draw(place, split, rows):
    from PIL import Image

    from papers.wang_2020.away import TILES

    place.mkdir(exist_ok=True)
    images, labels = (part[:rows] for part in networks.read("cifar10", split))
    for start in range(0, rows, SHEET):
        part = images[start : start + SHEET]
        sheet = part.reshape(-1, TILES, 3, 32, 32).transpose(0, 3, 1, 4, 2).reshape(-1, 32 * TILES, 3)
        Image.fromarray(sheet).save(place / f"{split}-{start:06d}.webp", lossless=True, quality=100, method=6)
    (place / f"{split}.json").write_text(json.dumps(labels.tolist()), encoding="utf-8")


def adopt(results, out, version=None, size=Size()):  # noqa: B008
    """Store every cell that these results are enough for; a cell that is there already is replaced.

    Returns the numbers of cells stored and left out, by figure.
    """
    kept = json.loads(Path(results).read_text(encoding="utf-8"))
    curves = {from_text(text): curve for text, curve in kept["runs"].items()}
    seconds = {from_text(text): value for text, value in kept["seconds"].items()}
    used = []

    def trained(wanted):
        if any(run not in curves for run in wanted):
            raise Missing
        used.extend(wanted)
        return {run: curves[run] for run in wanted}

    check(kept["version"] or version, "The results name no version. Give --version.")
    paper, store, counts = load("papers", "wang_2020"), Store(out), {}
    for name in FIGURES:
        counts[name] = [0, 0]
        for cell in network_cells(name, size):
            used.clear()
            try:
                points = paper.figure(name).measure(**cell.settings, trained=trained)
            except Missing:
                counts[name][1] += 1
                continue
            store.forget([cell])
            text = checked_points(points, str(cell))
            store.add(cell, text, kept["version"] or version, sum(seconds[run] for run in dict.fromkeys(used)))
            counts[name][0] += 1
    store.close()
    return counts


def main(arguments=None):
    """Pack or adopt."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    there = commands.add_parser("pack")
    there.add_argument("folder", type=Path)
    there.add_argument("--data", choices=tuple(networks.RECORDS), required=True)
    there.add_argument("--kept", type=Path, help="rows of the pages: what has rows there is left out")
    back = commands.add_parser("adopt")
    back.add_argument("results", type=Path)
    back.add_argument("--out", type=Path, default=Path("reproduced"))
    back.add_argument("--version", help="where the results name none")
    back.add_argument("--runs", type=int)
    options = parser.parse_args(arguments)
    if options.command == "pack":
        pack(options.folder, options.data, options.kept)
        return
    for name, (stored, left) in adopt(options.results, options.out, options.version, Size(runs=options.runs)).items():
        print(f"{name}: {stored} cells stored" + (f", {left} left out: runs are missing" if left else ""))


if __name__ == "__main__":
    main()
