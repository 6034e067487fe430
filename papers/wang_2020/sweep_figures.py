"""Figure 7: sigma, learning rates, and accuracy over epsilon, with runs aimed at the epsilons that the text names."""

import itertools
from dataclasses import replace

from papers.engine.figure import Finding, TextTable, panels
from papers.wang_2020.comparing import difference
from papers.wang_2020.convolutional_figures import (
    METHODS,
    MULTIPLIERS,
    OURS,
    STEPS,
    cells,
    compared,
    falls,
    last,
    spread,
    swings,
    values,
    whole,
)  # fmt: skip

RATES = (0.05, 0.15, 0.3)
LOUD = 10.0
"""The paper's noise multiplier of the left and middle panels."""
TARGETS = (0.2, 0.4)
SIGMAS = (0.0, 1.0, 3.0)
"""Of runs aimed at one epsilon with the paper's learning rate."""
CHOSEN_SIGMAS = (0.0, 1.0)
"""Where the learning rate is chosen; at the paper's rate 1 is better than 3."""
SHORT, LONG = 15, 60
"""Epochs of aimed runs: fewer passes need less noise for the same epsilon; the paper has 60."""
TRIALS, AIMED_RUNS, LONG_RUNS = 2, 5, 3
BUDGETS = (0.1, 0.2, 0.4, 0.8, 1.6)


def measure(part, **settings):
    """One cell: a curve over epochs, or runs that are aimed at one epsilon, with settings as given or chosen."""
    from papers.wang_2020 import convolutional as networks

    return {"curve": networks.measure, "aimed": networks.aimed, "chosen": networks.chosen}[part](**settings)


def sweep_cells(size):
    """Sigma and learning rates at noise multiplier 10; the four optimisers of Figure 5; and those that are aimed."""
    if size.quick:
        parts = [
            cells(size, "mnist", ("sgd",), (0.0, 1.0, 3.0), (1.0,)),
            cells(size, "mnist", ("sgd",), (0.0, 1.0), (1.0,), (0.3,)),
        ]
    else:
        parts = [
            cells(size, "mnist", ("sgd",), (0.0, 1.0, 2.0, 3.0), (LOUD,)),
            cells(size, "mnist", ("sgd",), (0.0, 1.0), (LOUD,), [rate for rate in RATES if rate != STEPS["sgd"]]),
            cells(size, "mnist", ("adam",), (0.0, 1.0), (LOUD,)),
            cells(size, "mnist", ("sgd", "adam"), (0.0, 1.0), [m for m in MULTIPLIERS if m != LOUD]),
        ]
    return [{"part": "curve", **cell} for part in parts for cell in part] + aimed_cells(size)


def aimed_cells(size):
    """Runs aimed at each target: with chosen settings, and with the paper's rate over a few and over all its epochs."""
    shared = {"data": "mnist", "batch": 64 if size.quick else 256, "rows": 200 if size.quick else None}
    targets, optimizers = ((2.0,), ("sgd",)) if size.quick else (TARGETS, tuple(STEPS))
    trials, runs = (2, 2) if size.quick else (TRIALS, size.runs or AIMED_RUNS)
    chosen = [
        {"part": "chosen", "optimizer": o, "smoothing": sigma, "target": target, "epochs": 1 if size.quick else SHORT,
         "trials": trials, "runs": runs, **shared}
        for target in targets for o in optimizers for sigma in CHOSEN_SIGMAS
    ]  # fmt: skip
    lengths = () if size.quick else ((SHORT, runs), (LONG, size.runs or LONG_RUNS))
    return chosen + [
        {"part": "aimed", "optimizer": o, "smoothing": sigma, "target": target, "step": STEPS[o], "epochs": length,
         "runs": count, **shared}
        for target in targets for o in optimizers for sigma in SIGMAS for length, count in lengths
    ]  # fmt: skip


def _loud(points):
    """SGD at the noise multiplier at which sigma is varied."""
    curves = [p for p in points if p["part"] == "curve" and p["optimizer"] == "sgd"]
    noise = next((p["noise_multiplier"] for p in curves if p["smoothing"] > 1), LOUD)
    return [p for p in curves if p["noise_multiplier"] == noise]


