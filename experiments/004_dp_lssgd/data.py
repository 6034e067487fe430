"""MNIST and CIFAR-10 as bytes, from the folder that TACIT_DATA names; no network access."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from tacit import datasets


def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images (n, 28, 28) as uint8 and labels: training, then test."""
    found = []
    for split in ("train", "test"):
        table = datasets.load("mnist", split=split).table
        pixels = [name for name in table if name.startswith("pixel")]
        found += [np.stack([table[p] for p in pixels], axis=1).astype(np.uint8).reshape(-1, 28, 28)]
        found += [np.asarray(table["label"]).astype(np.int64)]
    return found[0], found[1], found[2], found[3]


def cifar10() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images (n, 3, 32, 32) as uint8 and labels; the stored pictures (100 x 100 tiles each) need Pillow to read."""
    from PIL import Image

    folder = Path(os.environ.get("TACIT_DATA", "../shared/data")) / "cifar10"

    def tiles(name: str) -> np.ndarray:
        picture = np.asarray(Image.open(folder / f"{name}.webp").convert("RGB"))
        images = picture.reshape(100, 32, 100, 32, 3).swapaxes(1, 2).reshape(10_000, 32, 32, 3)
        return np.ascontiguousarray(images.transpose(0, 3, 1, 2))

    train = np.concatenate([tiles(f"data_batch_{i}") for i in range(1, 6)])
    labels = [np.asarray(json.loads((folder / f"{part}_labels.json").read_text())) for part in ("train", "test")]
    return train, labels[0], tiles("test_batch"), labels[1]
