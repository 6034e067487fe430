"""PIDP-SGD (Kang et al. 2023): accuracy and gap over epsilon, and the table of bounds."""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from papers.engine.figure import Figure, Finding, Point, mean_of
from papers.kang_2023 import escapes, theory
from papers.shared import printed_bounds, sgd_baselines
from papers.shared import statements as says
from papers.shared.accuracy import LARGE, Grid, show, with_gaps
from papers.shared.choosing import NETWORK_EXTENSIONS, Axis
from papers.shared.curves import (
    LINEAR_REFERENCE,
    NETWORK_REFERENCE,
    REFERENCE,
    RIDGE,
    Curve,
    in_passes,
    linear,
    network,
)
from papers.shared.intervals import Count
from papers.shared.sgd_baselines import OTHERS, SINGLE
from tacit.published import PidpSgd

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 3.0)
QUICK = (0.1, 1.0, 3.0)
DELTA = 1e-3
"""The paper does not say its delta. A smaller one makes the thresholds of lines 9 and 10 fall below every influence."""
NORM = 0.1
"""zeta: the print asks for ||H|| >= zeta at the optimum. There the norm is 0.116 on Adult, but 0.071 on Bank and 0.030
on KDDCup99; at the start, 0, it is 0.19 to 0.22 (:mod:`papers.kang_2023.contributions`)."""
OURS = "PIDP-SGD, c = 1, c' = 0.1"
PLAIN = "PIDP-SGD, c = c' = 1"
ROUND = "PIDP-SGD, c' = 0.1, one round"
PRETRAINED = "PIDP-SGD, c' = 0.1, from the minimiser"
PRINTED = "PIDP-SGD, c' = 0.1, one pass, step 1/L"
ROUNDS = 10


def pidp(label: str, constant: float, rounds: int = ROUNDS, pretrained: bool = False) -> Curve:
    """Algorithm 1 with c = 1 and this c'; ``pretrained`` reads the undefined start as the minimiser."""
    method = PidpSgd(constant=1.0, contribution_constant=constant, rounds=rounds, zeta=NORM, pretrained=pretrained)
    return linear(label, method, "paper", axes=IMPROVED_AXES, resolve=in_passes("local", rounds))


IMPROVED_AXES = (SINGLE, Axis("passes", (0.2, 2.0), highest=20.0))
LINEAR = (
    pidp(OURS, 0.1),
    pidp(PLAIN, 1.0),
    pidp(ROUND, 0.1, rounds=1),
    pidp(PRETRAINED, 0.1, pretrained=True),
    linear(PRINTED, PidpSgd(constant=1.0, contribution_constant=0.1, rounds=ROUNDS, zeta=NORM), "paper"),
    *sgd_baselines.LINEAR,
)


def pidp_network(label: str, constant: float, rounds: int = ROUNDS, pretrained: bool = False) -> Curve:
    """The same for a perceptron; its minimiser is a near one."""
    return network(
        label, "pidp-sgd", axes=IMPROVED_AXES, resolve=in_passes("local", rounds), constant=1.0,
        contribution_constant=constant, rounds=rounds, zeta=NORM, pretrained=pretrained, regularization=RIDGE,
    )  # fmt: skip


NETWORK = (
    pidp_network(OURS, 0.1),
    pidp_network(PLAIN, 1.0),
    pidp_network(ROUND, 0.1, rounds=1),
    pidp_network(PRETRAINED, 0.1, pretrained=True),
    *sgd_baselines.NETWORK,
)
ABOUT = (
    "60/20/20 split, the same for all; seeds change the noise only. The paper leaves open c, c', delta, r, the "
    "encoding and the split: c = 1, c' = 0.1 and 1, delta = 0.001 in halves, r = 10, zeta = 0.1 (the print asks for "
    "a Hessian whose norm at the optimum is at least zeta), rows of norm 1 by public bounds. It chooses T by "
    "cross-validation. So here: every method tries as many settings, and the mean accuracy of 3 noisy fits on "
    "validation records chooses (the loss where accuracies are equal), at no charge; where the best lies at the edge "
    "of a grid, the grid is extended, by at most 16 settings and up to the lengths that are named. A gap is that of "
    "the setting chosen for accuracy, not the least that a method reaches. What is called 'not tuned' is ours as it "
    "comes. 5 seeds. "
)
LINEAR_ABOUT = (
    ABOUT + "The norm is 0.116 on Adult, 0.071 on Bank and 0.030 on KDDCup99. "
    "8 settings: 4 step sizes over two decades by 2 lengths, extended (PIDP-SGD: a fifth of a pass and two passes, "
    "and 20 at most, in 10 rounds; DP-SGD and DP-LSSGD: 50 and at most 500 batches; noisy gradient descent and "
    "individual accounting: 20 and at most 200 steps); Wu et al.: 4 regularisers by 1 and at most 10 passes, the step "
    "size being its theorem's. lambda = 0.001 for all others. Curves of their own: PIDP-SGD in one round, for the "
    "paper leaves their number open and the noise on contributions grows with it; with theorem 6's step 1/L and one "
    "pass (the theorems' T is O(log n)); and from the minimiser, a reading of its start, which the paper does not "
    "define (elsewhere it is 0). Added: individual accounting (the proven form of the idea), noisy gradient descent "
    "and our default."
)
NETWORK_ABOUT = ABOUT.replace("16 settings", "6 settings") + (
    "8 settings: 4 step sizes over two decades by 2 lengths, extended (PIDP-SGD: a fifth of a pass and two passes, and "
    "20 where that is better, in 10 rounds and in one; DP-SGD: 3 and 30 epochs, and as few as 1). Cut for time: no "
    "more than 20 passes, 30 epochs and 6 settings beyond a grid. From the minimiser: a pre-trained network (60 "
    "iterations of L-BFGS). One hidden layer as wide as the input. Output perturbation (Wu et al.) of a network rests "
    "on no theorem: left out. H^-1 is approximated (the 64 largest curvatures of 4,000 records, damped). lambda = "
    "1e-5, so that the networks are those of L*, which is trained without privacy and without a regulariser, to "
    "convergence; a gap can be negative, as in the paper. Many networks are trained side by side on a GPU, in single "
    "precision, with first weights drawn as the library draws them. Threads could mix them up, found after the run and "
    "not run again: a fit may have started at another seed's weights."
)
EMPIRICAL, POPULATION = "excess empirical risk", "excess population risk"
THEOREM, IMPROVED = "DP-SGD, theorems 1 and 3", "PIDP-SGD, theorems 6 and 7"
FELDMAN = "Feldman et al. 2020, strongly convex"
SHARE = 0.1
"""k/n, the part of influential records, which the paper leaves open."""


