"""``tacit serve``: a collector on the web, on this machine unless told otherwise; ``--demo`` with made-up people."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.checks import check
from tacit.cli.command import Command

if TYPE_CHECKING:
    from tacit.collector import Collector

EXTRA = ("alembic", "fastapi", "httptools", "psycopg", "sqlalchemy", "uvicorn")
DATABASE = "collector.sqlite"
FIRST = "curator"
_PLAIN = (
    "WARNING: this address is open to the network without TLS: anyone on the network path can read secrets and "
    "submissions, and change the page that protects contributors. Put a proxy with TLS in front of it (--behind-proxy; "
    "docs: Running a collector)."
)


def arguments(parser: Command) -> None:
    """The options of ``tacit serve``."""
    parser.example = "tacit serve --database collector.sqlite"
    parser.add_argument(
        "--database", metavar="PLACE", help=f"a SQLite file, or postgresql://user@host/database; default: {DATABASE}"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="NAME", help="where to listen (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", type=int, default=8700, metavar="N", help="default: 8700; 0 chooses a free one")
    parser.add_argument(
        "--rate", type=int, metavar="N", help="requests with a body that one address may send per minute; 0: no limit"
    )
    parser.add_argument(
        "--behind-proxy", action="append", metavar="ADDRESS",
        help="a proxy to trust about addresses and TLS, an address or a network; may be repeated",
    )  # fmt: skip
    parser.add_argument("--address", metavar="URL", help="the public address, used in links: https://host")
    parser.add_argument(
        "--ledger", metavar="FILE", help="charge models to this ledger; `tacit ledger create` makes one"
    )
    demo = parser.add_argument_group("a demonstration, in a temporary folder")
    demo.add_argument("--demo", action="store_true", help="run a study with made-up people who contribute to it")
    demo.add_argument(
        "--people",
        type=int,
        default=6_000,
        metavar="N",
        help="how many made-up people contribute over HTTP (default: 6000)",
    )
    demo.add_argument(
        "--for",
        type=float,
        default=180.0,
        metavar="SECONDS",
        dest="seconds",
        help="how long they take (default: 180)",
    )
    demo.add_argument(
        "--earlier", type=int, metavar="N", help="submissions that are already there when they start (default: 20000)"
    )
    demo.add_argument("--finish", action="store_true", help="close, train and publish after the last one")
    parser.set_defaults(run=run)


def check_extra() -> None:
    """Say in one sentence that the extra is not installed."""
    if any(find_spec(name) is None for name in EXTRA):
        raise ImportError("The collector needs more packages. In Tacit's source: pip install '.[collector]'.")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    check_extra()
    from tacit.collector import Collector
    from tacit.collector.app import RATE
    from tacit.collector.serving import loopback, proxies, serve

    check(not (options.demo and options.database), "A demonstration has its own database: leave out --database.")
    rate = options.rate if options.rate is not None else 0 if options.demo else RATE
    check(rate >= 0, "Expected --rate to be 0 or more.")
    proxy = proxies(options.behind_proxy)
    if options.ledger:
        from tacit.ledger import Ledger

        Ledger(options.ledger)  # say now that there is none, and not when a model is trained
    with ExitStack() as ends:
        place = options.database or DATABASE
        if options.demo:
            place = str(Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="tacit-"))) / DATABASE)
        collector = Collector(place, options.ledger, public=options.address)
        ends.callback(collector.close)
        stopped = threading.Event()
        ends.callback(stopped.set)
        beside = _rehearsed(collector, options, stopped) if options.demo else lambda address: None

        def ready(address: str) -> None:
            _say(f"The collector is at {address} (Ctrl-C stops it).")
            _say(f"Its data lies {where(place)}.")
            _say("It listens on this machine only." if loopback(options.host) else "It listens on the network.")
            if not loopback(options.host) and not proxy:
                print(_PLAIN, file=sys.stderr, flush=True)
            secret = first_account(collector)  # now: a secret that is made and not shown would be lost
            if secret:
                _say(f"Curators sign in at {address}/curator as {FIRST!r} with this secret, which is shown once:")
                _say(f"  {secret}")
            beside(address)

        serve(collector, host=options.host, port=options.port, rate=rate, proxy=proxy, ready=ready)
    _say("Stopped: everything that got a receipt is on the disk.")
    return 0


def check_there(place: str) -> None:
    """Say that there is no database: a command that only looks or changes must not make an empty one."""
    check(
        "://" in place or Path(place).expanduser().exists(),
        f"There is no database at {place}. `tacit account add`, `tacit study create` and `tacit serve` make one.",
    )


def first_account(collector: Collector) -> str | None:
    """The secret of a first curator, where there is no account yet."""
    from tacit.collector import accounts

    with collector.engine.begin() as base:
        return None if accounts.listed(base) else accounts.add(base, FIRST, "curator")


def where(place: str) -> str:
    """Where a database lies, without what is secret in an address."""
    if "://" not in place:
        return f"in {Path(place).expanduser().resolve()}"
    from sqlalchemy.engine import make_url

    return f"on {make_url(place).render_as_string(hide_password=True)}"


def _rehearsed(collector: Collector, options: argparse.Namespace, stopped: threading.Event) -> Callable[[str], None]:
    from tacit.collector import rehearsal

    check(options.people >= 1 and options.seconds >= 0, "Expected --people of at least 1, and --for of 0 or more.")
    earlier = rehearsal.EARLIER if options.earlier is None else options.earlier
    _say("Making up people ...")
    made = rehearsal.Rehearsal.begin(collector, options.people, earlier)
    attend = rehearsal.attend(made, options.seconds, options.finish, stopped, _say)

    def beside(address: str) -> None:
        _say(f"Contribute as a person would: {address}/s/{made.study}#{made.spare[0]}")
        _say(f"Watch it as a curator:        {address}/curator/studies/{made.study}")
        _say(f"The model, once published:    {address}/m/{made.study}")
        _say(f"{options.people:,} made-up people will contribute over the next {options.seconds:g} seconds.")
        attend(address)

    return beside


def _say(sentence: str) -> None:
    print(sentence, flush=True)
