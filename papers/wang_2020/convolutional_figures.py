"""Grids, pictures and checks of the networks: Figures 5, 6 and 7. What needs PyTorch is in ``convolutional``."""

import itertools
import statistics
from dataclasses import replace

from papers.engine.figure import Finding, Panel, TextTable, mean_of, panels

STEPS = {"sgd": 0.15, "adam": 0.001}
METHODS = ("DP-SGD", "DP-LSSGD", "DP-Adam", "DP-LSAdam")
BUDGETS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
NEAR = 0.5
"""Points of accuracy that one run may differ from the next by."""


def name_of(optimizer, smoothing):
    """The paper's names."""
    return f"DP-{'LS' if smoothing else ''}{'SGD' if optimizer == 'sgd' else 'Adam'}"


def measure(**settings):
    """One network; see ``convolutional.measure``."""
    from papers.wang_2020.convolutional import measure as trained

    return trained(**settings)


def defaults(**settings):
    """The classifier with its rules; see ``convolutional.defaults``."""
    from papers.wang_2020.convolutional import defaults as trained

    return trained(**settings)


def default_cells(size):
    """The library's classifier at two epsilons; quick: on 600 images, one epoch."""
    rest = {"epochs": 1, "rows": 600} if size.quick else {"epochs": None, "rows": None}
    kinds = [("sgd", 0.0), ("sgd", 1.0)] if size.quick else [(o, s) for o in ("sgd", "adam") for s in (0.0, 1.0, 2.0)]
    grid = itertools.product((3.0,) if size.quick else (1.2, 3.0), kinds, range(size.pick(3, 1)))
    return [{"epsilon": e, "optimizer": o, "smoothing": s, **rest, "run": run} for e, (o, s), run in grid]


def show_defaults(points):
    """Mean and standard deviation of each optimiser and sigma."""
    epsilons = sorted({p["epsilon"] for p in points})
    rows = []
    for optimizer, sigma in dict.fromkeys((p["optimizer"], p["smoothing"]) for p in points):
        where = {"optimizer": optimizer, "smoothing": sigma}
        mine = [p for p in points if all(p[k] == v for k, v in where.items())]
        groups = [[p["accuracy"] for p in mine if p["epsilon"] == e] for e in epsilons]
        rows.append((optimizer, f"{sigma:g}", *(_spread(group) for group in groups)))
    return [TextTable("Test accuracy in percent", ("optimiser", "σ", *(f"ε = {e:g}" for e in epsilons)), tuple(rows))]


def check_defaults(points, expected):
    """Whether smoothing helps at larger epsilons too."""
    del expected
    whole, found = all(p["rows"] is None for p in points), []
    for epsilon, optimizer in sorted({(p["epsilon"], p["optimizer"]) for p in points}):
        mean = {s: mean_of(points, "accuracy", epsilon=epsilon, optimizer=optimizer, smoothing=s) for s in (0.0, 1.0)}
        found.append(Finding(
            f"Smoothing improves the classifier with its own rules (ε = {epsilon:g}, {optimizer}).",
            mean[1.0] > mean[0.0] if whole else None, f"{mean[1.0]:.2f} with σ = 1, {mean[0.0]:.2f} without.",
        ))  # fmt: skip
    return found


def cells(size, data, optimizers, sigmas, multipliers, steps=(None,)):
    """The product of these; ``steps`` None is the paper's learning rate. Quick: a few images and steps."""
    if size.quick:
        rest = {"batch": 64, "epochs": 2, "rows": 1_000} if data == "mnist" else {"batch": 16, "epochs": 1, "rows": 32}
    else:
        rest = {"batch": 256, "epochs": 15 if data == "mnist" else 10, "rows": None}
    grid = itertools.product(multipliers, optimizers, sigmas, steps, range(size.pick(1, 1)))
    return [
        {"data": data, "optimizer": optimizer, "smoothing": sigma, "noise_multiplier": noise,
         "step": STEPS[optimizer] if step is None else step, **rest, "run": run}
        for noise, optimizer, sigma, step, run in grid
    ]  # fmt: skip


