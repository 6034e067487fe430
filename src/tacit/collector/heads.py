"""Heads of requests, bounded in bytes and in seconds: the fast parser of uvicorn keeps whatever comes, for ever.

Without it, one connection that sends header after header, or one header without end, takes all memory, and connections
that say nothing are never closed. Give :class:`Heads` to uvicorn as ``http=``.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST = 2**16
"""Bytes of a request's line and headers."""
SECONDS = 15.0
"""That they may take to arrive, from the first byte on; of a connection's first request, from its beginning."""


class Heads(HttpToolsProtocol):
    """HTTP/1.1 by httptools; a head that is too large, or too slow, is answered with 400 or nothing, and closed."""

    seconds = SECONDS

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._size, self._inside = 0, True
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The time of the first head begins."""
        super().connection_made(transport)
        self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is waited for any more."""
        self._end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on to the parser; then ask whether the head is still not whole."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is not None and self.cycle.response_complete and self._late is None:
            self._begin()  # something came, and no head began by it: the time until one does goes on
        if not self._inside:
            return
        self._size += len(data)
        if self._size > LARGEST:
            self.send_400_response("The head of this request is too large.")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._begin()

    def on_headers_complete(self) -> None:
        """It is whole."""
        self._end()
        super().on_headers_complete()

    def _begin(self) -> None:
        self._end()
        self._size, self._inside = 0, True
        self._late = self.loop.call_later(self.seconds, self.timeout_keep_alive_handler)

    def _end(self) -> None:
        self._inside = False
        if self._late is not None:
            self._late.cancel()
            self._late = None
