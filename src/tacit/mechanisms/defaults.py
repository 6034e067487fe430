"""The rules: every number that a user did not set, from public facts alone (n, d, loss, epsilon, delta, adjacency).

Each rule balances two sides that are known in advance: the bias of a small model (a strong regulariser, a short
descent) against the noise that a large one lets in. The constants were set once, on several data sets together, and are
the same for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.checks import check, check_count, check_positive
from tacit.linear.smoothing import beta, check_smoothing
from tacit.linear.solvers.certain import least_strength
from tacit.linear.solvers.descent import Average, Descent, Schedule
from tacit.mechanisms.samplers import Disjoint, Everyone, Sampler
from tacit.privacy.accounting import gaussian_mu
from tacit.privacy.events import COUNT, Gaussian, Sensitivity
from tacit.privacy.noise import grid_slack
from tacit.types import Budget, Facts

MOST_STEPS = 300
CLEAR = 60.0
"""The signal from which on one exact minimisation beats many noisy steps."""
NORM = 5.0
"""The norm that a good weight vector is expected to have, for rows of norm 1 and scores of order 1."""
SHARP = 50.0
"""The precision from which on one release of a regression (its minimum) beats a noisy descent without clipping."""
MOMENTS = 1000.0
"""The precision from which on the moments of a regression are as good as a descent whose clip follows the residuals."""
PATIENCE = 1_000_000
"""From so many records on the precision SHARP is enough for moments: one pass, not one per step."""
WHITE = 25.0
"""The signal from which on a classifier of two classes gains by whitening its rows first."""
SMALL, SMALL_SEEN = 2000, 0.25
"""With fewer records than this the descent on whitened rows is ahead of the minimum, where rows are seen so clearly
(:func:`seen`)."""
SEVERAL_COLUMNS, SEVERAL_SEEN, PAIR_SEEN = 32, 6.0, 2.2
"""Where rows of people with several are seen so clearly (or with two), the minimum is ahead of the descent, which cuts
rare outcomes. Below that, a descent is on whitened rows from so many columns on: on narrow ones it is as fast without.
"""
WHITE_COLUMNS, WHITE_NUMBERS = 1000, 2**27
"""Whitening by rule stops at so many columns, and at so many numbers in the mapped copy of the rows (a gigabyte)."""


def check_descent(
    *,
    steps: int | None,
    clip: float | None,
    step: float | None,
    momentum: float | None,
    radius: float,
    smoothing: float,
) -> None:
    """Refuse settings of a noisy descent that no descent has; None is left to a rule."""
    if steps is not None:
        check_count("steps", steps, COUNT)
    for name, value in (("clip", clip), ("step", step)):
        if value is not None:
            check_positive(name, value)
    check(momentum is None or 0 <= momentum < 1, f"Expected 0 <= momentum={momentum} < 1.")
    check(radius > 0, f"Expected radius={radius} > 0.")
    check_smoothing(smoothing)


def mu(budget: Budget) -> float:
    """The Gaussian-DP parameter that what is left of a budget is worth; for pure budgets that of delta = 1e-6."""
    if not budget.private:
        return 1e6
    whole = gaussian_mu(min(budget.epsilon, 50.0), budget.delta or 1e-6)
    spent = sum(event.count * (event.sensitivity.under(budget.adjacency) / event.scale) ** 2 for event in budget.spent)
    return math.sqrt(max(whole**2 - spent, 1e-4 * whole**2))


def share_of(budget: Budget, share: float, moved: Sensitivity, size: int) -> tuple[Gaussian, ...]:
    """One Gaussian release of ``size`` numbers for about this part of the budget's mu^2; none where nothing is private.

    The price is that of the event, whatever part it turns out to be.
    """
    if not budget.private:
        return ()
    bare = moved.under(budget.adjacency) / (math.sqrt(share) * mu(budget))
    scale = bare / (1 - grid_slack(bare, size) / bare)
    return (Gaussian(moved.plus(grid_slack(scale, size)), scale),)


def spread(budget: Budget, facts: Facts, noise: str = "gaussian") -> float:
    """K: the norm of the noise that one release of a sum of gradients needs, ``S G sqrt(size) / mu``.

    For sphere noise ``S G size / epsilon``; S is 1 for add-remove and 2 for replace-one.
    """
    factor = 1.0 if budget.adjacency == "add-remove" else 2.0
    if noise == "sphere":
        return factor * facts.gradient * facts.size / min(budget.epsilon, 1e6)
    return factor * facts.gradient * math.sqrt(facts.size) / mu(budget)


def output_strength(budget: Budget, facts: Facts, noise: str) -> float:
    """Lambda that minimises ``(n beta / 2)(K / Lambda)^2 + (Lambda / 2) NORM^2``: noise against bias.

    Never below what a minimum can be certified with.
    """
    noisy = spread(budget, facts, noise)
    balance = math.cbrt(2 * facts.records * facts.curvature * noisy**2 / NORM**2)
    return max(1e-3, balance, least_strength(facts))


def output_time(budget: Budget, facts: Facts) -> float:
    """Learning time t (steps times step size, on the mean objective): ``NORM^2/(2t)`` against ``(b/2)(t K / n)^2``."""
    noisy = spread(budget, facts) / facts.records
    return min(MOST_STEPS / facts.curvature, math.cbrt(NORM**2 / (2 * facts.curvature * noisy**2)))


def objective_strength(budget: Budget, facts: Facts, noise: str) -> float:
    """Lambda for objective perturbation: ``S R^2 / (epsilon (1 + epsilon))`` times the models and directions.

    At small epsilon the determinant then costs next to nothing (its share vanishes altogether from Lambda = R^2/epsilon
    on, for the logistic loss under add-remove); at large epsilon it takes a part of what is plenty. Never below
    ``n (d / 1.6e11)^(2/3)``, about 1e-6 of n: the rounding of a minimum that is less curved would take a noise to hide
    that shows, for it grows as ``d (n / Lambda)^(3/2)``, and 1.25 sqrt(d) times that for the sphere's noise. Nor below
    what a minimum can be certified with. For people with several rows the determinant's bound is linear in 1/Lambda,
    and not a logarithm: it may take a quarter of epsilon at most.
    """
    factor = 1.25 if budget.adjacency == "add-remove" else 2.5
    epsilon = min(budget.epsilon, 50.0)
    steep = max(1.0, 4 * facts.loss.trace * facts.models)
    wide = 1.25 * math.pow(facts.features, 1.5) if noise == "sphere" else facts.features
    least = facts.records * math.pow(wide / 1.6e11, 2 / 3)
    if (facts.rows_per_person or 1) > 1:
        least = max(least, steep / epsilon)
    chosen = max(factor * steep / (epsilon * (1 + epsilon)), least) * facts.radius**2
    return max(chosen, least_strength(facts))


def signal(budget: Budget, records: int, size: int) -> float:
    """``mu n / (S sqrt(size))``: the size of a sum of aligned gradients over that of the noise on it."""
    factor = 1.0 if budget.adjacency == "add-remove" else 2.0
    return mu(budget) * records / (factor * math.sqrt(size))


def margin(method: str, budget: Budget, facts: Facts) -> float:
    """The margin of the logistic loss: 2 where noise rules, falling to 0 (plain logistic regression) as it fades.

    It is for objective perturbation of two classes, and for noisy gradient descent with several; all else keeps the
    plain loss. Whitened rows are learned as soon as
    M (:func:`precision`) is clear, and from then on a margin only spoils the probabilities.
    """
    if not budget.private or (facts.outputs > 1 and not facts.loss.coupled):
        return 0.0
    if facts.loss.coupled:
        return 2.0 / (1.0 + signal(budget, facts.records, facts.size) / 300.0) if method.endswith("gradient") else 0.0
    if method == "whitened-objective":
        return 2.0 / (1.0 + (precision(budget, facts) / 40.0) ** 2)
    return 2.0 / (1.0 + signal(budget, facts.records, facts.size) / 1e4) if method == "objective" else 0.0


def whitened_length(budget: Budget, facts: Facts) -> float:
    """The root mean square norm of whitened rows, in units of the radius to which they are clipped.

    Longer where noise rules, so that most rows use the whole radius; shorter where it fades, so that few are cut. One,
    for coupled scores, whose gradients are clipped anyway.
    """
    if facts.loss.coupled:
        return 1.0
    return min(1.6, max(0.6, math.pow(signal(budget, facts.records, facts.size) / 400.0, -0.25)))


def whitening_rule(facts: Facts) -> tuple[float, float]:
    """The part of mu^2 for the second moment, and the floor under its eigenvalues in units of the noise's edge."""
    return (0.05, 1.0) if facts.loss.coupled else (0.08, 0.6)