def _ways(points):
    """The ways in which runs were aimed, in words, with their points."""
    found = {}
    for p in points:
        if p["part"] != "curve":
            how = "chosen on validation images" if p["part"] == "chosen" else "the paper's"
            found.setdefault(f"{how}, {p['epochs']} epochs", []).append(p)
    return found


def _kinds(points):
    """What sigma was, in words, with the points: each beside none."""
    sigmas = sorted({p["sigma"] for p in points} - {0.0})
    return {f"σ = {sigma:g}": [p for p in points if p["sigma"] in (0.0, sigma)] for sigma in sigmas}


def _bests(points):
    """As the paper chose: the best test accuracy within each epsilon over all rates, multipliers and epochs, with
    sigma = 1: the paper names no other choice.

    One for each run: every run tried all of them once.
    """
    curves = [p for p in points if p["part"] == "curve" and p["smoothing"] <= 1]
    found = {}
    for p in curves:
        for budget in BUDGETS:
            if p["epsilon"] <= budget:
                found.setdefault((p["method"], budget, p["run"]), []).append(p["accuracy"])
    return [
        {"method": method, "status": "proven", "epsilon": budget, "run": run, "accuracy": max(seen)}
        for (method, budget, run), seen in sorted(found.items(), key=lambda pair: METHODS.index(pair[0][0]))
    ]


def show_sweep(points):
    """Accuracy over epochs for each sigma and rate; over epsilon as the paper chose it, and as aimed; the choices."""
    loud, drawn = _loud(points), []
    left = [{**p, "method": f"σ = {p['smoothing']:g}"} for p in loud if p["step"] == STEPS["sgd"]]
    middle = [
        {**p, "method": f"{p['method']}, learning rate {p['step']:g}"} for p in loud if p["smoothing"] in (0.0, 1.0)
    ]
    for title, part in (("smoothing", left), ("learning rate", middle)):
        drawn += [
            replace(panel, title=title) for panel in panels(part, x="epoch", y="accuracy", y_name="test accuracy")
        ]
    shared = {"y": "accuracy", "x_scale": "log", "x_name": "ε", "y_name": "test accuracy"}
    title = "best of all settings and epochs within ε (chosen on the test images, as in the paper)"
    drawn += [replace(panel, title=title) for panel in panels(_bests(points), x="epsilon", **shared)]
    for words, part in _ways(points).items():
        named = [{**p, "method": _name(p)} for p in part]
        drawn += [
            replace(panel, title=f"aimed at ε; learning rate: {words}") for panel in panels(named, x="target", **shared)
        ]
    return [*drawn, _choices(points)]


def _name(point):
    """With sigma where several were set."""
    return (
        f"{point['method']}, σ = {point['sigma']:g}" if point["part"] == "aimed" and point["sigma"] else point["method"]
    )


def _choices(points):
    rows = []
    for words, part in _ways(points).items():
        for target, name in dict.fromkeys((p["target"], _name(p)) for p in part):
            mine = [p for p in part if (p["target"], _name(p)) == (target, name)]
            score = mine[0]["validation"]
            rows.append((
                f"{target:g}", words, mine[0]["method"], f"{mine[0]['sigma']:g}", f"{mine[0]['rate']:g}",
                "" if score is None else f"{score:.2f}", f"{mine[0]['noise_multiplier']:.3f}",
                f"{mine[0]['epsilon']:.4f}", spread(values(mine)),
            ))  # fmt: skip
    head = (
        "aimed ε", "learning rate", "method", "σ", "rate", "validation", "noise multiplier", "ε spent", "test accuracy",
    )  # fmt: skip
    return TextTable("Runs aimed at one ε, percent: mean ± half of the 95% interval", head, tuple(rows))