def last(points):
    """The last epoch of every network."""
    end = max((p["epoch"] for p in points), default=0)
    return [p for p in points if p["epoch"] == end]


def optimizer_cells(size):
    """Figure 5: four optimisers, several noise multipliers."""
    return cells(size, "mnist", ("sgd", "adam"), (0.0, 1.0), (1.0,) if size.quick else (2.0, 5.0, 10.0))


def cifar_cells(size):
    """Figure 6: four optimisers at a noise multiplier of 2."""
    return cells(size, "cifar10", ("sgd", "adam"), (0.0, 1.0), (2.0,))


def show_optimizers(points):
    """Accuracy over epochs, one panel a noise multiplier, with the epsilon spent below."""
    drawn = panels(points, x="epoch", y="accuracy", by="noise_multiplier", y_name="test accuracy, percent")
    drawn = [replace(panel, title=f"noise multiplier {panel.title}") for panel in drawn]
    spent = [{**p, "method": f"noise multiplier {p['noise_multiplier']:g}"} for p in points]
    drawn += [replace(panel, title="privacy spent") for panel in panels(spent, x="epoch", y="epsilon", y_name="ε")]
    return [*drawn, _summary(points)]


def check_optimizers(points, expected):
    """Smoothing improves SGD and Adam, and calms SGD; epsilon is the same for all four."""
    del expected
    found, end = [], last(points)
    for noise in sorted({p["noise_multiplier"] for p in points}):
        final = {m: mean_of(end, "accuracy", method=m, noise_multiplier=noise) for m in METHODS}
        best = {
            m: max(p["accuracy"] for p in points if (p["method"], p["noise_multiplier"]) == (m, noise)) for m in METHODS
        }
        place = f"noise multiplier {noise:g}"
        enough = all(p["rows"] is None for p in points)
        for plain, smoothed in (METHODS[:2], METHODS[2:]):
            found.append(Finding(
                f"{smoothed} is better than {plain} ({place}).",
                _above(final[smoothed], final[plain]) if enough else None,
                f"At the end {final[smoothed]:.1f} against {final[plain]:.1f}; best on the way {best[smoothed]:.1f} "
                f"against {best[plain]:.1f}.",
            ))  # fmt: skip
        fall = {m: best[m] - final[m] for m in METHODS[:2]}
        found.append(Finding(
            f"Accuracy of DP-SGD falls again after a few epochs, and DP-LSSGD mends that ({place}).",
            fall["DP-SGD"] > NEAR and fall["DP-LSSGD"] < fall["DP-SGD"] if enough else None,
            f"From best to last: DP-SGD -{fall['DP-SGD']:.1f}, DP-LSSGD -{fall['DP-LSSGD']:.1f} points.",
        ))  # fmt: skip
        prices = {round(p["epsilon"], 9) for p in end if p["noise_multiplier"] == noise}
        found.append(Finding(
            f"All four spend the same ({place}).", len(prices) == 1, f"ε = {max(prices):.3g} at δ = 1e-5 in the end."
        ))  # fmt: skip
    return found


def sweep_cells(size):
    """Figure 7: sigma at noise multiplier 10; learning rates; and the four optimisers over noise multipliers."""
    if size.quick:
        parts = [
            cells(size, "mnist", ("sgd",), (0.0, 1.0, 3.0), (1.0,)),
            cells(size, "mnist", ("sgd",), (1.0,), (1.0,), (0.3,)),
        ]
    else:
        parts = [
            cells(size, "mnist", ("sgd",), (0.0, 1.0, 2.0, 3.0), (10.0,)),
            cells(size, "mnist", ("sgd",), (0.0, 1.0), (10.0,), (0.05, 0.3)),
            cells(size, "mnist", ("adam",), (0.0, 1.0), (10.0,)),
            cells(size, "mnist", ("sgd", "adam"), (0.0, 1.0), (2.0, 5.0, 20.0)),
        ]
    return [cell for part in parts for cell in part]


