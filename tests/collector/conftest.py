"""Studies for the tests of the collector, on SQLite and on a PostgreSQL server that the tests start."""

import os

import numpy as np
import pytest
from postgres import running

for name in ("fastapi", "sqlalchemy", "alembic", "httpx2"):
    pytest.importorskip(name, reason="these tests need the extras 'collector' and 'dev'")

from tacit.protocol import Protocol  # noqa: E402
from tacit.schema import Category, Number, Schema, Target  # noqa: E402

TEXTS = {
    "en": {"title": "Sleep and work", "purpose": "Who sleeps well?", "about": "A made-up study for tests."},
    "de": {"title": "Schlaf und Arbeit", "purpose": "Wer schläft gut?"},
}


@pytest.fixture(scope="session")
def schema():
    return Schema(
        (Number("age", 18, 90), Number("hours", 0, 80), Category("job", ("office", "shift", "none"))),
        Target("sleeps", classes=("no", "yes")),
    )


@pytest.fixture(scope="session")
def protocol(schema):
    return Protocol.create(
        epsilon=1.0, delta=1e-6, cohort=300, schema=schema, withdrawal=True, purpose="Who sleeps well?"
    )


@pytest.fixture(scope="session")
def make_people(protocol):
    """Submissions of made-up people."""

    def make(number, seed=0):
        rng = np.random.default_rng(seed)
        table = {
            "age": rng.uniform(18, 90, number),
            "hours": rng.uniform(0, 80, number),
            "job": rng.choice(["office", "shift", "none"], number),
        }
        return protocol.perturb_table(table, rng.choice(["no", "yes"], number))

    return make


@pytest.fixture(scope="session")
def server():
    """The address of a fresh PostgreSQL server, on a socket of its own."""
    pytest.importorskip("psycopg", reason="this test needs psycopg: pip install '.[collector]'")
    with running() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """An empty database: a file, and one of the server."""
    if request.param == "sqlite":
        return str(tmp_path / "collector.sqlite")
    import psycopg

    server = request.getfixturevalue("server")
    name = f"d{os.getpid()}_{abs(hash(request.node.nodeid))}"
    with psycopg.connect(server, autocommit=True) as base:
        base.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


@pytest.fixture
def collector(address):
    from tacit.collector import Collector

    made = Collector(address)
    yield made
    made.close()


@pytest.fixture
def study(collector, protocol):
    """A study that takes submissions by invitation."""
    slug = collector.create(protocol, TEXTS)
    collector.open(slug)
    return slug
