"""Accuracy and optimality gap over epsilon, each curve with the status of its guarantee: what three papers draw.

The papers choose T and the step size by cross-validation, on the private data and at no charge. So do these curves,
published, proven and baselines alike (:mod:`papers.shared.choosing`), on records held out of training; only what is
called "not tuned" gets no such help. Accuracy, loss and gap are measured on the private records themselves: they are
for readers of papers, not for release.
"""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import tacit
from papers.engine.figure import Panel, Point, Settings, Size, TextTable, mean_of, panels
from papers.shared.choosing import EXTENSIONS, FITS, Axis, Choice, Chosen, Score, choose
from papers.shared.curves import LAMBDA, REFERENCE, Curve
from tacit import datasets
from tacit.datasets.stand_ins import cached
from tacit.estimators.base import INTERCEPT

SETS = {
    "kddcup99": 70000, "adult": 45222, "bank_marketing": 41188,
    "breast_cancer": 699, "credit_card_fraud": 984, "iris": 150,
}  # fmt: skip
"""Records of each set, as the three papers give them."""
LARGE, SMALL = tuple(SETS)[:3], tuple(SETS)[3:]
SMALLEST_GAP = 1e-4
"""Gaps below are drawn here: the axis is logarithmic, and a network may end below the one it is compared with."""
FIRST_FIT = 900
"""The seeds of fits that choose begin here: none of them is the seed of a fit that is shown."""


Part = tuple[np.ndarray, np.ndarray]
"""Rows and labels."""


@cached
def parts(name: str, rows: int | None, split: int = 0) -> list[Part]:
    """Training, validation and test records, 60, 20 and 20 per cent; rows of norm at most 1 by public bounds.

    Labels are 0 and 1; of Iris, with three classes, 1 is virginica and 0 the rest, since the papers have two classes.
    """
    drawn = SETS[name] if rows is None else min(rows, SETS[name])
    whole = drawn == SETS[name] and name != "kddcup99"  # only this file holds more than the papers took
    X, labels = datasets.load(name, rows=None if whole else drawn, complete=name == "adult").arrays()
    y = (labels == np.unique(labels)[-1]).astype(int)
    order = np.random.default_rng(1 + split).permutation(len(y))
    return [(X[part], y[part]) for part in np.split(order, [int(0.6 * len(y)), int(0.8 * len(y))])]


class Fit(Protocol):
    """What is asked of a model that was fitted; ``validation`` is its accuracy there, and minus its mean loss."""

    @property
    def status(self) -> str: ...  # noqa: D102
    @property
    def noiseless(self) -> float | None: ...  # noqa: D102
    @property
    def validation(self) -> Score: ...  # noqa: D102
    @property
    def accuracy(self) -> float: ...  # noqa: D102
    @property
    def loss(self) -> float: ...  # noqa: D102


Wanted = tuple[Chosen, int]
"""A setting and a seed."""
Trained = Callable[[Sequence[Wanted], Callable[[Chosen, int], Any]], Sequence[Fit]]
"""Fits of a cell by setting and seed; the second argument makes the model to fit."""


