"""Deliberately broken mechanisms, one for each mistake that a real library made. Each must be caught."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from tacit.linear.losses import HuberHinge, Logistic, Squared
from tacit.mechanisms import GradientPerturbation, ObjectivePerturbation, Output, SufficientStatistics, Svrg, Whitened
from tacit.mechanisms.adaptive import AdaptiveGradient
from tacit.mechanisms.base import Plan
from tacit.mechanisms.newton_steps import NoisyNewton
from tacit.mechanisms.samplers import Poisson
from tacit.mechanisms.unshrunk import Unshrunk, matrices
from tacit.mechanisms.whitened import mapped, second_moment, whitening
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Gaussian, Objective, PoissonGaussian, Sensitivity
from tacit.privacy.noise import add_gaussian, gaussian
from tacit.types import Budget, Solution


def objective_with_r(facts, epsilon, delta, adjacency):
    """Objective perturbation whose curvature is scaled by R where the Hessian needs R squared."""
    wrong = facts.loss.trace * facts.radius
    strong = 10 * wrong / epsilon

    def released(scale):
        slope = facts.loss.lipschitz * facts.radius
        return (Objective(slope=slope, trace=wrong, strength=strong, scale=scale, geometry=facts.loss.geometry),)

    scale = smallest_scale(released, Budget(epsilon, delta, adjacency), guess=facts.gradient)
    return strong, scale, released(scale)


def objective_without_determinant(facts, epsilon, delta, adjacency):
    """Objective perturbation that forgets the determinant, at a regularisation where it is most of the price."""
    strong = facts.curvature / math.expm1(2 * epsilon)

    def released(scale):
        return (
            Objective(
                slope=facts.loss.lipschitz * facts.radius,
                trace=1e-12,
                strength=strong,
                scale=scale,
                geometry=facts.loss.geometry,
            ),
        )

    scale = smallest_scale(released, Budget(epsilon, delta, adjacency), guess=facts.gradient)
    return strong, scale, released(scale)


def kifer_without_condition(facts, epsilon, delta, adjacency):
    """Kifer et al.'s noise, without their Lambda >= 2 beta / epsilon."""
    strong = facts.curvature / math.expm1(3 * epsilon)
    scale = facts.gradient * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
    return strong, scale, None


def half_output(facts, budget):
    """Output perturbation with half of its sensitivity."""
    plan = Output().calibrate(budget, facts, 0.1, "proven")
    half = replace(plan.events[0], sensitivity=plan.events[0].sensitivity.times(0.5), scale=0.5 * plan.scale)
    return replace(plan, scale=0.5 * plan.scale, events=(half,))


@dataclass(frozen=True)
class Twin(Plan):
    """A plan that runs in another way than the sound one whose events it declares."""

    base: Plan
    events: tuple = field(default=(), kw_only=True)
    theorem: str = field(default="", kw_only=True)

    def __post_init__(self):
        object.__setattr__(self, "events", self.base.events)
        object.__setattr__(self, "theorem", self.base.theorem)


@dataclass(frozen=True)
class BatchMeanPlan(Twin):
    """Noisy gradient descent that clips the sum of gradients instead of each record's."""

    def run(self, problem, source):
        n = problem.records.count

        def gradient(weights):
            total = problem.gradient(weights)
            total *= min(1.0, n * self.base.clip / max(float(np.linalg.norm(total)), 1e-300))
            return add_gaussian(total, self.base.scale, source) / n

        return self.base.descent.run(gradient, problem.start())


def batch_mean(facts, budget):
    """A plan that clips the mean to a quarter of a record's largest gradient."""
    mechanism = GradientPerturbation(clip=0.25 * facts.gradient, steps=5)
    return BatchMeanPlan(mechanism.calibrate(budget, facts, None, "proven"))


