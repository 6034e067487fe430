"""Networks whose records are people: whose rows are averaged, cut, sampled, and how far one person moves a sum."""

import itertools

import numpy as np
import pytest
import torch
from oracles import door
from torch import nn

from tacit.data.people import people_of
from tacit.data.shares import Shares
from tacit.nn import MLPClassifier, mlp_network
from tacit.nn.people_sum import ROWS, people_sum
from tacit.nn.train import clipped_sum

CLIP, MOST = 0.5, 5


def people(sizes, seed=0):
    """Rows of people, person after person."""
    stream = torch.Generator().manual_seed(seed)
    rows = torch.randn((sum(sizes), 4), generator=stream, dtype=torch.float64)
    labels = torch.randint(0, 3, (sum(sizes),), generator=stream)
    found = people_of(np.repeat(np.arange(len(sizes)), sizes), sum(sizes), MOST)
    kept = torch.from_numpy(found.rows)
    return rows[kept], labels[kept], Shares.of(found, None)


def mean_gradients(network, rows, labels, shares):
    """By plain backward passes, one person at a time."""
    ends = np.append(shares.starts, len(labels))
    found = []
    for first, last in itertools.pairwise(ends):
        network.zero_grad()
        nn.functional.cross_entropy(network(rows[first:last]), labels[first:last]).backward()
        found.append(torch.cat([p.grad.flatten() for p in network.parameters()]).numpy())
    return np.stack(found)


@pytest.mark.parametrize("chunk", [1, 4, 16])
def test_a_person_counts_with_the_mean_of_the_rows_cut_as_one(chunk):
    """Chunks of every size: the rows of a person lie in several, or many people in one."""
    network = mlp_network(4, 3).double()
    rows, labels, shares = people([1, 5, 2, 9, 3, 1, 4])
    means = mean_gradients(network, rows, labels, shares)
    for clip in (0.5, 100.0):
        factors = np.minimum(1, clip / np.linalg.norm(means, axis=1))
        found = people_sum(network, rows, labels, shares, clip, chunk)
        np.testing.assert_allclose(found, factors @ means, atol=1e-6)  # shares are multiples of 2**-24


def test_people_with_one_row_each_are_records():
    network = mlp_network(4, 3).double()
    rows, labels, shares = people([1] * 9)
    found = people_sum(network, rows, labels, shares, CLIP, 4)
    np.testing.assert_allclose(found, clipped_sum(network, rows, labels, CLIP, 4), atol=1e-12)


@pytest.mark.parametrize("row", [0.0, 1e6, np.nan, np.inf])
def test_one_person_moves_the_sum_by_the_clip_at_most(row):
    network = mlp_network(4, 3).double()
    rows, labels, shares = people([2, 3, 1, MOST])
    without = Shares(shares.weights[:-MOST], shares.starts[:-1], MOST)
    base = people_sum(network, rows[:-MOST], labels[:-MOST], without, CLIP, 4)
    rows[-MOST:] = row
    moved = people_sum(network, rows, labels, shares, CLIP, 4) - base
    assert np.isfinite(moved).all()
    assert np.linalg.norm(moved) <= CLIP * (1 + 1e-9)
    assert ROWS > 1, "rows are cut above the clip: else a person's mean would be cut before it is taken"


def fitted(X, y, groups, seed=3):
    model = MLPClassifier(
        classes=[0, 1, 2], bounds=(0, 1), hidden=4, epochs=2, batch=10, rows_per_person=3, random_state=seed
    )
    with door() as calls:
        model.fit(X, y, groups=groups)
    return model, calls


def test_a_swapped_person_changes_one_part_of_each_batch_and_the_guarantee_says_people(rng):
    groups = np.repeat(np.arange(30), 4)  # one row more than count
    X, y = rng.random((120, 4)), rng.integers(0, 3, 120)
    model, calls = fitted(X, y, groups)
    guarantee = model.guarantee_
    assert guarantee.records == 30
    assert guarantee.rows_per_person == 3
    guarantee.verify()
    X2, y2 = X.copy(), y.copy()
    X2[-4:], y2[-4:] = 1.0, (y[-4:] + 1) % 3
    other, again = fitted(X2, y2, groups)
    assert other.guarantee_ == guarantee
    first = next(place for place, (a, b) in enumerate(zip(calls, again, strict=True)) if (a.values != b.values).any())
    moved = np.linalg.norm(calls[first].values - again[first].values)  # up to there all weights are the same
    assert 0 < moved <= 2 * model.clip * (1 + 1e-9)
    dropped = X.copy()
    dropped[3::4] = 0.0  # every person's last row, which does not count
    assert np.array_equal(fitted(dropped, y, groups)[1][-1].output, calls[-1].output)


def test_groups_that_name_nobody_are_refused_and_nothing_is_spent(rng):
    X, y = rng.random((6, 4)), rng.integers(0, 3, 6)
    model = MLPClassifier(classes=[0, 1, 2], bounds=(0, 1), rows_per_person=2)
    for groups in ([1, 2, 3], [1.0, 2.0, np.nan, 1.0, 2.0, 3.0], None):
        with pytest.raises(ValueError, match="groups"):
            model.fit(X, y, groups=groups)
        assert not hasattr(model, "guarantee_")
