"""Invitations: codes that admit one submission each. The tables know their hashes, and whether they were used."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, insert, select, text, update

from tacit.collector.layout import INVITATIONS
from tacit.collector.refusals import UNKNOWN, USED
from tacit.collector.study_shelf import ASKED
from tacit.collector.tokens import fresh_code, hashed, read_code

_PERSON = b"tacit-invitation"
# Put together once: that takes longer than asking.
_OWN = (INVITATIONS.c.study == bindparam("own"), INVITATIONS.c.code.in_(bindparam("asked", expanding=True)))
_FIND = select(INVITATIONS.c.code, INVITATIONS.c.used).where(*_OWN)
_FRESH = select(func.count()).select_from(INVITATIONS).where(*_OWN, INVITATIONS.c.used == 0)
_USE = update(INVITATIONS).where(*_OWN).values(used=1)


def code_hash(study: str, code: str) -> bytes | None:
    """What a code of a study is known by; None for what is no code."""
    read = read_code(code)
    return None if read is None else hashed(_PERSON, f"{study}/{read}")


def make(base: Connection, study: str, number: int) -> list[str]:
    """New codes, which nobody can know from the tables; their hashes are written down."""
    codes = [fresh_code() for _ in range(number)]
    rows = sorted(code_hash(study, code) or b"" for code in codes)
    base.execute(insert(INVITATIONS), [{"study": study, "code": code, "used": 0} for code in rows])
    if base.dialect.name == "postgresql":  # which does not use the codes' index before it knows how many there are
        base.execute(text("ANALYZE invitations"))
    return codes


def redeem(base: Connection, study: str, codes: Sequence[str | None]) -> list[str | None]:
    """Use codes, each once, also within the list: for each why it does not admit, or None."""
    hashes = [None if code is None else code_hash(study, code) for code in codes]
    states = _states(base, study, list({one for one in hashes if one is not None}))
    outcomes: list[str | None] = []
    now: list[bytes] = []
    for one in hashes:
        state = None if one is None else states.get(one)
        outcomes.append(UNKNOWN if state is None else USED if state else None)
        if one is not None and state == 0:
            states[one] = 1
            now.append(one)
    for start in range(0, len(now), ASKED):
        base.execute(_USE, {"own": study, "asked": now[start : start + ASKED]})
    return outcomes


def _states(base: Connection, study: str, hashes: list[bytes]) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    for start in range(0, len(hashes), ASKED):
        part = hashes[start : start + ASKED]
        asked = {"own": study, "asked": part}
        if base.execute(_FRESH, asked).scalar() == len(part):  # as it mostly is: one number is read, not many rows
            found.update(dict.fromkeys(part, 0))
        else:
            found.update((bytes(code), used) for code, used in base.execute(_FIND, asked))
    return found


def tally(base: Connection, study: str) -> tuple[int, int]:
    """How many were given out, and how many of them were used."""
    asked = select(func.count(), func.sum(INVITATIONS.c.used)).where(INVITATIONS.c.study == study)
    made, used = base.execute(asked).one()
    return int(made), int(used or 0)
