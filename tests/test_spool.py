"""What is kept on disk of rows that come once: for its owner's eyes, and gone with the process, however that ends."""

import gc
import os
import pickle
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import tacit
from tacit.streams import open_source, spool

pa = pytest.importorskip("pyarrow", reason="record batch readers are pyarrow's")
TABLE = pa.table({"a": range(300)})
COUNT = "import pickle, sys; p = pickle.loads(sys.stdin.buffer.read()); print(sum(len(t['a']) for t in p.tables()))"
KILLED = """
import os, signal, sys, tempfile
import pyarrow as pa
from tacit.streams import open_source

tempfile.tempdir = sys.argv[1]
batch = pa.record_batch({"a": range(1000)})

def batches():
    yield batch
    if sys.argv[2] == "writing":
        os.kill(os.getpid(), signal.SIGKILL)

source = open_source(pa.RecordBatchReader.from_batches(batch.schema, batches()))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["nameless", "named"])
def folder(request, tmp_path, monkeypatch):
    if request.param == "named":
        monkeypatch.setattr(spool, "_nameless", lambda: None)
    elif not Path("/proc/self/fd").exists():
        pytest.skip("this system has no place for files without a name")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def rows(pieces):
    return sum(len(table["a"]) for piece in pieces for table in piece.tables())


def test_it_is_its_owners_and_goes_with_the_last_piece(folder):
    source = open_source(TABLE.to_reader())
    path = source.pieces[0].path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert rows(source.pieces) == rows(source.pieces) == 300
    pieces = source.pieces
    del source
    gc.collect()
    assert rows(pieces) == 300
    del pieces
    gc.collect()
    assert not path.exists()
    assert not list(folder.iterdir())


def test_another_process_reads_it(folder):
    source = open_source(TABLE.to_reader())
    found = {**os.environ, "PYTHONPATH": str(Path(tacit.__file__).parents[1])}
    sent = pickle.dumps(source.pieces[0])
    done = subprocess.run([sys.executable, "-c", COUNT], input=sent, capture_output=True, check=True, env=found)
    assert int(done.stdout) == 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_leaves_it_to_its_parent(folder):
    source = open_source(TABLE.to_reader())
    child = os.fork()
    if child == 0:
        del source
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert rows(source.pieces) == 300


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="elsewhere a killed process leaves its file")
@pytest.mark.parametrize("when", ["writing", "reading"])
def test_a_process_that_is_killed_leaves_nothing(tmp_path, when):
    found = {**os.environ, "PYTHONPATH": str(Path(tacit.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), when], check=False, env=found)
    assert done.returncode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())
