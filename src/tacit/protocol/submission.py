"""What leaves a contributor: whole numbers on the protocol's grid, and nothing else.

A submission is known by these numbers, through a hash of them (:meth:`Submissions.contents`): it carries no name that
anyone could change. One submission is a line of JSON; a table of them is a Parquet file or a file of such lines.
Reading never quotes a value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.mechanisms.input import HASH_BITS
from tacit.mechanisms.moments import Whole

FORMAT = "tacit-submission"
ROWS = 1 << 16
CELLS = 1 << 22
"""Numbers of a Parquet file that are unpacked at once."""
LINE = 1 << 24
"""Bytes of the longest line that is read."""
CODECS = ("UNCOMPRESSED", "SNAPPY")
_WORDS = ("protocol", "q", "p", "seeded")
_PERSON = b"tacit-submission"


@dataclass(frozen=True)
class Submission:
    """One perturbed record. ``seeded`` says that its noise is predictable: for experiments only."""

    protocol: str
    q: tuple[int, ...]
    p: tuple[int, ...]
    seeded: bool = False

    def to_json(self) -> str:
        """One line of JSON."""
        fields = {"format": FORMAT, **{word: getattr(self, word) for word in _WORDS}}
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Submission:
        """Read what :meth:`to_json` wrote; raises ValueError with a sentence for anything else."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError("A submission is not readable: it is damaged or cut off.") from error
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Any) -> Submission:
        """The submission that plain data describes; raises ValueError with a sentence for anything else."""
        check(isinstance(data, dict) and data.get("format") == FORMAT, "This is not a Tacit submission.")
        check(set(data) == {"format", *_WORDS}, f"Expected a submission to have the fields {', '.join(_WORDS)}.")
        whole = all(
            isinstance(data[part], list) and all(type(v) is int and abs(v) < 2**62 for v in data[part])
            for part in ("q", "p")
        )
        check(whole, "Expected the numbers of a submission to be whole.")
        check(isinstance(data["protocol"], str), "Expected a submission to name its protocol.")
        check(type(data["seeded"]) is bool, "Expected a submission to say whether its noise was seeded.")
        return cls(data["protocol"], tuple(data["q"]), tuple(data["p"]), data["seeded"])

    def many(self) -> Submissions:
        """A table of one."""
        size = max(len(self.q), len(self.p))
        q, p = (np.array(v, dtype=np.int64).reshape(1, -1) for v in (self.q, self.p))
        if len(self.q) != len(self.p):  # keep the wrong shape: whoever collects will refuse it
            q, p = np.zeros((1, size + 1), dtype=np.int64), np.zeros((1, size), dtype=np.int64)
        return Submissions(self.protocol, q, p, self.seeded)


