"""What a study can be expected to teach, by crowd size and epsilon, before anyone has contributed.

Everything is computed from the protocol's public numbers and from made-up people (:mod:`tacit.protocol.madeup`), never
from sums or submissions, so it may be shown to anyone at any time. The model's noise is drawn exactly in law, at a cost
that does not depend on the number of people (:func:`tacit.protocol.expect.draw`); all contributors are taken to be
honest. Seeds are written down: the same question has the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.checks import check, check_count
from tacit.linear.solvers.ball import minimise
from tacit.privacy.noise import SeededSource
from tacit.protocol.agreement import Protocol
from tacit.protocol.expect import draw
from tacit.protocol.madeup import ALL, SEED, UNEXPLAINED, made_up
from tacit.protocol.outline import Outline
from tacit.rounding import geometric, narrow
from tacit.types import Array

PAIRS = 5
"""Crowds that are drawn; each gets a draw of noise and its mirror image."""
MANY = 24
"""The same where a number of people is looked for."""
WORTH = 0.1
"""Below this part of what any number of people could teach, a model counts as no better than guessing."""
START, MOST = 8, 10**8
"""The smallest and the largest crowd that are tried when a number of people is looked for."""


@dataclass(frozen=True)
class Quality:
    """What ``count`` people are expected to give: the private model, one without noise, and guessing.

    ``best`` is the one without noise of any number of people. For two classes these are accuracies; for a number root
    mean square errors in the target's units (``error``).
    """

    count: int
    error: bool
    private: float
    plain: float
    guess: float
    best: float

    @property
    def gain(self) -> float:
        """The part of what could be learned at best that the private model learns; below 0 if it harms."""
        could = self.best - self.guess
        return (self.private - self.guess) / could if could * (-1 if self.error else 1) > 0 else 0.0


@lru_cache(maxsize=4096)
def expected(protocol: Protocol, count: int, unexplained: float = UNEXPLAINED, pairs: int = PAIRS) -> Quality:
    """The quality of the model that ``count`` people would give with this protocol, a crowd below the cohort included.

    ``unexplained``: the fraction of answers (of the variance, for a number) that nothing explains. Noise b and -b are
    equally likely, and minus the model of the mirrored cross sum with b is that of the crowd with -b. So where noise is
    all there is, the two accuracies of a pair add up to 1, and their mean does not depend on luck.
    """
    check_count("count", count)
    numbers = protocol.numbers
    people = made_up(
        protocol.schema, protocol.columns, protocol.target, numbers.clip, numbers.intercept, float(unexplained)
    )
    private: list[float] = []
    plain: list[float] = []

    def quality(second: Array, cross: Array) -> float:
        return people.quality(minimise(second, cross, numbers.radius).weights)

    for pair in range(pairs):
        # The same seeds for every question: curves over count and epsilon are smooth.
        second, cross = people.moments(count, SeededSource((SEED, 3, pair)))
        second, cross = numbers.curvature * second, numbers.slope * cross
        for sign in (1.0, -1.0):
            noise = SeededSource((SEED, 4, pair))
            private.append(people.quality(sign * draw(numbers, second, sign * cross, count, noise)))
        if count < ALL or not plain:
            plain.append(quality(second, cross))
    second, cross = people.moments(ALL, SeededSource((SEED, 5)))
    best = quality(numbers.curvature * second, numbers.slope * cross)
    error = protocol.target.classes is None
    return Quality(count, error, _mean(private, error), _mean(plain, error), people.guess, best)


def _mean(values: list[float], error: bool) -> float:
    """The mean accuracy, or the root of the mean square error."""
    return float(np.sqrt(np.mean(np.square(values))) if error else np.mean(values))


@lru_cache(maxsize=4096)
def point(outline: Outline, epsilon: float, crowd: int, pairs: int = PAIRS) -> Quality:
    """The quality of a study that is calibrated for this crowd, and gets it."""
    return expected(outline.protocol(epsilon, crowd), crowd, outline.unexplained, pairs)


def table(outline: Outline, epsilons: Sequence[float], crowds: Sequence[int]) -> dict[float, tuple[Quality, ...]]:
    """One line an epsilon: the quality for every crowd size."""
    return {epsilon: tuple(point(outline, epsilon, crowd) for crowd in crowds) for epsilon in epsilons}


@lru_cache(maxsize=256)
def fewest(study: Protocol | Outline, epsilon: float | None = None, unexplained: float = UNEXPLAINED) -> int | None:
    """About how many people it takes until the model is better than guessing; None if MOST are too few.

    Of a protocol: how many have to come. Of an outline, at this epsilon: how large a crowd it has to be made for. With
    fewer the model learns less than WORTH of what could be learned. The first of START, 4 START, ... that is enough is
    narrowed to 5%, and rounded up to two digits.
    """

    def enough(count: float) -> bool:
        whole = math.ceil(count)
        if isinstance(study, Protocol):
            return expected(study, whole, unexplained, MANY).gain >= WORTH
        check(epsilon is not None, "Expected an epsilon beside an outline.")
        return point(study, float(epsilon or 0), whole, MANY).gain >= WORTH

    high: int = START
    while not enough(high):
        if high >= MOST:
            return None
        high *= 4
    found = math.ceil(narrow(lambda n: not enough(n), high / 4, float(high), relative=0.05, middle=geometric)[1])
    digits = int(10 ** max(len(str(found)) - 2, 0))
    return -(-found // digits) * digits