def seen(budget: Budget, facts: Facts) -> float:
    """How clearly a noisy second moment shows the rows: ``mu n / (S d^1.5)``.

    Rows without a preferred direction have eigenvalues n R^2/d; the noise's edge is ``S R^2 sqrt(2 d)`` over mu and the
    root of its share.
    """
    return signal(budget, facts.records, facts.features**3)


def whitens(budget: Budget, facts: Facts) -> bool:
    """Whether 'auto' may whiten the rows of a classifier: where something is seen, and the mapped copy is not large."""
    small = facts.features <= WHITE_COLUMNS and facts.features * facts.records <= WHITE_NUMBERS
    return budget.private and budget.delta > 0 and small and seen(budget, facts) >= 0.05


def precision(budget: Budget, facts: Facts) -> float:
    """M = ``mu n / (S d sqrt(models))``: a descent of clip C (in half ranges of the target) ends about C / M off."""
    return signal(budget, facts.records, facts.features**2 * facts.models)


SURVEY, CONTEST = 0.06, 0.1
"""The parts of mu^2 that counts may cost: those by which numbers are cut, and those by which pairs are chosen."""


CROWDED = 400.0
"""The signal, of ten slots per column, from which on counts by which numbers are cut are worth their price."""


def counts_first(budget: Budget, records: int, columns: int) -> bool:
    """Whether an additive model cuts its numbers by noisy counts, where nobody says how."""
    clear = signal(budget, records, 10 * columns) >= CROWDED
    return budget.private and budget.delta > 0 and clear


