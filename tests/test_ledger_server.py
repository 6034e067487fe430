"""A ledger on a real PostgreSQL server, which the tests start when it is installed."""

import threading

import pytest
from postgres import running
from test_ledger import X, Y, release

from tacit import Ledger, LogisticRegression, PrivacyError

pytest.importorskip("sqlalchemy", reason="this test needs the extra 'teams': pip install '.[teams]'")
pytest.importorskip("psycopg", reason="this test needs the extra 'teams': pip install '.[teams]'")


@pytest.fixture(scope="module")
def server():
    """The address of a fresh server."""
    with running() as address:
        yield address


@pytest.fixture
def address(server, request):
    """A database of its own for each test."""
    import psycopg

    name = f"d{abs(hash(request.node.name))}"
    with psycopg.connect(server, autocommit=True) as base:
        base.execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?")


def test_a_server_keeps_a_ledger_as_a_file_does(address):
    with pytest.raises(ValueError, match="There is no ledger"):
        Ledger(address)
    made = Ledger(address, epsilon=3, delta=1e-6)
    with made:
        LogisticRegression(0.5, classes=[0, 1]).fit(X, Y)
    made.charge(release(1.0), "by hand")
    again = Ledger(address)
    assert again == made
    assert [entry.label for entry in again.entries] == ["LogisticRegression, whitened-gradient", "by hand"]
    assert again.verify().spent == made.spent()
    with pytest.raises(PrivacyError, match="room left for a Gaussian release"):
        again.charge(release(2.9))
    with pytest.raises(PrivacyError, match="cannot be changed"):
        Ledger(address, epsilon=4)
    assert len(again.entries) == 2


def test_who_charges_at_the_same_time_waits(address):
    Ledger(address, epsilon=1, delta=1e-6)
    refused = []

    def spend():
        ledger = Ledger(address)
        for _ in range(8):
            try:
                ledger.charge(release(0.2))
            except PrivacyError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = Ledger(address)
    assert len(ledger.entries) + len(refused) == 32
    assert refused
    assert all("has room left for" in sentence for sentence in refused)
    assert ledger.verify().spent <= 1
    with pytest.raises(PrivacyError, match="room"):
        ledger.charge(release(0.2))


def test_what_was_altered_on_a_server_is_found(address):
    import psycopg

    ledger = Ledger(address, epsilon=1, delta=1e-6)
    for _ in range(3):
        ledger.charge(release(0.1))
    with psycopg.connect(address) as base:
        base.execute("DELETE FROM tacit_ledger WHERE number = 2")
    with pytest.raises(PrivacyError, match="Entry 2 of this ledger is missing"):
        ledger.verify()


def test_a_lock_that_nobody_gives_back_is_one_sentence(address, monkeypatch):
    import psycopg

    from tacit.ledger import postgres

    ledger = Ledger(address, epsilon=1, delta=1e-6)
    monkeypatch.setattr(postgres, "WAIT", 1)
    with psycopg.connect(address) as base:
        base.execute(f"SELECT pg_advisory_xact_lock({postgres._LOCK})")
        with pytest.raises(PrivacyError, match=r"held this ledger for 1 seconds. Nothing was spent"):
            ledger.charge(release(0.1))
    assert ledger.entries == ()


def test_another_programs_table_is_refused(address):
    import psycopg

    with psycopg.connect(address) as base:
        base.execute("CREATE TABLE tacit_ledger (mine integer)")
    with pytest.raises(PrivacyError, match="not a Tacit ledger"):
        Ledger(address, epsilon=1, delta=1e-6)


def test_a_server_that_is_away_is_one_sentence_without_the_password():
    with pytest.raises(PrivacyError, match="cannot be reached") as caught:
        Ledger("postgresql://me:secret@127.0.0.1:1/none", epsilon=1, delta=1e-6)
    assert "secret" not in str(caught.value)
    with pytest.raises(ValueError, match="address"):
        Ledger("postgresql://host:port/x", epsilon=1, delta=1e-6)
