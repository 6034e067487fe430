"""Who may sign in to the curator's pages: names with a role and a secret of 150 random bits that is shown once.

Secrets are made here, never chosen, and only a salted hash of each is kept: scrypt (RFC 7914), which takes 32 MiB of
memory and some 0.1 seconds a guess. A name that does not exist takes as long to refuse as a wrong secret.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from threading import Lock

from sqlalchemy import Connection, delete, insert, select, update

from tacit.checks import check
from tacit.collector import acts
from tacit.collector.layout import ACCOUNTS, VISITS
from tacit.collector.tokens import fresh_bytes, read_code, same, signed, spelled

CURATOR, VIEWER = "curator", "viewer"
ROLES = (CURATOR, VIEWER)
"""``curator`` may act; ``viewer`` may look."""
COMMAND = "command line"
LETTERS = 30
"""Signs of a secret, of five bits each."""
MINUTE = 60.0
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_COST, _BLOCK, _LANES = 15, 8, 1
_NOBODY = f"scrypt${_COST}${_BLOCK}${_LANES}${'0' * 32}${'0' * 64}"
"""What a secret is compared with where there is no such name: nothing hashes to it."""


def add(base: Connection, name: str, role: str, *, who: str = COMMAND) -> str:
    """A new account; returns its secret, which nobody can look up again."""
    check(
        _NAME.fullmatch(name),
        "Expected a name of at most 40 small letters, digits, dots, hyphens and underscores that begins with a letter "
        "or a digit.",
    )
    check(role in ROLES, f"Expected the role to be one of {', '.join(ROLES)}.")
    check(role_of(base, name) is None, f"There is already an account {name!r}.")
    secret = spelled(fresh_bytes(LETTERS))
    base.execute(insert(ACCOUNTS).values(name=name, role=role, secret=_hashed(secret)))
    acts.write(base, who, "account added", note=f"{name}, {role}")
    return secret


def remove(base: Connection, name: str, *, who: str = COMMAND) -> None:
    """End an account and its sessions."""
    _check_known(base, name)
    base.execute(delete(VISITS).where(VISITS.c.account == name))
    base.execute(delete(ACCOUNTS).where(ACCOUNTS.c.name == name))
    acts.write(base, who, "account removed", note=name)


def renew(base: Connection, name: str, *, who: str = COMMAND) -> str:
    """A new secret in place of the old one; all sessions of the account end."""
    _check_known(base, name)
    secret = spelled(fresh_bytes(LETTERS))
    base.execute(delete(VISITS).where(VISITS.c.account == name))
    base.execute(update(ACCOUNTS).where(ACCOUNTS.c.name == name).values(secret=_hashed(secret)))
    acts.write(base, who, "secret renewed", note=name)
    return secret


def listed(base: Connection) -> list[tuple[str, str]]:
    """Names and roles of all accounts."""
    rows = base.execute(select(ACCOUNTS.c.name, ACCOUNTS.c.role).order_by(ACCOUNTS.c.name))
    return [(row.name, row.role) for row in rows]


def role_of(base: Connection, name: str) -> str | None:
    """The role of an account; None where there is none."""
    return base.execute(select(ACCOUNTS.c.role).where(ACCOUNTS.c.name == name)).scalar()


def verified(base: Connection, name: str, secret: str) -> str | None:
    """The account's role if the secret is right, else None; it takes the same time whether the name exists or not."""
    row = base.execute(select(ACCOUNTS.c.role, ACCOUNTS.c.secret).where(ACCOUNTS.c.name == name)).first()
    kept = _NOBODY if row is None else row.secret
    _, cost, block, lanes, salt, digest = kept.split("$")
    typed = read_code(secret, LETTERS) or ""
    found = _scrypt(typed, bytes.fromhex(salt), int(cost), int(block), int(lanes))
    right = same(found, bytes.fromhex(digest))
    return row.role if right and row is not None else None


def _check_known(base: Connection, name: str) -> None:
    check(role_of(base, name) is not None, f"There is no account {name!r}.")


def _hashed(secret: str) -> str:
    salt = fresh_bytes(16)
    digest = _scrypt(secret, salt, _COST, _BLOCK, _LANES)
    return f"scrypt${_COST}${_BLOCK}${_LANES}${salt.hex()}${digest.hex()}"


def _scrypt(secret: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    most = 2 * 128 * block * (1 << cost)
    return hashlib.scrypt(secret.encode(), salt=salt, n=1 << cost, r=block, p=lanes, maxmem=most, dklen=32)


class Tries:
    """Wrong secrets of the last minute, in memory: at most so many for a name, and so many of one network address.

    A try is counted before the secret is looked at, so that many at the same time are no way round, and taken back when
    the secret was right. There is no limit on all together: people who guess would lock everyone out. Edges: names are
    those that were typed, addresses are kept as keyed hashes, and both are forgotten with their try.
    """

    def __init__(self, each: int = 5, together: int = 20, clock: Callable[[], float] = time.monotonic) -> None:
        self.each, self.together, self._clock = each, together, clock
        self._key = fresh_bytes(32)
        self._wrong: list[tuple[float, str, bytes]] = []
        self._lock = Lock()

    def begin(self, name: str, address: str) -> bool:
        """Count a try; False, and not counted, where there were too many."""
        origin = signed(self._key, address.encode())
        with self._lock:
            now = self._clock()
            self._wrong = [one for one in self._wrong if one[0] > now - MINUTE]
            own = sum(whose == name for _, whose, _ in self._wrong)
            near = sum(place == origin for *_, place in self._wrong)
            if own >= self.each or near >= self.together:
                return False
            self._wrong.append((now, name, origin))
            return True

    def right(self, name: str, address: str) -> None:
        """Take a try back: its secret was right."""
        mine = name, signed(self._key, address.encode())
        with self._lock:
            last = max((place for place, one in enumerate(self._wrong) if one[1:] == mine), default=None)
            if last is not None:
                del self._wrong[last]
