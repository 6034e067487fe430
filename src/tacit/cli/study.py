"""``tacit study``: what the curator's pages do, for scripts: make a study, invite, open, close, train, publish."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.checks import check, counted
from tacit.cli.command import Command
from tacit.cli.console import print_table
from tacit.cli.serve import check_extra, check_there
from tacit.cli.terminal import show

if TYPE_CHECKING:
    from tacit.collector import Collector

LARGEST = 2**20
"""Bytes of a file of texts."""
_EXAMPLES = {
    "create": "tacit study create --protocol protocol.json --database collector.sqlite",
    "list": "tacit study list --database collector.sqlite",
    "invite": "tacit study invite k3v9x2m7qa --number 100 --database collector.sqlite",
}
"""Of commands that take more or less than the name of a study."""
_LEFT = (
    "WARNING: the study is closed, but its files still contain traces of who sent what: another program uses the "
    "database. End it (a shell, a backup), then run `tacit study status`, which removes them."
)


def arguments(parser: Command) -> None:
    """The commands and their options."""
    parser.example = _EXAMPLES["create"]
    commands = parser.add_subparsers(required=True, metavar="create|list|status|invite|open|close|train|publish")
    for name, does, run in (
        ("create", "create a study, as a draft, and print its name", run_create),
        ("list", "list all studies", run_list),
        ("status", "show the state of a study", run_status),
        ("invite", "print new invitations, which are shown once", run_invite),
        ("open", "start to accept submissions", run_open),
        ("close", "stop accepting submissions; this is final", run_close),
        ("train", "train the one model of a closed study", run_train),
        ("publish", "show the model to everyone", run_publish),
    ):
        command = commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
        command.example = _EXAMPLES.get(name, f"tacit study {name} k3v9x2m7qa --database collector.sqlite")
        if name not in ("create", "list"):
            command.add_argument("study", metavar="STUDY", help="its name, of ten letters and digits")
        command.add_argument(
            "--database", required=True, metavar="PLACE", help="a SQLite file, or postgresql://user@host/database"
        )
        command.set_defaults(run=run)
        _more(name, command)


def _more(name: str, command: Command) -> None:
    """The options that one command has for itself."""
    if name == "create":
        command.add_argument(
            "--protocol", required=True, metavar="PROTOCOL.json", help="a file that `tacit protocol` wrote"
        )
        command.add_argument(
            "--texts", metavar="TEXTS.json", help="title, purpose, about, who and questions, by language"
        )
        command.add_argument(
            "--admission", choices=("invitation", "open"), default="invitation",
            help="open: anyone may contribute, as often as they like under new names; default: invitation",
        )  # fmt: skip
    if name == "invite":
        command.add_argument("--number", type=int, required=True, metavar="N", help="how many invitations to make")
        command.add_argument("--address", metavar="https://HOST", default="", help="print links instead of codes")
    if name == "train":
        command.add_argument(
            "--accept-record-guarantee", action="store_true", help="train again after a training that was interrupted"
        )
        command.add_argument(
            "--ledger",
            metavar="FILE",
            help="charge this ledger before the model is released (`tacit ledger create` makes one)",
        )


@contextmanager
def _collector(options: argparse.Namespace) -> Iterator[Collector]:
    check_extra()
    if options.run is not run_create:
        check_there(options.database)
    from tacit.collector import Collector
    from tacit.collector.refusals import Refused

    collector = Collector(options.database, getattr(options, "ledger", None))
    try:
        yield collector
    except Refused as error:
        raise ValueError(str(error)) from None
    finally:
        collector.close()


def run_create(options: argparse.Namespace) -> int:
    """A draft, by a protocol and texts."""
    from tacit.protocol import Protocol
    from tacit.reading import parse, read_bytes

    protocol = Protocol.load(options.protocol)
    texts: Any = parse(read_bytes(Path(options.texts), LARGEST)) if options.texts else {}
    with _collector(options) as collector:
        print(collector.create(protocol, texts, admission=options.admission))
    return 0


def run_list(options: argparse.Namespace) -> int:
    """Names, states, counts and titles."""
    with _collector(options) as collector:
        rows = [[one.slug, one.state, f"{collector.count(one.slug):,}", one.title] for one in collector.studies()]
    print_table(("study", "state", "count", "title"), rows)
    return 0


def run_status(options: argparse.Namespace) -> int:
    """State, counts and refusals."""
    check_extra()
    from tacit.collector import traces

    with _collector(options) as collector:
        study, tally = collector.study(options.study), collector.tally(options.study)
        left = study.state != "open" and traces.owed(collector.engine)
    print(f"{study.title}: {study.state}.")
    if left:
        print(_LEFT, file=sys.stderr)
    print(f"{counted(tally.count, 'submission')}; the protocol is calibrated for {study.protocol.numbers.cohort:,}.")
    if study.admission == "invitation":
        print(f"{tally.used:,} of {counted(tally.invited, 'invitation')} used.")
    for reason, number in tally.refused.items():
        print(f"{number:,} refused: {reason}")
    return 0


def run_invite(options: argparse.Namespace) -> int:
    """Codes or links, one per line: for a mail program, and nowhere else."""
    address = options.address.rstrip("/")
    check(not address or address.startswith(("https://", "http://")), "Expected --address to begin with https://.")
    with _collector(options) as collector:
        codes = collector.invite(options.study, options.number)
    print(*(f"{address}/s/{options.study}#{code}" if address else code for code in codes), sep="\n")
    return 0


def run_open(options: argparse.Namespace) -> int:
    """From draft to open."""
    with _collector(options) as collector:
        collector.open(options.study)
    return 0


def run_close(options: argparse.Namespace) -> int:
    """From open to closed."""
    check_extra()
    from tacit.collector import traces

    with _collector(options) as collector:
        collector.shut(options.study)
        left = traces.owed(collector.engine)
    if left:
        print(_LEFT, file=sys.stderr)
    return 0


def run_train(options: argparse.Namespace) -> int:
    """The one model, and what it guarantees."""
    with _collector(options) as collector:
        model = collector.train(options.study, accept_record_guarantee=options.accept_record_guarantee)
    stated = {str(guarantee): guarantee for guarantee in (model.guarantee_, model.record_guarantee_)}
    show(*stated.values())
    return 0


def run_publish(options: argparse.Namespace) -> int:
    """From trained to published."""
    with _collector(options) as collector:
        collector.publish(options.study)
    return 0
