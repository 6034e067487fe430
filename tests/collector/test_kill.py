"""The service is killed while people send: nothing that has a receipt is lost, and nothing counts twice."""

import sys
from pathlib import Path

import pytest

SCRIPTS = ("collector", "collector_clients", "collector_crowd", "collector_server", "markdown")


@pytest.fixture
def benchmark(monkeypatch):
    """The benchmark, whose small version this is."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import collector

    yield collector
    for name in SCRIPTS:
        sys.modules.pop(name, None)


def test_killed_at_random_moments(benchmark, address):
    outcome = benchmark.fire(address, 2000, kills=3, features=6, seed=1)
    assert (outcome.requests, outcome.kills, outcome.counted) == (2000, 3, 1580)
