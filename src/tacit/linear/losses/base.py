"""What all losses of one real prediction share, and differences of cut numbers to the last bits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.types import Array


def cut_change(at: Array, step: Array, low: float, high: float) -> Array:
    """``clip(at + step, low, high) - clip(at, low, high)``; the error is at most two ulps of ``step``."""
    inside = np.clip(at, low, high)
    return np.asarray(np.clip(step + (at - inside), low - inside, high - inside))


@dataclass(frozen=True)
class Scalar:
    """What all losses of one real prediction share: columns are independent models, of one direction each."""

    coupled: ClassVar[bool] = False
    directions: ClassVar[int] = 1
    outputs: ClassVar[int] = 1

    @property
    def trace(self) -> float:
        """Equals the smoothness: one direction."""
        return self.smoothness

    @property
    def smoothness(self) -> float:
        """Set by each loss."""
        return math.inf
