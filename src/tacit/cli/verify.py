"""``tacit verify``: what files promise, recomputed from the events that they record."""

from __future__ import annotations

import argparse
import itertools
import sys

from tacit.checks import ForeignFile, PrivacyError, at_most
from tacit.cli.ledger import is_ledger, named_files, verify_ledger
from tacit.cli.options.promises import CAUTION
from tacit.cli.terminal import one_line, show
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.statements import SCORES, TABLE
from tacit.privacy.together import Together
from tacit.types import ADJACENCIES

_NUMBERS = (
    "The released numbers themselves cannot be recomputed: that would need the records. The checksum covers the "
    "guarantee alone, not the numbers that are kept beside it."
)


def run(options: argparse.Namespace) -> int:
    """Verify every guarantee in the files: 1 when one does not hold."""
    paths = named_files(options.file)
    code = 0
    for path in paths:
        if path != paths[0]:
            print("\n")
        if len(paths) > 1:
            print(f"{one_line(path)}\n")
        code |= verify_ledger(path) if is_ledger(path) else _verify(path)
    return code


def _verify(path: str) -> int:
    """Verify every guarantee in a file."""
    from tacit import files  # brings scikit-learn along, which a ledger does without

    stated: tuple[Guarantee | Together, ...] = ()
    try:
        stated = files.stated(path)
        for guarantee in stated:
            guarantee.verify()
    except ForeignFile:
        raise
    except PrivacyError as error:
        if stated:
            show("NOT VERIFIED. What the file says:\n", *stated, sep="\n")
        print(f"tacit: NOT VERIFIED. {error}", file=sys.stderr)
        return 1
    show(*stated)
    show("\nRecomputed from the recorded events alone:")
    for guarantee, adjacency in itertools.product(stated, ADJACENCIES):
        lead = f"  {guarantee.protects}: " if len(stated) > 1 else "  "
        try:
            epsilon = guarantee.epsilon_at(adjacency=adjacency)
            less = adjacency == guarantee.adjacency and f"{epsilon:.6g}" != f"{guarantee.epsilon:.6g}"
            most = f" (at most the promised {guarantee.epsilon:.6g})" if less else ""
            show(
                f"{lead}epsilon = {at_most(epsilon, 6)} at delta = {guarantee.delta:.6g}, {adjacency} neighbours{most}"
            )
        except PrivacyError:
            show(f"{lead}{adjacency} neighbours are not covered by this method's analysis")
    numbers = any(guarantee.protects in (SCORES, TABLE) for guarantee in stated)
    show(f"\nVERIFIED. {CAUTION}{f' {_NUMBERS}' if numbers else ''}")
    return 0
