"""Figure 2: Laplacian smoothing of a noisy sine (sigma = 10) and of a noisy product of sines (sigma = 100, row-major).

python experiments/004_dp_lssgd/denoise.py --out denoise.png
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from tacit.smoothing import smooth


def signals(seed: int = 0) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Each signal as clean, noisy and smoothed."""
    rng = np.random.default_rng(seed)
    line = np.sin(2 * np.pi * np.arange(1, 101) / 100)
    plane = np.outer(line, line)
    noisy_line = line + 0.1 * rng.normal(size=100)
    noisy_plane = plane + 0.2 * rng.normal(size=(100, 100))
    return {
        "line": (line, noisy_line, smooth(noisy_line, 10.0)),
        "plane": (plane, noisy_plane, smooth(noisy_plane, 100.0)),
    }


def main() -> None:
    """Print the errors before and after, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    options = parser.parse_args()
    found = signals()
    for name, (clean, noisy, smoothed) in found.items():
        before, after = (float(np.sqrt(np.mean((v - clean) ** 2))) for v in (noisy, smoothed))
        print(json.dumps({"signal": name, "error before": round(before, 4), "error after": round(after, 4)}))
    if options.out:
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(1, 4, figsize=(18, 4))
        for values, label in zip(found["line"], ("clean", "noisy", "smoothed"), strict=True):
            axes[0].plot(values, label=label)
        axes[0].legend()
        for axis, values, label in zip(axes[1:], found["plane"], ("clean", "noisy", "smoothed"), strict=True):
            axis.imshow(values)
            axis.set_title(label)
        figure.tight_layout()
        figure.savefig(options.out, dpi=120)


if __name__ == "__main__":
    main()
