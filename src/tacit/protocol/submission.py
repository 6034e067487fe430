"""What leaves a contributor: whole numbers on the protocol's grid, a name to tell copies by, and nothing else.

One submission is a line of JSON; a table of them is a Parquet file or a file of such lines. Reading never quotes a
value.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.mechanisms.moments import Whole

FORMAT = "tacit-submission"
ROWS = 1 << 16
_WORDS = ("protocol", "batch", "row", "q", "p", "seeded")


def fresh_name() -> str:
    """A name that no other batch has: 128 bits of operating-system entropy."""
    return secrets.token_hex(16)


@dataclass(frozen=True)
class Submission:
    """One perturbed record. ``batch`` and ``row`` tell copies of it apart from other submissions.

    ``seeded`` says that its noise is predictable: for experiments only.
    """

    protocol: str
    q: tuple[int, ...]
    p: tuple[int, ...]
    batch: str
    row: int = 0
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
        except ValueError as error:
            raise ValueError("A submission is not readable: it is damaged or cut off.") from error
        check(isinstance(data, dict) and data.get("format") == FORMAT, "This is not a Tacit submission.")
        check(set(data) == {"format", *_WORDS}, f"Expected a submission to have the fields {', '.join(_WORDS)}.")
        whole = all(
            isinstance(data[part], list) and all(type(v) is int and abs(v) < 2**62 for v in data[part])
            for part in ("q", "p")
        )
        check(whole, "Expected the numbers of a submission to be whole.")
        named = isinstance(data["batch"], str) and type(data["row"]) is int and isinstance(data["protocol"], str)
        check(named and 0 <= data["row"] < 2**62, "Expected a submission to name its protocol, batch and row.")
        check(type(data["seeded"]) is bool, "Expected a submission to say whether its noise was seeded.")
        q, p = tuple(data["q"]), tuple(data["p"])
        return cls(data["protocol"], q, p, data["batch"], data["row"], data["seeded"])

    def many(self) -> Submissions:
        """A table of one."""
        size = max(len(self.q), len(self.p))
        q, p = (np.array(v, dtype=np.int64).reshape(1, -1) for v in (self.q, self.p))
        if len(self.q) != len(self.p):  # keep the wrong shape: whoever collects will refuse it
            q, p = np.zeros((1, size + 1), dtype=np.int64), np.zeros((1, size), dtype=np.int64)
        batch = np.array([self.batch], dtype=object)
        return Submissions(self.protocol, q, p, batch, np.array([self.row]), self.seeded)


@dataclass(frozen=True)
class Submissions:
    """A table of submissions of one protocol: rows of q and p, and what tells each from its copies.

    ``seeded`` says that the noise of some of them is predictable.
    """

    protocol: str
    q: Whole
    p: Whole
    batch: NDArray[Any]
    row: NDArray[np.int64]
    seeded: bool = False

    def __len__(self) -> int:
        return len(self.q)

    def take(self, rows: slice | NDArray[Any]) -> Submissions:
        """Some of the rows."""
        return replace(self, q=self.q[rows], p=self.p[rows], batch=self.batch[rows], row=self.row[rows])

    def each(self) -> Iterator[Submission]:
        """One by one."""
        for q, p, batch, row in zip(self.q.tolist(), self.p.tolist(), self.batch, self.row.tolist(), strict=True):
            yield Submission(self.protocol, tuple(q), tuple(p), str(batch), row, self.seeded)

    def save(self, path: str | Path) -> None:
        """Write a ``.parquet`` file (needs pyarrow), or lines of JSON under any other name."""
        if Path(path).suffix.lower() != ".parquet":
            with Path(path).open("w", encoding="utf-8") as file:
                file.writelines(one.to_json() + "\n" for one in self.each())
            return
        pyarrow, parquet = _pyarrow()
        d = self.q.shape[1]
        columns: dict[str, Any] = {"batch": pyarrow.array(self.batch).dictionary_encode(), "row": self.row}
        columns |= {f"q{j}": self.q[:, j] for j in range(d)} | {f"p{j}": self.p[:, j] for j in range(d)}
        about = {"format": FORMAT, "protocol": self.protocol, "seeded": str(self.seeded).lower()}
        table = pyarrow.table(columns).replace_schema_metadata(about)
        parquet.write_table(table, path, row_group_size=ROWS)


def read(path: str | Path) -> Iterator[Submissions | str]:
    """Blocks of a file of submissions in order; a sentence in the place of every part that cannot be read.

    Edges: a Parquet file that was cut off cannot be read at all; of a file of lines only the damaged lines are lost.
    """
    if Path(path).suffix.lower() == ".parquet":
        yield from _read_parquet(path)
        return
    with Path(path).open("rb") as file:
        if not any(line.lstrip().startswith(b"{") for line in file):
            yield _foreign(path)
            return
        file.seek(0)
        for line in file:
            if not line.strip():
                continue
            try:
                yield Submission.from_json(line.decode("utf-8")).many()
            except UnicodeDecodeError:
                yield "A submission is not readable: it is damaged or cut off."
            except ValueError as error:
                yield str(error)


def _foreign(path: str | Path) -> str:
    return f"{Path(path).name} is not a file of submissions (raw records? They do not leave their owner)."


def _read_parquet(path: str | Path) -> Iterator[Submissions | str]:
    pyarrow, parquet = _pyarrow()
    try:
        with Path(path).open("rb") as file:
            source = parquet.ParquetFile(file)
            about = {
                k.decode(): v.decode() for k, v in (source.schema_arrow.metadata or {}).items() if k != b"ARROW:schema"
            }
            names = source.schema_arrow.names
            d = sum(name.startswith("q") for name in names)
            known = {"batch", "row", *(f"{part}{j}" for part in "qp" for j in range(d))}
            marked = about.get("format") == FORMAT and about.get("seeded") in ("true", "false")
            if not marked or set(names) != known:
                yield _foreign(path)
                return
            for part in source.iter_batches(batch_size=ROWS):
                q, p = (np.stack([_column(part, f"{side}{j}") for j in range(d)], axis=1) for side in "qp")
                batch = np.asarray(part.column("batch").to_numpy(zero_copy_only=False), dtype=object)
                seeded = about["seeded"] == "true"
                yield Submissions(about.get("protocol", ""), q, p, batch, _column(part, "row"), seeded)
    except (pyarrow.ArrowException, OSError, TypeError, ValueError):
        yield f"{Path(path).name} is not a readable Parquet file: it is damaged or cut off."


def _column(part: Any, name: str) -> Any:
    """A column as numbers; a missing cell or a fraction stays what it is, for the database to refuse."""
    return np.asarray(part.column(name).to_numpy(zero_copy_only=False))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError("Parquet files need pyarrow. Install it with: pip install 'tacit[parquet]'") from error
    return pyarrow, parquet
