"""diffprivlib in an environment of its own, made on first use: it does not import with the scikit-learn of this one.

Matrices go there and probabilities come back as files. Without a way to install packages it is skipped, and said so.
"""

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

PINS = ("diffprivlib==0.6.6", "scikit-learn==1.7.2", "numpy==2.4.6", "scipy==1.17.1")
FOLDER = Path(__file__).parent.parent / "build" / "diffprivlib"
WORKER = Path(__file__).parent / "apart_worker.py"
STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


@functools.cache
def why_not(folder: Path = FOLDER) -> str:
    """Make the environment where it is not there; the reason why it cannot be made, or nothing."""
    ready, pins = folder / "ready", "\n".join(PINS)
    if ready.exists() and ready.read_text() == pins:
        return ""
    commands = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(_python(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS],
        [str(_python(folder)), "-c", "import diffprivlib.models"],
    )
    for command in commands:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip() or "no message").splitlines()[-1]
            return f"an environment with {', '.join(PINS[:2])} could not be made ({last})"
    ready.write_text(pins)
    return ""


def fits(X, y, X_test, epsilon: float, seed: int) -> Iterator[tuple[float, float, np.ndarray]]:
    """C, CPU seconds and the probability of label 1 for the test rows, for each of STRENGTHS; pure epsilon."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(here, X=X, y=y, X_test=X_test)
        settings = json.dumps({"epsilon": epsilon, "seed": seed, "strengths": STRENGTHS})
        command = [str(_python(FOLDER)), str(WORKER), str(here), str(there), settings]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        with np.load(there) as found:
            yield from zip(STRENGTHS, found["seconds"].tolist(), found["positive"], strict=True)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
