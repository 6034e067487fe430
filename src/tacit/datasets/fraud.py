"""The balanced subset of the credit-card records, made from the whole file of 284,807.

The subset holds all 492 frauds and 492 others. Those were drawn at random by whoever published the subset, and how is
not known; so ``fraud_records.txt`` says which records they are and in what order, each by the first digits of the
SHA-256 of its line. The digits tell no record: they only recognise one in the public file.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from tacit.checks import check
from tacit.datasets.cache import fetch_source

ADDRESS = "https://storage.googleapis.com/download.tensorflow.org/data/creditcard.csv"
HEADER = ("Time", *(f"V{number}" for number in range(1, 29)), "Amount", "Class")
RECORDS = Path(__file__).with_name("fraud_records.txt")
DIGITS = 10
"""Hexadecimal digits a record is known by. That another of 284,807 agrees with one of 984 has a chance of 3 in 10,000,
and would be found out: the checksum of the whole is compared."""


def table() -> Iterator[bytes]:
    """The subset as text; the whole file is fetched where it is not here."""
    whole = fetch_source("credit_card_fraud/creditcard.csv", ADDRESS, _has_header)
    yield "".join(
        f"{line}\n" for line in (",".join(HEADER), *chosen(whole, RECORDS.read_text("utf-8").split()))
    ).encode()


def chosen(whole: Path, digests: Sequence[str]) -> list[str]:
    """The records of a file with these digests, in their order. Edges: one that is not there raises."""
    wanted, found = set(digests), dict[str, str]()
    with whole.open(encoding="utf-8", newline="") as file:
        for record in itertools.islice(csv.reader(file), 1, None):
            line = ",".join([*(repr(float(cell)) for cell in record[:-1]), str(int(record[-1]))])
            if digest(line) in wanted:
                found.setdefault(digest(line), line)
    check(
        len(found) == len(wanted), f"{whole} lacks {len(wanted) - len(found)} of the {len(wanted)} records looked for."
    )
    return [found[name] for name in digests]


def digest(line: str) -> str:
    """What a record is known by; its numbers are written as Python writes floats, the class as a whole number."""
    return hashlib.sha256(line.encode()).hexdigest()[:DIGITS]


def _has_header(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline().replace(b'"', b"").strip() == ",".join(HEADER).encode()