def check_sweep(points, expected):
    """A larger sigma is more stable; smoothing helps at every learning rate; the gains that the text names."""
    loud, found = _loud(points), []
    enough, where = whole(points), {"step": STEPS["sgd"]}
    sigmas = sorted({p["smoothing"] for p in loud if p["step"] == STEPS["sgd"]})
    down = {s: falls(loud, smoothing=s, **where) for s in sigmas}
    steadier = difference(down[sigmas[0]], down[sigmas[-1]])
    found.append(Finding(
        f"Training is more stable the larger σ is (taken as: σ = {sigmas[-1]:g} falls less than σ = {sigmas[0]:g}).",
        steadier.above() if enough else None,
        "Points from the best epoch to the last before the learning rate falls: "
        + ", ".join(f"{sum(d.values()) / len(d):.2f} (σ = {s:g})" for s, d in down.items())
        + f"; smallest against largest σ {steadier}. "
        + _moves({f"σ = {s:g}": swings(loud, smoothing=s, **where) for s in sigmas}),
    ))  # fmt: skip
    first = [p for p in loud if p["epoch"] == 1]
    slow = difference(*(values(first, smoothing=s, **where) for s in (sigmas[0], sigmas[-1])))
    found.append(Finding(
        "A larger σ is slower at first.", slow.above() if enough else None,
        f"After one epoch, smallest against largest σ: {slow}.",
    ))  # fmt: skip
    rates = sorted({p["step"] for p in loud})
    for step in rates:
        seen = compared([p for p in last(loud) if p["smoothing"] <= 1], *METHODS[1::-1], step=step)
        found.append(Finding(
            f"DP-LSSGD outperforms DP-SGD at learning rate {step:g}.", seen.above() if enough else None,
            f"At the end, σ = 1: {seen}.",
        ))  # fmt: skip
    calm = difference(*(falls(loud, smoothing=s, step=rates[-1]) for s in (0.0, 1.0)))
    found.append(Finding(
        "DP-LSSGD is more stable than DP-SGD at the largest learning rate.", calm.above() if enough else None,
        f"Points from the best epoch to the last before the rate falls, at {rates[-1]:g}, without and with σ = 1: "
        f"{calm}. " + _moves({f"σ = {s:g}": swings(loud, smoothing=s, step=rates[-1]) for s in (0.0, 1.0)}),
    ))  # fmt: skip
    gains = expected["figure_7_gain"]
    for epsilon, claimed in sorted(gains.items()):
        best = [p for p in _bests(points) if p["epsilon"] == float(epsilon)]
        found += _gains(best, "as the paper chose, the best on the test images", float(epsilon), claimed, enough)
    for words, part in _ways(points).items():
        for (kind, mine), target in itertools.product(_kinds(part).items(), sorted({p["target"] for p in part})):
            there = [p for p in mine if p["target"] == target]
            found += _gains(there, f"learning rate: {words}; {kind}", target, gains.get(f"{target:g}"), enough)
    return found


def _moves(swings_of):
    """A second number for stability; a network that has fallen to chance hardly moves."""
    means = ", ".join(f"{sum(m.values()) / len(m):.2f} ({name})" for name, m in swings_of.items() if m)
    return f"From epoch to epoch it moves by {means}."


def _gains(points, words, target, claimed, enough):
    """DP-LSSGD against DP-SGD, by how much, and DP-LSAdam against DP-LSSGD and DP-Adam, at one epsilon."""
    methods = {p["method"] for p in points}
    edge = any(p.get("at_edge") for p in points)
    stated = OURS if any(p.get("part") in ("aimed", "chosen") for p in points) else ""  # it chose by the test
    note, judged = " A rate at the edge of those tried was chosen." if edge else "", enough and not edge
    if {*METHODS[:2]} <= methods:
        seen = compared(points, *METHODS[1::-1])
        yield Finding(
            f"{stated}DP-LSSGD is better than DP-SGD at ε = {target:g} ({words}).",
            seen.above() if judged else None, f"{seen}.{note}",
        )  # fmt: skip
        if claimed is not None:
            yield Finding(
                f"{stated}A gain of {claimed} points by DP-LSSGD at ε = {target:g} is in line with the runs ({words}).",
                seen.reaches(claimed) if judged else None,
                f"{seen}. In line: the interval holds {claimed} or lies above it, and excludes no gain.{note}",
            )  # fmt: skip
    if {METHODS[1], METHODS[3]} <= methods:
        seen = compared(points, METHODS[3], METHODS[1])
        yield Finding(
            f"{stated}DP-LSAdam is better still than DP-LSSGD at ε = {target:g} ({words}).",
            seen.above() if judged else None, f"{seen}.{note}",
        )  # fmt: skip
    if {*METHODS[2:]} <= methods:
        seen = compared(points, *METHODS[:1:-1])
        yield Finding(
            f"{OURS}DP-LSAdam is better than DP-Adam at ε = {target:g} ({words}).",
            seen.above() if judged else None, f"{seen}.{note}",
        )  # fmt: skip
