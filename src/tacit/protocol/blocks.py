"""Submissions as they come in: joined into blocks, and held to the protocol's limits in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.protocol.submission import Submissions

_JOINED = 4096
_UNSURE = 1e-9
"""Far above the relative error of a sum of squares in double precision, (d + 2) 2**-53."""


def whole(part: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows of finite whole numbers below 2**53."""
    if part.dtype.kind not in "iuf":
        return np.zeros(len(part), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        return np.asarray(((part > -(2**53)) & (part < 2**53) & (part == np.floor(part))).all(axis=1))


def within(part: NDArray[np.int64], limit: int) -> NDArray[np.bool_]:
    """Rows of norm at most ``limit``: decided on whole numbers wherever floating point could be wrong."""
    squares, most = (part.astype(np.float64) ** 2).sum(axis=1), float(limit) ** 2
    inside = squares <= most
    for row in np.flatnonzero(np.abs(squares - most) <= _UNSURE * most):
        inside[row] = sum(int(v) ** 2 for v in part[row]) <= limit**2
    return np.asarray(inside)


def gathered(parts: Iterable[Submissions | str]) -> Iterator[Submissions | str]:
    """Single submissions of one shape joined into blocks, so that a transaction holds many."""
    held: list[Submissions] = []
    for part in parts:
        if held and (isinstance(part, str) or not _alike(part, held[0]) or len(held) >= _JOINED):
            yield _joined(held)
            held = []
        if isinstance(part, str):
            yield part
        else:
            held.append(part)
            if len(part) > 1:
                yield _joined(held)
                held = []
    if held:
        yield _joined(held)


def _alike(one: Submissions, other: Submissions) -> bool:
    shapes = [(part.q.shape[1:], part.p.shape[1:]) for part in (one, other)]
    return one.protocol == other.protocol and one.seeded == other.seeded and shapes[0] == shapes[1]


def _joined(held: list[Submissions]) -> Submissions:
    if len(held) == 1:
        return held[0]
    q, p = (np.concatenate([getattr(one, name) for one in held]) for name in ("q", "p"))
    return Submissions(held[0].protocol, q, p, held[0].seeded)
