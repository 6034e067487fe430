"""Splitting and merging in any order: the sums, the refusals and who may train do not depend on it."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import PrivacyError
from tacit.mechanisms.moments import Sums
from tacit.protocol import Database, Protocol
from tacit.protocol import database as words
from tacit.schema import Target

SIZE = 12


@functools.cache
def collection():
    """A protocol and twelve submissions."""
    made = Protocol.create(
        epsilon=2.0, delta=1e-3, cohort=50, columns=2, target=Target("y", lower=-1, upper=1), intercept=False
    )
    X = np.random.default_rng(0).normal(size=(SIZE, 2))
    return made, made.perturb_table(X, X[:, 0])


def sums_of(members):
    _, table = collection()
    rows = sorted(members)
    return Sums.of(table.q[rows], table.p[rows])


def holds(base, members):
    """The database has these submissions, each once, and no others."""
    assert base.sums.to_lists() == sums_of(members).to_lists()
    assert len(base) == len(members)


parts = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=6)
steps = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 2), parts),
    st.tuples(st.just("merge"), st.integers(0, 2), st.integers(0, 2)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(steps, max_size=10))
def test_databases_behave_as_sets(script):
    """Against the plainest model there is: sets of submissions, which merge if they are disjoint."""
    made, table = collection()
    bases, sets, refused = [Database(made) for _ in range(3)], [set() for _ in range(3)], [0, 0, 0]
    for kind, one, rest in script:
        if kind == "add":
            receipt = bases[one].add(table.take(np.array(rest)))
            fresh = set(rest) - sets[one]
            assert receipt.added == len(fresh)
            assert receipt.refused == ({words.AGAIN: len(rest) - len(fresh)} if len(rest) > len(fresh) else {})
            sets[one] |= fresh
            refused[one] += len(rest) - len(fresh)
        elif one == rest:
            with pytest.raises(ValueError, match="with itself"):
                bases[one].merge(bases[rest])
        elif sets[one] & sets[rest]:
            with pytest.raises(PrivacyError, match="in both databases"):
                bases[one].merge(bases[rest])
        else:
            assert bases[one].merge(bases[rest]).added == len(sets[rest])
            sets[one] |= sets[rest]
            refused[one] += refused[rest]
            assert bases[rest].trained or not sets[rest]
        for base, members, count in zip(bases, sets, refused, strict=True):
            holds(base, members)
            assert base.refused == ({words.AGAIN: count} if count else {})


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(SIZE)), st.lists(st.integers(1, SIZE - 1), max_size=4), st.randoms(use_true_random=False))
def test_any_tree_of_merges_gives_the_whole(order, cuts, chance):
    made, table = collection()
    bases = []
    for part in np.split(np.array(order), sorted(cuts)):
        bases.append(Database(made))
        if len(part):
            bases[-1].add(table.take(part))
    while len(bases) > 1:
        chance.shuffle(bases)
        one, other = bases.pop(), bases[-1]
        other.merge(one)
        if len(one):
            with pytest.raises(PrivacyError, match="are in another one too"):
                one.train()
            with pytest.raises(PrivacyError, match="in both databases"):
                one.merge(other)
    holds(bases[0], set(range(SIZE)))
    assert not bases[0].trained
    assert bases[0].add(table).refused == {words.AGAIN: SIZE}