def slots(budget: Budget, records: int, columns: int) -> int:
    """How many slots an additive model gives to each number: more, the clearer the signal; 4 to 24.

    A curve of k slots is off by about 1/k^2 of its bend, and its noise grows with the root of k.
    """
    return max(4, min(24, round(6 * math.pow(signal(budget, records, 10 * columns) / 100.0, 0.25))))


def additive_strength(budget: Budget, facts: Facts) -> float:
    """Lambda for the curves of an additive model, by objective perturbation: never below R^2/2.

    Columns that say the same (a degree, and its years) have curves that only their sum holds in place; each by itself
    moves by the noise over Lambda. At a large epsilon the rule for scores alone would let them drift by tens of units.
    """
    return max(objective_strength(budget, facts, "gaussian"), 0.5 * facts.radius**2)


def regression_clip(budget: Budget, facts: Facts) -> float:
    r"""The clip for the squared loss: 0.03 of R B, R the radius and B the targets' half range, more where M is large.

    Descent over all records, T steps with clip C, has the noise ``S C sqrt(T) / mu`` a step. Far from the start, a step
    size a leaves the variance ``(a / 2h) (S C / (mu n))^2 T`` in each weight, h the curvature along it. Reaching that
    state takes a T of a few 1/h, so the variance is a few times ``(S C / (mu n h))^2``, whatever T. Rows of norm R with
    no preferred direction have h = R^2/d: predictions are off by a few times ``C/(R M)``. So the smaller C the better,
    until most residuals are clipped. Then h falls with C (it counts the records that are not clipped) and the error
    stays at the residuals' own scale over M, without knowing that scale; it is why targets that use a small part of
    their range are learned too.

    What a small clip costs is bias: the model is drawn from the mean towards the median. Symmetric residuals have
    none. Lognormal ones cost 4 to 7 percent of RMSE, and little less with a clip five times this; hence the slow
    growth, ``0.003 M``. :mod:`tacit.mechanisms.adaptive` pays to know the residuals' scale, and 'auto' takes that.
    """
    share = min(1.0, max(0.03, 0.003 * precision(budget, facts)))
    return share * facts.radius * facts.loss.lipschitz / 2


