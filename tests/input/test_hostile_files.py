"""Files of submissions come from strangers: what they say of their own size is checked before it is unpacked."""

import functools
import tracemalloc

import numpy as np
import pytest

from tacit.protocol import Database, Protocol, submission
from tacit.protocol import database as words
from tacit.schema import Target

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@functools.cache
def protocol_for(columns=2):
    target = Target("y", lower=-1, upper=1)
    return Protocol.create(epsilon=2.0, delta=1e-3, cohort=400, columns=columns, target=target, intercept=False)


def written(path, protocol, d, rows, cells=None, **more):
    """A Parquet file that says to be of this protocol."""
    column = np.zeros(rows, dtype=np.int64) if cells is None else cells
    about = {"format": submission.FORMAT, "protocol": protocol.fingerprint, "seeded": "false"}
    table = pyarrow.table({f"{side}{j}": column for side in "qp" for j in range(d)}).replace_schema_metadata(about)
    parquet.write_table(table, path, **{"row_group_size": submission.ROWS, **more})
    return path


@pytest.fixture
def unpacked(monkeypatch):
    """How many cells were unpacked at once, at most."""
    seen = [0]
    plain = submission._column

    def counted(part, name):
        seen[0] = max(seen[0], part.num_rows * part.num_columns)
        return plain(part, name)

    monkeypatch.setattr(submission, "_column", counted)
    return seen


def test_a_wide_file_is_refused_by_its_metadata(tmp_path, unpacked):
    protocol = protocol_for()
    path = written(tmp_path / "bomb.parquet", protocol, 400, 65_536)
    assert path.stat().st_size < 2**20
    tracemalloc.start()
    receipt = Database(protocol).add_file(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert receipt.refused == {words.SHAPE: 65_536}
    assert unpacked == [0]
    assert peak < 32 * 2**20


def test_a_file_of_a_wide_protocol_is_unpacked_in_parts(tmp_path, unpacked):
    protocol = protocol_for(300)
    written(tmp_path / "zeros.parquet", protocol, 300, 20_000)
    receipt = Database(protocol).add_file(tmp_path / "zeros.parquet")
    assert receipt.added == 1  # zeros are one submission
    assert 0 < unpacked[0] <= submission.CELLS


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"row_group_size": 10**6, "rows": 70_000}, "row groups of more than"),
        ({"compression": "gzip"}, "not compressed with Snappy"),
        ({"compression": "zstd"}, "not compressed with Snappy"),
        ({"cells": np.array(["a"] * 10)}, "not numbers"),
        ({"cells": pyarrow.array([[1]] * 10)}, "not numbers"),
    ],
)
def test_what_could_be_anything_when_unpacked_is_not_unpacked(tmp_path, unpacked, more, sentence):
    protocol = protocol_for()
    path = written(tmp_path / "odd.parquet", protocol, 2, **{"rows": 10, **more})
    ((reason, count),) = Database(protocol).add_file(path).refused.items()
    assert sentence in reason
    assert count == 1
    assert unpacked == [0]


def test_a_long_line_is_not_read_and_the_others_are(tmp_path):
    protocol = protocol_for()
    X = np.random.default_rng(0).normal(size=(4, 2))
    lines = [one.to_json().encode() for one in protocol.perturb_table(X, X[:, 0]).each()]
    path = tmp_path / "lines.jsonl"
    long = b'{"format":"tacit-submission","q":[' + b"1," * 4_000_000 + b"1]}"
    path.write_bytes(b"\n".join([lines[0], long, lines[1], b"", lines[2], long[:-9]]))
    tracemalloc.start()
    receipt = Database(protocol).add_file(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert receipt.added == 3
    assert list(receipt.refused.values()) == [2]
    assert "longer than any submission" in next(iter(receipt.refused))
    assert peak < 2**20


def test_the_longest_submission_is_read(tmp_path):
    """Every number below 2**62 with a sign, as another program might space them."""
    protocol = protocol_for(40)
    wide = [-(2**62) + 1] * 40
    text = submission.Submission(protocol.fingerprint, tuple(wide), tuple(wide)).to_json().replace(",", ", ")
    (tmp_path / "one.jsonl").write_text(text + "\n")
    assert Database(protocol).add_file(tmp_path / "one.jsonl").refused == {words.DAMAGED: 1}
