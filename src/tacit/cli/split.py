"""``tacit split``: a table becomes two, one to train on and one to score on, with all rows of a person in one of them.

Each row, or person, is put into the second file by a coin of its own. A person's coin is a hash of the name under a
fresh key that is never kept, so that no name is on a side for what it says, and no list of names is held. What is in
other cells decides nothing, and nothing is counted.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.cli.console import check_new, progress
from tacit.cli.inputs import check_there, named, scanned, written_with
from tacit.cli.terminal import one_line
from tacit.data.person_names import names_of
from tacit.data.tables import Table
from tacit.files.sinks import table_sink
from tacit.privacy.sources import Source, SystemSource, choose
from tacit.reading import opened_together

_ROWS = (
    "NOTE: rows were divided one by one. If a person can have several rows, use --person, so that nobody is in both "
    "files."
)


class People:
    """Coins of people: the same name always has the same one."""

    def __init__(self, source: Source, share: float) -> None:
        self._key, self._cut = source.words(4).tobytes(), int(share * 2.0**64)

    def __call__(self, column: Any, where: str) -> NDArray[np.bool_]:
        """Which rows go to the second file."""
        names = names_of(column, where)
        return np.fromiter((self._coin(str(name)) for name in names.tolist()), dtype=bool, count=len(names))

    def _coin(self, name: str) -> bool:
        raw = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=self._key, digest_size=8).digest()
        return int.from_bytes(raw, "big") < self._cut


def run(options: argparse.Namespace) -> int:
    """Divide the table, a batch at a time."""
    check_new(options, "out_train")
    check_new(options, "out_test")
    same = Path(options.out_train).resolve() == Path(options.out_test).resolve()
    check(not same, "--out-train and --out-test name the same file. Choose different names.")
    check(0 < options.test < 1, f"Expected --test {options.test:g} to be a share between 0 and 1, such as 0.2.")
    source = SystemSource()
    people = People(source, options.test)
    with progress(options.progress) as say:
        say(f"Reading {named(options)}")
        found = scanned(options)
        check_there(options, [] if options.person is None else [options.person], found.names)
        sign = written_with(options)
        with (
            opened_together() as opened,
            table_sink(options.out_train, sign, opened) as train,
            table_sink(options.out_test, sign, opened) as test,
        ):
            for piece in found.source.pieces:
                for table in piece.tables(found.names):
                    rows = len(next(iter(table.values())))
                    if options.person is None:
                        aside = choose(source, rows, options.test)
                    else:
                        aside = people(table[options.person], f"Column {options.person!r}")
                    train.write(_picked(table, np.flatnonzero(~aside)))
                    test.write(_picked(table, np.flatnonzero(aside)))
    print(one_line(f"Wrote {options.out_train} and {options.out_test}."))
    if options.person is None:
        print(_ROWS, file=sys.stderr)
    return 0


def _picked(table: Table, places: NDArray[np.intp]) -> dict[str, Any]:
    """Some rows of a batch, with their cells as they stand."""
    return {name: column.take(places) if hasattr(column, "take") else column[places] for name, column in table.items()}