def table1(f: printed_bounds.Letters) -> printed_bounds.Bounds:
    """Table 1 (population risk, for m = p parameters) and section 6's empirical risks; every hidden constant 1."""
    m, n, e, k = f.p, f.n, f.epsilon, f.k
    empirical = m * f.G**2 * math.log(1 / f.delta) * math.log(n) / (n**2 * e**2)
    convex = math.sqrt(m) / (n * e) + 1 / math.sqrt(n)
    ours = min(m / (n * e) ** 2 + 1 / n, math.sqrt(m) / (n**1.5 * e) + m**1.5 / (n**2.5 * e**3))
    improved = min(
        k * m / (n**3 * e**2) + 1 / n,
        k * m / (n**2.5 * e**2) + n**-1.5,
        (k * m) ** 1.5 / (n**2 * e**3) + e / math.sqrt(k * m * n),
    )
    return {
        "Bassily et al. 2019, convex": {POPULATION: convex},
        FELDMAN: {POPULATION: m / (n * e) ** 2 + 1 / n},
        "Feldman et al. 2020, convex": {POPULATION: convex},
        "Wang et al. 2017": {EMPIRICAL: empirical * math.log(n)},
        THEOREM: {POPULATION: ours, EMPIRICAL: empirical},
        IMPROVED: {POPULATION: improved, EMPIRICAL: empirical * k / n},
    }


SPLIT = (4 / 3) ** 2 * math.log(2 / DELTA) / math.log(1 / DELTA)
"""Theorem 6 prints epsilon_1 and delta_1, here 3/4 of epsilon and half of delta, where theorem 1 has the whole."""


def check_table(points: Sequence[Point], expected: Mapping[str, Any]) -> list[Finding]:
    """Section 6's comparisons, as ratios of ours to theirs."""
    said = expected["table1"]
    found = {
        key: printed_bounds.ratios(points, quantity, ours, other)
        for key, quantity, ours, other in (
            ("population", POPULATION, THEOREM, FELDMAN),
            ("population_convex", POPULATION, THEOREM, "Feldman et al. 2020, convex"),
            ("population_improved", POPULATION, IMPROVED, THEOREM),
            ("empirical", EMPIRICAL, THEOREM, "Wang et al. 2017"),
            ("empirical_improved", EMPIRICAL, IMPROVED, THEOREM),
        )
    }
    findings = {key: printed_bounds.no_larger(found[key], said[key]) for key in found}
    before, further = findings["population"], findings["population_improved"]
    findings["population"] = replace(
        before, seen=f"{before.seen} It is the least of two expressions, of which the other's is one; and both have "
        "E[L*] = 1/n, which the other does not need.",
    )  # fmt: skip
    smaller = Count.of(ratio <= 1 for ratio in found["population_improved"].values())
    findings["population_improved"] = replace(further, holds=smaller.all if smaller.total else None)
    ratios = [SPLIT * ratio for ratio in found["empirical_improved"].values()]
    findings["empirical_improved"] = Finding(
        said["empirical_improved"], Count.of(ratio <= 1 for ratio in ratios).all if ratios else None,
        f"By the formulas: theorem 6's, with its own epsilon_1 and delta_1, is {SPLIT:.3g} k/n times theorem 1's. That "
        f"is {SPLIT * SHARE:.3g} for k = n/10, which is our choice, and more than 1 from k = {1 / SPLIT:.2g} n on.",
    )  # fmt: skip
    return list(findings.values())


