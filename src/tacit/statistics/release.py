"""One door for what is asked of a table: parts are priced together, charged, and only then added up.

Stages follow one another, and what a later one asks may depend on what an earlier one released. Their noise is fixed
before the first: a stage that would move by more than was priced is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from tacit.checks import check, counted, refuse
from tacit.estimators.base import budget_of, source_from
from tacit.estimators.earlier import Earlier, check_together
from tacit.ledger import Ledger, ledger_of
from tacit.mechanisms.base import Plan
from tacit.mechanisms.defaults import share_of
from tacit.privacy.calibrate import fits
from tacit.privacy.events import Gaussian, Rare
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Source, add_gaussian, grid
from tacit.privacy.theorems import TABLE
from tacit.statistics.exact_sums import Asked, Released, Sums, split
from tacit.statistics.unit import Whose
from tacit.training import Prepared, state, train
from tacit.types import ADJACENCIES, Adjacency, Budget, Solution

RARE_SHARE, RARE_IN_LEDGER = 0.1, 1e-8
"""The part of delta that pays for values which only one person has; a ledger's delta is for many releases, and its
filters carry what is rare only where it is next to nothing: a threshold that is a third higher."""
Stage = Callable[[list[Released]], Sums]
_SLIVER = 1e-6
_NO_DELTA = (
    "Under add-remove neighbours the number of rows is private, so delta does not follow from it: give delta=, well "
    "below one over the number of people you expect, or a ledger."
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the caller allows: the budget's settings, and where noise comes from and is written down."""

    epsilon: float | Literal["rest"]
    delta: float | None = None
    adjacency: Adjacency = "replace-one"
    ledger: Ledger | str | None = None
    random_state: Any = None

    def budget(self, unit: Whose) -> Budget:
        """What may be spent; under add-remove neighbours nothing of it follows from the number of rows."""
        check(self.adjacency in ADJACENCIES, f"Expected adjacency={self.adjacency!r} to be one of {ADJACENCIES}.")
        public = self.adjacency == "replace-one" or self.delta is not None or ledger_of(self.ledger) is not None
        check(public, _NO_DELTA)
        budget = budget_of(self.epsilon, self.delta, self.adjacency, unit.count, self.ledger)
        if budget.private and budget.delta == 0:
            refuse("Statistics have Gaussian noise, which needs delta > 0. Leave delta out, or give one above 0.")
        return budget

    @property
    def counted(self) -> bool:
        """Whether the number of rows, or people, is public."""
        return self.adjacency == "replace-one"


@dataclass(frozen=True, kw_only=True)
class SumsPlan(Plan):
    """Calibrated sums; stage i has noise ``scales[i]``, and shows unknown values whose noisy count exceeds its cut.

    ``cut`` is in standard deviations beyond a count of one.
    """

    asked: tuple[Asked, ...]
    scales: tuple[float, ...]
    cut: float

    def run(self, problem: Sequence[Stage], source: Source) -> Solution:
        """Answer stage after stage, each with noise of its own."""
        found: list[Released] = []
        for stage, asked, scale in zip(problem, self.asked, self.scales, strict=True):
            sums = stage(found)
            self._check(sums.asked, asked)
            found.append(self._release(sums, scale, source))
        return Solution(np.zeros(0), extras={"released": found})

    def _check(self, now: Asked, priced: Asked) -> None:
        small = all(one <= most * (1 + 1e-12) for one, most in zip(now.squares, priced.squares, strict=True))
        if not small or now.size > priced.size or len(now.unknown) > len(priced.unknown):
            refuse("A stage asks for more than was priced.")

    def _release(self, sums: Sums, scale: float, source: Source) -> Released:
        flat = np.concatenate([np.zeros(0), *sums.totals])
        numbers = split(add_gaussian(flat, scale, source), sums.parts)
        shown = []
        for one in sums.occurring:
            noisy = add_gaussian(one.weight * one.counts, scale, source)
            high = noisy > (one.weight + self.cut * scale + 2 * grid(scale) if scale else 0.0)
            pairs = sorted(zip(noisy[high] / one.weight, np.asarray(one.keys, dtype=object)[high], strict=True))
            shown.append({str(key): float(count) for count, key in reversed(pairs)})
        weights = [part.weight for part in sums.parts]
        return Released(
            sums.parts,
            tuple(values / weight for values, weight in zip(numbers, weights, strict=True)),
            tuple(scale / weight for weight in weights),
            tuple(shown),
        )


def calibrate_sums(
    asked: Sequence[Asked], shares: Sequence[float], budget: Budget, most: int = 1, rarely: float = RARE_SHARE
) -> SumsPlan:
    """Stages that cost these parts of the budget's mu^2; ``most`` values of one person in a column.

    A value that one person alone has is shown with a probability of at most ``rarely`` of delta, over all columns.
    """
    unknown = most * sum(len(one.unknown) for one in asked)
    words = (f"sums and counts in {counted(len(asked), 'stage')}",)
    if not budget.private:
        scales = tuple(0.0 for _ in asked)
        return SumsPlan(events=(), theorem="sums", asked=tuple(asked), scales=scales, cut=0.0, assumptions=words)
    chance = budget.delta * rarely if unknown else 0.0
    inner = replace(budget, delta=budget.delta - chance)
    rare = (Rare(chance),) if unknown else ()
    sliver = _SLIVER
    while True:  # shares are of a mu that is right to some digits; the price is what counts
        part = 1 - sliver
        gaussian: tuple[Gaussian, ...] = ()
        for one, share in zip(asked, shares, strict=True):
            # Counts of values that occur differ between neighbours in at most 2 * most places a column.
            size = one.size + 2 * most * len(one.unknown)
            gaussian += share_of(inner, share * part, one.sensitivity(), size)
        if fits((*gaussian, *rare), budget):
            break
        sliver *= 2
        if sliver >= 1:
            refuse("This budget is too small for statistics. Raise epsilon or delta.")
    return SumsPlan(
        events=(*gaussian, *rare), theorem="sums", asked=tuple(asked), scales=tuple(one.scale for one in gaussian),
        cut=-float(ndtri(chance / unknown)) * (1 + 1e-9) if unknown else 0.0, assumptions=words,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Answer:
    """What was released, stage by stage, and the guarantee of all of it."""

    stages: list[Released]
    guarantee: Guarantee


def answer(
    request: Request,
    unit: Whose,
    method: str,
    stages: Sequence[tuple[Asked, float, Stage]],
    *,
    assumptions: tuple[str, ...] = (),
    spend: Callable[[Prepared], None] = lambda prepared: None,
    paid: tuple[Earlier, ...] = (),
) -> Answer:
    """Price, charge, and release; each stage is what it asks, its part of the budget, and who adds it up.

    ``paid``: what was paid for before, and is to have a price together with this.
    """
    budget, source = request.budget(unit), source_from(request.random_state)
    rarely = RARE_SHARE if ledger_of(request.ledger) is None else RARE_IN_LEDGER
    asked, shares = [one for one, _, _ in stages], [share for _, share, _ in stages]
    plan = calibrate_sums(asked, shares, budget, unit.most, rarely)
    prepared = state(
        plan, unit.count if request.counted else 0, budget, method=method, seeded=source.seeded,
        assumptions=assumptions, rows_per_person=unit.most if unit.several else None, protects=TABLE,
    )  # fmt: skip
    check_together(paid, f"the {method}", prepared.guarantee)
    solution = train(prepared, [stage for _, _, stage in stages], source, spend, ledger=request.ledger)
    released: Any = solution.extras["released"]
    return Answer(released, prepared.guarantee)
