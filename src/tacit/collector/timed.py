"""A connection of HTTP on which everything together has one limit of time: connecting, and every byte.

A limit for each read bounds nothing: who sends a byte now and then keeps a reader for ever.
"""

from __future__ import annotations

import http.client
import io
import selectors
import socket
import ssl
import time
from typing import Any


class TimedConnection(http.client.HTTPConnection):
    """One connection, encrypted where there is a context; :meth:`begin` says how long all that follows may take.

    Edges: the operating system looks up a host's name in its own time.
    """

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        super().__init__(host, port)
        self.default_port = 80 if context is None else 443  # the one that a request does not name
        self._context = context
        self._until = 0.0

    def begin(self, seconds: float) -> None:
        """What is done from now on ends within this time, or by TimeoutError.

        A connection on which something waits before anything was asked is not used again: mostly the other side has
        hung up, and a question on it would be lost without need.
        """
        self._until = time.monotonic() + seconds
        if self.sock is not None and self.sock.waiting():
            self.close()

    def remaining(self) -> float:
        """Seconds that are left; raises TimeoutError for none."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("The service took too long.")
        return left

    def connect(self) -> None:
        """Connect to the first of the host's addresses that answers."""
        problem: OSError = OSError("The host has no address.")
        for *_, place in socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM):
            try:
                line = socket.create_connection((str(place[0]), self.port), self.remaining())
                break
            except OSError as error:
                problem = error
        else:
            raise problem
        try:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                line.settimeout(self.remaining())
                line = self._context.wrap_socket(line, server_hostname=self.host)
        except BaseException:
            line.close()
            raise
        self.sock: Any = _Timed(line, self)


class _Timed:
    """As much of a socket as HTTP needs, with the time that is left as the limit of each step."""

    def __init__(self, line: socket.socket, clock: TimedConnection) -> None:
        self._line, self._clock = line, clock

    def sendall(self, data: Any) -> None:
        """All of these bytes."""
        left = memoryview(data)
        while left:
            self._line.settimeout(self._clock.remaining())
            left = left[self._line.send(left) :]

    def waiting(self) -> bool:
        """Whether there is something to read, or the end."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._line, selectors.EVENT_READ)
            return bool(selector.select(0))

    def makefile(self, _mode: str) -> io.BufferedReader:
        """To read an answer from."""
        return io.BufferedReader(_Answer(self._line, self._clock))

    def close(self) -> None:
        """Hang up, once an answer that is being read is closed too."""
        self._line.close()


class _Answer(io.RawIOBase):
    """The bytes that come in."""

    def __init__(self, line: socket.socket, clock: TimedConnection) -> None:
        self._line, self._clock = line, clock
        self._raw: Any = line.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some bytes; 0 at the end."""
        self._line.settimeout(self._clock.remaining())
        return int(self._raw.readinto(buffer))

    def close(self) -> None:
        """Read no more."""
        self._raw.close()
        super().close()