@dataclass(frozen=True)
class Submissions:
    """A table of submissions of one protocol: rows of q and p.

    ``seeded`` says that the noise of some of them is predictable.
    """

    protocol: str
    q: Whole
    p: Whole
    seeded: bool = False

    def __len__(self) -> int:
        return len(self.q)

    def take(self, rows: slice | NDArray[Any]) -> Submissions:
        """Some of the rows."""
        return replace(self, q=self.q[rows], p=self.p[rows])

    def contents(self) -> list[bytes]:
        """What each submission is known by: BLAKE2b of its whole numbers, keyed with the protocol's fingerprint.

        Two submissions have the same content if and only if all their numbers agree, but for 2**-128. An honest one
        agrees with another, whoever made that, with probability at most ``(h_q h_p / (2 pi s_u s_b))^d`` for grid steps
        h and noise scales s, below 2**-58 for each coordinate: a submission that comes again is a copy. Expects rows of
        whole numbers below 2**63.
        """
        both = np.concatenate([self.q, self.p], axis=1).astype("<i8")
        key = self.protocol.encode()[: hashlib.blake2b.MAX_KEY_SIZE]
        start = hashlib.blake2b(digest_size=HASH_BITS // 8, key=key, person=_PERSON)
        found = []
        for row in both:
            state = start.copy()
            state.update(row.tobytes())
            found.append(state.digest())
        return found

    def each(self) -> Iterator[Submission]:
        """One by one."""
        for q, p in zip(self.q.tolist(), self.p.tolist(), strict=True):
            yield Submission(self.protocol, tuple(q), tuple(p), self.seeded)

    def save(self, path: str | Path) -> None:
        """Write a ``.parquet`` file (needs pyarrow), or lines of JSON under any other name."""
        if Path(path).suffix.lower() != ".parquet":
            with Path(path).open("w", encoding="utf-8") as file:
                file.writelines(one.to_json() + "\n" for one in self.each())
            return
        pyarrow, parquet = _pyarrow()
        d = self.q.shape[1]
        columns = {f"{side}{j}": part[:, j] for side, part in (("q", self.q), ("p", self.p)) for j in range(d)}
        about = {"format": FORMAT, "protocol": self.protocol, "seeded": str(self.seeded).lower()}
        table = pyarrow.table(columns).replace_schema_metadata(about)
        parquet.write_table(table, path, row_group_size=ROWS, compression="snappy")


def read(path: str | Path, features: int | None = None) -> Iterator[Submissions | str]:
    """Blocks of a file of submissions in order; a sentence in the place of every part that cannot be read.

    ``features`` is the number of q's, and of p's, of the protocol: what a file says of its own size is held against it
    before anything is unpacked, and memory stays within some blocks of CELLS numbers.

    Edges: a Parquet file that was cut off cannot be read at all; of a file of lines only the damaged lines are lost.
    """
    if Path(path).suffix.lower() == ".parquet":
        yield from _read_parquet(path, features)
        return
    longest = LINE if features is None else min(LINE, 4096 + 64 * 2 * features)
    with Path(path).open("rb") as file:
        if not any(line.lstrip().startswith(b"{") for line in _lines(file, longest)):
            yield _foreign(path)
            return
        file.seek(0)
        for line in _lines(file, longest):
            if not line.strip():
                continue
            if len(line) > longest:
                yield "A line is longer than any submission of this protocol; it was not read."
                continue
            try:
                yield Submission.from_json(line.decode("utf-8")).many()
            except UnicodeDecodeError:
                yield "A submission is not readable: it is damaged or cut off."
            except ValueError as error:
                yield str(error)


def _lines(file: BinaryIO, longest: int) -> Iterator[bytes]:
    """The lines of a file; of one that is longer, the first ``longest`` bytes and one more."""
    while line := file.readline(longest + 1):
        rest = line
        while len(rest) > longest and not rest.endswith(b"\n"):
            rest = file.readline(longest + 1)
        yield line


def _foreign(path: str | Path) -> str:
    return f"{Path(path).name} is not a file of submissions (raw records? They do not leave their owner)."


def _read_parquet(path: str | Path, features: int | None) -> Iterator[Submissions | str]:
    pyarrow, parquet = _pyarrow()
    try:
        with Path(path).open("rb") as file:
            source = parquet.ParquetFile(file)
            about = {
                k.decode(): v.decode() for k, v in (source.schema_arrow.metadata or {}).items() if k != b"ARROW:schema"
            }
            names = source.schema_arrow.names
            d = sum(name.startswith("q") for name in names)
            known = {f"{part}{j}" for part in "qp" for j in range(d)}
            marked = about.get("format") == FORMAT and about.get("seeded") in ("true", "false")
            if not marked or not d or set(names) != known or len(names) != len(known):
                yield _foreign(path)
                return
            objection = _objection(source, pyarrow)
            if objection:
                yield f"{Path(path).name} {objection}"
                return
            protocol, seeded = about.get("protocol", ""), about["seeded"] == "true"
            if features is not None and d != features:  # rows without numbers: they are counted, and refused
                for group in range(source.metadata.num_row_groups):
                    nothing = np.zeros((source.metadata.row_group(group).num_rows, 0), dtype=np.int64)
                    yield Submissions(protocol, nothing, nothing, seeded)
                return
            for part in source.iter_batches(batch_size=max(1, min(ROWS, CELLS // (2 * d)))):
                q, p = (np.stack([_column(part, f"{side}{j}") for j in range(d)], axis=1) for side in "qp")
                yield Submissions(protocol, q, p, seeded)
    except (pyarrow.ArrowException, OSError, TypeError, ValueError):
        yield f"{Path(path).name} is not a readable Parquet file: it is damaged or cut off."


def _objection(source: Any, pyarrow: Any) -> str:
    """Why a file is not unpacked, by what its metadata says: a small file can describe any number of cells.

    Snappy makes data smaller by some twenty times at most, other codecs by thousands and more.
    """
    kinds = pyarrow.types
    if not all(kinds.is_integer(kind) or kinds.is_floating(kind) for kind in source.schema_arrow.types):
        return "has columns that are not numbers; it was not read."
    groups = [source.metadata.row_group(group) for group in range(source.metadata.num_row_groups)]
    if any(not 0 <= group.num_rows <= ROWS for group in groups):
        return f"has row groups of more than {ROWS:,} rows; write it with Submissions.save, or as lines of JSON."
    columns = [group.column(place) for group in groups for place in range(group.num_columns)]
    if any(column.compression not in CODECS for column in columns):
        return "is not compressed with Snappy; write it with Submissions.save, or as lines of JSON."
    return ""


def _column(part: Any, name: str) -> Any:
    """A column as numbers; a missing cell or a fraction stays what it is, for the database to refuse."""
    return np.asarray(part.column(name).to_numpy(zero_copy_only=False))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError("Parquet files need pyarrow. In Tacit's source: pip install '.[parquet]'") from error
    return pyarrow, parquet
