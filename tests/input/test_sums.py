"""Sums in two parts: the integers themselves, in any order, in bytes and in the lists of older files."""

import json

import numpy as np
import pytest

from tacit.mechanisms.moments import LARGEST, Sums
from tacit.protocol import Database, Protocol
from tacit.schema import Target


def integers(q, p):
    """The sums by Python's integers alone."""
    d = q.shape[1]
    rows, others = q.astype(object), p.astype(object)
    second = [[int((rows[:, i] * rows[:, j]).sum()) for j in range(d)] for i in range(d)]
    return [len(q), second, [int(v) for v in others.sum(axis=0)]]


def drawn(rng, count=50, d=4, most=LARGEST):
    return rng.integers(-most, most, size=(count, d), endpoint=True), rng.integers(-(2**52), 2**52, size=(count, d))


@pytest.mark.parametrize("most", [1, 2**17 - 1, 2**17, 2**30, LARGEST])
@pytest.mark.parametrize("count", [1, 2, 70])
def test_parts_are_the_integers(count, most, rng):
    q, p = drawn(rng, count, most=most)
    assert Sums.of(q, p).to_lists() == integers(q, p)
    signs = np.where(q < 0, -most, most)
    assert Sums.of(signs, p).to_lists() == integers(signs, p)


def test_halves_of_sums_are_sums(rng):
    q, p = drawn(rng, 60)
    whole, order = Sums.of(q, p), rng.permutation(60)
    total = Sums.empty(4)
    for part in np.array_split(order, 9):
        total = total.plus(Sums.of(q[part], p[part]))
    assert total.to_lists() == whole.to_lists()
    assert total.to_bytes() == whole.to_bytes()
    noise = np.array([2**61, -(2**61), 1, -1])
    topped = whole.topped(noise)
    assert topped.count == 60
    assert (topped.cross == whole.cross + noise.astype(object)).all()
    assert (topped.second == whole.second).all()


def test_bytes_and_lists_give_the_same_back(rng):
    sums = Sums.of(*drawn(rng, 5))
    for again in (Sums.from_bytes(sums.to_bytes()), Sums.from_lists(json.loads(json.dumps(sums.to_lists())))):
        assert (again.count, again.features) == (5, 4)
        assert np.array_equal(again.parts, sums.parts)
    good = sums.to_bytes()
    for bad in (b"", good[:-1], good[:-16], good[1:], good + bytes(16), b"tacit-sums-1", b"tacit-sums-1" + bytes(8)):
        with pytest.raises(ValueError, match="sums"):
            Sums.from_bytes(bad)


def test_numbers_that_do_not_fit_are_refused_and_never_wrap():
    largest = (2**61 - 1) * 2**52
    near = Sums.exactly(1, np.array([[largest]], dtype=object), np.array([-largest], dtype=object))
    assert near.to_lists() == [1, [[largest]], [-largest]]
    with pytest.raises(ValueError, match="below 2\\*\\*113"):
        near.plus(near)
    with pytest.raises(ValueError, match="below 2\\*\\*113"):
        Sums.exactly(1, np.array([[2**113]], dtype=object), np.array([0], dtype=object))
    with pytest.raises(ValueError, match="below 2\\*\\*113"):
        Sums(1, 1, np.array([[0, 0], [-1, 0]]))
    with pytest.raises(ValueError, match="two parts"):
        Sums(1, 2, np.zeros((2, 4), dtype=np.int64))


def test_numbers_are_rounded_once(rng):
    sums = Sums.of(*drawn(rng, 70))
    second, cross = sums.moments(2.0**-20, 2.0**-36)
    assert second.tolist() == [[float(v) * 2.0**-40 for v in row] for row in sums.second.tolist()]
    assert cross.tolist() == [float(v) * 2.0**-36 for v in sums.cross.tolist()]


def test_a_file_of_lists_goes_on(tmp_path, rng):
    """Databases of earlier versions hold their sums as JSON: they are read, added to, and then hold bytes."""
    protocol = Protocol.create(
        epsilon=1.0, delta=1e-3, cohort=200, columns=3, target=Target("y", lower=-1, upper=1), intercept=False
    )
    table = protocol.perturb_table(rng.uniform(-0.3, 0.3, size=(30, 3)), rng.uniform(-1, 1, size=30))
    path = tmp_path / "people.sqlite"
    with Database(protocol, path) as base:
        base.add(table.take(slice(0, 20)))
        before = base.sums
        lists = json.dumps(before.to_lists())
        base._shelf._base.execute("UPDATE facts SET value = ? WHERE name = 'sums'", (lists,))
    with Database(protocol, path) as base:
        assert base.sums.to_bytes() == before.to_bytes()
        assert len(base) == 20
        base.add(table.take(slice(20, 30)))
        assert base.sums.to_bytes() == Sums.of(table.q, table.p).to_bytes()
        assert isinstance(base._shelf._fact("sums"), bytes)