def one_sided_statistics(facts, budget):
    """Sufficient statistics under replace-one with the sensitivity of add-remove."""
    plan = SufficientStatistics().calibrate(replace(budget, adjacency="add-remove"), facts, None, "proven")
    event = plan.events[0]
    single = event.sensitivity.add_remove
    return replace(plan, adjacency="replace-one", events=(replace(event, sensitivity=Sensitivity(single, single)),))


@dataclass(frozen=True)
class PartlySilentPlan(Twin):
    """Releases whose second half gets no noise (the off-diagonal of a covariance, in another library)."""

    def run(self, problem, source):
        import tacit.privacy.noise as door

        whole = door.gaussian_steps

        def silent(inner_source, shape, scale, step):
            noise = whole(inner_source, shape, scale, step)
            noise.ravel()[noise.size // 2 :] = 0
            return noise

        door.gaussian_steps = silent
        try:
            return self.base.run(problem, source)
        finally:
            door.gaussian_steps = whole


@dataclass(frozen=True)
class PlainAnchorPlan(Twin):
    """DP-SVRG whose anchor gradient has no noise: only the differences do."""

    def run(self, problem, source):
        plan, n, anchor = self.base, problem.records.count, problem.start()
        for _ in range(plan.rounds):
            full = problem.clipped_gradient(anchor, plan.clip) / n
            weights = anchor
            for rows in Poisson(0.3).batches(n, plan.inner, source):
                part = replace(problem, records=problem.records.take(rows))
                change = part.clipped_gradient(weights, plan.difference_clip, anchor)
                change = add_gaussian(change, plan.inner_scale, source) / (0.3 * n)
                weights = weights - plan.step * (full + change)
            anchor = weights
        return Solution(anchor)


@dataclass(frozen=True)
class FixedBatches:
    """The same batches in turn, priced as if each record tossed a coin."""

    rate: float

    def batches(self, records, steps, source):
        size = round(self.rate * records)
        for step in range(steps):
            yield (step * size + np.arange(size)) % records

    def event(self, steps):
        return PoissonGaussian(clip=1.0, scale=1.0, rate=self.rate, count=steps)


class ByteSource:
    """A generator seeded with one byte of entropy."""

    seeded = False

    def words(self, count):
        import os

        seed = os.urandom(1)[0]
        return np.random.PCG64(seed).random_raw(count)


@dataclass(frozen=True)
class PlainInterceptPlan(Twin):
    """Output perturbation that leaves the last coordinate, the intercept, as it is."""

    def run(self, problem, source):
        weights = self.base.trainer.train(problem, source)
        weights[:-1] += self.base.scale * gaussian(source, weights[:-1].shape)
        return Solution(weights)


@dataclass(frozen=True)
class CountingPlan(Twin):
    """A descent that divides the batch by its own, private size before adding noise."""

    def run(self, problem, source):
        def gradient(weights):
            mean = problem.clipped_gradient(weights, self.base.clip) / problem.records.count
            return add_gaussian(mean, self.base.scale / problem.records.count, source)

        return self.base.descent.run(gradient, problem.start())


def kifer_like_objective(facts, budget):
    """The proven mechanism with a quarter of its noise, and events that still say the whole."""
    plan = ObjectivePerturbation().calibrate(budget, facts, None, "proven")
    return plan.strength, 0.25 * plan.scale, plan.events


def gaussian_event(norm, scale):
    return (Gaussian(Sensitivity.of_record(norm), scale),)


def plain_anchor(facts, budget):
    """DP-SVRG whose anchor passes the door by no release."""
    return PlainAnchorPlan(Svrg(rounds=2, inner=3, rate=0.3).calibrate(budget, facts, None, "proven"))


def newton_without_hessian(facts, budget):
    """Newton steps priced as if the gradient alone were released."""
    plan = NoisyNewton().calibrate(budget, facts, None, "proven")
    (event,) = plan.events
    alone = Sensitivity.of_record(plan.clip)
    scale = plan.scale * alone.replace_one / event.sensitivity.replace_one
    return replace(plan, scale=scale, events=(replace(event, sensitivity=alone, scale=scale),))


def heavy_level(facts, budget):
    """An adaptive clip whose level is weighted three times what its price is for; it starts where nobody is clipped."""
    plan = AdaptiveGradient(steps=20).calibrate(budget, facts, None, "proven")
    lowest, _, highest = plan.clips
    return replace(plan, weight=3 * plan.weight, clips=(lowest, highest, highest))


def heavy_equations(facts, budget):
    """Normal equations whose gradients are weighted twice what is priced."""
    plan = Unshrunk().calibrate(budget, facts, None, "proven")
    return replace(plan, clip=2 * plan.clip, layout=replace(plan.layout, weight=4 * plan.layout.weight))


@dataclass(frozen=True)
class PlainSlopesPlan(Twin):
    """A last step whose Hessian and squared slopes are those of the records, without noise."""

    def run(self, problem, source):
        near, inverse = self.base._near(problem, source)
        gradient = add_gaussian(problem.clipped_gradient(near, self.base.clip), self.base.scales[1], source)
        curves, _ = matrices(problem, near - 0.5 * inverse @ gradient)
        return Solution(near - np.linalg.pinv(curves) @ gradient)


def plain_slopes(facts, budget):
    """The twin of the last step."""
    return PlainSlopesPlan(Unshrunk().calibrate(budget, facts, None, "proven"))


@dataclass(frozen=True)
class PlainMapPlan(Twin):
    """Whitened rows whose map is that of the second moment itself: what is priced is never released."""

    def run(self, problem, source):
        even = whitening(second_moment(problem), self.base.floor, self.base.energy)
        solution = self.base.inner.run(mapped(problem, even), source)
        return replace(solution, weights=even @ solution.weights)


def plain_map(mechanism):
    """The twin of a whitened mechanism, as a function of facts and a budget."""
    return lambda facts, budget: PlainMapPlan(mechanism.calibrate(budget, facts, None, "proven"))


WHITENED = Whitened(GradientPerturbation(steps=5)), Whitened(ObjectivePerturbation())


@dataclass(frozen=True)
class Mistake:
    """A sound mechanism and a broken plan that replay on replaced records tells from it, by a sentence with ``word``.

    ``broken`` makes the plan from facts and a budget, as the mechanism's ``calibrate`` does from these and
    ``regularization``.
    """

    name: str
    mechanism: object
    broken: Callable
    loss: object
    word: str = "declared"
    regularization: float | None = None

    def sound(self, facts, budget):
        """The plan without the mistake."""
        return self.mechanism.calibrate(budget, facts, self.regularization, "proven")


REPLAYED = [
    Mistake("half the sensitivity", Output(), half_output, HuberHinge(), regularization=0.1),
    Mistake("the sum is clipped", GradientPerturbation(clip=0.25, steps=5), batch_mean, Logistic()),
    Mistake("statistics of add-remove", SufficientStatistics(), one_sided_statistics, Squared()),
    Mistake("a plain anchor", Svrg(rounds=2, inner=3, rate=0.3), plain_anchor, Logistic(), word="without noise"),
    Mistake("a Hessian for nothing", NoisyNewton(), newton_without_hessian, Logistic()),
    Mistake("a map for nothing", WHITENED[0], plain_map(WHITENED[0]), Logistic(), word="without noise"),
    Mistake("a map and a minimum", WHITENED[1], plain_map(WHITENED[1]), Logistic(), word="without noise"),
    Mistake("heavy equations", Unshrunk(), heavy_equations, Squared()),
    Mistake("plain curvature", Unshrunk(), plain_slopes, Logistic(), word="without noise"),
    Mistake("a level for nothing", AdaptiveGradient(steps=20), heavy_level, Squared()),
]
"""A new mechanism's twin is one row: the tests' own replay and the auditor's must both find it."""
