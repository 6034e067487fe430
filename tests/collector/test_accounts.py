"""Accounts: secrets that are made, hashed and compared; roles; the limit on wrong tries; lines in the log."""

import hashlib

import pytest

from tacit.collector import accounts, acts, visits
from tacit.collector.engine import reading
from tacit.collector.layout import ACCOUNTS


def test_a_secret_is_shown_once_and_kept_as_a_salted_hash(collector):
    with collector.engine.begin() as base:
        secret, other = accounts.add(base, "ada", "curator"), accounts.add(base, "bob", "viewer")
        rows = {row.name: row.secret for row in base.execute(ACCOUNTS.select())}
    assert secret != other
    assert len(secret.replace("-", "")) == 30  # of five bits each
    kind, cost, block, lanes, salt, digest = rows["ada"].split("$")
    assert (kind, int(block), int(lanes)) == ("scrypt", 8, 1)
    assert int(cost) >= 15
    settings = {"n": 2 ** int(cost), "r": 8, "p": 1, "maxmem": 2**27, "dklen": 32}
    assert hashlib.scrypt(secret.encode(), salt=bytes.fromhex(salt), **settings).hex() == digest
    assert rows["bob"].split("$")[4] != salt
    with reading(collector.engine) as base:
        assert accounts.verified(base, "ada", secret) == "curator"
        assert accounts.verified(base, "bob", other.lower().replace("-", " ")) == "viewer"
        assert accounts.verified(base, "ada", other) is None
        assert accounts.verified(base, "ada", "") is None
        assert accounts.verified(base, "eve", secret) is None
        assert accounts.listed(base) == [("ada", "curator"), ("bob", "viewer")]


def test_a_name_that_is_none_is_refused_by_the_same_work(tmp_path, monkeypatch):
    from tacit.collector import Collector

    collector, worked = Collector(tmp_path / "base.sqlite"), []
    whole = hashlib.scrypt
    with collector.engine.begin() as base:
        accounts.add(base, "ada", "curator")
    monkeypatch.setattr(hashlib, "scrypt", lambda *args, **more: (worked.append(more), whole(*args, **more))[1])
    with reading(collector.engine) as base:
        for name in ("ada", "nobody"):
            assert accounts.verified(base, name, "not a secret") is None
    known, unknown = ({name: size for name, size in one.items() if name != "salt"} for one in worked)
    assert known == unknown
    collector.close()


def test_renewing_and_removing_end_sessions(collector):
    with collector.engine.begin() as base:
        old = accounts.add(base, "ada", "curator")
        accounts.add(base, "bob", "curator")
        tokens = {name: visits.begin(base, name) for name in ("ada", "bob")}
        new = accounts.renew(base, "ada", who="bob")
        assert visits.find(base, tokens["ada"]) is None
        assert visits.find(base, tokens["bob"])
        assert accounts.verified(base, "ada", old) is None
        assert accounts.verified(base, "ada", new) == "curator"
        accounts.remove(base, "bob")
        assert visits.find(base, tokens["bob"]) is None
        assert accounts.listed(base) == [("ada", "curator")]
        said = [(act.who, act.what, act.note) for act in acts.acts(base)]
        assert said == [
            ("command line", "account removed", "bob"),
            ("bob", "secret renewed", "ada"),
            ("command line", "account added", "bob, curator"),
            ("command line", "account added", "ada, curator"),
        ]
        assert acts.verify(base)
        assert not any(secret in str(said) for secret in (old, new))


@pytest.mark.parametrize(
    ("name", "role", "word"),
    [("Ada", "curator", "name"), ("", "curator", "name"), ("a" * 41, "viewer", "name"), ("ada", "owner", "role")],
)
def test_what_is_no_account(tmp_path, name, role, word):
    from tacit.collector import Collector

    collector = Collector(tmp_path / "base.sqlite")
    with collector.engine.begin() as base, pytest.raises(ValueError, match=word):
        accounts.add(base, name, role)
    with collector.engine.begin() as base:
        accounts.add(base, "ada", "viewer")
        for wrong in (lambda: accounts.add(base, "ada", "viewer"), lambda: accounts.renew(base, "eve")):
            with pytest.raises(ValueError, match="There is"):
                wrong()
        with pytest.raises(ValueError, match="no account"):
            accounts.remove(base, "eve")
    collector.close()


def test_wrong_tries_are_limited_for_a_name_and_for_an_address():
    now = [0.0]
    tries = accounts.Tries(clock=lambda: now[0])
    assert [tries.begin("ada", "1.1.1.1") for _ in range(6)] == [True] * 5 + [False]
    assert not tries.begin("ada", "2.2.2.2")
    assert all(tries.begin(f"name {number}", "1.1.1.1") for number in range(15))
    assert not tries.begin("bob", "1.1.1.1")
    assert tries.begin("bob", "2.2.2.2")  # strangers do not lock out those who come from elsewhere
    now[0] = 59.9
    assert not tries.begin("bob", "1.1.1.1")
    now[0] = 60.1
    assert tries.begin("ada", "1.1.1.1")


def test_a_right_secret_does_not_count():
    tries = accounts.Tries()
    for _ in range(50):
        assert tries.begin("ada", "1.1.1.1")
        tries.right("ada", "1.1.1.1")
    tries.right("ada", "1.1.1.1")
    assert tries.begin("ada", "2.2.2.2")
    tries.right("ada", "1.1.1.1")  # a try of somebody else stays
    assert [tries.begin("ada", "1.1.1.1") for _ in range(5)] == [True] * 4 + [False]
