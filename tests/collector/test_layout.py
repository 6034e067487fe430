"""The tables: the migrations make what the code expects, once, also for two at a time; acts stay; nothing joins."""

import multiprocessing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, text
from sqlalchemy.exc import DBAPIError

from tacit.collector import Collector, acts
from tacit.collector.engine import open_engine, reading
from tacit.collector.layout import ACTS, METADATA


def test_migrations_make_the_tables_of_the_layout(collector):
    with reading(collector.engine) as base:
        assert compare_metadata(MigrationContext.configure(base), METADATA) == []


def opened(address, gate, keys):
    gate.wait()
    made = Collector(address)
    keys.put(made.receipt("study", "protocol", b"content"))
    made.close()


def test_two_processes_make_one_database(address):
    context = multiprocessing.get_context("spawn")
    gate, keys = context.Barrier(2), context.Queue()
    both = [context.Process(target=opened, args=(address, gate, keys)) for _ in range(2)]
    for one in both:
        one.start()
    receipts = [keys.get(timeout=60) for _ in both]
    for one in both:
        one.join()
    assert receipts[0] == receipts[1]
    assert [one.exitcode for one in both] == [0, 0]


def test_a_database_of_a_newer_version_is_refused(collector, address):
    with collector.engine.begin() as base:
        base.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ValueError, match="newer version"):
        open_engine(address)


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("no database, and long enough to be read as a header of one" * 20)
    with pytest.raises(ValueError, match="cannot be opened"):
        open_engine(tmp_path / "notes.txt")


@pytest.mark.parametrize(
    "line",
    [
        "UPDATE acts SET content = 'other'",
        "DELETE FROM acts",
        "TRUNCATE acts",
        "INSERT OR REPLACE INTO acts VALUES (1, 'other', 'digest')",
        "INSERT INTO acts VALUES (1, 'other', 'digest') ON CONFLICT (number) DO UPDATE SET content = 'other'",
    ],
)
def test_the_database_itself_keeps_acts(collector, study, line):
    with reading(collector.engine) as base:
        before = acts.acts(base)
    assert len(before) == 2
    with pytest.raises(DBAPIError), collector.engine.begin() as base:
        base.execute(text(line))
    with reading(collector.engine) as base:
        assert acts.acts(base) == before
        assert acts.verify(base)


def test_acts_are_numbered_without_gaps(collector, study):
    with pytest.raises(DBAPIError), collector.engine.begin() as base:
        base.execute(insert(ACTS).values(number=1, content="{}", digest="0"))
    with collector.engine.begin() as base:
        base.execute(insert(ACTS).values(number=7, content="{}", digest="0"))
    with reading(collector.engine) as base:
        assert not acts.verify(base)


def test_errors_of_the_database_quote_nothing(collector, study):
    with pytest.raises(DBAPIError) as error, collector.engine.begin() as base:
        base.execute(insert(ACTS).values(number=1, content="a secret", digest="0"))
    assert "a secret" not in str(error.value)


def test_after_closing_nothing_in_a_file_tells_who_came_together(tmp_path, protocol, make_people):
    """Every submission alone in its transaction; afterwards hashes lie in their own order, once, in one file."""
    path = tmp_path / "collector.sqlite"
    collector = Collector(path)
    study = collector.create(protocol, {}, admission="open")
    collector.open(study)
    database = collector.database(study)
    contents = []
    for one in make_people(30).each():
        assert database.add(one).added == 1
        contents.append(one.many().contents()[0])
    collector.shut(study)
    raw = path.read_bytes()
    assert [raw.count(content) for content in contents] == [1] * 30
    places = [raw.index(content) for content in sorted(contents)]
    assert places == sorted(places, reverse=True) or places == sorted(places)
    assert not any(content in path.with_name(path.name + "-wal").read_bytes() for content in contents)
    collector.close()


def test_after_closing_one_transaction_wrote_all_rows(collector, study, make_people):
    database = collector.database(study)
    for one in make_people(5).each():
        database.add(one)
    collector.invite(study, 5)
    if collector.engine.dialect.name == "sqlite":
        with reading(collector.engine) as base, pytest.raises(DBAPIError, match="no such column"):
            base.execute(text("SELECT rowid FROM contents"))  # no row has a number of its own
        return
    question = text("SELECT count(DISTINCT xmin::text), count(*) FROM contents")
    with reading(collector.engine) as base:
        assert tuple(base.execute(question).one()) == (5, 5)
    collector.shut(study)
    with reading(collector.engine) as base:
        assert tuple(base.execute(question).one()) == (1, 5)
        order = base.execute(text("SELECT content FROM contents ORDER BY ctid")).scalars().all()
        dead = base.execute(text("SELECT pg_relation_size('contents')")).scalar()
    assert order == sorted(order)
    assert dead == 8192  # one page: what was deleted is not in the file any more
