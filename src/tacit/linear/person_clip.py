r"""The gradient of a person is the mean of those of the person's rows, and is cut to less than a row's: it is shorter.

Rows that have nothing to do with each other have gradients in all directions. The mean of m of them, of norm C each, is
about ``C / sqrt(m)`` long, while the bound that holds for the worst person is C. So a person's mean is cut to ``c(m)
C``, where one row's gradient would be cut to C, and the noise is for that:

.. math:: c(m) = 1 / \sqrt{2 m} \quad (m \ge 2), \qquad c(1) = 1,

for few gradients are as long as C. Where all rows of a person are alike, that person counts for less, and so does the
noise. The rows' own gradients are cut to 2 C only: what is cut before the mean is taken moves the model away from the
minimum, and inflates the weights of a classifier.

Guarantee: a person's part is a projection of the mean onto a ball, and a projection does not increase distances. What
rounding moves the mean by (:func:`tacit.linear.problem.rounding_slack`, relative to the clip of rows) it moves the
projection by at most, and :func:`person_slack` is for the projection's own arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.canonical import thin
from tacit.data.rows import Design
from tacit.data.shares import Shares
from tacit.types import Array, Facts

WIDER = 2.0
"""The clip of rows' own gradients in units of C."""


def person_share(facts: Facts) -> float:
    """c(m), where people have up to m rows: set on made-up people, and on Adult's rows in groups."""
    several = facts.rows_per_person or 1
    return 1.0 if several == 1 else 1 / math.sqrt(2 * several)


def row_clip(facts: Facts, clip: float) -> float:
    """Where rows' gradients are cut, if people's are cut to ``clip``; the same where nobody has several rows."""
    share = person_share(facts)
    return clip if share == 1 else min(WIDER * clip / share, facts.radius * facts.loss.lipschitz)


def person_slack(facts: Facts) -> float:
    """What computing means, their norms and the cut adds to a sum's sensitivity, relative to the clip of rows.

    With u = 2**-53: a mean of m terms errs by m u, the norm of s numbers by (s + 2) u, the factor and its product by 4
    u; n + 1 people at most, in two sums. Nothing where nobody has several rows.
    """
    several = facts.rows_per_person or 1
    return 0.0 if several == 1 else 2.0 * (facts.records + 1) * (several + facts.size + 16) * 2.0**-53


def gather_people(
    design: Design, shares: Shares, block: Any, rows: slice, slopes: Array, clip: float, *, coupled: bool
) -> tuple[Array, Array]:
    """The sum over a block's people of their weighted rows times slopes, each cut to norm ``clip``; and the norms left.

    A row of norms a person: one number for coupled slopes, whose columns are cut together, else one a column. The block
    must part no person (:meth:`Shares.slices`).
    """
    assert shares.starts is not None  # for the type checker
    first, last = np.searchsorted(shares.starts, [rows.start, rows.stop])
    starts, count = shares.starts[first:last] - rows.start, slopes.shape[0]
    weighted = shares.weigh(slopes, rows)
    scaled = weighted * design.scales[rows, None]
    places, ends = np.arange(count), np.append(starts, count)
    means = []
    for column in scaled.T:
        mean = sparse.csr_matrix((column, places, ends), shape=(len(starts), count)) @ block
        means.append(np.asarray(mean.toarray() if thin(mean) else mean))
    squares = np.stack([np.einsum("ij,ij->i", mean, mean) for mean in means], axis=1)
    if design.intercept:
        constants = design.intercept * np.add.reduceat(weighted, starts, axis=0)
        squares += constants**2
    norms = np.sqrt(squares.sum(axis=1, keepdims=True) if coupled else squares)
    factors = np.broadcast_to(clip / np.maximum(norms, clip), (len(starts), len(means)))
    total = np.stack([mean.T @ factor for mean, factor in zip(means, factors.T, strict=True)], axis=1)
    if design.intercept:
        total = np.vstack([total, (constants * factors).sum(axis=0)])
    return total, np.minimum(norms, clip)
