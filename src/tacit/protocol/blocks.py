"""Submissions as they come in: joined into blocks, and held to the protocol's limits in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.protocol.agreement import Protocol
from tacit.protocol.submission import Submissions

FOREIGN = "Submissions of another protocol."
SHAPE = "Submissions of the wrong size."
DAMAGED = "Submissions with NaN, fractions, or numbers of more than 53 bits."
LONG = "Submissions beyond the protocol's limits: its noise does not make them."
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


@dataclass(frozen=True)
class Judged:
    """A block held to its protocol: the rows that keep to it, where they stood, and why each of the others does not."""

    kept: Submissions
    places: NDArray[np.intp]
    reasons: list[str | None]


def judged(block: Submissions, protocol: Protocol) -> Judged:
    """Which submissions of a block the protocol's own code could have sent; by their numbers alone."""
    size, d = len(block), protocol.numbers.features
    if block.protocol != protocol.fingerprint:
        return Judged(block.take(slice(0)), np.zeros(0, dtype=np.intp), [FOREIGN] * size)
    if {part.shape for part in (block.q, block.p)} != {(size, d)}:
        return Judged(block.take(slice(0)), np.zeros(0, dtype=np.intp), [SHAPE] * size)
    sound = whole(block.q) & whole(block.p)
    clean = block.take(sound)
    clean = replace(clean, q=clean.q.astype(np.int64), p=clean.p.astype(np.int64))
    row, cross = protocol.numbers.limits
    short = within(clean.q, row) & within(clean.p, cross)
    reasons: list[str | None] = [None if fine else DAMAGED for fine in sound]
    places = np.flatnonzero(sound)
    for place in places[~short]:
        reasons[place] = LONG
    return Judged(clean.take(short), places[short], reasons)


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
