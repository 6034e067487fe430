"""Sessions of those who are signed in: a random token in a cookie, of which the tables keep a hash.

A session ends after IDLE seconds without use, after WHOLE seconds in all, when its owner signs out, and when the
secret of its account is renewed. Every sign-in begins a new one with a new token, so that a token that somebody else
has put into a browser is never worth anything.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update
from starlette.requests import Request
from starlette.responses import Response

from tacit.collector.layout import ACCOUNTS, VISITS
from tacit.collector.tokens import fresh_bytes, hashed, same, signed

IDLE, WHOLE = 30 * 60, 8 * 60 * 60
NOTED = 60
"""Seconds after which a session's use is written down again: a page that is looked at need not write each time."""
PATH = "/curator"
COOKIE = "tacit"
_PERSON = b"tacit-visit"


@dataclass(frozen=True)
class Visit:
    """Somebody who is signed in. ``token`` is the cookie's; ``form`` is what their forms carry."""

    account: str
    role: str
    token: str

    @property
    def form(self) -> str:
        """A keyed hash of the session: a page elsewhere does not know it, and it does not tell the token."""
        return signed(bytes.fromhex(self.token), b"form").hex()

    def owns(self, form: str) -> bool:
        """Whether a form was made for this session."""
        return same(self.form.encode(), form.encode())


def begin(base: Connection, account: str, now: float | None = None) -> str:
    """A new session; returns its token. Sessions that are over are forgotten."""
    at = _now(now)
    base.execute(delete(VISITS).where((VISITS.c.seen < at - IDLE) | (VISITS.c.began < at - WHOLE)))
    token = fresh_bytes(32).hex()
    base.execute(insert(VISITS).values(token=hashed(_PERSON, token), account=account, began=at, seen=at))
    return token


def find(base: Connection, token: str, now: float | None = None) -> tuple[Visit, bool] | None:
    """The session of a token that is not over, and whether its use should be written down (:func:`note`)."""
    at = _now(now)
    asked = select(ACCOUNTS.c.name, ACCOUNTS.c.role, VISITS.c.began, VISITS.c.seen).join(ACCOUNTS)
    row = base.execute(asked.where(VISITS.c.token == hashed(_PERSON, token))).first()
    if row is None or at - row.seen > IDLE or at - row.began > WHOLE:
        return None
    return Visit(row.name, row.role, token), at - row.seen >= NOTED


def note(base: Connection, token: str, now: float | None = None) -> None:
    """Write down that a session is in use."""
    base.execute(update(VISITS).where(VISITS.c.token == hashed(_PERSON, token)).values(seen=_now(now)))


def end(base: Connection, token: str) -> None:
    """Sign out."""
    base.execute(delete(VISITS).where(VISITS.c.token == hashed(_PERSON, token)))


def _now(now: float | None) -> int:
    return int(time.time() if now is None else now)


def _name(request: Request) -> str:
    """Over TLS a name that browsers keep from pages without TLS (RFC 6265bis, 4.1.3); the cookie has no domain."""
    return f"__Secure-{COOKIE}" if request.url.scheme == "https" else COOKIE


def token_of(request: Request) -> str | None:
    """The token that a browser sends; None for what is none."""
    token = request.cookies.get(_name(request), "")
    return token if len(token) == 64 and set(token) <= set("0123456789abcdef") else None


def hand(response: Response, request: Request, token: str) -> None:
    """Give a browser the token."""
    secure = request.url.scheme == "https"
    response.set_cookie(
        _name(request), token, max_age=WHOLE, path=PATH, secure=secure, httponly=True, samesite="strict"
    )


def take(response: Response, request: Request) -> None:
    """Take the token from a browser."""
    secure = request.url.scheme == "https"
    response.delete_cookie(_name(request), path=PATH, secure=secure, httponly=True, samesite="strict")
