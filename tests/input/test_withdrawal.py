"""Taking a submission back: the sums are those of a collection that it never came to, and the guarantee says so."""

import functools

import pytest

from tacit.checks import PrivacyError
from tacit.protocol import Database, Protocol
from tacit.protocol.database import AGAIN, WITHDRAWN
from tacit.schema import Target


@functools.cache
def make(withdrawal=True, **settings):
    return Protocol.create(
        epsilon=1.0, delta=1e-3, cohort=200, columns=3, target=Target("y", lower=-1, upper=1), withdrawal=withdrawal,
        **settings,
    )  # fmt: skip


@pytest.fixture
def table(rng):
    protocol = make()
    return protocol, protocol.perturb_table(rng.uniform(-0.3, 0.3, size=(30, 3)), rng.uniform(-1, 1, size=30))


@pytest.mark.parametrize("place", [None, "people.sqlite"])
def test_what_is_taken_back_was_never_there(table, place, tmp_path):
    protocol, people = table
    place = place and tmp_path / place
    with Database(protocol, place) as base, Database(protocol) as other:
        base.add(people)
        other.add(people.take(slice(1, 30)))
        first = next(people.each())
        assert base.withdraw(first)
        assert base.sums.to_bytes() == other.sums.to_bytes()
        assert not base.withdraw(first)  # once
        assert base.add(first).refused == {WITHDRAWN: 1}
        assert base.sums.to_bytes() == other.sums.to_bytes()
        assert len(base) == 29


def test_only_counted_numbers_are_taken_back(table, rng):
    protocol, people = table
    stranger = protocol.perturb([0.1, 0.1, 0.1], 0.5)
    with Database(protocol) as base:
        base.add(people)
        before = base.sums.to_bytes()
        with pytest.raises(ValueError, match="nothing to withdraw"):
            base.withdraw(stranger)
        assert base.sums.to_bytes() == before


def test_nothing_is_taken_out_of_a_model(table):
    protocol, people = table
    with Database(protocol) as base:
        base.add(people)
        base.train()
        with pytest.raises(PrivacyError, match="trained"):
            base.withdraw(next(people.each()))


def test_a_protocol_has_to_allow_it(rng):
    protocol = make(withdrawal=False)
    one = protocol.perturb([0.1, 0.1, 0.1], 0.5)
    with Database(protocol) as base:
        base.add(one)
        with pytest.raises(PrivacyError, match="does not allow"):
            base.withdraw(one)


def test_the_permission_is_part_of_the_agreement(tmp_path):
    allowed, silent = make(), make(withdrawal=False)
    assert allowed.fingerprint != silent.fingerprint
    assert Protocol.from_json(allowed.to_json()) == allowed
    assert "withdrawal" not in silent.to_json()  # so that agreements of before keep their fingerprint
    words = [" ".join(one.guarantee().assumptions) for one in (allowed, silent)]
    assert ["remained" in text for text in words] == [True, False]
    assert allowed.guarantee().epsilon == silent.guarantee().epsilon


def test_merging_does_not_bring_it_back(table):
    protocol, people = table
    with Database(protocol) as base, Database(protocol) as copy:
        base.add(people)
        copy.add(people.take(slice(0, 1)))
        base.withdraw(next(people.each()))
        with pytest.raises(PrivacyError, match="withdrawn"):
            base.merge(copy)


def test_a_copy_in_a_block_shares_the_fate_of_the_first(table):
    protocol, people = table
    twice = people.take([0, 0, 1, 1])
    with Database(protocol) as base:
        outcomes = base.settle(twice, lambda rows: ["no" if row == 0 else None for row in rows])
        assert outcomes == ["no", "no", None, AGAIN]
        assert len(base) == 1
        assert base.refused == {"no": 2, AGAIN: 1}
