"""Input perturbation as a mechanism: a budget becomes public numbers, and one process plays all three parties."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tacit.arguments import check_fields
from tacit.checks import at_most, check, check_choice, check_count, check_positive, refuse
from tacit.linear.problem import Problem
from tacit.linear.solvers.ball import minimise
from tacit.mechanisms.base import Method, Plan, Released
from tacit.mechanisms.input import InputNumbers, honest_among
from tacit.mechanisms.input_penalty import Penalised, Penalty
from tacit.mechanisms.input_solve import Quadratic
from tacit.mechanisms.moments import Sums
from tacit.mechanisms.surrogates import NAMES, Surrogate
from tacit.privacy import accounting
from tacit.privacy.accounting import gaussian_mu
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import COUNT, Claimed, Event
from tacit.privacy.noise import Source
from tacit.types import Budget, Calibration, Facts, Site, Solution

RADIUS = {"squared": 3.35, "logistic": 9.0}
"""eta times the row radius: the largest score that the default ball of weights allows."""
SHARES = (0.015, 0.03, 0.08, 0.2, 0.4, 0.55)
"""Parts of epsilon that the determinant may take: the search for the least expected loss starts between the inner ones,
and ends at a part that no public number jumps at."""
NARROWINGS = 9
"""Golden sections of the search: a bracket of two neighbouring gaps becomes 2% wide."""
QUIET = 0.03
"""The row noise that is used unless more is asked for: at most this fraction of the row bound, a coordinate."""
PAPER = "Fukuchi, Tran & Sakuma 2017, Theorem 1"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is public before the noise is chosen; ``honest`` is the fraction whose noise counts."""

    features: int
    cohort: int
    clip: float
    intercept: float
    surrogate: Surrogate
    radius: float
    honest: float

    @property
    def sure(self) -> int:
        """The honest ones of a cohort."""
        return honest_among(self.honest, self.cohort)

    def numbers(self, row_scale: float, noise: float, strength: float, tail: float) -> InputNumbers:
        """The numbers with total noise ``noise`` of the honest ones on the cohort's sum."""
        part = noise / math.sqrt(self.sure)
        return InputNumbers(
            features=self.features, cohort=self.cohort, clip=self.clip, intercept=self.intercept,
            curvature=self.surrogate.curvature, slope=self.surrogate.slope, radius=self.radius, row_scale=row_scale,
            cross_scale=part, strength=strength, tail=tail, honest=self.honest,
        )  # fmt: skip

    @property
    def row(self) -> float:
        """B_q before rounding."""
        return math.sqrt(self.surrogate.curvature) * math.hypot(self.clip, self.intercept)

    @property
    def cross(self) -> float:
        """B_p before rounding."""
        return self.surrogate.slope * math.hypot(self.clip, self.intercept)


