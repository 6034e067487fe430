"""Grids, pictures and checks of Figures 1, 3 and 4: the convex part without Table 2."""

import itertools
from dataclasses import replace

import numpy as np

from papers.engine.figure import Finding, mean_of, panels
from papers.wang_2020 import convex
from papers.wang_2020.convolutional_figures import MULTIPLIERS, OURS, check_network, network_panels
from papers.wang_2020.convolutional_figures import cells as network_cells
from papers.wang_2020.convolutional_figures import measure as train
from papers.wang_2020.forms import NAMES as FORMS
from papers.wang_2020.paired import all_above, gain, words

NAMES = {**FORMS, "well": "with our fixed setting"}
"""Nothing is chosen in these figures: 10 epochs of batches of 1,024 and one step for every sigma."""
COARSE = (
    " One step for every σ: on the validation images it is the best of the 10-epoch steps for σ = 0, not for σ > 0."
)
"""Of the fixed setting at epsilon = 0.2 (rows of Table 2); at 0.1 it is the best for every sigma."""
UNTRAINED = 2.303
"""log 10: the loss of a model that says nothing."""
SHAPES = (
    ("validation", "The validation loss of DP-LSSGD decays faster", "mean",
     "Mean logarithm of the loss over the marks"),
    ("training", f"{OURS}The training loss of DP-SGD bends more from mark to mark", "bend",
     "Mean change of the slope of the logarithm of the loss from mark to mark"),
)  # fmt: skip
"""The way that losses take: which loss, the statement, what is compared, and in words. The paper says that the training
loss of DP-SGD is more oscillatory; marks that are far apart do not show that."""


def loss_cells(size):
    """Figure 3: a pass of both epsilons and three sigmas a run."""
    return _passes(size, 2)


def step_cells(size):
    """Figure 4: a pass of both epsilons, two sigmas and six step sizes a run."""
    return _passes(size, 2)


def _passes(size, epochs, forms=tuple(NAMES)):
    rest = {"epochs": epochs, "rows": 4_000} if size.quick else {"epochs": None, "rows": None}
    return [{"form": form, "run": run, **rest} for form in forms for run in range(size.pick(3, 1))]


def show_losses(points):
    """Training and validation loss over steps, one pair of panels a form and an epsilon."""
    drawn = []
    for form, epsilon, y in itertools.product(NAMES, (0.2, 0.1), ("training", "validation")):
        mine = [p for p in _started(points) if p["form"] == form and p["epsilon"] == epsilon]
        for panel in panels(mine, x="step", y=y, x_scale="log", y_scale="log", y_name="loss"):
            drawn.append(replace(panel, title=f"{NAMES[form]}: {y} loss, ε = {epsilon:g}"))
    return drawn


def check_losses(points, expected):
    """Lower losses with smoothing, and more so at the smaller epsilon; a loss above the untrained one is named."""
    del expected
    found = []
    for form in dict.fromkeys(p["form"] for p in points):
        last = _last([p for p in points if p["form"] == form])
        for epsilon, y in itertools.product((0.2, 0.1), ("training", "validation")):
            mine = [p for p in last if p["epsilon"] == epsilon]
            falls = {s: gain(mine, y, {"smoothing": 0.0}, {"smoothing": s}) for s in (1.0, 3.0)}
            ends = {s: mean_of(mine, y, smoothing=s) for s in (0.0, 1.0, 3.0)}
            found.append(Finding(
                f"{_own(form)}The {y} loss of DP-LSSGD ends below that of DP-SGD at ε = {epsilon:g}, {NAMES[form]}.",
                all_above(falls.values()),
                "At the end " + ", ".join(f"{v:.3f} (σ = {s:g})" for s, v in ends.items()) + "; lower by "
                + ", ".join(f"{words(f, 3)} (σ = {s:g})" for s, f in falls.items()) + "."
                + _above(ends.values()) + _note(form, epsilon),
            ))  # fmt: skip
        found += _ways([p for p in points if p["form"] == form], form)
        grows = _growth(last)
        found.append(Finding(
            f"{_own(form)}The improvement is larger when the guarantee is stronger, {NAMES[form]}.",
            all_above([grows]),
            f"What σ = 3 takes off the validation loss at ε = 0.1, less what it does at 0.2: {words(grows, 3)}.",
        ))  # fmt: skip
    return found


def _ways(points, form):
    """How losses get there, on the logarithmic scale of the paper's figure: faster, and with less back and forth."""
    for epsilon, (y, statement, shape, words_of) in itertools.product((0.2, 0.1), SHAPES):
        curves = _curves([p for p in points if p["epsilon"] == epsilon], y)
        gains = {s: gain(curves, shape, {"smoothing": 0.0}, {"smoothing": s}) for s in (1.0, 3.0)}
        yield Finding(
            f"{_own(form)}{statement.removeprefix(_own(form))} at ε = {epsilon:g}, {NAMES[form]}.",
            all_above(gains.values()),
            f"{words_of}, of DP-SGD less that of DP-LSSGD: "
            + ", ".join(f"{words(g, 3)} (σ = {s:g})" for s, g in gains.items()) + "." + _note(form, epsilon),
        )  # fmt: skip


def _own(form):
    """Before statements about a setting of ours."""
    return OURS if form == "well" else ""


def _note(form, epsilon):
    return COARSE if (form, epsilon) == ("well", 0.2) else ""


