r"""The gradient of a person is the mean of those of the person's rows, and is cut to less than a row's: it is shorter.

Rows that have nothing to do with each other have gradients in all directions. The mean of m of them, of norm C each, is
about ``C / sqrt(m)`` long, while the bound that holds for the worst person is C. So a person's mean is cut to ``c(m)
C``, where one row's gradient would be cut to C, and the noise is for that:

.. math:: c(m) = 1 / \sqrt{2 m} \quad (m \ge 2), \qquad c(1) = 1,

for few gradients are as long as C. Where all rows of a person are alike, that person counts for less, and so does the
noise. The rows' own gradients are cut to 2 C only: what is cut before the mean is taken moves the model away from the
minimum, and inflates the weights of a classifier.

Guarantee: a person's part is a projection of the mean onto a ball, and a projection does not increase distances. It is
then rounded to a grid, so that sums over people are exact; :func:`person_slack` is for all of this arithmetic.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from tacit.data.canonical import thin
from tacit.linear.records import Block
from tacit.linear.whole import Whole, added
from tacit.types import Array, Facts

WIDER = 2.0
"""The clip of rows' own gradients in units of C."""
PART_DIGITS = 28
"""Binary digits of a person's part."""


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
    u, each of s numbers by half a step of the grid; two people at most. Nothing where nobody has several rows.
    """
    several = facts.rows_per_person or 1
    rounded = math.sqrt(facts.size) * 2.0**-PART_DIGITS
    return 0.0 if several == 1 else 2.0 * ((several + facts.size + 16) * 2.0**-53 + rounded)


def people_sums(block: Block, slopes: Array, clip: float, *, coupled: bool) -> tuple[Whole, Whole]:
    """The sum over a block's people of their weighted rows times slopes, each cut to norm ``clip``; and of the norms.

    One norm per person for coupled slopes, whose columns are cut together, else one per column.
    """
    starts = block.shares.starts
    assert starts is not None  # for the type checker
    weighted = block.shares.weigh(slopes)
    places, ends = np.arange(block.count), np.append(starts, block.count)
    means = []
    for column in weighted.T:
        mean = sparse.csr_matrix((column, places, ends), shape=(len(starts), block.count)) @ block.rows
        means.append(np.asarray(mean.toarray() if thin(mean) else mean))
    squares = np.stack([np.add.accumulate(mean**2, axis=1)[:, -1] for mean in means], axis=1)
    norms = np.sqrt(np.add.accumulate(squares, axis=1)[:, -1:] if coupled else squares)
    factors = np.broadcast_to(clip / np.maximum(norms, clip), (len(starts), len(means)))
    parts = np.stack([mean * factor[:, None] for mean, factor in zip(means, factors.T, strict=True)], axis=2)
    return added(parts, clip, block.most, PART_DIGITS), added(np.minimum(norms, clip), clip, block.most)
