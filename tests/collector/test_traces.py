"""What the files of a database tell, beyond its tables; and that a database that is not there any more is noticed."""

import asyncio
import json
import re
import sqlite3
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError

from tacit.cli.main import main
from tacit.collector import Collector, intake, traces
from tacit.collector.app import create_app
from tacit.collector.limits import Rate


@pytest.fixture
def file(tmp_path):
    return tmp_path / "c.sqlite"


def begun(address, protocol):
    collector = Collector(address)
    slug = collector.create(protocol, {})
    codes = collector.invite(slug, 5)
    collector.open(slug)
    return collector, slug, codes


async def brought(collector, slug, people, codes):
    """People come one at a time; returns how large the log is afterwards."""
    door = intake.Intake(collector)
    door.start()
    for one, code in zip(people.each(), codes, strict=True):
        await door.bring(slug, one, code)
    for _ in range(5):
        await asyncio.sleep(0)  # what is due now, and nothing later, goes to the thread that writes
    door._thread.submit(bool).result()
    size = Path(f"{collector.engine.url.database}-wal").stat().st_size
    await door.stop()
    return size


def test_the_log_is_emptied_soon(file, protocol, make_people, monkeypatch):
    monkeypatch.setattr(intake, "SOON", 0.0)
    collector, slug, codes = begun(file, protocol)
    assert asyncio.run(brought(collector, slug, make_people(5), codes)) == 0
    collector.close()


def test_closing_leaves_no_trace(file, protocol, make_people):
    collector, slug, codes = begun(file, protocol)
    people = make_people(5)
    assert asyncio.run(brought(collector, slug, people, codes)) > 0  # else this test shows nothing
    collector.shut(slug)
    assert not traces.owed(collector.engine)
    assert Path(f"{file}-wal").stat().st_size == 0 or people.contents()[0] not in Path(f"{file}-wal").read_bytes()
    collector.close()


def test_a_reader_in_the_way_is_told_and_it_is_tried_again(file, protocol, make_people, monkeypatch, capsys):
    monkeypatch.setattr(traces, "PATIENCE", 0)
    collector, slug, codes = begun(file, protocol)
    people = make_people(5)
    asyncio.run(brought(collector, slug, people, codes))
    reader = sqlite3.connect(file, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sums").fetchall()
    assert main(["study", "close", slug, "--database", str(file)]) == 0
    assert "still contain traces" in capsys.readouterr().err
    assert collector.study(slug).state == "closed"
    assert people.contents()[0] in Path(f"{file}-wal").read_bytes()
    reader.close()
    assert main(["study", "status", slug, "--database", str(file)]) == 0
    assert capsys.readouterr().err == ""
    assert not traces.owed(collector.engine)
    assert people.contents()[0] not in Path(f"{file}-wal").read_bytes()
    collector.close()


def test_a_crash_between_closing_and_removing_is_made_up_for(address, protocol, make_people, monkeypatch):
    collector, slug, _ = begun(address, protocol)
    collector.database(slug).add(make_people(3))

    def crash(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(traces, "remove", crash)
        with pytest.raises(KeyboardInterrupt):
            collector.shut(slug)
    assert traces.owed(collector.engine)
    collector.close()
    again = Collector(address)
    assert again.study(slug).state == "closed"
    assert not traces.owed(again.engine)
    again.close()


def test_postgresql_keeps_no_old_sums(collector, study, make_people):
    if collector.engine.dialect.name == "sqlite":
        pytest.skip("SQLite has other files")
    for seed in range(4):
        collector.database(study).add(make_people(1, seed))
    collector.shut(study)
    with collector.engine.connect() as base:
        for table in ("sums", "contents", "withdrawn", "invitations"):
            (pages,) = base.exec_driver_sql(f"SELECT pg_relation_size('{table}') / 8192").one()
            assert pages <= 1
        places = base.exec_driver_sql("SELECT ctid::text FROM sums").scalars().all()
    assert places == ["(0,1)"]  # the first place of a new file: nothing was there before


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_no_receipt_for_what_goes_into_a_file_without_a_name(file, protocol, make_people, change):
    collector, slug, codes = begun(file, protocol)
    people = list(make_people(2).each())
    with TestClient(create_app(collector)) as web:

        def send(place):
            body = {"invitation": codes[place], "submission": json.loads(people[place].to_json())}
            return web.post(f"/api/studies/{slug}/submissions", json=body).status_code

        assert send(0) == 201
        content = file.read_bytes()
        file.unlink()
        if change == "replaced":
            file.write_bytes(content)
        assert send(1) == 503
        assert web.get("/healthz").status_code == 503
    with pytest.raises(OperationalError, match="moved, replaced or removed"), collector.engine.begin():
        pass
    collector.close()


def test_a_missing_folder_is_named_and_not_made(tmp_path, capsys):
    place = tmp_path / "none" / "c.sqlite"
    for words in (["account", "add", "ana"], ["serve"]):
        assert main([*words, "--database", str(place)]) == 2
        said = capsys.readouterr().err
        assert f"There is no folder {place.parent}" in said
        assert f"mkdir -m 700 {place.parent}" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["account", "list"], ["study", "list"], ["account", "renew", "ana"]])
def test_a_mistyped_name_makes_no_database(words, tmp_path, capsys):
    assert main([*words, "--database", str(tmp_path / "colector.sqlite")]) == 2
    assert re.search("There is no database at .*colector.sqlite", capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []


def test_a_household_of_ipv6_counts_as_one():
    rate = Rate(3)
    assert [rate.admits(f"2001:db8::{number:x}") for number in range(4)] == [True, True, True, False]
    assert rate.admits("2001:db8:0:1::1")
    assert [rate.admits("192.0.2.1"), rate.admits("192.0.2.2")] == [True, True]
    mapped = Rate(1)
    assert [mapped.admits("::ffff:192.0.2.1"), mapped.admits("::ffff:192.0.2.2")] == [True, True]
    assert not mapped.admits("192.0.2.1")


@pytest.mark.parametrize(
    "path",
    ["/", "/healthz", "/api", "/openapi.json", "/api/studies", "/api/studies/{}", "/s/{}", "/curator", "/none",
     "/static/style.css"],
)  # fmt: skip
def test_head_is_answered_as_get_is(path, file, protocol):
    collector, slug, _ = begun(file, protocol)
    with TestClient(create_app(collector), follow_redirects=False) as web:
        whole, head = web.get(path.format(slug)), web.head(path.format(slug))
    assert head.status_code == whole.status_code != 405
    assert head.content == b""
    kept = {"content-security-policy", "content-length", "content-type", "cache-control"}
    assert {name: head.headers.get(name) for name in kept} == {name: whole.headers.get(name) for name in kept}
    collector.close()
