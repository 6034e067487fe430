"""The census table, made from the Census Bureau's public files of persons and housing, a pair for each state.

Source: American Community Survey, 2024 1-year Public Use Microdata Sample (PUMS). A person's record gets five columns
of the housing record with the same SERIALNO; the columns below are kept, cells are written as whole numbers without
zeros in front (STATE keeps its own), and no record is dropped. They stand by state, then in the Bureau's order.

California and Texas are not in it. The table that the figures were made with lacks them, and this is that very table,
known by its checksum: with those two it would be another.
"""

from __future__ import annotations

import csv
import functools
import io
import zipfile
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

from tacit.checks import check
from tacit.datasets.cache import fetch_source

FOLDER = "https://www2.census.gov/programs-surveys/acs/data/pums/2024/1-Year/"
STATES = (
    "al", "ak", "az", "ar", "co", "ct", "de", "dc", "fl", "ga", "hi", "id", "il", "in", "ia", "ks", "ky", "la", "me",
    "md", "ma", "mi", "mn", "ms", "mo", "mt", "ne", "nv", "nh", "nj", "nm", "ny", "nc", "nd", "oh", "ok", "or", "pa",
    "ri", "sc", "sd", "tn", "ut", "vt", "va", "wa", "wv", "wi", "wy",
)  # fmt: skip
"""48 states and the District of Columbia, in the order of their FIPS codes."""
PERSON = (
    "STATE", "PWGTP", "AGEP", "SEX", "MAR", "SCHL", "RAC1P", "HISP", "CIT", "NATIVITY", "DIS", "MIL", "ESR", "COW",
    "OCCP", "INDP", "WKHP", "WKWN", "JWMNP", "HICOV", "MIGSP",
)  # fmt: skip
HOUSING = ("TEN", "MV", "HHT", "NP", "NPF")
INCOME = ("WAGP", "PINCP")
HEADER = ",".join((*PERSON, *HOUSING, *INCOME))


def table() -> Iterator[bytes]:
    """The table as text, state after state; files that are not here are fetched, one pair at a time."""
    yield f"{HEADER}\n".encode()
    for state in STATES:
        names = (f"csv_p{state}.zip", f"csv_h{state}.zip")
        people, homes = (fetch_source(f"acs_pums_2024/{name}", f"{FOLDER}{name}", zipfile.is_zipfile) for name in names)
        yield "".join(f"{line}\n" for line in joined(people, homes)).encode()


def joined(people: Path, homes: Path) -> Iterator[str]:
    """The lines of one state: its persons in their order, each with its housing record.

    Edges: a person without a housing record, and a file without one of the columns, raise.
    """
    households = {serial: ",".join(map(_whole, cells)) for serial, *cells in _records(homes, ("SERIALNO", *HOUSING))}
    for serial, state, *cells in _records(people, ("SERIALNO", *PERSON, *INCOME)):
        check(
            serial in households, f"{homes.name} has no record {serial!r}, to which a person of {people.name} belongs."
        )
        own = list(map(_whole, cells))
        between = len(PERSON) - 1
        yield ",".join((state, *own[:between], households[serial], *own[between:]))


def _records(archive: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """These columns of every record in the tables of an archive."""
    with zipfile.ZipFile(archive) as bundle:
        for name in sorted(bundle.namelist()):
            if name.endswith(".csv"):
                with bundle.open(name) as raw:
                    lines = csv.reader(io.TextIOWrapper(raw, "utf-8-sig", newline=""))
                    head = next(lines)
                    absent = [column for column in columns if column not in head]
                    check(not absent, f"{name} in {archive.name} has no columns {absent}.")
                    yield from map(itemgetter(*map(head.index, columns)), lines)


@functools.lru_cache(2**16)
def _whole(cell: str) -> str:
    """'07' is 7; an empty cell is missing and stays so."""
    return str(int(cell)) if cell.strip() else ""