def _curves(points, y):
    """Of each run and sigma, with the logarithm of a loss at the marks: its mean, and how much it bends on average."""
    found = []
    for run, sigma in sorted({(p["run"], p["smoothing"]) for p in points}):
        mine = sorted((p for p in points if (p["run"], p["smoothing"]) == (run, sigma)), key=lambda p: p["step"])
        logs = np.log([p[y] for p in mine])
        bend = float(np.abs(np.diff(logs, 2)).mean())
        found.append({"run": run, "smoothing": sigma, "mean": float(logs.mean()), "bend": bend})
    return found


def _above(losses):
    count = sum(loss > UNTRAINED for loss in losses)
    return f" Of these losses {count} are above {UNTRAINED} = log 10, that of an untrained model." if count else ""


def _growth(last):
    """Run by run, the fall of the validation loss by sigma = 3 at epsilon = 0.1 minus that at 0.2."""
    value = {(p["run"], p["epsilon"], p["smoothing"]): p["validation"] for p in last}
    falls = [
        {"run": run, "epsilon": e, "fall": value[run, e, 0.0] - value[run, e, 3.0]}
        for run in sorted({p["run"] for p in last}) for e in (0.1, 0.2)
    ]  # fmt: skip
    return gain(falls, "fall", {"epsilon": 0.1}, {"epsilon": 0.2})


def show_steps(points):
    """Accuracy over a, one panel a form and an epsilon."""
    drawn = []
    for form, epsilon in itertools.product(NAMES, (0.1, 0.2)):
        mine = [p for p in points if p["form"] == form and p["epsilon"] == epsilon]
        for panel in panels(mine, x="a", y="accuracy", y_name="test accuracy, percent"):
            drawn.append(replace(panel, title=f"{NAMES[form]}, ε = {epsilon:g}"))
    return drawn


def check_steps(points, expected):
    """DP-LSSGD always outperforms DP-SGD: at every step size of every form, two-sided."""
    del expected
    found = []
    for form, epsilon in itertools.product(dict.fromkeys(p["form"] for p in points), (0.1, 0.2)):
        mine = [p for p in points if p["form"] == form and p["epsilon"] == epsilon]
        gains = {
            a: gain([p for p in mine if p["a"] == a], "accuracy", {"smoothing": 1.0}, {"smoothing": 0.0})
            for a in sorted({p["a"] for p in mine})
        }
        accuracies = [p["accuracy"] for p in mine]
        place = f"at ε = {epsilon:g}, whatever the step size, {NAMES[form]}"
        found.append(Finding(
            f"{_own(form)}DP-LSSGD always outperforms DP-SGD {place}.", all_above(gains.values()),
            "Gains of σ = 1 " + ", ".join(f"{words(g)} (a = {a:g})" for a, g in gains.items())
            + f"; accuracies from {min(accuracies):.1f} to {max(accuracies):.1f}.",
        ))  # fmt: skip
    return found


def degradation_cells(size):
    """Figure 1: losses of DP-SGD over several epsilons, and networks over several noise multipliers."""
    losses = [{"part": "logistic", "plain": True, **cell} for cell in _passes(size, 2, ("printed", "released"))]
    multipliers = (0.0, 1.0) if size.quick else (0.0, *MULTIPLIERS)
    return losses + [
        {"part": "network", **cell} for cell in network_cells(size, "mnist", ("sgd",), (0.0,), multipliers)
    ]


def degradation(part, **settings):
    """One cell of Figure 1."""
    return convex.losses(**settings) if part == "logistic" else train(**settings)


def show_degradation(points):
    """Losses over steps, one line an epsilon; then the network's last accuracy over epsilon."""
    losses = [{**p, "method": _epsilon(p["epsilon"])} for p in _started(points) if p["part"] == "logistic"]
    drawn = [
        replace(panel, title=f"{y} loss of logistic regression, {NAMES[form]}")
        for form in NAMES
        for y in ("training", "validation")
        for panel in panels(
            [p for p in losses if p["form"] == form], x="step", y=y, x_scale="log", y_scale="log", y_name="loss"
        )
    ]
    return drawn + network_panels([p for p in points if p["part"] == "network"])


def check_degradation(points, expected):
    """The stronger the guarantee the larger the losses, and the network far below the non-private one."""
    del expected
    found, logistic = [], [p for p in points if p["part"] == "logistic"]
    for form, y in itertools.product(dict.fromkeys(p["form"] for p in logistic), ("training", "validation")):
        last = _last([p for p in logistic if p["form"] == form])
        steps = list(itertools.pairwise((None, 0.3, 0.2, 0.1)))
        rises = [gain(last, y, {"epsilon": after}, {"epsilon": before}) for before, after in steps]
        found.append(Finding(
            f"The {y} loss of DP-SGD rises as the guarantee gets stronger, {NAMES[form]}.", all_above(rises),
            ", ".join(f"{_epsilon(e)}: {mean_of(last, y, epsilon=e):.3f}" for e in (None, 0.3, 0.2, 0.1)) + ".",
        ))  # fmt: skip
    found.append(check_network([p for p in points if p["part"] == "network"]))
    return found


def _started(points):
    """Without step 0, which a logarithmic axis cannot show."""
    return [p for p in points if p.get("step") or p.get("part") == "network"]


def _last(points):
    end = max(p["step"] for p in points)
    return [p for p in points if p["step"] == end]


def _epsilon(epsilon):
    return "no privacy" if epsilon is None else f"DP-SGD, ε = {epsilon:g}"
