"""Features kept on disk, under a name that is a hash of the images and of everything that the features depend on.

The files hold features of private records: they are readable by their owner only, and belong where the records do.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tacit._version import __version__
from tacit.checks import shown

_BLOCK = 2**24
_DIGEST = 32


def place(folder: str | Path, images: NDArray[Any], settings: Mapping[str, Any]) -> Path:
    """Where the features of these images with these settings are kept.

    Part of the name are the versions of what computes them, and the kind of processor: other versions may round
    otherwise, and a record's features must not depend on which other records were seen when.
    """
    known = [__version__, np.__version__, scipy.__version__, platform.machine(), images.dtype.str, images.shape]
    content = hashlib.sha256(json.dumps([*known, dict(settings)], sort_keys=True).encode())
    step = max(1, _BLOCK // max(1, images[:1].nbytes))
    for start in range(0, len(images), step):
        content.update(np.ascontiguousarray(images[start : start + step]).data)
    return Path(folder) / f"scattering-{content.hexdigest()}.npy"


def read(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """The features in a file; None where there is none, or where it is not what was written."""
    try:
        with path.open("rb") as file:
            found = np.lib.format.read_array(file, allow_pickle=False)
            digest = file.read(_DIGEST + 1)
    except (OSError, ValueError):
        return None
    sound = found.shape == shape and found.dtype == np.float32 and digest == _digest(found)
    return found if sound else None


def write(path: Path, features: NDArray[np.float32]) -> None:
    """Keep the features, and after them their digest, in one move; nobody but the owner can read the file."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)  # mode 0600
    except (OSError, ValueError) as error:
        raise ValueError(f"The folder cache={shown(str(path.parent))} cannot be written to.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            np.lib.format.write_array(file, features, allow_pickle=False)
            file.write(_digest(features))
        Path(partial).replace(path)
    finally:
        Path(partial).unlink(missing_ok=True)


def _digest(features: NDArray[np.float32]) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(features).data).digest()