def proven(
    setting: Setting, budget: Budget, strength: float | None, record: float | None, row_scale: float | None = None
) -> InputNumbers:
    """The least noise that the repaired theorem allows; ``record`` asks for a record epsilon at the same delta.

    The row noise is half of what would disturb the model as much as the cross noise does, or what the record's epsilon
    needs. Lambda balances its own bias against the noise, for rows that spread evenly: public facts only.
    """
    budget = replace(budget, epsilon=budget.epsilon * (1 - 1e-6))  # the polishing noise of another count may cost more
    tail, root = 0.05 * budget.delta, math.sqrt(setting.sure)
    least, mu = 0.0, math.inf
    fixed, start = row_scale is not None, row_scale or 0.5 * QUIET * setting.row
    if record is not None:
        mu = gaussian_mu(check_positive("record_epsilon", record), budget.delta) * (1 - 1e-5)
        start = math.sqrt(8 * setting.surrogate.curvature) * setting.clip / mu
        least = math.sqrt(8) * setting.cross / mu

    def fitted(share: float) -> InputNumbers:
        def noisy(scale: float) -> InputNumbers:
            probe = setting.numbers(scale, 1.0, 1.0, tail).minimum(setting.cohort)
            chosen = (
                accounting.input_row(probe) ** 2 / math.expm1(share * budget.epsilon) if strength is None else strength
            )
            noise = smallest_scale(
                lambda s: setting.numbers(scale, s, chosen, tail).events(setting.cohort),
                budget, guess=2 * setting.cross / budget.epsilon,
            )  # fmt: skip
            return setting.numbers(scale, max(noise, least * root), chosen, tail)

        found = noisy(start)
        if record is not None:
            # Less row noise needs less cross noise, which leaves a little more to the rows: the second round's row
            # noise is what the record needs with the first's cross noise, and the cross noise only grows with it.
            for _ in range(2):
                found = noisy(_spare(found, mu))
            return found
        if fixed:
            return found
        return noisy(min(0.5 * found.cross_scale / setting.radius, QUIET * setting.row))

    def loss(numbers: InputNumbers) -> float:
        spread = setting.cohort * setting.row**2 / (4 * setting.features)
        # the ridge takes back the row noise of the honest alone; if all are, the rest of it shrinks the model
        strength = numbers.strength + (setting.cohort - setting.sure) * numbers.row_scale**2
        noise = setting.features * numbers.expected_scale(setting.cohort) ** 2 / (strength + spread)
        polish = setting.features * numbers.hidden(setting.cohort).scale ** 2 * spread
        return strength * setting.radius**2 / 8 + (noise + polish) / 2

    if strength is not None:
        return fitted(0.0)
    found: list[tuple[float, InputNumbers]] = []

    def cost(share: float) -> float:
        try:
            numbers = fitted(share)
        except ValueError:
            return math.inf
        found.append((loss(numbers), numbers))
        return found[-1][0]

    _narrow(cost)
    if not found:
        refuse("No noise of these contributors gives this epsilon. Raise epsilon, delta or the cohort.")
    return min(found, key=lambda pair: pair[0])[1]


def _narrow(cost: Callable[[float], float]) -> None:
    """Look for the share of least cost: the best of SHARES, then golden sections between its neighbours."""
    costs = [cost(share) for share in SHARES[1:-1]]
    best = 1 + min(range(len(costs)), key=costs.__getitem__)
    if math.isinf(costs[best - 1]):
        return
    low, high = math.log(SHARES[best - 1]), math.log(SHARES[best + 1])
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    cheap, dear = cost(math.exp(left)), cost(math.exp(right))
    for _ in range(NARROWINGS - 2):
        if cheap <= dear:
            high, right, dear = right, left, cheap
            left = high - golden * (high - low)
            cheap = cost(math.exp(left))
        else:
            low, left, cheap = left, right, dear
            right = low + golden * (high - low)
            dear = cost(math.exp(right))


def _spare(numbers: InputNumbers, mu: float) -> float:
    """The row noise that the record's mu still needs with this cross noise: less noise is less to hide."""
    used = 2 * numbers.slope * max(numbers.clip, numbers.intercept) / numbers.cross_scale
    left = math.sqrt(max(mu**2 - used**2, 0.5 * mu**2))
    return 2 * math.sqrt(numbers.curvature) * numbers.clip / left


def published(setting: Setting, budget: Budget, strength: float | None) -> InputNumbers:
    """Algorithm 1 and Theorem 1 as published; ``strength`` is the paper's Delta (None: that of its Theorem 2)."""
    n, d = setting.cohort, setting.features
    smooth = setting.row**2
    lipschitz = smooth * setting.radius + setting.cross
    half, least = budget.delta / 2, 2 * smooth / budget.epsilon
    a = math.sqrt(math.log(2 / half) / n)
    if 1 - 2 * a <= 0:
        refuse(f"Fukuchi et al. 2017 need more than 4 log(4/delta) = {4 * math.log(2 / half):.4g} contributors.")
    noise = lipschitz * math.sqrt(8 * math.log(2 / half) + 4 * budget.epsilon) / budget.epsilon
    inner = math.sqrt(2 * d) * a * smooth
    row_noise = (inner + math.sqrt(inner**2 + least * (1 - 2 * a))) / (1 - 2 * a) * (1 + 1e-6)
    best = lipschitz * math.sqrt(d * math.log(1 / budget.delta)) / (budget.epsilon * setting.radius)
    delta = max(best, least * (1 + 1e-3)) if strength is None else strength
    if delta <= least:
        refuse(f"Fukuchi et al. 2017 need Delta > 2 lambda/epsilon = {least:.6g}: raise the regularization.")
    base = setting.numbers(row_noise / math.sqrt(n), noise, delta, 0.05 * budget.delta)
    return replace(base, ridge=delta - least)


