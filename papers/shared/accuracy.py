"""Accuracy and optimality gap over epsilon, each curve with the status of its guarantee: what three papers draw.

The papers choose T and the step size by cross-validation, on the private data and at no charge. So do these curves, for
the published algorithms only, on records held out of training; the proven methods get no such help. Accuracy, loss and
gap are measured on the private records themselves: they are for readers of papers, not for release.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn import neural_network
from sklearn.exceptions import ConvergenceWarning

import tacit
from papers.engine.figure import Panel, Point, Settings, Size, TextTable, mean_of, panels
from tacit import datasets
from tacit.estimators.base import INTERCEPT
from tacit.types import Calibration

SETS = {
    "kddcup99": 70000, "adult": 45222, "bank_marketing": 41188,
    "breast_cancer": 699, "credit_card_fraud": 984, "iris": 150,
}  # fmt: skip
"""Records of each set, as the three papers give them."""
LARGE, SMALL = tuple(SETS)[:3], tuple(SETS)[3:]
LAMBDA = 1e-3
"""The regulariser of every linear model here and of the optimum that gaps are measured from."""
REFERENCE = "no privacy"
SMALLEST_GAP = 1e-4
"""Gaps below are drawn here: the axis is logarithmic, and a network may end below the one it is compared with."""

Shape = tuple[int, int]
Make = Callable[[float, float | None, int, Shape], Any]


@dataclass(frozen=True)
class Candidate:
    """One setting among which validation chooses: ``make(epsilon, delta, seed, shape)`` gives the model to fit."""

    words: str
    make: Make


@dataclass(frozen=True)
class Curve:
    """A label and its candidates; one candidate: nothing to choose."""

    label: str
    candidates: tuple[Candidate, ...]


def linear(
    label: str, method: Any, calibration: Calibration = "proven", strength: Callable[[float, int], float] | None = None,
    choices: Mapping[str, Sequence[Any]] | None = None,
) -> Curve:  # fmt: skip
    """Logistic regression by a method's name, a mechanism, or a function of the number of records that gives one.

    ``strength(epsilon, records)`` is the regulariser where a method cannot take ``LAMBDA``.
    """

    def candidate(settings: Mapping[str, Any]) -> Candidate:
        def make(epsilon: float, delta: float | None, seed: int, shape: Shape) -> Any:
            chosen = method(shape[0]) if callable(method) else method
            return tacit.LogisticRegression(
                epsilon, delta=delta, method=replace(chosen, **settings) if settings else chosen, margin=0.0,
                calibration=calibration, regularization=strength(epsilon, shape[0]) if strength else LAMBDA,
                classes=[0, 1], random_state=seed,
            )  # fmt: skip

        return Candidate(_words(settings), make)

    return Curve(label, tuple(candidate(settings) for settings in _grid(choices or {})))


def network(label: str, method: str, *, choices: Mapping[str, Sequence[Any]] | None = None, **fixed: Any) -> Curve:
    """A perceptron by a published algorithm, or by ``dp-sgd``; a setting may be a function of the number of records."""

    def candidate(settings: Mapping[str, Any]) -> Candidate:
        def make(epsilon: float, delta: float | None, seed: int, shape: Shape) -> Any:
            from tacit.nn import MLPClassifier
            from tacit.published import PublishedMLPClassifier

            asked = {name: v(shape[0]) if callable(v) else v for name, v in {**fixed, **settings}.items()}
            shared: dict[str, Any] = {"delta": delta, "classes": [0, 1], "random_state": seed}
            if method == "dp-sgd":
                return MLPClassifier(epsilon, bounds=(-1.0, 1.0), **shared, **asked)
            return PublishedMLPClassifier(method, epsilon, **shared, **asked)

        return Candidate(_words(settings), make)

    return Curve(label, tuple(candidate(settings) for settings in _grid(choices or {})))


def _grid(choices: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    return (dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values()))


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())


def _plain_network(epsilon: float, delta: float | None, seed: int, shape: Shape) -> Any:
    """The same perceptron, trained with Adam and no privacy; the papers' L* is of a trained network too."""
    return neural_network.MLPClassifier(
        (shape[1],), activation="tanh", alpha=0.0, learning_rate_init=0.003, max_iter=40, random_state=seed
    )


LINEAR_REFERENCE = linear(REFERENCE, "output")
"""The minimiser itself: epsilon is infinite."""
NETWORK_REFERENCE = Curve(REFERENCE, (Candidate("", _plain_network),))


