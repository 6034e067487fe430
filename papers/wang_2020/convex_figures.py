"""Grids, pictures and checks of the convex part: Figures 1, 3 and 4 and Table 2."""

import itertools
import json
import math
import statistics
from dataclasses import replace
from pathlib import Path

from papers.engine.figure import Finding, TextTable, mean_of, panels
from papers.wang_2020 import convex
from papers.wang_2020.convolutional_figures import cells as network_cells
from papers.wang_2020.convolutional_figures import last as last_epoch
from papers.wang_2020.convolutional_figures import measure as train


def table2_cells(size):
    """Every epsilon and sigma; quick: the two ends of both, on 8,000 images."""
    quick = size.quick
    grid = itertools.product(
        (0.30, 0.10) if quick else convex.EPSILONS, (0.0, 1.0, 3.0) if quick else convex.SIGMAS, range(size.pick(5, 1))
    )
    return [{"epsilon": e, "smoothing": s, "run": run, "rows": 8_000 if quick else None} for e, s, run in grid]


def show_table2(points):
    """Mean and standard deviation in the paper's layout, the paper's own below each row."""
    paper = json.loads((Path(__file__).parent / "expected.json").read_text(encoding="utf-8"))["table_2"]
    epsilons = sorted({p["epsilon"] for p in points}, reverse=True)
    rows = []
    for sigma in sorted({p["smoothing"] for p in points}):
        cells = [_values(points, epsilon=e, smoothing=sigma) for e in epsilons]
        rows.append((f"σ = {sigma:g}", *(_spread(values) for values in cells)))
        printed = [paper[f"{name}_{sigma:g}"] for name in ("sigma", "deviation")]
        pairs = [[values[paper["epsilons"].index(e)] for values in printed] for e in epsilons]
        rows.append((f"σ = {sigma:g}, the paper", *(f"{mean:.2f} ± {spread:.2f}" for mean, spread in pairs)))
    title = "Test accuracy of multi-class logistic regression, percent"
    return [TextTable(title, ("ε", *(f"{e:g}" for e in epsilons)), tuple(rows))]


def check_table2(points, expected):
    """Smoothing beats none, and the paper's accuracies are reached; the paper's numbers are in each sentence."""
    paper, found = expected["table_2"], []
    sigmas = sorted({p["smoothing"] for p in points} - {0.0})
    for epsilon in sorted({p["epsilon"] for p in points}, reverse=True):
        column = paper["epsilons"].index(epsilon)
        mean = {s: mean_of(points, "accuracy", epsilon=epsilon, smoothing=s) for s in (0.0, *sigmas)}
        theirs = {s: paper[f"sigma_{s:g}"][column] for s in mean}
        found.append(Finding(
            f"DP-LSSGD improves the accuracy over DP-SGD at ε = {epsilon:g}.",
            all(mean[s] > mean[0.0] for s in sigmas),
            "Ours " + _list(mean) + "; the paper's " + _list(theirs) + ".",
        ))  # fmt: skip
        whole = all(p["rows"] is None for p in points)
        found.append(Finding(
            f"The paper's accuracies are reached at ε = {epsilon:g} with a guarantee that holds.",
            all(mean[s] >= theirs[s] for s in mean) if whole else None,
            f"Smallest margin {min(mean[s] - theirs[s] for s in mean):+.2f} points"
            + ("." if whole else ", on fewer images."),
        ))  # fmt: skip
    spread = {s: _deviation(points, s) for s in (0.0, *sigmas)}
    found.append(Finding(
        "DP-LSSGD reduces the variance.",
        None if any(math.isnan(v) for v in spread.values()) else max(spread[s] for s in sigmas) < spread[0.0],
        "Mean standard deviation over ε: " + _list(spread) + ".",
    ))  # fmt: skip
    return found


def loss_cells(size):
    """Figure 3."""
    rest = {"epochs": 5, "rows": 8_000} if size.quick else {"epochs": 50, "rows": None}
    grid = itertools.product((0.2, 0.1), (0.0, 1.0, 3.0), range(size.pick(3, 1)))
    return [{"epsilon": e, "smoothing": s, "run": run, **rest} for e, s, run in grid]


def show_losses(points):
    """Training and validation loss over steps, one pair of panels an epsilon."""
    drawn = []
    for y in ("training", "validation"):
        for panel in panels(_started(points), x="step", y=y, by="epsilon", x_scale="log", y_scale="log", y_name="loss"):
            drawn.append(replace(panel, title=f"{y} loss, ε = {panel.title}"))
    return sorted(drawn, key=lambda panel: panel.title.rpartition(" ")[2], reverse=True)


def check_losses(points, expected):
    """Lower losses with smoothing, and more so at the smaller epsilon."""
    del expected
    last, found, gain = _last(points), [], {}
    for epsilon in (0.2, 0.1):
        for y in ("training", "validation"):
            mean = {s: mean_of(last, y, epsilon=epsilon, smoothing=s) for s in (0.0, 1.0, 3.0)}
            found.append(Finding(
                f"The {y} loss of DP-LSSGD ends below that of DP-SGD at ε = {epsilon:g}.",
                max(mean[1.0], mean[3.0]) < mean[0.0], f"At the end: {_list(mean, 3)}.",
            ))  # fmt: skip
            gain[epsilon] = mean[0.0] - mean[3.0]
    found.append(Finding(
        "The improvement is larger when the guarantee is stronger.", gain[0.1] > gain[0.2],
        f"Validation loss lower by {gain[0.2]:.3f} at ε = 0.2 and by {gain[0.1]:.3f} at ε = 0.1 (σ = 3).",
    ))  # fmt: skip
    return found


