"""Remark 6: what a round of PIDP-SGD costs, part by part, beside a step of DP-LSSGD, in time and memory.

The remark counts O(R n m^2 + R T_local m), or O(R n m) with the implicit products of Koh & Liang 2017, and O(R m^2) for
DP-LSSGD. It leaves out the inverse of line 4, m^3, and the product of lines 7, m^2 a step; DP-LSSGD solves by FFT.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

from papers.engine.figure import Finding, Panel, Point, TextTable
from papers.shared import costs
from papers.shared.curves import LAMBDA
from tacit.linear.smoothing import smooth

RECORDS = 100
"""n: below every m, the 'high dimension' in which the remark has PIDP-SGD ahead."""
STEP, SMOOTHED, DENSE = "DP-SGD step on one record", "DP-LSSGD step (FFT)", "DP-LSSGD step (dense inverse)"
FORMED, INVERTED, PRODUCT = "Hessian", "its inverse", "influence of one record by the inverse"
IMPLICIT = "influence of one record by conjugate gradients"
TOLERANCE = 1e-3


def measure(m: int, run: int) -> list[Point]:
    """All parts that can be held, in turn."""
    design, rng = costs.Design.of(RECORDS, m, run), np.random.default_rng(run)
    theta = rng.standard_normal(m) / math.sqrt(m)
    chances = expit(design.scores(theta))
    bends = chances * (1 - chances) / RECORDS
    one = costs.Design(design.block[:1], m)
    gradient = one.sums(-expit(-one.scores(theta))) + LAMBDA * theta
    step = functools.partial(_step, one, theta, rng)
    calls: dict[str, Callable[[], object]] = {
        STEP: step, SMOOTHED: functools.partial(_smoothed, step),
        IMPLICIT: functools.partial(_solve, design, bends, gradient),
    }  # fmt: skip
    kept: dict[str, float] = {SMOOTHED: m / 2}
    if m <= costs.LARGEST:
        hessian = _hessian(design.block, bends)
        inverse = _inverse(hessian)
        calls |= {
            DENSE: functools.partial(_multiplied, step, inverse), PRODUCT: functools.partial(np.matmul, inverse, theta),
            FORMED: functools.partial(_hessian, design.block, bends), INVERTED: functools.partial(_inverse, hessian),
        }  # fmt: skip
        kept |= {DENSE: m * m, PRODUCT: m * m}
    return costs.cost(m, calls, kept)


def show(points: Sequence[Point]) -> Sequence[Panel | TextTable]:
    """Shares of a step of DP-SGD on one record, and the remark's counts as numbers."""
    counts = [("round of PIDP-SGD, exact", "n m^2 + m"), ("round of PIDP-SGD, implicit", "n m"),
              ("step of DP-LSSGD, as the remark has it", "m^2"), ("step of DP-LSSGD by FFT", "m log2 m")]  # fmt: skip
    sizes = sorted({p["m"] for p in points})
    rows = tuple(
        (name, formula, *(f"{_count(formula, m):.2g}" for m in sizes)) for name, formula in counts
    )  # fmt: skip
    head = ("one round, T_local = 1", "count", *(f"m = {m:,}" for m in sizes))
    return [*costs.show(points, STEP), TextTable(f"Remark 6 as numbers, n = {RECORDS}", head, rows)]


def check(points: Sequence[Point], expected: Mapping[str, Any]) -> list[Finding]:
    """The remark's exponents and its comparison with DP-LSSGD; and, not in the paper, memory."""
    said = expected["costs"]
    grows = {what: costs.power(points, what) for what in (SMOOTHED, IMPLICIT)}
    grows |= {what: costs.power(points, what, least=costs.FEW) for what in (DENSE, FORMED, INVERTED, PRODUCT)}
    over = costs.shares(points, IMPLICIT, SMOOTHED)
    against = costs.shares(points, IMPLICIT, DENSE, least=costs.FEW)
    inverse = costs.shares(points, INVERTED, FORMED, least=costs.FEW)
    held = {what: costs.power(points, what, "bytes", costs.FEW) for what in (PRODUCT, IMPLICIT)}
    return [
        Finding(said["exact"], grows[FORMED].near(2.0), f"Time of the Hessian: {grows[FORMED]}."),
        Finding(said["inverse"], None if not inverse else max(inverse.values()) < 1,
            f"Its inverse: {grows[INVERTED]}, {costs.span(inverse)} times the Hessian's time; the product for each "
            f"record: {grows[PRODUCT]}."),
        Finding(said["implicit"], grows[IMPLICIT].near(1.0), f"Conjugate gradients to {TOLERANCE:g}: "
                f"{grows[IMPLICIT]}, for one record; every local step needs its own."),
        Finding(said["smoothing"], grows[SMOOTHED].near(2.0),
            f"By FFT, as its paper does it: {grows[SMOOTHED]}; by a dense inverse: {grows[DENSE]}."),
        Finding(said["high"], None if not over else True if max(over.values()) < 1 else
                False if min(over.values()) > 1 else None,
            f"One influence takes {costs.span(over)} times a whole step of DP-LSSGD by FFT (n = {RECORDS}, m from "
            f"{min(over, default=0):,}), and {costs.span(against)} times one by a dense inverse."),
        Finding(said["memory"], held[IMPLICIT].near(1.0),
                f"By conjugate gradients {held[IMPLICIT]}; by the inverse {held[PRODUCT]}."),
    ]  # fmt: skip


def _count(formula: str, m: int) -> float:
    return {"n m^2 + m": RECORDS * m**2 + m, "n m": RECORDS * m, "m^2": m**2, "m log2 m": m * math.log2(m)}[formula]


def _step(one: costs.Design, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noisy = one.sums(-expit(-one.scores(theta))) + LAMBDA * theta + rng.standard_normal(len(theta))
    return np.asarray(theta - 0.1 * noisy)


def _smoothed(step: Callable[[], np.ndarray]) -> np.ndarray:
    return smooth(step(), 1.0)


def _multiplied(step: Callable[[], np.ndarray], inverse: np.ndarray) -> np.ndarray:
    return np.asarray(inverse @ step())


def _hessian(block: np.ndarray, bends: np.ndarray) -> np.ndarray:
    return np.asarray((block.T * bends) @ block + LAMBDA * np.eye(block.shape[1]))


def _inverse(hessian: np.ndarray) -> np.ndarray:
    return np.asarray(cho_solve(cho_factor(hessian), np.eye(len(hessian))))


def _solve(design: costs.Design, bends: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """``(H + lambda) c = gradient`` with products only (Koh & Liang 2017)."""
    shape = (design.size, design.size)
    product = functools.partial(_product, design, bends)
    return np.asarray(cg(LinearOperator(shape, matvec=product, dtype=np.float64), gradient, rtol=TOLERANCE)[0])


def _product(design: costs.Design, bends: np.ndarray, direction: np.ndarray) -> np.ndarray:
    return design.sums(bends * design.scores(direction)) + LAMBDA * direction