def check_curves(curves: Sequence[Curve], points: Sequence[Point], expected: Mapping[str, Any]) -> list[Finding]:
    """Sections 5.2 and 7, on accuracy, gap and steps without noise, for each reading of the algorithm; and remark 3.

    That it is better is asked from epsilon = 0.5 on: below, the paper says that the difference is small. c' = 0.1
    against c' = 1 is the paper's idea by itself.
    """
    done, said = with_gaps(points), expected["curves"]
    readings = [ours for ours in (OURS, ROUND, PRETRAINED) if says.cells(done, ours)]
    found = [says.follows(done, said["rises"], (*readings, *OTHERS))]
    for ours in readings:
        found += [
            says.beats(done, f"{said['better']} ({ours})", ours, OTHERS, least=0.5),
            says.beats(done, f"{said['better_gap']} ({ours})", ours, OTHERS, y="gap", least=0.5),
            says.gains(done, f"{said['grows']} ({ours})", ours, OTHERS),
            escapes.near(done, f"{said['near']} ({ours})", ours, OTHERS, below=0.1),
            says.behind(done, f"{said['small']} ({ours})", ours, OTHERS, below=0.1),
            says.vanishes(done, f"{said['gap_zero']} ({ours})", ours, curves),
            escapes.more_escape(done, f"{said['escape']} ({ours})", ours),
            escapes.never_fewer(done, f"{said['looser']} ({ours})", ours),
        ]
    return [
        *found,
        says.beats(done, said["alone"], OURS, (PLAIN,), least=0.5),
        says.beats(done, said["alone_gap"], OURS, (PLAIN,), y="gap", least=0.5),
        says.follows(done, said["gap_falls"], (*readings, *OTHERS), y="gap"),
        _least(points, said["least"]),
        *(says.proven_price(done, ours) for ours in readings),
        says.chances(done, curves),
    ]


def _least(points: Sequence[Point], statement: str) -> Finding:
    """Remark 3's better bound needs E[L*] = O(1/n): n L* should be a small number. What theorem 3 gives with L* itself.

    Theorem 3's rate is ``(1/tau + tau) a + L*/tau`` with a = m/(n epsilon)^2, least at ``2 sqrt(a (a + L*))``.
    """
    plain = {p["data"]: p for p in points if p["method"] == REFERENCE}
    losses = {data: mean_of(points, "loss", data=data, method=REFERENCE) for data in plain}
    times = {data: p["records"] * losses[data] for data, p in plain.items()}
    words = f"n times the least mean loss: {', '.join(f'{data} {value:.0f}' for data, value in times.items())}."
    ratios = []
    for (data, p), epsilon in itertools.product(plain.items(), EPSILONS):
        f = printed_bounds.letters(data, p["kind"], epsilon, DELTA, None)
        part = f.p / (f.n * epsilon) ** 2
        ratios.append(2 * math.sqrt(part * (part + losses[data])) / (part + 1 / f.n))
    if ratios:
        words += (
            f" With these losses theorem 3's rate at its best tau is {min(ratios):.2g} to {max(ratios):.2g} times the "
            "best before (strongly convex), epsilon from 0.01 to 3."
        )
    return Finding(statement, max(times.values()) < 10 if times else None, words)


_BOUNDS = printed_bounds.Bounding(LARGE, (0.01, 0.1, 3.0), DELTA, 1000, table1, share=SHARE)
_CURVES = Grid("LR", LARGE, EPSILONS, LINEAR, LINEAR_REFERENCE, DELTA, quick_epsilons=QUICK)
_NETWORKS = Grid(
    "MLP", LARGE, EPSILONS, NETWORK, NETWORK_REFERENCE, DELTA, quick_epsilons=(0.1, 3.0), quick_rows=1500,
    quick_seeds=1, extensions=NETWORK_EXTENSIONS,
)  # fmt: skip
_CLAIM = (
    "Leaving the noise out for records of small influence improves accuracy and gap, by more as epsilon grows, at no "
    "cost in privacy."
)

CITATION = (
    "Y. Kang, J. Li, Y. Liu and W. Wang. Data Heterogeneity Differential Privacy: From Theory to Algorithm. 2023."
)
FIGURES = (
    Figure(
        "table1", "Table 1: excess-risk bounds", "The bounds are better than all before, and again with PIDP-SGD.",
        "Every row at n and m of the experiments, epsilon 0.01, 0.1 and 3, delta = 0.001, k = n/10; hidden "
        "constants are 1.", _BOUNDS.cells, _BOUNDS.measure, printed_bounds.show, check_table,
    ),
    Figure(
        "figures1-2-lr", "Figures 1 and 2: logistic regression", _CLAIM, LINEAR_ABOUT, _CURVES.cells,
        _CURVES.measure, show, functools.partial(check_curves, LINEAR), needs=LARGE,
    ),
    Figure(
        "figures1-2-mlp", "Figures 1 and 2: perceptron", _CLAIM, NETWORK_ABOUT, _NETWORKS.cells,
        _NETWORKS.measure, show, functools.partial(check_curves, NETWORK), needs=LARGE, extras=("torch",),
    ),
    *theory.FIGURES,
)  # fmt: skip
