"""Accuracy and optimality gap over epsilon, each curve with the status of its guarantee: what two papers' figures show.

The papers choose T and the step size by cross-validation, on the private data and at no charge. So does this script,
for the published algorithms only, on a part held out of the training records; the proven methods get no such help.
"""

import argparse
import itertools
import json
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import tacit
from tacit import datasets
from tacit.losses import Logistic
from tacit.problem import Problem, Records
from tacit.solvers.newton import Newton

LAMBDA = 1e-3
"""The regulariser of every model here and of the optimum that gaps are measured from."""


@dataclass(frozen=True)
class Curve:
    """A label, its status, and the candidates among which cross-validation chooses; one: nothing to choose."""

    label: str
    status: str
    methods: tuple
    calibration: str = "proven"


def load(name, rows, seed):
    """Training, validation and test records: 60, 20 and 20 per cent."""
    X, labels = datasets.load(name, rows=rows, complete=name == "adult").arrays()
    y = np.where(labels == np.unique(labels)[1], 1, 0)
    order = np.random.default_rng(seed).permutation(len(y))
    parts = np.split(order, [int(0.6 * len(y)), int(0.8 * len(y))])
    return [(X[part], y[part]) for part in parts]


class Optimum:
    """The regularised mean loss on the training records, and its least value: the optimality gap of the papers."""

    def __init__(self, X, y):
        records = Records.build(X, 2.0 * y - 1, 1.0, 0.5)
        self.problem = Problem(records, Logistic(), regularization=LAMBDA * len(y))
        self.least = self._mean(Newton(1e-7).solve(self.problem).weights)

    def _mean(self, weights):
        return float(self.problem.value(weights)[0]) / self.problem.records.count

    def gap(self, model):
        """How far the model's loss is above the least."""
        weights = np.append(model.coef_[0], model.intercept_[0] / 0.5)
        return self._mean(weights[:, None]) - self.least


def fitted(method, calibration, epsilon, delta, data, seed):
    """One fit."""
    model = tacit.LogisticRegression(
        epsilon, delta=delta, method=method, calibration=calibration, regularization=LAMBDA, classes=[0, 1], margin=0.0,
        random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tacit.RefutedWarning)  # the table says so in every row
        return model.fit(*data)


def points(curve, epsilon, delta, data, optimum, seeds):
    """Means over seeds of accuracy, gap and noiseless fraction, with the candidate that validation prefers."""
    train, valid, test = data
    chosen = curve.methods[0]
    if len(curve.methods) > 1:
        scores = [
            np.mean([fitted(m, curve.calibration, epsilon, delta, train, 900 + s).score(*valid) for s in range(2)])
            for m in curve.methods
        ]
        chosen = curve.methods[int(np.argmax(scores))]
    models = [fitted(chosen, curve.calibration, epsilon, delta, train, seed) for seed in range(seeds)]
    status = models[0].guarantee_.status
    assert status == curve.status, (curve.label, status)
    noiseless = [getattr(model, "noiseless_", np.nan) for model in models]
    return {
        "label": curve.label,
        "status": status,
        "epsilon": epsilon,
        "accuracy": float(np.mean([model.score(*test) for model in models])),
        "gap": float(np.mean([optimum.gap(model) for model in models])),
        "noiseless": float(np.mean(noiseless)),
    }


def grid(mechanism, **choices):
    """Copies of a mechanism, one for each combination of settings."""
    return tuple(
        replace(mechanism, **dict(zip(choices, values, strict=True))) for values in itertools.product(*choices.values())
    )


def main(title, sets, epsilons, curves, delta):
    """The command line that both experiments share."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--quick", action="store_true", help="4,000 records a set, three epsilons, two seeds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", default=",".join(sets))
    parser.add_argument("--epsilons", default=",".join(f"{e:g}" for e in epsilons))
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    parser.add_argument("--plot", type=Path, help="draw the curves (needs matplotlib)")
    options = parser.parse_args()
    wanted = [float(e) for e in options.epsilons.split(",")]
    if options.quick:
        wanted, options.seeds = [0.1, 1.0, wanted[-1]], 2
    rows = []
    print("| data | epsilon | method | status | accuracy | optimality gap | noiseless steps |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in options.sets.split(","):
        size = min(4000, sets[name]) if options.quick else (sets[name] if name == "kddcup99" else None)
        data = load(name, size, seed=1)
        optimum = Optimum(*data[0])
        for epsilon in wanted:
            for curve in curves:
                row = {"data": name, **points(curve, epsilon, delta, data, optimum, options.seeds)}
                rows.append(row)
                share = "" if np.isnan(row["noiseless"]) else f"{row['noiseless']:.0%}"
                print(
                    f"| {name} | {epsilon:g} | {row['label']} | {row['status']} | {row['accuracy']:.4f} | "
                    f"{row['gap']:.4f} | {share} |",
                    flush=True,
                )
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))
    if options.plot:
        draw(rows, options.plot, title)


def draw(rows, path, title):
    """Accuracy above, gap below, one column a data set; refuted curves are dashed."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, axes = plt.subplots(2, len(names), figsize=(4.5 * len(names), 7), squeeze=False)
    for column, name in enumerate(names):
        for label in dict.fromkeys(row["label"] for row in rows):
            mine = [row for row in rows if row["data"] == name and row["label"] == label]
            style = "-" if mine[0]["status"] == "proven" else "--"
            for line, what in enumerate(("accuracy", "gap")):
                xs, ys = [row["epsilon"] for row in mine], [row[what] for row in mine]
                axes[line, column].semilogx(xs, ys, style, marker="o", label=f"{label} ({mine[0]['status']})")
                axes[line, column].set(title=name, xlabel="epsilon", ylabel=what)
    axes[0, 0].legend(fontsize=7)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
