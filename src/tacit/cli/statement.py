"""``tacit statement``: what a file promises, for whoever decides about its release."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

from tacit.checks import ForeignFile, PrivacyError
from tacit.cli.console import check_place
from tacit.cli.ledger import is_ledger, named_files
from tacit.cli.terminal import columns, one_line
from tacit.ledger import Ledger
from tacit.privacy.desk import Statement, page
from tacit.reading import write_whole


def run(options: argparse.Namespace) -> int:
    """State every guarantee of the file: 1 when one does not hold, or must not be released."""
    check_place(options, "html")
    try:
        stated = {path: _statements(path) for path in named_files(options.file)}
    except ForeignFile:
        raise
    except PrivacyError as error:
        print(f"tacit: there is nothing to state. {error}", file=sys.stderr)
        return 1
    about = [(_file(path), one) for path, several in stated.items() for one in several]
    statements = [one for _, one in about]
    if options.html:
        write_whole(options.html, page(statements, [file for file, _ in about]))
    if options.json:
        found = [{"file": file, **json.loads(one.to_json())} for file, one in about]
        print(json.dumps(found, indent=2, ensure_ascii=False))
    elif options.html:
        print(one_line(f"Wrote {options.html}."))
        if not all(one.holds for one in statements):
            print("tacit: something speaks against a release. The page begins with it.", file=sys.stderr)
    else:
        wide = columns()
        print(*(one.text(wide, file) for file, one in about), sep="\n\n\n")
    return 0 if all(one.holds for one in statements) else 1


def _file(path: str) -> str:
    """Which file a signature is about. A ledger on a server is none; its statement has the digest of its state."""
    if "://" in path:
        return ""
    with open(path, "rb") as content:
        return f"File {one_line(Path(path).name)}, SHA-256 {hashlib.file_digest(content, 'sha256').hexdigest()}"


def _statements(path: str) -> list[Statement]:
    if is_ledger(path):
        return [Ledger(path).statement()]
    from tacit import files  # brings scikit-learn along, which a ledger does without

    return [guarantee.statement() for guarantee in files.stated(path)]
