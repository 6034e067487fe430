"""Questions to a service over HTTP, by the standard library alone: one connection that is kept, lost ones tried again.

Whatever is asked here may be asked twice: the interface answers the same question in the same way.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import math
import re
import ssl
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, urlsplit

from tacit._version import __version__
from tacit.checks import PrivacyError, check
from tacit.collector.refusals import Refusal, Refused
from tacit.collector.timed import TimedConnection
from tacit.reading import parse

LARGEST = 16 * 2**20
"""Bytes of an answer that are read, unless another number is asked for."""
LONGEST = 120.0
"""Seconds of one pause, whatever a service asks for."""
AGAIN = (408, 429, 500, 502, 503, 504)
"""Answers after which the same is asked again, a little later."""
_WORD = re.compile(r"[a-z][a-z-]{0,39}")
_SENTENCE = 400
_UNKNOWN = "http"
"""The reason of a refusal that is not in the words of the interface."""
_STRANGE = "The service's answer is not what its interface describes."


class Unanswered(ConnectionError):
    """No answer says what became of what was sent; ``pending`` is what may or may not have arrived.

    Send it again by :meth:`tacit.collector.Client.send`, and draw no new noise for the same person. ``refusal``: what
    the service, or something before it, said last; None where it said nothing that could be read.
    """

    def __init__(self, sentence: str, refusal: Refusal | None = None) -> None:
        super().__init__(sentence)
        self.refusal = refusal
        self.pending: tuple[Any, ...] = ()


class Caller:
    """Asks a service at one address. Use it in one thread."""

    def __init__(
        self,
        address: str,
        *,
        seconds: float,
        tries: int,
        pause: float,
        context: ssl.SSLContext | None,
        plain: bool,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._parts = _checked(address, plain)
        self._context = context or ssl.create_default_context()
        careful = self._context.verify_mode == ssl.CERT_REQUIRED and self._context.check_hostname
        check(careful or plain, "Expected a context that checks certificates and names. plain=True allows any.")
        self._seconds, self._tries, self._pause, self._wait = seconds, tries, pause, wait
        self._line: TimedConnection | None = None

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.close()
        self._line = None

    def ask(self, method: str, path: str, body: object = None, largest: int = LARGEST) -> tuple[int, bytes]:
        """Status and bytes of a good answer; raises :class:`Refused`, or :class:`Unanswered` after all tries.

        Pauses double: pause, 2 pause, 4 pause, ...; at least what the service asks for, at most LONGEST. A refusal of
        something sent is final only if nothing was lost before it, and only in the words of the interface: a gateway
        that gave up (5xx), or a page of somebody along the way, does not know what the service did.
        """
        sent = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        refusal: Refusal | None = None
        doubtful = False
        for tried in range(1, self._tries + 1):
            asked = 0.0
            try:
                status, answer, asked = self._once(method, path, sent, largest)
            except ssl.SSLCertVerificationError:  # asking again makes it no truer
                raise
            except (OSError, http.client.HTTPException):
                doubtful, refusal = True, None
            else:
                if 200 <= status < 300:
                    return status, answer
                refusal = _refusal(status, answer)
                doubtful |= sent is not None and (not 400 <= status < 500 or refusal.reason == _UNKNOWN)
                if status not in AGAIN:
                    break
            if tried < self._tries:
                self._wait(min(LONGEST, max(asked, self._pause * 2 ** (tried - 1))))
        if refusal is None:
            raise Unanswered(f"The service did not answer, though it was asked {self._tries} times.")
        if doubtful and sent is not None:
            raise Unanswered(
                f"It is not known what became of what was sent. The last answer: {refusal.detail}", refusal
            )
        raise Refused(refusal)

    def _once(self, method: str, path: str, sent: bytes | None, largest: int) -> tuple[int, bytes, float]:
        try:
            return self._exchanged(method, path, sent, largest)
        except BaseException:  # whatever stopped it, the rest of an answer is not the next one
            self.close()
            raise

    def _exchanged(self, method: str, path: str, sent: bytes | None, largest: int) -> tuple[int, bytes, float]:
        line = self._line = self._line or self._connection()
        line.begin(self._seconds)
        headers = {"Accept": "application/json", "User-Agent": f"tacit/{__version__}"}
        headers |= {} if sent is None else {"Content-Type": "application/json"}
        line.request(method, self._parts.path.rstrip("/") + path, sent, headers)
        with line.getresponse() as response:
            answer = response.read(largest + 1)
            asked = _seconds(response.headers.get("Retry-After", ""))
            if len(answer) > largest:
                raise ValueError("The service's answer is larger than any that its interface describes.")
            if response.length:  # cut off: read() does not say so
                raise http.client.IncompleteRead(answer, response.length)
            return response.status, answer, asked

    def _connection(self) -> TimedConnection:
        encrypted = self._parts.scheme == "https"
        port = self._parts.port or (443 if encrypted else 80)
        return TimedConnection(self._parts.hostname or "", port, self._context if encrypted else None)


def understood(answer: bytes) -> dict[str, Any]:
    """An answer that is a JSON object, bounded in depth, with every field once."""
    try:
        data = parse(answer)
    except PrivacyError as error:
        raise ValueError(_STRANGE) from error
    if not isinstance(data, dict):
        raise ValueError(_STRANGE)
    return data


def _checked(address: str, plain: bool) -> SplitResult:
    parts = urlsplit(address)
    fits = (
        parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment or parts.username)
    )
    check(
        fits,
        "Expected the address of a service, such as https://collector.example.org.",
    )
    check(
        parts.scheme == "https" or plain or _loopback(parts.hostname or ""),
        "Expected an address that begins with https://: over http:// anyone along the way can read and change what is "
        "sent, invitations too. plain=True allows it.",
    )
    return parts


def _loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _seconds(header: str) -> float:
    """``Retry-After`` in seconds; 0 for a date or nonsense."""
    return min(LONGEST, float(header)) if re.fullmatch(r"\d{1,9}", header) else 0.0


def _refusal(status: int, answer: bytes) -> Refusal:
    """What a service says no with; words of a stranger, so they are bounded and printable."""
    if 300 <= status < 400:
        return Refusal(status, "elsewhere", "The service points to another address. Check it, and give that one.")
    try:
        data = understood(answer)
    except ValueError:
        data = {}
    reason, detail = data.get("reason"), data.get("detail")
    known = isinstance(reason, str) and _WORD.fullmatch(reason) and isinstance(detail, str) and detail.isprintable()
    if not known:
        return Refusal(status, _UNKNOWN, f"The service answered with status {status}.")
    return Refusal(status, str(reason), str(detail)[:_SENTENCE])


def finite(value: object) -> bool:
    """Whether this is a number of seconds, or of tries, that can be waited for."""
    return isinstance(value, int | float) and math.isfinite(value) and value > 0
