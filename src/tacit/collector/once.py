"""What this process drew for whom: who asks again gets the same numbers, and never new ones unasked.

Two submissions of one person with noise of their own tell more than one; the guarantee of a record is for one. An
invitation says who is meant. Without one, all that is known is which client drew.
"""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.checks import PrivacyError
from tacit.collector.pending import Pending, carrying
from tacit.collector.tokens import fresh_bytes, hashed, read_code
from tacit.protocol import Protocol

NUMBERS = 2**22
"""Numbers of submissions that are held; those of the oldest draws go first."""
PEOPLE = 2**20
"""People of whom it is known that something was drawn for them; the oldest are forgotten."""
_KEY = fresh_bytes(32)
_NAMED = (
    "This process drew for one of these invitations before: from other answers, for another protocol, together with "
    "other people, or from a file. Nothing was drawn now, because a second draw reveals more about the same person. "
    "What was drawn is the pending of this error, as long as it is in memory: send it by send(), or name its file by "
    "keep=."
)
_UNNAMED = (
    "This client drew for this study before. Without an invitation nobody can know whether this is the same person, "
    "about whom a second draw would reveal more. Nothing was drawn now. For the same person, give the pending of this "
    "error to send(). If it is another person, set again=True."
)

Mark = Callable[[Protocol], bytes]
"""What records are known by under a protocol."""


def marked(records: Any, targets: Any) -> Mark:
    """Tells whether records are the same, within this process alone: a hash with a key that never leaves it."""

    def mark(protocol: Protocol) -> bytes:
        found = hashlib.blake2b(protocol.fingerprint.encode(), digest_size=16, key=_KEY)
        for part in protocol.rows(records, targets):
            found.update(part.tobytes())
        return found.digest()

    return mark


@dataclass(frozen=True, eq=False)
class Draw:
    """Submissions that were drawn together, and what their records are known by; None for those of a file."""

    people: tuple[bytes, ...]
    pending: tuple[Pending, ...]
    protocol: Protocol | None = None
    mark: bytes | None = None


class Memory:
    """Who was drawn for, and what. Hold ``lock`` from looking to adding: no two threads then draw for one person."""

    def __init__(self, numbers: int = NUMBERS, people: int = PEOPLE) -> None:
        self.lock = threading.RLock()
        self._most, self._people = numbers, people
        self._draws: dict[bytes, Draw | None] = {}
        self._held: deque[Draw] = deque()
        self._numbers = 0

    def recall(
        self, people: Sequence[bytes], own: bytes, again: bool, mark: Mark, protocol: Protocol | None
    ) -> list[Pending] | None:
        """What was drawn for these very people, records and protocol; None if nothing was for any of them.

        ``own`` stands for whoever has no invitation; ``again`` says that it is somebody else this time.

        Edges: raises PrivacyError, with what was drawn as its ``pending``, for anything in between.
        """
        with self.lock:
            known = [one for one in dict.fromkeys(people) if one in self._draws and not (again and one == own)]
            draws = [self._draws[one] for one in known]
        if not known:
            return None
        first = draws[0]
        if own not in known and first is not None and first.protocol is not None and first.people == tuple(people):
            agreed = protocol in (None, first.protocol)
            if agreed and all(draw is first for draw in draws) and mark(first.protocol) == first.mark:
                return list(first.pending)
        before = {id(draw): draw.pending for draw in draws if draw is not None}
        error = PrivacyError(_UNNAMED if own in known else _NAMED)
        raise carrying(error, [one for pending in before.values() for one in pending])

    def add(self, draw: Draw) -> None:
        """Remember a draw; do so before its first byte leaves."""
        with self.lock:
            self._draws.update(dict.fromkeys(draw.people, draw))
            self._held.append(draw)
            self._numbers += _numbers(draw)
            while self._numbers > self._most and len(self._held) > 1:  # the newest is on its way
                oldest = self._held.popleft()
                self._numbers -= _numbers(oldest)
                self._draws.update({one: None for one in oldest.people if self._draws.get(one) is oldest})
            while len(self._draws) > self._people:
                del self._draws[next(iter(self._draws))]

    def add_file(self, people: Sequence[bytes], pending: Sequence[Pending]) -> None:
        """Remember what was drawn by another process, unless it is known."""
        with self.lock:
            if any(self._draws.get(one) is None for one in people):
                self.add(Draw(tuple(people), tuple(pending)))


MEMORY = Memory()
"""Of this process."""


def person(study: str, code: str | None, own: bytes) -> bytes:
    """Whom a submission is of: an invitation to a study, at whatever address; else whoever ``own`` stands for."""
    return own if code is None else hashed(b"tacit-person", f"{study} {read_code(code) or code}")


def _numbers(draw: Draw) -> int:
    return sum(len(one.submission.q) + len(one.submission.p) for one in draw.pending)
