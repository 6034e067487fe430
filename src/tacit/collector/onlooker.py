r"""What an onlooker could learn about one person, at most: from what the person sends, and from the model.

The onlooker knows everything but one person's record, and wants to tell the answer A from any other answers B. Let P be
the law of what they see if the answer is A, and Q if it is one of B (any mixture of them).

*The best guess.* Before seeing anything, and with A and B equally likely, a guess is right with probability 1/2. After
it, the best guess is right with probability (1 + TV(P, Q))/2 (Neyman & Pearson 1933: say A where P is larger). What
honest noise makes of two records is a pair of Gaussians at a distance of at most mu of their scale, so

.. math:: \Pr[\text{right}] \le \tfrac12 (1 + TV) = \Phi(\mu / 2) .

For an (epsilon, delta) guarantee, ``P(S) <= e^eps Q(S) + delta`` both ways bounds it by ``(e^eps + delta)/(1 + e^eps)``
(Kairouz, Oh & Viswanath 2015); the least over the guarantee's whole curve delta(epsilon) is taken.

*The belief.* Who believed in A with probability b believes in it afterwards with odds b/(1 - b) times e^L, L the log of
the density ratio P/Q. So if ``P(L > g) <= chance``, then but for that chance

.. math:: \text{belief} \le \frac{b e^g}{1 - b + b e^g} .

If A is not the truth, the chance is smaller still: ``Q(L > g) <= e^-g P(L > g)``. For two Gaussians L ~ N(mu^2/2, mu^2)
under P; for a mixture Q, log Q is at least the mixture of the logs, so L is at most a sum of such Gaussians, with no
larger mean or deviation. Hence ``g = mu^2/2 + mu z``, with z the upper quantile of ``chance``. For the model, with S
the event {L > g}: ``P(S) <= e^eps Q(S) + delta(eps) <= e^{eps - g} P(S) + delta(eps)``, so ``P(S) <= delta(eps) / (1 -
e^{eps - g})`` for every eps < g. (It is not delta(g) itself: an (epsilon, delta) guarantee does not bound beliefs by
e^epsilon but for delta.)

All numbers are rounded up. They are as good as what the guarantees count on (who is trusted with what), and no better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from scipy.special import ndtri

from tacit.checks import PrivacyError, at_most, check
from tacit.privacy import accounting
from tacit.privacy.events import Event
from tacit.protocol.agreement import Protocol
from tacit.protocol.strength import distance, little

_UP = 1 + 1e-9
"""More than the distribution functions, and a mu, may be wrong by."""
_GAPS = (0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
"""Distances of g from epsilon that are tried: any of them gives a bound."""
_EPSILONS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Beside the protocol's own, points of the curve at which the best guess is bounded."""

FAR = 10**8
"""So many people at least are looked at where a sentence is about any number of people."""


@dataclass(frozen=True)
class Onlooker:
    """What seeing something can teach about one person.

    ``right``: how often the best guess between two equally likely answers is right, at most. ``growth``: the logarithm
    of what the odds of an answer are multiplied by, at most, but for probability ``chance``. ``little``: whether that
    is next to no protection, by its epsilon or by the best guess.
    """

    right: float
    growth: float
    chance: float
    little: bool = False

    def belief(self, before: float) -> float:
        """The belief in an answer afterwards, at most, but for probability ``chance``."""
        check(0 < before < 1, f"Expected 0 < before={before} < 1.")
        return min(1.0, _UP / (1 + (1 - before) / before * math.exp(-self.growth)))


BLIND = Onlooker(0.5, 0.0, 0.0)
"""Who sees nothing."""


def percent(probability: float) -> str:
    """In percent with three digits, never below it."""
    return at_most(100 * min(1.0, probability), 3)


@lru_cache(maxsize=1024)
def of_record(protocol: Protocol, chance: float | None = None) -> Onlooker:
    """Who sees what one person sends, the database for example; ``chance`` None is the protocol's delta."""
    chance = _checked(protocol, chance)
    mu, right = distance(protocol.numbers.record_events), protocol.best_guess
    growth = _UP * (mu**2 / 2 + mu * max(0.0, -float(ndtri(chance))))
    return Onlooker(right, growth, chance, protocol.protects_little)


@lru_cache(maxsize=256)
def of_model(protocol: Protocol, count: int | None = None, chance: float | None = None) -> Onlooker:
    """Who sees the model of ``count`` people (None: of any number up to :func:`most`), and nothing that was sent.

    What counts is what is proven for this noise, also where a protocol states a paper's claim. The model is made of
    what was sent, so what holds for :func:`of_record` holds here too, and the smaller number is taken.

    Edges: where nothing can be proven of the model, what holds for the record is left.
    """
    chance, sent = _checked(protocol, chance), of_record(protocol, chance)
    crowds = worst(protocol) if count is None else (protocol.numbers.events(count),)
    seen = [_of_model(released, protocol.epsilon, chance) for released in crowds]
    right, growth = max(one.right for one in seen), max(one.growth for one in seen)
    right = min(sent.right, right)
    return Onlooker(right, min(sent.growth, growth), chance, little(protocol.epsilon, right))


@lru_cache(maxsize=256)
def most(protocol: Protocol) -> int:
    """The number of people up to which the page's promise about the model is checked, and said to hold.

    A hundred times the cohort, and at least FAR. The chance that a run is not the one that is analysed
    (:meth:`tacit.mechanisms.input.InputNumbers.rare`) grows with the crowd, so for a very small delta the guarantee
    ends somewhere: the number is then a tenth, a hundredth, ... of it, and at the least the cohort.
    """
    cohort, stated = protocol.numbers.cohort, protocol.guarantee().status
    tried = max(100 * cohort, FAR)
    while tried > cohort:
        whole = protocol.guarantee(tried).status == stated
        if whole and all(math.isfinite(proven(one, protocol.delta)) for one in worst(protocol, tried)):
            return tried
        tried //= 10
    return cohort


def worst(protocol: Protocol, people: int | None = None) -> tuple[tuple[Event, ...], ...]:
    """Releases of which one is at least as dear as the model of any crowd up to ``people`` (None: :func:`most`).

    Up to the cohort the noise on the sum is the same, and what the row noise adds to the convexity grows; beyond it the
    noise grows too. So but for what is rare, the least crowd or the cohort has the dearest model; and rare is nothing
    more often than in the largest crowd.
    """
    numbers = protocol.numbers
    rare = numbers.rare(most(protocol) if people is None else people)
    return tuple((replace(numbers.minimum(one), rare=rare), numbers.hidden(one)) for one in (1, numbers.cohort))


def _of_model(released: tuple[Event, ...], own: float, chance: float) -> Onlooker:
    guesses = [
        (1 + accounting.delta(released, epsilon, "replace-one") * math.exp(-epsilon)) / (1 + math.exp(-epsilon))
        for epsilon in (*_EPSILONS, own)
    ]
    growths = [proven(released, -chance * math.expm1(-gap)) + gap for gap in _GAPS]
    return Onlooker(min(1.0, _UP * min(guesses)), _UP * min(growths), chance)


def proven(released: tuple[Event, ...], delta: float) -> float:
    """The epsilon that is proven at this delta; infinite where none is."""
    try:
        return accounting.epsilon(released, delta * (1 - 1e-9), "replace-one")
    except PrivacyError:
        return math.inf


def _checked(protocol: Protocol, chance: float | None) -> float:
    chosen = protocol.delta if chance is None else float(chance)
    check(0 < chosen < 1, f"Expected 0 < chance={chance} < 1.")
    return chosen
