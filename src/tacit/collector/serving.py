"""A collector on the network: uvicorn with what a service for private records needs, and nothing that it must not keep.

No access log: it would hold addresses. Tracebacks in the error log name types of exceptions and lines of code, never
messages: a message may quote what somebody sent. What a proxy says of an address or of TLS is believed only of proxies
that are named.
"""

from __future__ import annotations

import gc
import logging
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address, ip_network
from typing import Any

import uvicorn

from tacit.checks import check
from tacit.collector.app import RATE, create_app
from tacit.collector.collection import Collector
from tacit.collector.heads import Heads

HOST, PORT = "127.0.0.1", 8700
TOGETHER = 1024
"""Connections at a time; more are told to come again."""
PATIENCE = 5
"""Seconds that an idle connection is kept, and that what is under way may take when the service stops."""


def serve(
    collector: Collector,
    *,
    host: str = HOST,
    port: int = PORT,
    rate: int = RATE,
    proxy: str | Sequence[str] | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM; what is under way then is finished.

    ``rate``: requests with a body that one address may send in a minute; 0 is no limit. ``proxy``: addresses or
    networks of reverse proxies that are believed; None believes nobody. ``ready`` is told the address, in a thread of
    its own, when connections are taken. Port 0 is any that is free.

    Edges: a port that is in use, or not allowed, raises with a sentence.
    """
    believed = proxies(proxy)
    with listening(host, port) as door, _stopping():
        settings = uvicorn.Config(
            create_app(collector, rate=rate), http=Heads, ws="none", lifespan="on", log_config=None,
            access_log=False, server_header=False, proxy_headers=bool(believed), forwarded_allow_ips=believed,
            limit_concurrency=TOGETHER, timeout_keep_alive=PATIENCE, timeout_graceful_shutdown=PATIENCE,
        )  # fmt: skip
        with _discreet_log(), suppress(KeyboardInterrupt):
            if ready is not None:
                threading.Thread(target=ready, args=(address_of(door),), daemon=True).start()
            settle_memory()
            uvicorn.Server(settings).run(sockets=[door])


def settle_memory() -> None:
    """What is loaded by now stays: no search for garbage goes through it while people wait for an answer.

    Such a search took 130 ms, which was the slowest hundredth of all answers.
    """
    gc.collect()
    gc.freeze()


def proxies(named: str | Sequence[str] | None) -> list[str]:
    """Addresses and networks that may speak for others; ``*``, a name or anything else raises."""
    given = [named] if isinstance(named, str) else list(named or ())
    try:
        return [str(ip_network(one.strip())) for one in given]
    except ValueError:
        raise ValueError(
            "Expected proxies by address or network, such as 127.0.0.1 or 10.0.0.0/24: a trusted address can claim to "
            "be anyone."
        ) from None


def loopback(host: str) -> bool:
    """Whether a host is this machine only."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return False


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that takes connections from now on: they wait until somebody answers."""
    check(0 <= port < 2**16, "Expected a port from 0 to 65535.")
    try:
        family, kind, number, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        door = socket.socket(family, kind, number)
    except OSError:
        raise ValueError(f"There is no address {host} on this machine.") from None
    with door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind(place)
            door.listen(TOGETHER)
        except OSError as error:
            raise ValueError(f"Cannot listen on {host}, port {port}: {str(error.strerror).lower()}.") from None
        yield door


def address_of(door: socket.socket) -> str:
    """The address of a socket, as a browser takes it."""
    host, port = door.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def _stopping() -> Iterator[None]:
    """SIGTERM and SIGHUP end the service as Ctrl-C does; elsewhere than in the main thread signals are nobody's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, signal.default_int_handler)}
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup asks for
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


class Discreet(logging.Formatter):
    """Lines of code and the type of an exception, without its message."""

    def formatException(self, ei: Any) -> str:
        """What led to an exception."""
        kind, _, where = ei
        return "".join(traceback.format_tb(where)) + (kind.__name__ if kind else "")


class _Stderr(logging.Handler):
    """Writes to stderr, and says nothing where that fails: what Python would print then quotes the message."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        with suppress(Exception):
            print(self.format(record), file=sys.stderr, flush=True)


_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.asgi", "uvicorn.access")


@contextmanager
def _discreet_log() -> Iterator[None]:
    """Warnings and errors of the server on stderr, and nowhere else: handlers of others would write messages."""
    log, handler = logging.getLogger("uvicorn"), _Stderr()
    handler.setFormatter(Discreet("%(asctime)s %(levelname)s %(message)s"))
    others = {name: logging.getLogger(name).handlers for name in _LOGGERS}
    for name in _LOGGERS:
        logging.getLogger(name).handlers = []
    log.addHandler(handler)
    level, propagates = log.level, log.propagate
    log.setLevel(logging.WARNING)
    log.propagate = False
    try:
        yield
    finally:
        for name, handlers in others.items():
            logging.getLogger(name).handlers = handlers
        log.setLevel(level)
        log.propagate = propagates
