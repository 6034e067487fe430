"""The checks themselves, as plain functions: exact privacy loss, record and replay, and noise tests.

Each returns violations or a measured number, so that tests show both that Tacit passes and that a broken twin fails.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import dataclass, field, replace
from unittest import mock

import numpy as np
from scipy import special, stats

import tacit.estimators.base
import tacit.privacy.noise
from tacit.linear.problem import Problem, Records
from tacit.mechanisms import METHODS
from tacit.privacy import accounting
from tacit.privacy.events import Gaussian, Objective, PoissonGaussian, Sphere, SubsetGaussian
from tacit.privacy.noise import SeededSource
from tacit.types import Budget


# --- building -----------------------------------------------------------------------------------------------------
def problem_of(x, y, loss, *, clip=1.0, intercept=0.0, outputs=1):
    """A problem over clipped rows."""
    x = np.asarray(x, dtype=float)
    return Problem(Records.build(x, np.asarray(y, dtype=float), clip, intercept), loss, outputs)


def budget_for(mechanism, epsilon, delta, adjacency):
    """Pure mechanisms get delta = 0."""
    return Budget(epsilon, 0.0 if mechanism.pure else delta, adjacency)


REPLACE_ONLY = ("dp-sgd-subset", "output-wu-2017", "output-wu-2017-strong", "input", "input-local", "local-duchi-2013")
"""Methods whose analysis does not cover add-remove neighbours."""
CENTRAL = [name for name, method in METHODS.items() if method.mechanism.site != "input"]
"""The methods of a curator who holds the records; input perturbation has several parties, and tests of its own."""


def covers(name, adjacency):
    """Whether a method's analysis covers the adjacency."""
    return adjacency == "replace-one" or name not in REPLACE_ONLY


# --- the exact privacy loss in one dimension ----------------------------------------------------------------------
def gaussian_delta(mu, epsilon):
    """Balle & Wang 2018, written again for the tests."""
    if mu == 0:
        return max(0.0, 1 - math.exp(epsilon))
    return float(special.ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + special.log_ndtr(-epsilon / mu - mu / 2)))


def _line(loss, x, y, w):
    """Gradient sum and curvature sum of scalar losses with one weight, at every w."""
    z = np.outer(w, x)
    targets = np.broadcast_to(y, z.shape)
    slopes = loss.slope(z, targets) * x
    curves = loss.curve(z, targets, np.ones_like(z)) * x**2
    return slopes.sum(axis=1), curves.sum(axis=1)


def objective_loss(loss, here, there, *, strong, scale, noise="gaussian", reach=9.0, points=3001):
    """The exact privacy loss log p(w|D)/p(w|D') of the perturbed minimiser, at nodes t of the unit noise.

    p(w|D) = f(b(w)) |b'(w)| with b(w) = -(sum loss' + Lambda w); with t = b/scale as the variable of integration the
    measure under D is the unit noise's. Sphere noise in one dimension is Laplace noise.
    """
    bend = loss.lipschitz * np.abs(here[0]).sum()
    coarse = np.linspace(-1.0, 1.0, points) * (reach * scale + bend) / strong
    slope_here, _ = _line(loss, *here, coarse)
    w = np.interp(np.linspace(-reach, reach, points), (slope_here + strong * coarse) / scale, coarse)
    slope_here, curve_here = _line(loss, *here, w)
    unit = (slope_here + strong * w) / scale  # exact at w, whatever the interpolation did
    slope_there, curve_there = _line(loss, *there, w)
    moved = (slope_there + strong * w) / scale
    exponent = (lambda t: -0.5 * t * t) if noise == "gaussian" else (lambda t: -np.abs(t))
    loss_at = exponent(unit) - exponent(moved) + np.log((curve_here + strong) / (curve_there + strong))
    return unit, loss_at


def objective_delta(loss, here, there, *, strong, scale, epsilons):
    """The exact delta(epsilon) of one ordered pair, Gaussian noise: integral of f(t) (1 - e^{epsilon - loss(t)})_+."""
    unit, loss_at = objective_loss(loss, here, there, strong=strong, scale=scale)
    density = np.exp(-0.5 * unit**2) / math.sqrt(2 * math.pi)
    tails = 2 * special.ndtr(-9.0)  # counted in full: an upper bound on what lies outside the nodes
    parts = [density * -np.expm1(np.minimum(0.0, epsilon - loss_at)) for epsilon in epsilons]
    return [float(np.trapezoid(part, unit)) + tails for part in parts]


def one_record_pairs(radius, adjacency, targets=(1.0, -1.0)):
    """Adversarial neighbours with one feature: (D, D') as (rows, targets), every row within the clip.

    ``targets`` are two labels, or three numbers of a range, highest first. For labels (x, y) and (-x, -y) have the same
    loss, so flipped labels are the negative rows; one true flip stands for all.
    """
    high, *between, low = targets
    grid = [(radius, high), (-radius, high), (0.3 * radius, high), (0.0, high), (radius, low)]
    grid += [(radius, y) for y in between] + [(-radius, low) for _ in between]
    bases = [[], [(-radius, high), (radius, high)], [(radius, low)] * 4, [(0.5 * radius, high)] * 3]
    for base in bases:
        for position, first in enumerate(grid):
            for second in [None] if adjacency == "add-remove" else grid[position + 1 :]:
                yield _columns([*base, first]), _columns(base if second is None else [*base, second])


