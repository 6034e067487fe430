"""``tacit account``: who may sign in to the curator's pages of a collector."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tacit.cli.command import Command
from tacit.cli.console import print_table
from tacit.cli.serve import check_extra, check_there

if TYPE_CHECKING:
    from sqlalchemy import Connection


def arguments(parser: Command) -> None:
    """The four commands and their options."""
    parser.example = "tacit account add ada --database collector.sqlite"
    commands = parser.add_subparsers(required=True, metavar="add|remove|renew|list")
    for name, does, run in (
        ("add", "create an account; its secret is shown once", run_add),
        ("remove", "remove an account and end its sessions", run_remove),
        ("renew", "replace a lost secret by a new one, and end all sessions of the account", run_renew),
        ("list", "list all accounts", run_list),
    ):
        command = commands.add_parser(name, help=does, description=f"{does[0].upper()}{does[1:]}.")
        command.example = parser.example.replace("add ada", name if name == "list" else f"{name} ada")
        if name != "list":
            command.add_argument("name", metavar="NAME", help="the name that its owner signs in with")
        if name == "add":
            command.add_argument(
                "--role", choices=("curator", "viewer"), default="curator",
                help="curators run studies, viewers only look (default: curator)",
            )  # fmt: skip
        command.add_argument(
            "--database", required=True, metavar="PLACE", help="a SQLite file, or postgresql://user@host/database"
        )
        command.set_defaults(run=run)


@contextmanager
def _base(options: argparse.Namespace) -> Iterator[Connection]:
    """A transaction on the collector's tables."""
    check_extra()
    if options.run is not run_add:
        check_there(options.database)
    from tacit.collector import Collector

    collector = Collector(options.database)
    try:
        with collector.engine.begin() as base:
            yield base
    finally:
        collector.close()


def run_add(options: argparse.Namespace) -> int:
    """Make an account, and show its secret."""
    from tacit.collector import accounts

    with _base(options) as base:
        secret = accounts.add(base, options.name, options.role)
    print(f"{options.name!r} signs in with this secret, which is shown once: {secret}")
    return 0


def run_remove(options: argparse.Namespace) -> int:
    """End an account."""
    from tacit.collector import accounts

    with _base(options) as base:
        accounts.remove(base, options.name)
    print(f"{options.name!r} can no longer sign in.")
    return 0


def run_renew(options: argparse.Namespace) -> int:
    """Replace a secret, and show the new one."""
    from tacit.collector import accounts

    with _base(options) as base:
        secret = accounts.renew(base, options.name)
    print(f"{options.name!r} signs in with this secret, which is shown once: {secret}")
    return 0


def run_list(options: argparse.Namespace) -> int:
    """Names and roles."""
    from tacit.collector import accounts

    with _base(options) as base:
        rows = accounts.listed(base)
    print_table(("name", "role"), [list(row) for row in rows])
    return 0
