"""Section 3.1's convex regulariser, which the paper allows and sets to 0: the excess of the regularised risk over n.

Absolute values and Huber's function beside the ridge (``tacit.mechanisms.input_penalty``), on made-up records in the
census setting (``tacit.protocol.expect.synthetic``): no one's data. The guarantee is that of the ridge alone.
"""

import itertools
import math
from dataclasses import replace

import numpy as np

from papers.engine.figure import Finding, TextTable, panels
from papers.fukuchi_2017.census import DELTA, EPSILONS, input_numbers, power_of_two, setting_of, sizes
from tacit.mechanisms.input_penalty import Penalised, Penalty
from tacit.mechanisms.input_solve import Quadratic
from tacit.privacy.noise import SeededSource, gaussian
from tacit.privacy.theorems import THEOREMS
from tacit.protocol.expect import excess_bound, noisy_second, risk, synthetic
from tacit.types import Budget

FEATURES = 14
WEIGHT, KNEE = 0.01, 0.1
"""Fixed before any run: a hundredth of the largest loss, and a knee of a thirtieth of the ball's radius."""
REGULARISERS = {"none": None, "absolute values": Penalty(WEIGHT), "Huber": Penalty(WEIGHT, knee=KNEE)}


def value(penalty, strengths, weights):
    """Omega(w)."""
    if penalty is None:
        return 0.0
    size, knee = np.abs(weights), penalty.knee
    outer = size - knee / 2
    return float(strengths @ (np.where(size <= knee, size**2 / (2 * knee), outer) if knee else size))


def best_of(second, cross, strengths, penalty, radius):
    """The minimiser over the ball and its certificate; zeros and inf, as the mechanism, where there is none."""
    knee = penalty.knee if penalty else 0.0
    return Penalised(Quadratic.of(second, cross, radius), strengths, knee).solve()


def excesses(numbers, setting, penalty, trials):
    """The mean excess of (1/n) (sum of losses + Omega) over that of the best weights, and two standard errors."""
    n, source = setting.cohort, SeededSource((0, 17))
    second, cross = (n * part for part in synthetic(setting, source))
    strengths = penalty.strengths(n, FEATURES, setting.intercept) if penalty else np.zeros(FEATURES)

    def total(weights):
        return risk(second, cross, n, weights) + value(penalty, strengths, weights) / n

    best, gap = best_of(second, cross, strengths, penalty, setting.radius)
    if math.isinf(gap):
        raise ValueError("The records without noise have no one minimiser.")
    least = total(best)
    found = []
    for _ in range(trials):
        matrix = noisy_second(second, n, numbers.row_scale, source) + numbers.minimum(n).ridge * np.eye(FEATURES)
        pull = cross + numbers.expected_scale(n) * gaussian(source, (FEATURES,))
        weights, _ = best_of(matrix, pull, strengths, penalty, setting.radius)
        scale = numbers.hidden(n).scale
        released = weights + scale * gaussian(source, (FEATURES,))
        found.append(total(penalty.tidied(released, scale) if penalty else released) - least)
    return float(np.mean(found)), float(2 * np.std(found, ddof=1) / math.sqrt(trials))


def cells(size):
    """One cell an epsilon."""
    return [{"epsilon": e, "largest": 15 if size.quick else 21, "trials": size.pick(100, 10)} for e in EPSILONS]


def measure(epsilon, largest, trials):
    """Every regulariser at every n, with the proven noise."""
    points = []
    for n in sizes(largest):
        setting = setting_of("regression", FEATURES, n)
        numbers = input_numbers(setting, Budget(epsilon, DELTA))["proven"]
        for name, penalty in REGULARISERS.items():
            mean, half = excesses(numbers, setting, penalty, trials)
            points.append({
                "method": name, "status": THEOREMS["input"].status, "n": n, "excess": mean, "half": half,
                "bound": excess_bound(numbers, n),
            })  # fmt: skip
    return points


def show(points):
    """Excess over n, and the largest n as a table."""
    drawn = panels(points, x="n", y="excess", by="epsilon", x_scale="log", y_scale="log", x_name="records",
                   y_name="excess of the regularised risk, simulated")  # fmt: skip
    drawn = [replace(panel, title=f"epsilon = {panel.title}") for panel in drawn]
    largest = max(p["n"] for p in points)
    rows = tuple(
        (f"{p['epsilon']:g}", p["method"], p["status"], f"{p['excess']:.3g} ± {p['half']:.1g}", f"{p['bound']:.3g}")
        for p in points
        if p["n"] == largest
    )
    head = ("epsilon", "regulariser beside the ridge", "status", "excess, simulated", "bound")
    return [*drawn, TextTable(f"Regularisers at n = {power_of_two(largest)}", head, rows)]


def check(points, expected):
    """The rate of Theorem 2, which the paper states without one, with each regulariser, and one bound for all."""
    says, found = expected["regularizer"], []
    for epsilon, name in itertools.product(EPSILONS, REGULARISERS):
        mine = sorted((p for p in points if (p["epsilon"], p["method"]) == (epsilon, name)), key=lambda p: p["n"])
        if len(mine) < 2:
            continue
        first, last = mine[(len(mine) - 1) // 2], mine[-1]
        along = math.log(last["n"] / first["n"])
        slope = math.log(last["excess"] / first["excess"]) / along
        half = math.hypot(*(p["half"] / p["excess"] for p in (first, last))) / along
        bounded = all(p["excess"] - p["half"] <= p["bound"] for p in mine)
        limit = says["utility_power_of_n"] + says["tolerance"]
        told = None if abs(slope - limit) <= half else slope <= limit
        found.append(Finding(
            "Not in the paper: the excess risk is O(1/n) with a convex regulariser "
            f"(taken as: n^{limit:g} or steeper) ({name}, epsilon = {epsilon:g}).",
            told if bounded else False,
            f"Upper half of the sizes: n^({slope:.2f} ± {half:.2f}); {'never' if bounded else 'sometimes'} above the "
            "bound, which does not depend on the regulariser.",
        ))  # fmt: skip
    return found
