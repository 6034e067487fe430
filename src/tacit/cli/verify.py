"""``tacit verify``: what a file promises, recomputed from the events that it records."""

from __future__ import annotations

import argparse
import itertools
import sys

from tacit.checks import PrivacyError, at_most
from tacit.cli.ledger import is_ledger, run_verify
from tacit.cli.options.promises import CAUTION
from tacit.cli.terminal import show
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.together import Together
from tacit.types import ADJACENCIES


def run(options: argparse.Namespace) -> int:
    """Verify every guarantee in the file: 1 when one does not hold."""
    if is_ledger(options.file):
        return run_verify(options)
    from tacit import files  # brings scikit-learn along, which a ledger does without

    stated: tuple[Guarantee | Together, ...] = ()
    try:
        stated = files.stated(options.file)
        for guarantee in stated:
            guarantee.verify()
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
    show(f"\nVERIFIED. {CAUTION}")
    return 0