def _columns(pairs):
    table = np.array(pairs, dtype=float).reshape(-1, 2)
    return table[:, 0], table[:, 1]


# --- record and replay --------------------------------------------------------------------------------------------
@dataclass
class Call:
    """One pass through the door of randomness."""

    values: np.ndarray
    scale: float
    output: np.ndarray


@dataclass
class TapeSource:
    """Seeded words, recorded; or played back, where a call may ask for more or fewer words than were recorded.

    Sampling draws one word a record: a neighbour with a last record more (or less) gets the same words for the shared.
    """

    seed: int = 7
    tape: list = field(default_factory=list)
    playing: bool = False
    position: int = 0
    seeded: bool = True

    def __post_init__(self):
        self._fresh = SeededSource((self.seed, 1 if self.playing else 0))

    def words(self, count):
        if not self.playing:
            self.tape.append(self._fresh.words(count))
            return self.tape[-1]
        recorded = self.tape[self.position]
        self.position += 1
        if len(recorded) >= count:
            return recorded[:count]
        return np.concatenate([recorded, self._fresh.words(count - len(recorded))])

    def replayed(self):
        """A source that plays this one's words again."""
        return TapeSource(self.seed, self.tape, playing=True)


@contextlib.contextmanager
def door(frozen=None):
    """Record all releases; with ``frozen`` calls, give out their outputs instead of new ones."""
    calls, true_release = [], tacit.privacy.noise.release

    def recorded(values, scale, noise):
        output = true_release(values, scale, noise)
        if frozen is not None and len(calls) < len(frozen) and frozen[len(calls)].output.shape == output.shape:
            output = frozen[len(calls)].output
        calls.append(Call(np.array(values, copy=True), scale, output))
        return output.copy()

    with mock.patch.object(tacit.privacy.noise, "release", recorded):
        yield calls


@dataclass
class Trace:
    """Everything that happened in a run."""

    plan: object
    calls: list
    source: TapeSource
    guarantee: object = None


def record(plan, problem, seed=7):
    """Run a plan and record it."""
    source = TapeSource(seed)
    with door() as calls:
        plan.run(problem, source)
    return Trace(plan, calls, source)


def replay(trace, problem):
    """Run the same plan on a neighbour, with all outputs and shared random words frozen."""
    with door(trace.calls) as calls:
        trace.plan.run(problem, trace.source.replayed())
    return calls


def record_fit(estimator, X, y, seed=7, **given):
    """Fit an estimator and record it."""
    source, kept = TapeSource(seed), []
    true_prepare = tacit.estimators.base.prepare

    def keep(*args, **kwargs):
        kept.append(true_prepare(*args, **kwargs))
        return kept[-1]

    with (
        door() as calls,
        mock.patch.object(tacit.estimators.base, "source_from", return_value=source),
        mock.patch.object(tacit.estimators.base, "prepare", keep),
    ):
        estimator.fit(X, y, **given)
    return Trace(kept[0], calls, source, estimator.guarantee_)


def replay_fit(trace, estimator, X, y, **given):
    """Fit on a neighbour with the same public plan and everything random frozen."""
    with (
        door(trace.calls) as calls,
        mock.patch.object(tacit.estimators.base, "source_from", return_value=trace.source.replayed()),
        mock.patch.object(tacit.estimators.base, "prepare", return_value=trace.plan),
    ):
        estimator.fit(X, y, **given)
    return calls


def declared(events, call, adjacency):
    """The largest change, in units of noise, that the events declare for this release; None from an objective on."""
    factor = 1 if adjacency == "add-remove" else 2
    before = list(itertools.takewhile(lambda e: not isinstance(e, Objective), events))
    same = [e for e in before if math.isclose(e.scale, call.scale, rel_tol=1e-9)]
    if not same and len(before) < len(events):
        return None
    event = (same or list(events))[0]
    if isinstance(event, Gaussian | Sphere):
        return event.sensitivity.under(adjacency) / event.scale
    assert isinstance(event, PoissonGaussian | SubsetGaussian)
    return factor * event.clip / event.scale


def replay_violations(events, first, second, adjacency):
    """Differences between a run and its replay that the events do not allow, in words; empty when all is well."""
    found = []
    if len(first) != len(second):
        return [f"{len(first)} releases became {len(second)}"]
    for index, (one, two) in enumerate(zip(first, second, strict=True)):
        if one.values.shape != two.values.shape:
            found.append(f"release {index}: shape {one.values.shape} became {two.values.shape}")
        elif one.scale != two.scale:
            found.append(f"release {index}: scale {one.scale} became {two.scale}")
        elif not one.scale > 0:
            found.append(f"release {index}: no noise")
        else:
            limit = declared(events, one, adjacency)
            moved = float(np.linalg.norm(one.values - two.values)) / one.scale
            if limit is not None and not moved <= limit:
                found.append(f"release {index}: moved by {moved:.6g} noise scales, declared {limit:.6g}")
    if len(first) < sum(getattr(event, "count", 0) for event in events):
        found.append("fewer releases than are priced: something left without noise")
    counted = sum(getattr(event, "count", len(first)) for event in events)
    if not found and len(first) > counted:  # one event for many releases (individual accounting): they move together
        joint = math.hypot(*(np.linalg.norm(a.values - b.values) / a.scale for a, b in zip(first, second, strict=True)))
        limit = declared(events, first[0], adjacency)
        if not joint <= limit:
            found.append(f"all releases together moved by {joint:.6g} noise scales, declared {limit:.6g}")
    return found