def target_size(facts: Facts) -> float | None:
    """B: the size of the largest target where targets are numbers, and the scale of their scores; None for classes."""
    targets = facts.loss.targets
    return None if isinstance(targets, str) else max(-targets[0], targets[1])


@dataclass(frozen=True, kw_only=True)
class DescentRule:
    """How a noisy descent is run, but for its step size."""

    steps: int
    clip: float
    momentum: float
    schedule: Schedule
    average: Average


def descent(budget: Budget, facts: Facts, sampler: Sampler, noise: str) -> DescentRule:
    """Steps, clip, momentum, schedule and averaging.

    Independent models: half the largest gradient that a record can have is the clip, and steps fall linearly. Coupled
    scores: a third of the row norm, and equal steps, more of them for wide rows and clear signals; momentum itself
    averages the last ten. Numbers as targets: the mean of the last half; the squared loss with :func:`regression_clip`.
    Other losses of numbers (counts, quantiles) are not clipped at all: their slopes of both signs balance at what is
    asked for, a mean or a quantile, and cutting the longer side would move it.
    """
    numbers, squared = target_size(facts) is not None, facts.loss.name == "squared"
    clip = (1.0 if numbers and not squared else 0.5) * facts.radius * facts.loss.lipschitz
    if isinstance(sampler, Disjoint):
        return DescentRule(
            steps=max(1, min(50, facts.records // 20)), clip=clip, momentum=0.0, schedule="inverse-root", average="last"
        )
    steps = 80 if isinstance(sampler, Everyone) else 200
    if facts.loss.coupled:
        clear = signal(budget, facts.records, facts.size) / 100 if budget.private else 1.0
        steps = round(steps * math.sqrt(min(16.0, max(1.0, facts.features / 256, clear))))
        return DescentRule(steps=steps, clip=0.35 * facts.radius, momentum=0.9, schedule="constant", average="last")
    if numbers and budget.private:
        return DescentRule(
            steps=steps,
            clip=regression_clip(budget, facts) if squared else clip,
            momentum=0.9,
            schedule="linear",
            average="tail",
        )
    return DescentRule(steps=steps, clip=clip, momentum=0.9, schedule="linear", average="last")


def step_size(
    facts: Facts, rule: DescentRule, scale: float, divisor: float, noise: str = "gaussian", models: int = 1,
    smoothing: float = 0.0, optimizer: str = "sgd",
) -> float:  # fmt: skip
    """The step size on the mean gradient.

    The learning time t (sum of step sizes over 1 - momentum) is set so that the noise gathered along the way, ``t scale
    sqrt(size) / (sqrt(steps) divisor)``, moves a score by at most 18.75 clip/R. For K coupled scores each weight's
    noise, which is what the score of a row of norm 1 gets, is 0.63 sqrt K whatever the number of columns: scores, and
    not weights, have a scale of their own, whatever the norm R of the rows. With numbers as targets, whose largest B is
    the scores' scale, by 1.25 B, and by less where M is below 4. Smoothing leaves the part beta of the noise's square;
    half of that gain (on a logarithmic scale) goes into a longer time, ``beta^(-1/4)``. The step is kept below the
    stability limit of heavy-ball descent, 2 (1 + momentum)/curvature, with the curvature at equal scores,
    trace/directions. Adam divides by the noise that it sees: its step is multiplied by it.
    """
    length = facts.size if noise == "sphere" else math.sqrt(facts.size)
    shape = Descent(steps=rule.steps, step=1.0, momentum=rule.momentum, schedule=rule.schedule)
    weight = sum(shape.size(t) for t in range(rule.steps)) / (1 - rule.momentum)
    left = beta(facts.size, smoothing) if smoothing else 1.0
    if not scale:
        return 0.1 if optimizer == "adam" else 1.8 * (1 + rule.momentum) / facts.curvature
    wide = 0.63 * facts.outputs * math.sqrt(facts.features)
    goal = wide / facts.radius if facts.loss.coupled else 18.75 * rule.clip / facts.radius**2
    size = target_size(facts)
    if size is not None:
        sharp = rule.clip * math.sqrt(rule.steps) * divisor / (scale * facts.features)
        goal = min(1.25, 0.3 * sharp) * size / facts.radius
    time = float(left**-0.25) * goal * math.sqrt(rule.steps) * divisor / (scale * length / math.sqrt(models))
    curvature = facts.radius**2 * facts.loss.trace / facts.loss.directions if facts.loss.coupled else facts.curvature
    step = min(1.8 * (1 + rule.momentum) / curvature, time / weight)
    if optimizer == "adam":
        return step / (1 - rule.momentum) * math.sqrt(left) * scale / divisor
    return step


def prefer(budget: Budget, facts: Facts, *, whiten: bool = True) -> str:
    """The method that 'auto' stands for; ``whiten``: whether it may be one that whitens rows.

    Squared loss: noisy gradient descent with a clip that follows the residuals, whose noise is in proportion to them
    and not to the declared range; sufficient statistics where even that range over M is nothing. Other losses of
    numbers: objective perturbation from M = SHARP on, noisy gradient descent below. Several classes: noisy
    gradient descent, whose noise does not grow with the directions of a record's gradient. Two classes: objective
    perturbation, on whitened rows, where the signal is clear of the noise; noisy gradient descent below, and with few
    records, on whitened rows too. People with several rows: objective perturbation on whitened rows where their second
    moment is clear; else noisy gradient descent, for it knows that a mean of several gradients is short. It cuts that
    mean, a rare outcome's the most, so its probabilities of one are too low.
    """
    clear, several = precision(budget, facts), (facts.rows_per_person or 1) > 1
    if facts.loss.name == "squared" and facts.models == 1:
        enough = SHARP if facts.records >= PATIENCE else MOMENTS
        return "statistics" if facts.features <= 1000 and clear >= enough else "adaptive"
    if target_size(facts) is not None:
        return "objective" if clear >= SHARP and not several else "gradient"
    if facts.outputs > 1:
        return "whitened-gradient" if whiten and facts.loss.coupled and whitens(budget, facts) else "gradient"
    return _of_two_classes(budget, facts, whiten=whiten, several=several)


def _of_two_classes(budget: Budget, facts: Facts, *, whiten: bool, several: bool) -> str:
    strong = signal(budget, facts.records, facts.size)
    whiten = whiten and whitens(budget, facts)
    if several:
        enough = PAIR_SEEN if facts.rows_per_person == 2 else SEVERAL_SEEN
        if whiten and strong >= WHITE and seen(budget, facts) >= enough:
            return "whitened-objective"
        wide = facts.features >= SEVERAL_COLUMNS and strong >= WHITE
        return "whitened-gradient" if whiten and wide else "gradient"
    if whiten:
        if facts.records < SMALL and seen(budget, facts) >= SMALL_SEEN:
            return "whitened-gradient"
        if strong >= WHITE:
            return "whitened-objective"
    return "objective" if strong >= CLEAR else "gradient"