def corollary_1(numbers: InputNumbers, delta: float) -> tuple[float, float]:
    """The record's (epsilon, delta) by Corollary 1: ``2 c sqrt(n) (lambda/sigma_u + zeta/sigma_b)`` at 2 delta: false.

    It applies the classical Gaussian formula, which holds for epsilon < 1, at an epsilon of hundreds, where the exact
    value grows with the square of mu. It is kept to show by how much it is off.
    """
    reach = math.hypot(numbers.clip, numbers.intercept)
    smooth = numbers.curvature * reach**2
    lipschitz = smooth * numbers.radius + numbers.slope * reach
    c = math.sqrt(2 * math.log(1.25 / delta))
    return 2 * c * (smooth / numbers.row_scale + lipschitz / numbers.cross_scale), 2 * delta


@dataclass(frozen=True, kw_only=True)
class InputPlan(Plan):
    """Calibrated input perturbation; ``numbers`` is None when the budget is infinite."""

    numbers: InputNumbers | None
    setting: Setting
    strength: float
    penalty: Penalty | None = None

    def run(self, problem: Problem, source: Source) -> Solution:
        """Perturb every record, add up, train: the three parties in one process."""
        records, numbers = problem.records, self.numbers
        sums = Sums.empty(records.features)
        second, cross = np.zeros((records.features, records.features)), np.zeros(records.features)
        for block in records.blocks():
            x, y = block.design(), block.targets[:, 0]
            if numbers is None:
                second += x.T @ x
                cross += x.T @ y
            else:
                sums = sums.plus(Sums.of(*numbers.perturb(x, y, source)))
        if numbers is not None:
            return numbers.train(sums, source, self.penalty)
        loss, size = self.setting.surrogate, records.features
        matrix, target = loss.curvature * second + self.strength * np.eye(size), loss.slope * cross
        if self.penalty is not None:
            strengths = self.penalty.strengths(records.count, size, self.setting.intercept)
            exact = Quadratic.of(matrix, target, self.setting.radius)
            weights, gap = Penalised(exact, strengths, self.penalty.knee).solve()
            check(gap < math.inf, "Without a ridge these records have no one minimiser. Pass regularization > 0.")
            return Solution(weights[:, None], gap)
        plain = minimise(matrix, target, self.setting.radius)
        return Solution(plain.weights[:, None], plain.gap)


