"""Trains packed runs on a machine that has PyTorch and numpy alone, within a number of seconds, the first stage first.

    python -m papers.wang_2020.away FOLDER --seconds 200 --out rows.json --version NAME

FOLDER is what ``packing`` wrote: ``plan.json`` and the images. Results are written after every fleet, so that a stop
loses one fleet at most, and the same command goes on where it ended. A fleet that fails, or would not fit in the time
that is left, is noted, and the next one runs.
"""

import argparse
import functools
import gzip
import json
import time
import traceback
from pathlib import Path

import numpy as np
import torch

from papers.wang_2020.fleet import Fleet, OutOfTime
from papers.wang_2020.rates import FIRST, next_try
from papers.wang_2020.runs import as_text, fleets, from_text

TILES = 100
"""Images side by side in a packed picture."""
SHORTEST = 5.0
"""Seconds below which no further fleet is tried."""


def reader(folder):
    """A function of data set and split that gives images as bytes and labels, from a packed folder."""

    @functools.cache
    def read(data, split):
        place = folder / data
        if data == "mnist":
            stem = {"train": "train", "test": "t10k"}[split]
            images = gzip.decompress((place / f"{stem}-images-idx3-ubyte.gz").read_bytes())
            labels = gzip.decompress((place / f"{stem}-labels-idx1-ubyte.gz").read_bytes())
            pixels = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28)
            return pixels.copy(), np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)
        labels = np.array(json.loads((place / f"{split}.json").read_text()), dtype=np.int64)
        return unpacked(sorted(place.glob(f"{split}-*.webp"))), labels

    return read


def unpacked(pictures):
    """Colour images of 32 x 32 that were laid out in rows of TILES in lossless pictures."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    parts = []
    for picture in pictures:
        sheet = np.asarray(Image.open(picture).convert("RGB"))
        sheet = sheet.reshape(sheet.shape[0] // 32, 32, TILES, 32, 3)
        parts.append(sheet.transpose(0, 2, 4, 1, 3).reshape(-1, 3, 32, 32))
    return np.concatenate(parts)


class Work:
    """Runs trained so far, the time that is left, and where results are written."""

    def __init__(self, read, seconds, out, version, device, most):
        self.read, self.began, self.out = read, time.monotonic(), Path(out)
        self.until = self.began + seconds
        self.device, self.most = device, most
        self.kind = torch.float64 if device == "cpu" else torch.float32
        self.pace, self.known = {}, {}
        self.kept = {"version": version, "device": _words(device), "runs": {}, "seconds": {}, "notes": []}
        if self.out.exists():
            self.kept = json.loads(self.out.read_text())
            if self.kept["version"] != version:
                raise ValueError(f"{out} was made by {self.kept['version']}, not by {version}.")
            self.known = {from_text(text): curve for text, curve in self.kept["runs"].items()}

    def note(self, text):
        """A line for the log and the file."""
        words = f"[{time.monotonic() - self.began:6.1f} s] {text}"
        print(words, flush=True)
        self.kept["notes"].append(words)
        self.write()

    def write(self):
        """All results so far, in one step."""
        new = self.out.with_suffix(".new")
        new.write_text(json.dumps(self.kept))
        new.replace(self.out)

    def train(self, runs, name):
        """Train what is not known yet of these runs."""
        for fleet in fleets([run for run in runs if run not in self.known], self.most):
            self._train(fleet, name)

    def _train(self, fleet, name):
        started, size = time.monotonic(), len(fleet) * fleet[0].steps * fleet[0].batch
        left, guess = self.until - started, size * self.pace.get(fleet[0].data, 0.0)
        words = f"{name}: {len(fleet)} networks, {fleet[0].steps} steps"
        if guess > left or left < 1:
            self.note(f"{words}: {left:.0f} s are left and about {guess:.0f} s are needed.")
            self._halved(fleet, name, left)
            return
        self.note(f"{words}: begins; about {guess:.0f} s.")
        try:
            found = Fleet(fleet, self.read, self.device, self.kind).train(self.until)
        except OutOfTime as error:
            self.note(f"{words}: {error}")
            self._halved(fleet, name, left)
            return
        except Exception as error:  # one fleet must not end the others
            self._clear()
            self.note(f"{words}: failed. {traceback.format_exc()}")
            if "out of memory" in str(error).lower():
                self._halved(fleet, name, left)
            return
        seconds = time.monotonic() - started
        self.pace[fleet[0].data] = seconds / size
        self.known |= found
        self.kept["runs"] |= {as_text(run): curve for run, curve in found.items()}
        self.kept["seconds"] |= {as_text(run): seconds / len(fleet) for run in fleet}
        self.note(f"{words}: {seconds:.1f} s; last accuracies {[round(c[-1], 2) for c in found.values()][:12]}.")
        self._clear()

    def _halved(self, fleet, name, left):
        """The same runs in two fleets, as long as a fleet has several runs of a seed and there is time."""
        if left > SHORTEST and len({run.seed for run in fleet}) < len(fleet):
            for half in fleets(fleet, len(fleet) // 2):
                self._train(half, name)

    def _clear(self):
        if self.device != "cpu":
            torch.cuda.empty_cache()

    def climb(self, ladders, name):
        """Trials of every ladder until its best place is inside; then its final runs at the best place."""
        scores, tries = [{} for _ in ladders], [FIRST for _ in ladders]
        while any(tries):
            asked = [{k: rungs[k][0] for k in places} for rungs, places in zip(ladders, tries, strict=True)]
            self.train([run for mine in asked for trials in mine.values() for run in trials], name)
            for i, mine in enumerate(asked):
                known = all(run in self.known for trials in mine.values() for run in trials)
                if known:
                    scores[i] |= {k: np.mean([self.known[run][-1] for run in mine[k]]) for k in mine}
                tries[i] = next_try(scores[i]) if known and mine else ()
        best = [(rungs, max(found, key=found.get)) for rungs, found in zip(ladders, scores, strict=True) if found]
        self.note(f"{name}: thirds of a decade from the paper's rate, as chosen: {[k for _, k in best]}.")
        self.train([run for rungs, k in best for run in rungs[k][1]], f"{name}, final")


def _words(device):
    return torch.cuda.get_device_name() if device == "cuda" else device


def main(arguments=None):
    """Train by stages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--most", type=int, default=120, help="networks side by side")
    options = parser.parse_args(arguments)
    work = Work(
        reader(options.folder), options.seconds, options.out, options.version, options.device, options.most
    )  # fmt: skip
    work.note(f"PyTorch {torch.__version__} on {work.kept['device']}.")
    for stage in json.loads((options.folder / "plan.json").read_text()):
        ladders = [
            {int(k): [[from_text(text) for text in part] for part in rung] for k, rung in ladder.items()}
            for ladder in stage.get("ladders", ())
        ]
        try:
            if ladders:
                work.climb(ladders, stage["name"])
            work.train([from_text(text) for text in stage.get("runs", ())], stage["name"])
        except Exception:  # the next stage may do better
            work.note(f"{stage['name']}: failed. {traceback.format_exc()}")
    work.note("Done.")


if __name__ == "__main__":
    main()
