"""``tacit statement``: what a file promises, for whoever decides about its release."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tacit import files
from tacit.checks import PrivacyError
from tacit.cli.console import check_place
from tacit.cli.ledger import is_ledger
from tacit.ledger import Ledger
from tacit.privacy.desk import page


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = "It exits with 1 when something stands against a release, and says what before all else."
    parser.add_argument("file", metavar="MODEL.json", help="a model, a network, a guarantee alone, or a ledger")
    parser.add_argument("--html", metavar="PAGE.html", help="also write a page, to print or to send on")
    parser.add_argument("--json", action="store_true", help="print JSON, with the fields of the deployments registry")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """State every guarantee of the file: 1 when one does not hold, or must not be released."""
    if options.html:
        check_place(options.html, "--html")
    try:
        stated = [Ledger(options.file)] if is_ledger(options.file) else files.stated(options.file)
        statements = [one.statement() for one in stated]
    except PrivacyError as error:
        print(f"tacit: there is nothing to state. {error}", file=sys.stderr)
        return 1
    if options.html:
        Path(options.html).write_text(page(statements), encoding="utf-8")
    if options.json:
        print(json.dumps([json.loads(one.to_json()) for one in statements], indent=2, ensure_ascii=False))
    else:
        print(*statements, sep="\n\n\n")
    return 0 if all(one.holds for one in statements) else 1