class Fitted:
    """A model, fitted here and now."""

    def __init__(self, model: Any, train: Part, valid: Part, test: Part) -> None:
        self.train, self.valid, self.test = train, valid, test
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tacit.RefutedWarning)  # every point carries its status
            warnings.simplefilter("ignore", tacit.CuratorNote)  # a model of one class has a low score
            warnings.simplefilter("ignore", ConvergenceWarning)  # the reference network's last digits
            warnings.simplefilter("ignore", RuntimeWarning)  # a step that is too long diverges: a low score
            self.model = model.fit(*train)

    @property
    def status(self) -> str:
        """That of the guarantee."""
        return str(self.model.guarantee_.status)

    @property
    def noiseless(self) -> float | None:
        """The fraction of steps without noise, where that is a question."""
        return getattr(self.model, "noiseless_", None)

    @property
    def validation(self) -> Score:
        """On validation records."""
        return float(self.model.score(*self.valid)), -mean_loss(self.model, *self.valid)

    @property
    def accuracy(self) -> float:
        """On test records."""
        return float(self.model.score(*self.test))

    @property
    def loss(self) -> float:
        """On training records."""
        return mean_loss(self.model, *self.train)


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
    """One figure's curves: data sets by epsilons by methods. ``quick`` names epsilons, records, seeds and values.

    Each cell fits one curve at one epsilon, ``seeds`` times. Seeds change the noise, and where ``resplit`` the split
    into parts too, with a choice of its own: small sets differ more by their split than by the noise. ``values`` of
    each axis are tried (None: all, and up to ``extensions`` beyond where an edge is best), each by ``fits`` noisy fits.
    """

    kind: str
    sets: tuple[str, ...]
    epsilons: tuple[float, ...]
    curves: tuple[Curve, ...]
    reference: Curve
    delta: float | None
    seeds: int = 5
    resplit: bool = False
    rows: int | None = None
    quick_epsilons: tuple[float, ...] = ()
    quick_rows: int = 3000
    quick_seeds: int = 2
    extensions: int = EXTENSIONS

    def cells(self, size: Size) -> Iterator[Settings]:
        """The reference of every set first, then curve by curve."""
        shared = {
            "kind": self.kind, "delta": self.delta, "rows": self.quick_rows if size.quick else self.rows,
            "values": 1 if size.quick else None, "fits": 1 if size.quick else FITS,
            "extensions": 0 if size.quick else self.extensions, "resplit": self.resplit,
        }  # fmt: skip
        seeds = size.pick(self.seeds, self.quick_seeds)
        for data in self.sets:
            yield {"data": data, "method": REFERENCE, "epsilon": None, "seeds": seeds if self.resplit else 1, **shared}
            for epsilon in self.quick_epsilons if size.quick else self.epsilons:
                for curve in self.curves:
                    yield {"data": data, "method": curve.label, "epsilon": epsilon, "seeds": seeds, **shared}

    def measure(
        self, data: str, method: str, epsilon: float | None, seeds: int, kind: str, delta: float | None,
        rows: int | None, values: int | None, fits: int, extensions: int, resplit: bool, trained: Trained | None = None,
    ) -> list[Point]:  # fmt: skip
        """Fit on the training records, with the setting that the validation records prefer; one point a seed.

        ``trained`` gives fits that were made elsewhere (:mod:`papers.perceptrons.away`); else they are made here.
        """
        curve = next(c for c in (self.reference, *self.curves) if c.label == method)
        axes = tuple(_first(axis, values) for axis in curve.axes)
        found: list[Point] = []
        for split_seed, own in [(seed, [seed]) for seed in range(seeds)] if resplit else [(0, list(range(seeds)))]:
            split = parts(data, rows, split_seed)

            def make(setting: Chosen, seed: int, shape: Any = split[0][0].shape) -> Any:
                return curve.make(setting, math.inf if epsilon is None else epsilon, delta, seed, shape)

            def fits_of(wanted: Sequence[Wanted], split: Any = split, make: Any = make) -> Sequence[Fit]:
                return trained(wanted, make) if trained else [Fitted(make(*one), *split) for one in wanted]

            def scores(settings: Sequence[Chosen], fits_of: Any = fits_of) -> list[Score]:
                wanted = [(setting, FIRST_FIT + k) for setting in settings for k in range(fits)]
                measured = [fit.validation for fit in fits_of(wanted)]
                return [_mean(measured[k : k + fits]) for k in range(0, len(measured), fits)]

            choice = choose(axes, scores, extensions) if axes else Choice({}, math.nan, 1, True)
            for seed, fit in zip(own, fits_of([(choice.setting, seed) for seed in own]), strict=True):
                found.append({
                    "data": data, "kind": kind, "method": method, "epsilon": epsilon, "seed": seed,
                    "status": None if epsilon is None else fit.status, "chosen": choice.words,
                    "validation": None if math.isnan(choice.score) else choice.score, "tried": choice.tried,
                    "inside": choice.inside, "accuracy": fit.accuracy, "loss": fit.loss,
                    "noiseless": fit.noiseless, "records": len(split[0][1]),
                })  # fmt: skip
        return found


def _mean(scores: Sequence[Score]) -> Score:
    """Of several fits; a loss that is not finite is the worst."""
    losses = [loss for _, loss in scores]
    loss = statistics.fmean(losses) if all(map(math.isfinite, losses)) else -math.inf
    return statistics.fmean(accuracy for accuracy, _ in scores), loss


def _first(axis: Axis, values: int | None) -> Axis:
    """The middle value and those after it, so many; None: the axis itself."""
    half = len(axis.values) // 2
    return axis if values is None else replace(axis, values=axis.values[half : half + values])


def with_gaps(points: Sequence[Point]) -> list[Point]:
    """Points with ``gap``, the loss above the reference's on the same split; the reference stands at every epsilon."""
    plain = [p for p in points if p["method"] == REFERENCE]
    least = {(p["data"], p["seed"] if p.get("resplit") else 0): p["loss"] for p in plain}
    private = [p for p in points if p["method"] != REFERENCE]
    done: list[Point] = []
    for p in private:
        loss = least.get((p["data"], p["seed"] if p.get("resplit") else 0))
        done.append({**p, "gap": None if loss is None else p["loss"] - loss})
    for p in plain:
        places = sorted({q["epsilon"] for q in private if q["data"] == p["data"]})
        done += [{**p, "epsilon": epsilon, "gap": None} for epsilon in places]
    return done


def _by_status(points: Sequence[Point]) -> list[Point]:
    """A curve whose guarantee differs over epsilon is drawn as one line a status."""
    found: dict[tuple[str, str], set[str | None]] = {}
    for p in points:
        found.setdefault((p["data"], p["method"]), set()).add(p["status"])
    mixed = {key for key, statuses in found.items() if len(statuses) > 1}
    return [
        {**p, "method": f"{p['method']}, where {p['status']}"} if (p["data"], p["method"]) in mixed else p
        for p in points
    ]


def show(points: Sequence[Point]) -> list[Panel | TextTable]:
    """Accuracy and gap for each set, and where steps were left without noise, how many."""
    done = _by_status(with_gaps(points))
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
