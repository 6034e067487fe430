"""CIFAR-10 from lossless tiled pictures to the published binary batches: ``convert_data.py FOLDER [OUT]``.

Some collections keep each batch as one picture of 100 x 100 tiles (``FOLDER/cifar10/test_batch.webp``) with lists of
labels beside it, which takes half the room. ``tacit.datasets`` reads the published files only; this makes them again,
under OUT (default: the cache folder of tacit.datasets), each compared with the published checksum before it is written.
What is there already, or has no picture, is left alone. Needs Pillow.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from tacit.checks import check
from tacit.datasets import cache_folder
from tacit.datasets.recipes import RECIPES

SIDE, TILES = 32, 100
IMAGES = TILES * TILES


def batch(picture: Path) -> bytes:
    """A binary batch: for every image a byte of label, then the planes of red, green and blue."""
    from PIL import Image

    with Image.open(picture) as opened:
        cells = np.asarray(opened.convert("RGB"), dtype=np.uint8)
    check(cells.shape == (TILES * SIDE, TILES * SIDE, 3), f"Expected {picture} to be 3200 x 3200 pixels.")
    images = cells.reshape(TILES, SIDE, TILES, SIDE, 3).transpose(0, 2, 4, 1, 3).reshape(IMAGES, 3 * SIDE**2)
    training = picture.stem != "test_batch"
    labels = json.loads(picture.with_name(f"{'train' if training else 'test'}_labels.json").read_text("utf-8"))
    first = IMAGES * (int(picture.stem.rpartition("_")[2]) - 1) if training else 0
    own = np.asarray(labels[first : first + IMAGES], dtype=np.uint8)
    return np.concatenate([own[:, None], images], axis=1).tobytes()


def convert(folder: Path, out: Path, part: str | None = None) -> list[Path]:
    """Write the batches (of one part, or all) that have a picture and are not there yet; say which."""
    written = []
    for name, files in RECIPES["cifar10"].files.items():
        for file in files if part in (None, name) else ():
            picture, target = (folder / file.place).with_suffix(".webp"), out / file.place
            if picture.is_file() and not target.is_file():
                content = file.checked(batch(picture), picture)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                written.append(target)
    return written


if __name__ == "__main__":
    places = [Path(word) for word in sys.argv[1:]]
    check(1 <= len(places) <= 2, "Usage: convert_data.py FOLDER [OUT]")
    for target in convert(places[0], places[1] if len(places) > 1 else cache_folder()):
        print(f"Wrote {target}.")
