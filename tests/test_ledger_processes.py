"""Ledgers and other processes: joblib's workers, children, and processes that are killed."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_backend
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit import Ledger, LogisticRegression

rng = np.random.default_rng(5)
X = rng.uniform(-0.5, 0.5, size=(200, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "study.sqlite", epsilon=3, delta=1e-6)


def search(model, jobs=2):
    model = make_pipeline(FunctionTransformer(), model)
    return GridSearchCV(model, {"logisticregression__clip": [0.5, 1.0]}, cv=2, n_jobs=jobs).fit(X, Y)


@pytest.mark.filterwarnings("default")
def test_a_grid_search_in_worker_processes_charges_every_fit(ledger, tmp_path):
    Parallel(n_jobs=2)(delayed(abs)(number) for number in range(4))  # workers that are older than what follows
    search(LogisticRegression(0.2, classes=[0, 1], ledger=ledger))
    assert len(ledger.entries) == 5  # two settings, two folds, and the last fit
    with ledger:
        search(LogisticRegression(0.2, classes=[0, 1]))
    assert len(ledger.entries) == 10
    other = Ledger(tmp_path / "other.sqlite", epsilon=3, delta=1e-6)
    with other:  # in workers that may have seen the first
        search(LogisticRegression(0.2, classes=[0, 1]))
    assert (len(ledger.entries), len(other.entries)) == (10, 5)
    ledger.verify()


@pytest.mark.filterwarnings("default")
def test_a_grid_search_in_threads_charges_every_fit(ledger):
    with parallel_backend("threading"):
        search(LogisticRegression(0.2, classes=[0, 1], ledger=ledger))
        with ledger:
            search(LogisticRegression(0.2, classes=[0, 1]))
    assert len(ledger.entries) == 10
    ledger.verify()


def test_a_child_process_charges_the_open_ledger(ledger):
    program = (
        "import numpy as np, tacit\n"
        "X = np.linspace(-1, 1, 60).reshape(20, 3)\n"
        "tacit.LinearRegression(0.1, target_bound=1.0).fit(X, X[:, 0])"
    )
    with ledger:
        subprocess.run([sys.executable, "-c", program], check=True)
    assert len(ledger.entries) == 1


def test_no_release_without_an_entry_whoever_is_killed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    fire = importlib.import_module("ledger")
    address = str(tmp_path / "ledger.sqlite")
    Ledger(address, epsilon=1.0, delta=1e-6)
    try:
        found = fire.fire(address, tmp_path, processes=3, spends=40, epsilon=0.1, pause=0.05)
    finally:
        del sys.modules["ledger"]
    assert found.releases <= found.entries <= found.releases + found.kills
    assert found.kills >= 1
    assert 0.9 < found.spent <= 1.0  # it ended for want of budget
