"""Grid, tables and checks of theorems 1 to 3 (and 6 and 7) with constants: examples, a search, and printed numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from papers.engine.figure import Finding, Point, Settings, Size, TextTable
from papers.kang_2023 import excess_risk as risk
from papers.shared.accuracy import LARGE
from papers.shared.curves import LAMBDA
from papers.shared.printed_bounds import letters

CURVED = 1 / 1600
"""mu of the second example: its square root is 1/40, which is easy to work with by hand."""
SIZES = (10**4, 10**6, 2 * 10**8)
DELTA = 1e-3
SHARE = 0.1
STRENGTHS = (LAMBDA, 0.1)
"""mu of the printed bounds: that of the curves, and one so large that no model of use has it."""
PUSHES = (0.0, 0.01, 0.1, 1.0, 5.0)


def cells(size: Size) -> Iterator[Settings]:
    """Nothing is drawn: the quick size searches fewer places."""
    yield from ({"part": "mean", "n": n, "epsilon": None, "data": None, "curved": None} for n in (10**2, 10**4, 10**6))
    for n, epsilon in itertools.product(SIZES, (None, 1.0)):
        yield {"part": "line", "n": n, "epsilon": epsilon, "data": None, "curved": CURVED}
    for n, curved in itertools.product((1, 2, 5, 30) if size.quick else (1, 2, 3, 5, 10, 30, 100), (0.001, 0.1, 1.0)):
        yield {"part": "search", "n": n, "epsilon": None, "data": None, "curved": curved}
    for curved, data, epsilon in itertools.product(STRENGTHS, LARGE, (0.01, 0.1, 1.0, 3.0)):
        yield {"part": "printed", "n": None, "epsilon": epsilon, "data": data, "curved": curved}


def measure(part: str, n: int | None, epsilon: float | None, data: str | None, curved: float | None) -> list[Point]:
    """One example, one place of the search, or the printed bounds at an experiment's sizes."""
    places, bend = int(n or 0), float(curved or 0.0)
    if part == "printed":
        return [_printed(str(data), float(epsilon or 0.0), bend)]
    if part == "mean":
        return [risk.mean_example(places)]
    if part == "line":
        return [risk.line_example(places, bend, epsilon, DELTA).sides()]
    found = itertools.product((0.05, 0.3, 0.5), PUSHES)
    return [
        {"chance": p, "push": push, **risk.logistic_example(places, p, bend, push).sides(risk.TIGHT)}
        for p, push in found
    ]


def _printed(data: str, epsilon: float, curved: float) -> Point:
    """Theorems 1 to 3 in their most favourable reading, and the last expressions of remark 3 and theorem 7.

    All records in a step, c = 1, T = (L/mu) log n, the start's excess log 2, and the paper's own E[L*] = 1/n.
    """
    f = letters(data, "LR", epsilon, DELTA, None, SHARE)
    smooth = f.L + curved
    steps = math.ceil(smooth / curved * math.log(f.n))
    sigma = risk.noise(f.n, f.G, steps, epsilon, DELTA)
    excess = risk.theorem_1(math.log(2), f.p, sigma, smooth, curved, steps)
    facts = (f.n, f.G, smooth, curved)
    km = f.k * f.p
    return {
        "m": f.p, "steps": steps, "theorem_1": excess,
        "theorem_2": risk.theorem_2(*facts, excess, 1 / f.n + excess),
        "theorem_3": risk.theorem_3(*facts, excess, 1 / f.n),
        "no_noise": risk.theorem_3(*facts, 0.0, 1 / f.n),
        "remark_3": math.sqrt(f.p) / (f.n**1.5 * epsilon) + f.p**1.5 / (f.n**2.5 * epsilon**3),
        "remark_3_at_tau": risk.remark_3(f.n, f.p, epsilon, epsilon * math.sqrt(f.n / f.p)),
        "theorem_7": km**1.5 / (f.n**2 * epsilon**3) + epsilon / math.sqrt(km * f.n),
        "theorem_7_at_tau": risk.remark_3(f.n, km / f.n, epsilon, f.n * epsilon / math.sqrt(km)),
    }  # fmt: skip


def show(points: Sequence[Point]) -> list[TextTable]:
    """The two counterexamples, the worst places of the search, and the bounds at the experiments' sizes."""
    parts = {name: [p for p in points if p["part"] == name] for name in ("mean", "line", "search", "printed")}
    mean = tuple(
        (f"{p['n']:,}", f"{p['excess']:.3g}", f"{p['rate']:.3g}", f"{p['constant']:.3g}") for p in parts["mean"]
    )
    line = tuple(
        (f"{p['n']:,}", "none" if p["epsilon"] is None else f"{p['epsilon']:g}",
         *(f"{p[y]:.3g}" for y in ("excess", "gap", "theorem_2", "population", "theorem_3", "without_sign")))
        for p in parts["line"]
    )  # fmt: skip
    printed = tuple(
        (f"{p['curved']:g}", p["data"], f"{p['epsilon']:g}", str(p["steps"]),
         *(f"{p[y]:.3g}" for y in ("theorem_1", "theorem_2", "theorem_3", "no_noise")))
        for p in parts["printed"]
    )  # fmt: skip
    return [
        TextTable("Theorem 1: the mean of zeros and ones, one record a step, epsilon = 1",
                  ("n", "excess risk, exact", "the theorem's rate", "constant it would need"), mean),
        TextTable(f"Theorems 2 and 3: linear losses, mu = L = 1/{1 / CURVED:g}",
                  ("n", "epsilon", "excess risk", "gap, exact", "theorem 2", "population risk, exact", "theorem 3",
                   "gap, bound without a sign"), line),
        TextTable("Theorems 1 to 3 at the experiments' sizes, mu = lambda, E[L*] = 1/n; log 2 = 0.693",
                  ("lambda", "data", "epsilon", "T", "theorem 1", "theorem 2", "theorem 3",
                   "theorem 3 without noise"), printed),
    ]  # fmt: skip


