"""Submissions on their way in: databases that are locked, full or gone, mistakes, people who leave, two processes."""

import asyncio
import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import event

from tacit.collector import Collector, engine, intake
from tacit.collector.app import create_app
from tacit.collector.intake import Intake
from tacit.collector.refusals import UNAVAILABLE, Refused
from tacit.protocol import Database


@pytest.fixture
def benchmarks(monkeypatch):
    """The benchmark's servers and clients."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import collector_clients
    import collector_crowd
    import collector_server

    yield collector_clients, collector_crowd, collector_server
    for name in ("collector_clients", "collector_crowd", "collector_server"):
        sys.modules.pop(name, None)


def send(web, study, one, code):
    body = {"invitation": code, "submission": json.loads(one.to_json())}
    return web.post(f"/api/studies/{study}/submissions", json=body)


def unavailable(answer):
    return (answer.status_code, answer.json()["reason"]) == (503, "unavailable")


def same_sums(collector, study, people):
    with Database(collector.study(study).protocol) as alone:
        for one in people:
            alone.add(one)
        return alone.sums.to_bytes() == collector.database(study).sums.to_bytes()


def test_a_file_that_is_locked_and_then_is_not(tmp_path, monkeypatch, protocol, make_people):
    monkeypatch.setattr(engine, "WAIT", 0.05)
    collector = Collector(tmp_path / "c.sqlite")
    study = collector.create(protocol, {})
    codes = collector.invite(study, 2)
    collector.open(study)
    people = list(make_people(2).each())
    with TestClient(create_app(collector, rate=0)) as web:
        assert send(web, study, people[0], codes[0]).status_code == 201
        other = sqlite3.connect(tmp_path / "c.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert unavailable(send(web, study, people[1], codes[1]))
        taken_back = {"submission": json.loads(people[0].to_json())}
        assert unavailable(web.post(f"/api/studies/{study}/withdrawals", json=taken_back))
        other.execute("ROLLBACK")
        other.close()
        assert collector.count(study) == 1
        assert send(web, study, people[1], codes[1]).status_code == 201
    assert collector.tally(study).used == 2
    assert same_sums(collector, study, people)
    collector.close()


def test_a_disk_that_is_full_and_then_is_not(tmp_path, protocol, make_people):
    collector = Collector(tmp_path / "c.sqlite")
    study = collector.create(protocol, {}, admission="open")
    collector.open(study)
    people = list(make_people(150).each())
    with TestClient(create_app(collector, rate=0)) as web:
        collector.engine.dispose()

        @event.listens_for(collector.engine, "connect")
        def narrow(base, _):
            base.execute("PRAGMA max_page_count = 1")  # no page more than there are

        answers = [send(web, study, one, None) for one in people]
        told = [one for one, answer in zip(people, answers, strict=True) if answer.status_code == 201]
        assert 0 < len(told) < len(people)
        assert all(answer.status_code == 201 or unavailable(answer) for answer in answers)
        assert collector.count(study) == len(told)
        event.remove(collector.engine, "connect", narrow)
        collector.engine.dispose()
        assert {send(web, study, one, None).status_code for one in people} == {200, 201}
    assert same_sums(collector, study, people)
    collector.close()


def test_a_server_that_is_restarted(server, protocol, make_people):
    """PostgreSQL stops while the service runs, and comes back."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as base:
        base.execute("CREATE DATABASE restarted")
    collector = Collector(server.replace("/postgres?", "/restarted?"))
    study = collector.create(protocol, {})
    codes = collector.invite(study, 3)
    collector.open(study)
    people = list(make_people(3).each())
    folder = server.rpartition("=")[2]
    user = None if os.geteuid() else Path(folder).owner()
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"

    def tell(*words):
        control = ["pg_ctl", "-D", f"{folder}/data", "-w", *words]
        subprocess.run(control, user=user, check=True, capture_output=True, cwd=folder)

    with TestClient(create_app(collector, rate=0)) as web:
        assert send(web, study, people[0], codes[0]).status_code == 201
        tell("-m", "immediate", "stop")
        try:
            assert unavailable(send(web, study, people[1], codes[1]))
            assert unavailable(web.get("/healthz"))
        finally:
            tell("-l", f"{folder}/log", "-o", settings, "start")
        assert send(web, study, people[1], codes[1]).status_code == 201
        tell("-m", "immediate", "-l", f"{folder}/log", "-o", settings, "restart")  # unseen by the service
        assert send(web, study, people[2], codes[2]).status_code == 201
        assert send(web, study, people[0], codes[0]).status_code == 200
        assert web.get("/healthz").status_code == 200
    assert collector.tally(study).used == 3
    assert same_sums(collector, study, people)
    collector.close()


