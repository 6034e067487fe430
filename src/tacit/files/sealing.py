"""Plain values for files: what JSON can hold, sealed by a checksum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.privacy.guarantee import checksum
from tacit.reading import need


def plain_value(value: Any) -> Any:
    """Arrays, tuples and NumPy numbers as JSON values; floats keep every bit, infinity is the text 'inf'."""
    if isinstance(value, Mapping):
        value = list(value.items())
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_value(entry) for entry in value]
    return "inf" if isinstance(value, float) and value == math.inf else value


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with a checksum over all of it."""
    return {**content, "checksum": checksum(content)}


def names_or_none(names: Any, count: int) -> list[str] | None:
    """One name for each of so many columns, as a file has them, or none at all."""
    if names is None:
        return None
    need(isinstance(names, list) and all(isinstance(name, str) for name in names), "Its names are not texts.")
    need(len(names) == count, "It does not have one name for each feature.")
    return list(names)