def check(points: Sequence[Point], expected: Mapping[str, Any]) -> list[Finding]:
    """Each theorem: does it hold in its example, and in the search; does it say anything at the experiments?"""
    said = expected["theorems"]
    mean, line, search, printed = (
        [p for p in points if p["part"] == name] for name in ("mean", "line", "search", "printed")
    )
    last = max(mean, key=lambda p: p["n"])
    worst = {y: max(line, key=lambda p: p[y] / p[of]) for y, of in _PAIRS}
    inside = {y: max(p[y] / p[of] for p in search) for y, of in (*_PAIRS, ("gap", "without_sign"))}
    held = {
        c: [p["theorem_3"] for p in printed if p["curved"] == c] for c in dict.fromkeys(p["curved"] for p in printed)
    }
    later = max(abs(p["remark_3"] / p["remark_3_at_tau"] - 1) for p in printed)
    third = [p["theorem_7"] / (p["theorem_7_at_tau"] + _dropped(p)) for p in printed]
    rate = _theorem_7(last["n"])
    return [
        Finding(said["theorem_1"], max(p["constant"] for p in mean) < 10 * min(p["constant"] for p in mean),
            f"The excess risk is {last['excess']:.3g} for every n; at n = {last['n']:,} the hidden constant would have "
            f"to be {last['constant']:.3g}."),
        *(Finding(said[of], p[y] <= p[of],
            f"With losses that are not negative on the parameter space, n = {p['n']:,}: {_WORDS[y]} {p[y]:.3g} where "
            f"the theorem allows {p[of]:.3g}.") for (y, of), p in zip(_PAIRS, worst.values(), strict=True)),
        Finding(said["repaired"], max(inside.values()) <= 1,
            f"Largest share of the bound in {len(search)} exact places: theorem 2 {inside['gap']:.2g}, theorem 3 "
            f"{inside['population']:.2g}."),
        Finding(said["says"], _always([v < math.log(2) for values in held.values() for v in values]),
            "Theorem 3 is below log 2, the loss of the zero model, in " + " and ".join(
                f"{sum(v < math.log(2) for v in values)} of {len(values)} cells with lambda = {c:g} (from "
                f"{min(values):.3g})" for c, values in held.items()) + "; without any noise it is at most "
            f"{max(p['no_noise'] for p in printed):.3g}."),
        Finding(said["remark_3"], later < 1,
            f"At tau = epsilon sqrt(n/m) theorem 3 gives the printed terms, up to {1 + later:.2g} times."),
        Finding(said["theorem_7"], last["excess"] <= 10 * rate,
            f"In the example of theorem 1, with zeros and ones drawn with equal chances, the excess population risk is "
            f"{last['excess']:.3g} for every n; at n = {last['n']:,}, m = 1, k = n and epsilon = 1 the print is "
            f"{rate:.3g}."),
        Finding(said["third"], all(0.5 < ratio < 2 for ratio in third),
            "At that tau theorem 3 gives sqrt(km)/(n^2 epsilon) + (km)^1.5/(n^4 epsilon^3) + epsilon/(n sqrt(km)); the "
            f"print is at least {min(third):.3g} times as large: with theorem 6 granted it is a bound, and far from "
            "the best."),
    ]  # fmt: skip


def _dropped(p: Point) -> float:
    """Theorem 3's 16 G^2 tau/(n mu)^2 at tau = n epsilon/sqrt(km), without constants, which remark 3 leaves out."""
    f = letters(p["data"], "LR", p["epsilon"], DELTA, None, SHARE)
    return float(p["epsilon"] / (f.n * math.sqrt(f.k * f.p)))


def _theorem_7(n: int) -> float:
    """The print at m = 1, k = n and epsilon = 1; hidden constants are 1."""
    return min(1 / n**2 + 1 / n, 2 / (n * math.sqrt(n)), 1 / math.sqrt(n) + 1 / n)


_PAIRS = (("gap", "theorem_2"), ("population", "theorem_3"))
_WORDS = {"gap": "a gap of", "population": "an excess population risk of"}


def _always(values: Sequence[bool]) -> bool | None:
    """True or False where all agree."""
    return values[0] if values and all(value == values[0] for value in values) else None