def test_a_mistake_in_the_code_does_not_stop_the_intake(collector, study, make_people, monkeypatch, caplog):
    codes = collector.invite(study, 2)
    people = list(make_people(2).each())

    def mistaken(*_):
        raise KeyError("a value that nobody should see")

    with TestClient(create_app(collector, rate=0)) as web:
        with monkeypatch.context() as change, caplog.at_level(logging.ERROR):
            change.setattr(intake.invitations, "redeem", mistaken)
            assert unavailable(send(web, study, people[0], codes[0]))
        assert "KeyError" in caplog.text
        assert "nobody should see" not in caplog.text
        assert collector.tally(study) == type(collector.tally(study))(0, {}, 2, 0)
        assert send(web, study, people[0], codes[0]).status_code == 201
    assert same_sums(collector, study, people[:1])


def test_the_count_of_refusals_is_in_the_same_transaction(collector, study, make_people, monkeypatch):
    """What has no form is counted with the others, or not at all."""
    (code,) = collector.invite(study, 1)
    (one,) = make_people(1).each()

    async def both():
        taking = Intake(collector)
        taking.start()
        asked = [taking.bring(study, None, None), taking.bring(study, one, code)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        await taking.stop()
        return found

    with monkeypatch.context() as change:
        change.setattr(intake.invitations, "redeem", lambda *_: 1 / 0)
        assert [error.refusal for error in asyncio.run(both())] == [UNAVAILABLE] * 2
        assert collector.tally(study).refused == {}
    refused, answer = asyncio.run(both())
    assert (refused.refusal.reason, answer.new) == ("unreadable", True)
    assert sum(collector.tally(study).refused.values()) == 1


def test_who_leaves_while_waiting_gets_the_receipt_later(collector, study, make_people):
    codes = collector.invite(study, 40)
    people = list(make_people(40).each())

    async def impatient():
        taking = Intake(collector)
        taking.start()
        asked = [asyncio.create_task(taking.bring(study, *pair)) for pair in zip(people, codes, strict=True)]
        await asyncio.sleep(0)
        for one in asked[::2]:
            one.cancel()
        kept = await asyncio.gather(*asked, return_exceptions=True)
        again = await asyncio.gather(*(taking.bring(study, *pair) for pair in zip(people, codes, strict=True)))
        await taking.stop()
        return kept, again

    kept, again = asyncio.run(impatient())
    assert all(isinstance(one, asyncio.CancelledError) for one in kept[::2])
    assert [one.receipt for one in kept[1::2]] == [one.receipt for one in again[1::2]]
    assert not any(one.new for one in again[1::2])
    assert collector.tally(study).used == 40
    assert same_sums(collector, study, people)


def test_what_waits_is_written_when_the_service_stops(collector, study, make_people):
    codes = collector.invite(study, 30)

    async def stopped():
        taking = Intake(collector)
        taking.start()
        pairs = zip(make_people(30).each(), codes, strict=True)
        asked = [asyncio.create_task(taking.bring(study, *pair)) for pair in pairs]
        await asyncio.sleep(0)
        await taking.stop()
        return [one.done() and one.exception() is None for one in await settled(asked)]

    async def settled(asked):
        await asyncio.wait(asked)
        return asked

    assert asyncio.run(stopped()) == [True] * 30
    assert collector.count(study) == 30


def test_more_than_can_wait_are_told_to_come_again(collector, study, make_people, monkeypatch):
    monkeypatch.setattr(intake, "WAITING", 2)
    codes = collector.invite(study, 3)

    async def crowded():
        taking = Intake(collector)
        pairs = zip(make_people(3).each(), codes, strict=True)
        asked = [asyncio.create_task(taking.bring(study, *pair)) for pair in pairs]
        await asyncio.sleep(0)
        taking.start()
        found = await asyncio.gather(*asked, return_exceptions=True)
        await taking.stop()
        return found

    *first, last = asyncio.run(crowded())
    assert all(one.new for one in first)
    assert isinstance(last, Refused)
    assert last.refusal == UNAVAILABLE


def test_two_processes_on_one_database_and_a_stop(benchmarks, collector, address):
    """Everyone's submission goes to both, some at the same time, with one invitation; it counts once."""
    clients, crowds, servers = benchmarks
    study = collector.create(crowds.protocol_of(4, 300), {})
    collector.open(study)
    crowd = crowds.Crowd(collector, study, 400)
    pieces = [piece.raw for piece in crowd.pieces]
    with servers.Service(address) as one, servers.Service(address) as other:

        async def both():
            storms = (clients.storm(service.port, pieces, 16) for service in (one, other))
            return await asyncio.gather(*storms)

        for answers in clients.run(both()):
            crowd.check(answers)
        assert {one.stop(), other.stop()} <= {0, -signal.SIGTERM}