def step_cells(size):
    """Figure 4."""
    rest = {"epochs": 5, "rows": 8_000} if size.quick else {"epochs": 20, "rows": None}
    sigmas = (0.0, 1.0) if size.quick else (0.0, 1.0, 3.0)
    grid = itertools.product((0.1, 0.2), sigmas, (0.5, 1.5, 3.0), range(size.pick(1, 1)))
    return [{"epsilon": e, "smoothing": s, "a": a, "run": run, **rest} for e, s, a, run in grid]


def show_steps(points):
    """Accuracy over a, one panel an epsilon."""
    drawn = panels(points, x="a", y="accuracy", by="epsilon", y_name="test accuracy, percent")
    return [replace(panel, title=f"steps a/t, ε = {panel.title}") for panel in drawn]


def check_steps(points, expected):
    """DP-LSSGD always outperforms DP-SGD."""
    del expected
    found = []
    for epsilon in sorted({p["epsilon"] for p in points}):
        gains = {
            (a, s): mean_of(points, "accuracy", epsilon=epsilon, a=a, smoothing=s)
            - mean_of(points, "accuracy", epsilon=epsilon, a=a, smoothing=0.0)
            for a, s in sorted({(p["a"], p["smoothing"]) for p in points if p["smoothing"]})
        }
        least = min(gains, key=gains.get)
        found.append(Finding(
            f"DP-LSSGD always outperforms DP-SGD at ε = {epsilon:g}, whatever the step size.", gains[least] > 0,
            f"Smallest gain {gains[least]:+.2f} points at a = {least[0]:g}, σ = {least[1]:g}.",
        ))  # fmt: skip
    return found


def degradation_cells(size):
    """Figure 1: losses of DP-SGD over several epsilons, and networks over several noise multipliers."""
    quick = size.quick
    rest = {"epochs": 5, "rows": 8_000} if quick else {"epochs": 50, "rows": None}
    losses = [
        {"part": "logistic", "epsilon": e, "smoothing": 0.0, "run": run, **rest}
        for e in (None, 0.3, 0.2, 0.1) for run in range(size.pick(1, 1))
    ]  # fmt: skip
    multipliers = (0.0, 1.0) if quick else (0.0, 2.0, 5.0, 10.0)
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
        replace(panel, title=f"{y} loss of logistic regression")
        for y in ("training", "validation")
        for panel in panels(losses, x="step", y=y, x_scale="log", y_scale="log", y_name="loss")
    ]
    networks = last_epoch([p for p in points if p["part"] == "network"])
    private = [p for p in networks if p["epsilon"] is not None]
    plain = [
        {**p, "epsilon": q["epsilon"], "method": "no privacy"}
        for p in networks
        if p["epsilon"] is None
        for q in private
    ]
    curve = panels(
        private + plain, x="epsilon", y="accuracy", x_scale="log", x_name="ε", y_name="test accuracy, percent"
    )
    return drawn + [replace(panel, title="network on MNIST") for panel in curve]


def check_degradation(points, expected):
    """The stronger the guarantee the larger the losses, and the network far below the non-private one."""
    del expected
    found, last = [], _last([p for p in points if p["part"] == "logistic"])
    for y in ("training", "validation"):
        mean = {e: mean_of(last, y, epsilon=e) for e in (None, 0.3, 0.2, 0.1)}
        found.append(Finding(
            f"The {y} loss of DP-SGD rises as the guarantee gets stronger.",
            all(a < b for a, b in itertools.pairwise(mean.values())),
            ", ".join(f"{_epsilon(e)}: {value:.3f}" for e, value in mean.items()) + ".",
        ))  # fmt: skip
    networks = sorted(last_epoch([p for p in points if p["part"] == "network"]), key=lambda p: p["noise_multiplier"])
    plain = networks[0]["accuracy"]
    found.append(Finding(
        "The network trained by DP-SGD has a much lower accuracy than the non-private one.",
        all(p["accuracy"] < plain - 1 for p in networks[1:]) if networks[0]["rows"] is None else None,
        f"No privacy {plain:.1f}; "
        + ", ".join(f"ε = {p['epsilon']:.2g}: {p['accuracy']:.1f}" for p in networks[1:]) + ".",
    ))  # fmt: skip
    return found


def _started(points):
    """Without step 0, which a logarithmic axis cannot show."""
    return [p for p in points if p.get("step") or p.get("part") == "network"]


def _last(points):
    end = max(p["step"] for p in points)
    return [p for p in points if p["step"] == end]


def _epsilon(epsilon):
    return "no privacy" if epsilon is None else f"DP-SGD, ε = {epsilon:g}"


def _values(points, **where):
    return [p["accuracy"] for p in points if all(p[k] == v for k, v in where.items())]


def _spread(values):
    if not values:
        return ""
    return f"{statistics.fmean(values):.2f}" + (f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else "")


def _deviation(points, sigma):
    groups = [_values(points, epsilon=e, smoothing=sigma) for e in sorted({p["epsilon"] for p in points})]
    return statistics.fmean(statistics.stdev(g) for g in groups) if min(map(len, groups)) > 2 else math.nan


def _list(values, digits=2):
    return ", ".join(f"{value:.{digits}f} (σ = {sigma:g})" for sigma, value in values.items())
