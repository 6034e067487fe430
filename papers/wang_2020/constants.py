"""Tables 1, 3 and 4 and Figure 2: the constants of smoothing, the utility bounds with numbers, and two signals."""

import math
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from papers.wang_2020.convex import Watched
from papers.wang_2020.digits import part
from papers.wang_2020.forms import BATCH, DELTA, name_of
from papers.wang_2020.side_by_side import DECAY
from tacit.linear.smoothing import (
    beta,
    beta_sum,
    convex_bound,
    gamma,
    gamma_sum,
    nonconvex_bound,
    smooth,
    smooth_weights,
)
from tacit.mechanisms import GradientPerturbation, Poisson
from tacit.privacy.noise import SeededSource
from tacit.privacy.theorems import THEOREMS
from tacit.types import Budget

SIZES = (1_000, 10_000, 100_000)


def constants(letter):
    """Table 3 (gamma) or 4 (beta): closed form and sum, for every sigma and d of the paper."""
    closed, plain = {"gamma": (gamma, gamma_sum), "beta": (beta, beta_sum)}[letter]
    return [
        {"sigma": sigma, "size": size, "value": closed(size, float(sigma)), "sum": plain(size, float(sigma))}
        for size in SIZES for sigma in range(1, 6)
    ]  # fmt: skip


def signals(run):
    """Figure 2: a noisy sine (sigma = 10), and a noisy product of sines in row-major order (sigma = 100)."""
    rng = np.random.default_rng(run)
    line = np.sin(2 * np.pi * np.arange(1, 101) / 100)
    plane = np.outer(line, line)
    noisy = {"line": line + 0.1 * rng.normal(size=100), "plane": plane + 0.2 * rng.normal(size=(100, 100))}
    points = []
    for signal, clean, sigma in (("line", line, 10.0), ("plane", plane, 100.0)):
        versions = {"clean": clean, "noisy": noisy[signal], "smoothed": smooth(noisy[signal], sigma)}
        for version, values in versions.items():
            error = float(np.sqrt(np.mean((values - clean) ** 2)))
            shown = values if signal == "line" else values[24]  # the row where the product is largest
            points += [
                {"signal": signal, "method": version, "place": i + 1, "value": float(v), "error": error}
                for i, v in enumerate(shown)
            ]
    return points


def optimum(ridge, records):
    """The least regularised mean loss and its weights, by L-BFGS: a diagnostic, not private."""
    shape = ridge.start().shape

    def mean(flat):
        weights = flat.reshape(shape)
        return float(ridge.value(weights)[0]) / records, ridge.gradient(weights).ravel() / records

    found = minimize(mean, np.zeros(math.prod(shape)), jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return found.x.reshape(shape), float(found.fun)


def utility(epsilon, smoothing, run, epochs, rows):
    """Table 1 with numbers: both bounds and what was measured, for steps of equal size over Poisson batches.

    The clip is the largest gradient that a record can have, so that nothing is clipped and the theorems apply; the step
    is the one that makes Theorem 4's bound least, and at most 1/(2L).
    """
    train = part("train").first(rows)
    problem, n = train.problem, len(train.y)
    ridge, facts = replace(problem, strength=DECAY * n), problem.facts
    lipschitz, smoothness = facts.radius * facts.loss.lipschitz, facts.radius**2 / 2 + DECAY
    steps = max(1, round(epochs * n / BATCH))
    best, least = optimum(ridge, n)

    def mechanism(step):
        return GradientPerturbation(
            Poisson(BATCH / n), steps=steps, clip=lipschitz, step=step, momentum=0.0, schedule="constant",
            average="ergodic", smoothing=smoothing,
        )  # fmt: skip

    plan = mechanism(1.0).calibrate(Budget(epsilon, DELTA), facts, DECAY, "proven")
    noise, size = plan.scale / plan.divisor, facts.size
    distance = _metric_norm(best, smoothing)
    variance = lipschitz**2 / BATCH + gamma(size, smoothing) * size * noise**2
    step = min(math.sqrt(distance / (steps * variance)), 1 / (2 * smoothness))
    squares = []

    def seen(_, weights):
        gradient = ridge.gradient(weights) / n
        squares.append(float((gradient * smooth_weights(gradient, smoothing, intercept=True)).sum()))

    marks = frozenset(range(0, steps, max(1, steps // 20)))
    plan = replace(plan, descent=Watched(replace(plan.descent, step=step), seen, marks))
    final = plan.run(problem, SeededSource((run, 4))).weights
    gap = float(ridge.value(final)[0]) / n - least
    return [{
        "method": name_of(smoothing), "status": THEOREMS[plan.theorem].status, "gap": gap, "step": step,
        "convex_bound": convex_bound(distance, [step] * steps, BATCH, lipschitz, noise, size, smoothing),
        "gradient": float(np.mean(squares)), "start_gap": math.log(10) - least, "distance": distance,
        "nonconvex_bound": nonconvex_bound(
            math.log(10) - least, step, steps, smoothness, BATCH, lipschitz, noise, size, smoothing
        ),
        "noise": noise, "gamma": gamma(size, smoothing), "beta": beta(size, smoothing),
    }]  # fmt: skip


def _metric_norm(weights, sigma):
    """``<w, A w>`` with A = I - sigma L over the features of each class in turn, intercepts as they are."""
    flat = weights[:-1].T.ravel()
    return float((weights**2).sum() + sigma * ((flat - np.roll(flat, 1)) ** 2).sum())
