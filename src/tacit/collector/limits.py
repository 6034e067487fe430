"""Limits on what anyone can ask for: bytes of a body, seconds that it takes to arrive, requests per minute.

Addresses are held in memory only, as keyed hashes that are forgotten within a minute, and never beside a submission.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.collector.refusals import TOO_LARGE, TOO_MANY, TOO_SLOW, Refusal, Refused
from tacit.collector.tokens import fresh_bytes, signed

SECONDS = 15.0
"""That a body may take to arrive."""
LARGEST = 2**20
"""Bytes of a body. A submission of a thousand features has some 40,000."""


class Rate:
    """At most so many requests of one address in each minute; 0 is no limit."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._minute, self._key, self._seen = 0, b"", Counter[bytes]()

    def admits(self, address: str) -> bool:
        """Count one more request of an address."""
        if not self.most:
            return True
        minute = int(time.monotonic()) // 60
        if minute != self._minute:
            self._minute, self._key, self._seen = minute, fresh_bytes(32), Counter()
        name = signed(self._key, _network(address).encode())
        self._seen[name] += 1
        return self._seen[name] <= self.most


def _network(address: str) -> str:
    """Who counts as one: an address; of IPv6 the 64 bits that one household or office has for itself."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped
        return str(inner) if inner else str(ip_network((int(found), 64), strict=False))
    return str(found)


class Limits:
    """ASGI middleware: refuses what is too large, too slow or too much, before anything of it is looked at."""

    def __init__(self, app: ASGIApp, *, rate: Rate, largest: int = LARGEST, seconds: float = SECONDS) -> None:
        self.app, self.rate, self.largest, self.seconds = app, rate, largest, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on whose body keeps to the limits."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        address = (scope.get("client") or ("",))[0]
        if not self.rate.admits(address):
            await refused(TOO_MANY)(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self.seconds):
                body = await self._body(scope, receive)
        except TimeoutError:
            await refused(TOO_SLOW)(scope, receive, send)
            return
        except Refused as error:
            await refused(error.refusal)(scope, receive, send)
            return
        if body is None:  # the sender has gone
            return
        told = False

        async def again() -> Message:
            nonlocal told
            if told:
                return await receive()
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, again, send)

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part = message.get("body", b"")
            size += len(part)
            if size > self.largest:
                raise Refused(TOO_LARGE)
            parts.append(part)
            more = message.get("more_body", False)
        return b"".join(parts)


def refused(refusal: Refusal) -> JSONResponse:
    """A refusal as it is sent; after one, a body that is still on its way is not waited for."""
    headers = {"Connection": "close"} if refusal in (TOO_LARGE, TOO_SLOW) else {}
    headers |= {"Retry-After": "60"} if refusal == TOO_MANY else {}
    return JSONResponse({"reason": refusal.reason, "detail": refusal.detail}, refusal.status, headers)