def plan_of(numbers: InputNumbers, setting: Setting, budget: Budget, calibration: Calibration, count: int) -> InputPlan:
    """The plan of ``count`` contributors, with its events and its words."""
    words = [
        f"quadratic loss '{setting.surrogate.name}', weights within {setting.radius:.6g}, "
        f"calibrated for {setting.cohort:,} contributors",
        f"each record perturbed by its owner: row noise {numbers.row_scale:.6g}, cross noise {numbers.cross_scale:.6g}",
    ]
    events: tuple[Event, ...] = numbers.events(count)
    if calibration == "paper":
        proved = accounting.epsilon(events, budget.delta, "replace-one")
        claimed, at = corollary_1(numbers, budget.delta)
        words.append(f"what Tacit can prove for this noise is epsilon = {at_most(proved)}")
        words.append(f"Corollary 1 states epsilon = {claimed:.4g} at delta = {at:.3g} for the record")
        events = (Claimed(budget.epsilon, budget.delta, PAPER),)
    theorem = "input-paper" if calibration == "paper" else "input"
    return InputPlan(
        numbers=numbers, setting=setting, strength=numbers.strength, events=events, theorem=theorem,
        assumptions=tuple(words), record=Released(numbers.record_events, "input-record"),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class InputPerturbation:
    """Input perturbation. ``radius`` eta (None: by rule); ``record_epsilon`` what contributors ask for themselves.

    ``surrogate`` is the logistic loss's stand-in: 'paper' or 'least-squares'. ``cohort`` None is the number of records.
    ``honest`` is the fraction of contributors whose noise is counted: all of it where one process draws it, less where
    strangers do (:class:`tacit.protocol.Protocol`). ``penalty`` is a convex regulariser beside the ridge
    (:mod:`tacit.mechanisms.input_penalty`): the price is the same.
    """

    radius: float | None = None
    record_epsilon: float | None = None
    surrogate: str = "paper"
    cohort: int | None = None
    honest: float = 1.0
    penalty: Penalty | None = None
    site: ClassVar[Site] = "input"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check(self.penalty is None or isinstance(self.penalty, Penalty), "Expected penalty=Penalty(weight, knee=...).")
        check_fields(self)
        check_choice("surrogate", self.surrogate, NAMES)
        check(0 < self.honest <= 1, f"Expected 0 < honest={self.honest} <= 1.")
        if self.cohort is not None:
            check_count("cohort", self.cohort, COUNT)
        for name in ("radius", "record_epsilon"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """One score, and a loss that is quadratic or has a quadratic stand-in."""
        if facts.loss.name not in RADIUS or facts.outputs > 1:
            return (
                "Input perturbation needs the squared loss, or the logistic loss of two classes. "
                "Use method='input-local'."
            )
        if self.record_epsilon is not None and calibration == "paper":
            return "The paper's noise leaves no choice of the record's epsilon. Use calibration='proven'."
        if self.honest != 1 and calibration == "paper":
            return "The paper relies on everyone's noise. Use honest=1.0, or calibration='proven'."
        return ""

    def setting(self, facts: Facts) -> Setting:
        """The public setting of a run."""
        name = "squared" if facts.loss.name == "squared" else self.surrogate
        check(name != "squared" or facts.loss.name == "squared", "Expected surrogate 'least-squares' or 'paper'.")
        reach = RADIUS[facts.loss.name] / facts.radius
        radius = reach if self.radius is None else check_positive("radius", self.radius)
        clip = math.sqrt(facts.radius**2 - facts.constant**2)
        cohort = facts.records if self.cohort is None else self.cohort
        loss = Surrogate.named(name, radius * facts.radius)
        return Setting(
            features=facts.features, cohort=cohort, clip=clip, intercept=facts.constant, surrogate=loss, radius=radius,
            honest=float(self.honest),
        )  # fmt: skip

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> InputPlan:
        """Choose the noise of every contributor."""
        setting = self.setting(facts)
        strength = None if regularization is None else regularization * facts.records
        if not budget.private:
            free = setting if self.radius is not None else replace(setting, radius=1e9)
            return InputPlan(
                numbers=None, setting=free, strength=strength or 0.0, events=(), theorem="input", penalty=self.penalty
            )
        if budget.adjacency != "replace-one":
            refuse("Input perturbation is analysed for replace-one neighbours only. Use adjacency='replace-one'.")
        check(budget.delta > 0, "Input perturbation adds Gaussian noise: it needs delta > 0.")
        if strength is not None:
            check(strength > 0, "Input perturbation needs regularization > 0; leave it out to have it chosen.")
        if calibration == "paper":
            numbers = published(setting, budget, strength)
        else:
            numbers = proven(setting, budget, strength, self.record_epsilon)
        plan, sure = plan_of(numbers, setting, budget, calibration, facts.records), numbers.sure(facts.records)
        word = (
            f"one process draws all noise and sees the records; the noise of {sure:,} of {facts.records:,} is counted"
        )
        words = (*plan.assumptions, word)
        if self.penalty is not None:
            numbers.check_penalty(self.penalty.strengths(facts.records, facts.features, facts.constant), facts.records)
            words = (*words, f"penalty {self.penalty.weight:g} on weights, knee {self.penalty.knee:g}: public, convex")
        return replace(plan, assumptions=words, penalty=self.penalty)


METHODS = (
    Method(
        name="input",
        mechanism=InputPerturbation(),
        paper="Fukuchi, Tran & Sakuma 2017, repaired",
        about="everyone perturbs their own record; the model is learned from sums (replace-one only)",
        calibrations=("proven", "paper"),
    ),
)