def largest_move(first, second):
    """The largest change of a release, in units of its noise."""
    return max(float(np.linalg.norm(a.values - b.values)) / a.scale for a, b in zip(first, second, strict=True))


def silent_coordinates(first, second):
    """Coordinates of releases without noise, or with the same noise in two runs with different sources."""
    found = []
    for index, (one, two) in enumerate(zip(first, second, strict=True)):
        added, again = one.output - one.values, two.output - two.values
        # Rounding to the grid moves a value by half a step at most; noise is about 2**30 steps.
        silent = (np.abs(added) <= one.scale * 2.0**-20) | (np.abs(added - again) <= one.scale * 2.0**-20)
        found += [f"release {index}: {int(silent.sum())} coordinates without fresh noise"] if silent.any() else []
    return found


def still_weights(run, seeds=(1, 2)):
    """Released coordinates that are the same in two runs with different sources."""
    one, two = (np.asarray(run(SeededSource(seed))) for seed in seeds)
    same = np.isclose(one, two, rtol=1e-9, atol=0)
    return [f"{int(same.sum())} of {same.size} released numbers have no noise"] if same.any() else []


# --- statistics of noise ------------------------------------------------------------------------------------------
FALSE_ALARM = 1e-6
"""Every statistical check fails on right code with at most this probability (two-sided)."""


def scale_violations(samples, scale, size=1.0, alarm=FALSE_ALARM):
    """Gaussian samples whose variance is not scale^2: chi-square bounds, two-sided."""
    samples = np.asarray(samples, dtype=float).ravel()
    total = float(((samples / (scale * size)) ** 2).sum())
    low, high = stats.chi2.ppf([alarm / 2, 1 - alarm / 2], len(samples))
    return [] if low <= total <= high else [f"chi-square {total:.1f} outside [{low:.1f}, {high:.1f}]"]


def shape_violations(samples, distribution, alarm=FALSE_ALARM):
    """Samples that do not follow a continuous distribution: Kolmogorov's test."""
    result = stats.kstest(np.asarray(samples).ravel(), distribution)
    return [] if result.pvalue >= alarm else [f"Kolmogorov distance {result.statistic:.4f}, p = {result.pvalue:.1e}"]


def count_violations(counts, expected, alarm=FALSE_ALARM):
    """Counts that do not follow expected ones: Pearson's test, Bonferroni not needed for one statistic."""
    counts, expected = np.asarray(counts, dtype=float), np.asarray(expected, dtype=float)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    limit = float(stats.chi2.ppf(1 - alarm, len(counts) - 1))
    return [] if statistic <= limit else [f"Pearson's {statistic:.1f} above {limit:.1f}"]


def repeat_violations(vectors):
    """Noise vectors that occur twice."""
    seen = {np.ascontiguousarray(v).tobytes() for v in vectors}
    return [] if len(seen) == len(vectors) else [f"{len(vectors) - len(seen)} of {len(vectors)} noise vectors repeat"]


def sampler_violations(sampler, event, records, steps, source):
    """Batches that are not what a Poisson event says: each record joins each step by its own coin.

    Two statistics: how often each pair of consecutive steps shares a record, and how batch sizes spread (a binomial).
    """
    taken = np.zeros((steps, records))
    for step, rows in enumerate(sampler.batches(records, steps, source)):
        taken[step, rows] = 1.0
    rate = event.rate
    total = taken.sum()
    spread = math.sqrt(records * steps * rate * (1 - rate))
    limit = float(stats.norm.isf(FALSE_ALARM / 2))
    found = []
    if abs(total - records * steps * rate) > limit * spread + 1:
        found.append("the rate is not the one that is priced")
    sizes = (taken.sum(axis=1) - records * rate) ** 2 / (records * rate * (1 - rate))
    low, high = stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], steps)
    if not low <= sizes.sum() <= high:
        found.append("batch sizes do not spread like a binomial")
    shared = (taken[1:] * taken[:-1]).sum()
    expected = (steps - 1) * records * rate**2
    if abs(shared - expected) > limit * math.sqrt(expected) * 1.5 + 1:
        found.append("consecutive batches are not independent")
    return found


# --- the statement under test -------------------------------------------------------------------------------------
def stated_delta(plan, epsilon, adjacency):
    """What the plan's events cost at epsilon."""
    return accounting.delta(plan.events, epsilon, adjacency)


def with_events(plan, **changes):
    """A plan with some public numbers changed: for broken twins."""
    return replace(plan, **changes)