def show_sweep(points):
    """Accuracy over epochs for each sigma and learning rate, and the best accuracy found for each epsilon."""
    loud = [p for p in points if p["noise_multiplier"] == _sweep_noise(points) and p["optimizer"] == "sgd"]
    left = [{**p, "method": f"σ = {p['smoothing']:g}"} for p in loud if p["step"] == STEPS["sgd"]]
    middle = [
        {**p, "method": f"{p['method']}, learning rate {p['step']:g}"} for p in loud if p["smoothing"] in (0.0, 1.0)
    ]
    drawn: list[Panel | TextTable] = []
    for title, part in (("smoothing", left), ("learning rate", middle)):
        drawn += [
            replace(panel, title=title) for panel in panels(part, x="epoch", y="accuracy", y_name="test accuracy")
        ]
    best = [
        {"method": m, "status": "proven", "epsilon": budget, "accuracy": found}
        for m in METHODS for budget in BUDGETS if (found := _best(points, m, budget)) is not None
    ]  # fmt: skip
    title = "best of all runs within ε (chosen on the test images, as in the paper)"
    right = panels(best, x="epsilon", y="accuracy", x_scale="log", x_name="ε", y_name="test accuracy")
    return drawn + [replace(panel, title=title) for panel in right]


def check_sweep(points, expected):
    """A larger sigma is more stable; smoothing helps at every learning rate; the gains that the text names."""
    whole, found = all(p["rows"] is None for p in points), []
    loud = [p for p in points if p["noise_multiplier"] == _sweep_noise(points) and p["optimizer"] == "sgd"]
    falls = {}
    for sigma in sorted({p["smoothing"] for p in loud}):
        curve = [p["accuracy"] for p in loud if p["smoothing"] == sigma and p["step"] == STEPS["sgd"]]
        falls[sigma] = max(curve) - curve[-1]
    found.append(Finding(
        "Training is more stable the larger σ is.",
        all(a >= b for a, b in itertools.pairwise(falls.values())) if whole else None,
        "Points from best to last: " + ", ".join(f"{fall:.1f} (σ = {s:g})" for s, fall in falls.items()) + ".",
    ))  # fmt: skip
    pairs = {step: {p["smoothing"] for p in loud if p["step"] == step} for step in sorted({p["step"] for p in loud})}
    for step in (step for step, sigmas in pairs.items() if {0.0, 1.0} <= sigmas):
        final = {s: mean_of(last(loud), "accuracy", step=step, smoothing=s) for s in (0.0, 1.0)}
        found.append(Finding(
            f"DP-LSSGD outperforms DP-SGD at learning rate {step:g}.",
            _above(final[1.0], final[0.0]) if whole else None,
            f"{final[1.0]:.1f} against {final[0.0]:.1f} percent in the end.",
        ))  # fmt: skip
    for budget, gain in expected["figure_7_gain"].items():
        ours = [_best(points, m, float(budget)) for m in METHODS[:2]]
        known = None not in ours
        found.append(Finding(
            f"DP-LSSGD improves the network by {gain} points at ε = {budget}.",
            ours[1] - ours[0] >= gain / 2 if known and whole else None,
            f"{ours[1]:.1f} against {ours[0]:.1f} (best of all runs)." if known else "No run ended within that ε.",
        ))  # fmt: skip
    return found


def _spread(values):
    mean = f"{statistics.fmean(values):.2f}"
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean


def _above(one, other):
    """Above, below, or too near to tell."""
    return None if abs(one - other) < NEAR else one > other


def _sweep_noise(points):
    """The noise multiplier at which sigma was varied."""
    return next(p["noise_multiplier"] for p in points if p["smoothing"] > 1)


def _best(points, method, budget):
    found = [p["accuracy"] for p in points if p["method"] == method and p["epsilon"] <= budget]
    return max(found, default=None)


def _summary(points):
    rows = tuple(
        (f"{p['noise_multiplier']:g}", p["method"], f"{p['epsilon']:.3g}", f"{p['accuracy']:.2f}") for p in last(points)
    )
    return TextTable("After the last epoch", ("noise multiplier", "method", "ε", "test accuracy, percent"), rows)