@cache
def parts(name: str, rows: int | None) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training, validation and test records, 60, 20 and 20 per cent; rows of norm at most 1 by public bounds.

    Labels are 0 and 1; of Iris, with three classes, 1 is virginica and 0 the rest, since the papers have two classes.
    """
    drawn = SETS[name] if rows is None else min(rows, SETS[name])
    whole = drawn == SETS[name] and name != "kddcup99"  # only this file holds more than the papers took
    X, labels = datasets.load(name, rows=None if whole else drawn, complete=name == "adult").arrays()
    y = (labels == np.unique(labels)[-1]).astype(int)
    order = np.random.default_rng(1).permutation(len(y))
    return [(X[part], y[part]) for part in np.split(order, [int(0.6 * len(y)), int(0.8 * len(y))])]


def mean_loss(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """What is minimised: the regularised logistic loss of a linear model, the mean cross-entropy of a network."""
    if hasattr(model, "coef_"):
        intercept = model.intercept_[0] / INTERCEPT
        size = float(np.sum(model.coef_**2) + intercept**2)
        margins = (2 * y - 1) * model.decision_function(X)
        return float(np.logaddexp(0.0, -margins).mean()) + 0.5 * LAMBDA * size
    return float(-np.log(np.maximum(model.predict_proba(X)[np.arange(len(y)), y], 1e-300)).mean())


@dataclass(frozen=True)
class Grid:
    """One figure's curves: data sets by epsilons by methods. ``quick`` names the epsilons, records, seeds, candidates.

    Each cell fits one curve at one epsilon, ``seeds`` times. The split is the same for all; seeds change the noise.
    """

    kind: str
    sets: tuple[str, ...]
    epsilons: tuple[float, ...]
    curves: tuple[Curve, ...]
    reference: Curve
    delta: float | None
    seeds: int
    rows: int | None = None
    quick_epsilons: tuple[float, ...] = ()
    quick_rows: int = 3000
    quick_seeds: int = 2
    quick_choices: int = 2

    def cells(self, size: Size) -> Iterator[Settings]:
        """The reference of every set first, then curve by curve."""
        shared = {
            "kind": self.kind, "delta": self.delta, "rows": self.quick_rows if size.quick else self.rows,
            "choices": self.quick_choices if size.quick else None,
        }  # fmt: skip
        seeds = size.pick(self.seeds, self.quick_seeds)
        for data in self.sets:
            yield {"data": data, "method": REFERENCE, "epsilon": None, "seeds": 1, **shared}
            for epsilon in self.quick_epsilons if size.quick else self.epsilons:
                for curve in self.curves:
                    yield {"data": data, "method": curve.label, "epsilon": epsilon, "seeds": seeds, **shared}

    def measure(
        self, data: str, method: str, epsilon: float | None, seeds: int, kind: str, delta: float | None,
        rows: int | None, choices: int | None,
    ) -> list[Point]:  # fmt: skip
        """Fit on the training records, with the candidate that the validation records prefer; one point a seed."""
        curve = next(c for c in (self.reference, *self.curves) if c.label == method)
        train, valid, test = parts(data, rows)
        found: list[Point] = []

        def fitted(candidate: Candidate, seed: int) -> Any:
            model = candidate.make(math.inf if epsilon is None else epsilon, delta, seed, train[0].shape)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tacit.RefutedWarning)  # every point carries its status
                warnings.simplefilter("ignore", ConvergenceWarning)  # the reference network stops after 40 passes
                return model.fit(*train)

        offered = curve.candidates[:choices]
        chosen = max(offered, key=lambda c: fitted(c, 900).score(*valid)) if len(offered) > 1 else offered[0]
        for seed in range(seeds):
            model = fitted(chosen, seed)
            found.append({
                "data": data, "kind": kind, "method": method, "epsilon": epsilon, "seed": seed,
                "status": None if epsilon is None else model.guarantee_.status, "chosen": chosen.words,
                "accuracy": float(model.score(*test)), "loss": mean_loss(model, *train),
                "noiseless": getattr(model, "noiseless_", None), "records": len(train[1]),
            })  # fmt: skip
        return found


def with_gaps(points: Sequence[Point]) -> list[Point]:
    """Points with ``gap``, the loss above the reference's, which takes its place at every epsilon of its set."""
    least = {p["data"]: p for p in points if p["method"] == REFERENCE}
    private = [p for p in points if p["method"] != REFERENCE]
    done: list[Point] = []
    for p in private:
        done.append({**p, "gap": p["loss"] - least[p["data"]]["loss"] if p["data"] in least else None})
    for data, point in least.items():
        places = sorted({p["epsilon"] for p in private if p["data"] == data})
        done += [{**point, "epsilon": epsilon, "gap": None} for epsilon in places]
    return done


def show(points: Sequence[Point]) -> list[Panel | TextTable]:
    """Accuracy and gap for each set, and where steps were left without noise, how many."""
    done = with_gaps(points)
    drawn = [{**p, "gap": None if p["gap"] is None else max(p["gap"], SMALLEST_GAP)} for p in done]
    shared: dict[str, Any] = {"x": "epsilon", "by": "data", "x_scale": "log"}
    found: list[Panel | TextTable] = [
        *panels(drawn, y="accuracy", y_name="accuracy on test records", **shared),
        *panels(drawn, y="gap", y_name=f"optimality gap (drawn from {SMALLEST_GAP:g})", y_scale="log", **shared),
    ]
    quiet = [p for p in points if p["noiseless"] is not None]
    if quiet:
        places = sorted({p["epsilon"] for p in quiet})
        rows = []
        for data, method in dict.fromkeys((p["data"], p["method"]) for p in quiet):
            shares = [mean_of(quiet, "noiseless", data=data, method=method, epsilon=e) for e in places]
            rows.append((data, method, *("" if math.isnan(share) else f"{share:.0%}" for share in shares)))
        found.append(TextTable("Steps without noise", ("data", "method", *(f"{e:g}" for e in places)), tuple(rows)))
    return found
