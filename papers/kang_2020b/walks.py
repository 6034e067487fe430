r"""Algorithm 2 for logistic regression, all fits of a grid side by side, and finished cells stored.

    python -m papers.kang_2020b.walks --out FOLDER
    python -m papers kang_2020b --figure figures1-2-lr --adopt FOLDER     (where the other rows are)

A fit takes up to 400,000 steps on single records, each of a few hundred multiplications: one by one they are mostly
Python's own time. The loop is that of :class:`tacit.published.pi_dbdp_erm.PiDbdpErmPlan`, its numbers are those of the
library's ``calibrate``, start and Hessian are the library's own; choices and noise are numpy's.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.special import expit

from papers.engine.figure import Size
from papers.engine.grid import Cell, grid
from papers.engine.library import folder_of, load
from papers.engine.store import Store
from papers.engine.versions import version_of
from papers.kang_2020b.figures import ELEMENTS, OURS
from papers.shared.accuracy import Fitted, Part, parts
from papers.shared.curves import LAMBDA
from papers.shared.together import Key, Measured, Place, Together, at_hand, fits_file, run, seed_of
from tacit import RefutedWarning
from tacit.estimators.base import INTERCEPT
from tacit.influence.linear import Influence
from tacit.linear.problem import Problem
from tacit.mechanisms import Chosen
from tacit.published.models import LinearModel
from tacit.published.pi_dbdp_erm import PiDbdpErmPlan
from tacit.training import prepare
from tacit.types import Array, Budget, Solution

FIGURE = "figures1-2-lr"


def walk_cells(size: Size = Size()) -> list[Cell]:  # noqa: B008 - it is frozen
    """The cells of Algorithm 2 with settings that are chosen."""
    paper = load("papers", "kang_2020b")
    return [cell for cell in grid(paper, paper.figure(FIGURE), size) if cell.settings["method"] in (OURS, ELEMENTS)]


class _Seen(Exception):
    """A problem, as the library makes it of rows."""


def problem_of(model: Any, train: Part) -> Problem:
    """The problem that a fit of the library would solve: rows clipped, with the intercept's column."""

    def see(plan: Any, problem: Problem, source: Any) -> Solution:
        raise _Seen(problem)

    with mock.patch.object(PiDbdpErmPlan, "run", see):
        try:
            Fitted(model, train, train, train)
        except _Seen as seen:
            found: Problem = seen.args[0]
            return found
    raise AssertionError("The fit did not come to its run.")


@dataclass(frozen=True)
class Ground:
    """One data set: rows with the intercept's column, labels -1 and 1, the minimiser, n times the inverse Hessian."""

    rows: Array
    labels: Array
    columns: int
    start: Array
    inverse: Array
    facts: Any
    split: tuple[Part, ...]

    @classmethod
    def of(cls, model: Any, split: Sequence[Part]) -> Ground:
        """From an unfitted model of the library."""
        linear = LinearModel(problem_of(model, split[0]), LAMBDA)
        linear.minimise()
        inverse = Influence.at(linear.problem, linear.weights).inverse * linear.count
        rows, labels = linear.rows(slice(None)), linear.labels.ravel()
        return cls(rows, labels, linear.columns, linear.flat.copy(), inverse, linear.problem.facts, tuple(split))


def slopes(scores: Array, labels: Array) -> Array:
    """Of the logistic loss."""
    return np.asarray(-labels * expit(-labels * scores))


def passed_on(rows: Array, labels: Array, weights: Array, columns: int) -> Array:
    """``w_t`` of one record a fit: :meth:`tacit.published.models.LinearModel.passed_on`."""
    scores = np.einsum("bm,bm->b", rows, weights)
    slope, short = slopes(scores, labels), expit(-labels * scores)
    curve, x, inner = short * (1 - short), rows[:, :columns], weights[:, :columns]
    length = np.linalg.norm(inner, axis=1)
    along = np.divide(np.einsum("bm,bm->b", x, inner), length, out=np.zeros_like(length), where=length > 0)
    across = np.sqrt(np.maximum(0.0, np.einsum("bm,bm->b", x, x) - along**2))
    cross = slope * curve * length
    top = slope**2 + 2 * cross * along + (curve * length) ** 2 * np.einsum("bm,bm->b", rows, rows)
    middle, half = 0.5 * (top + slope**2), 0.5 * (top - slope**2)
    largest = np.maximum(slope**2, middle + np.hypot(half, cross * across))
    return np.asarray(np.maximum(np.sqrt(largest), 1e-12))


def walk(ground: Ground, plans: Sequence[Any], draws: np.random.Generator) -> tuple[Array, Array]:
    """Weights, and the fractions of steps without noise, of plans with as many rounds; lines 3 to 19."""
    n, d = len(ground.labels), ground.columns
    rates, scales, strong = (
        np.array([getattr(p, name) for p in plans]) for name in ("rate", "scale", "regularization")
    )
    most, by_norm = np.exp([p.epsilon for p in plans])[:, None], np.array([p.test == "norm" for p in plans])[:, None]
    weights, quiet_steps = np.tile(ground.start, (len(plans), 1)), np.zeros(len(plans))
    for _ in range(plans[0].rounds):
        picks = draws.integers(n, size=(len(plans), plans[0].local))
        rows, labels = ground.rows[picks], ground.labels[picks]
        own = slopes(np.einsum("bkm,bm->bk", rows, weights), labels)[:, :, None] * rows
        own += (strong[:, None] * weights)[:, None]
        moves = (own.reshape(-1, own.shape[2]) @ ground.inverse).reshape(own.shape) / n
        ratios = (moves + weights[:, None]) / weights[:, None]
        norms, low, high = np.linalg.norm(ratios, axis=2), ratios.min(axis=2), ratios.max(axis=2)
        quiet = np.where(by_norm, (norms >= 1 / most) & (norms <= most), (low >= 1 / most) & (high <= most))
        quiet_steps += quiet.sum(axis=1)
        for t in range(plans[0].local):
            row, label = rows[:, t], labels[:, t]
            (loud,) = np.nonzero(~quiet[:, t])
            if len(loud):
                sizes = scales[loud] / np.sqrt(passed_on(row[loud], label[loud], weights[loud], d))
                row[loud, :d] += sizes[:, None] * draws.standard_normal((len(loud), d))
            slope = slopes(np.einsum("bm,bm->b", row, weights), label)
            weights -= rates[:, None] * (slope[:, None] * row + strong[:, None] * weights)
    return weights, quiet_steps / (plans[0].rounds * plans[0].local)


def measured(ground: Ground, weights: Array, noiseless: float, status: str) -> Measured:
    """As :class:`papers.shared.accuracy.Fitted` measures it."""
    losses, accuracies = [], []
    for x, y in ground.split:
        scores = x @ weights[: ground.columns] + INTERCEPT * weights[ground.columns]
        accuracies.append(float(((scores > 0) == (y == 1)).mean()))
        mean = float(np.logaddexp(0.0, -(2 * y - 1) * scores).mean())
        losses.append(mean + 0.5 * LAMBDA * float(weights @ weights))
    return Measured(status, noiseless, (accuracies[1], -losses[1]), accuracies[2], losses[0])


class Walks(Together):
    """Logistic regressions by Algorithm 2."""

    def train(self, asked: Mapping[Place, Mapping[Key, Any]]) -> bool:
        """Fits of as many rounds go together."""
        for place, wanted in asked.items():
            if time.monotonic() > self.until:
                return False
            ground = _ground(place, next(iter(wanted.values())))
            plans = {key: _planned(model, ground) for key, model in wanted.items()}
            for length in dict.fromkeys((plan.rounds, plan.local) for plan, _ in plans.values()):
                mine = [key for key, (plan, _) in plans.items() if (plan.rounds, plan.local) == length]
                self._walk(ground, place, {key: plans[key] for key in mine})
        return True

    def _walk(self, ground: Ground, place: Place, plans: Mapping[Key, tuple[Any, str]]) -> None:
        started = time.monotonic()
        with np.errstate(all="ignore"):  # a step that is too long diverges: a low score
            weights, quiet = walk(ground, [plan for plan, _ in plans.values()], np.random.default_rng(seed_of(plans)))
            found = [
                measured(ground, w, float(q), status)
                for w, q, (_, status) in zip(weights, quiet, plans.values(), strict=True)
            ]
        took = time.monotonic() - started
        self.keep(dict(zip(plans, found, strict=True)), took)
        self.note(f"{place[0]}: {len(plans)} fits of {next(iter(plans.values()))[0].rounds} rounds, {took:.1f} s")


_GROUNDS: dict[Place, Ground] = {}


def _ground(place: Place, model: Any) -> Ground:
    if place not in _GROUNDS:
        _GROUNDS[place] = Ground.of(model, parts(*place))
    return _GROUNDS[place]


def _planned(model: Any, ground: Ground) -> tuple[Any, str]:
    """The library's plan and the status of its promise."""
    budget, records = Budget(float(model.epsilon), float(model.delta)), ground.facts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefutedWarning)  # every point carries its status
        chosen = Chosen("pi-dbdp-erm", model.method, budget)
        found = prepare(records, chosen, seeded=True, regularization=LAMBDA, calibration="paper")
    return found.plan, found.guarantee.status


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every cell whose data set is here is stored, 1 when time ran out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then no further grid is begun")
    parser.add_argument("--data", action="append", help="only these data sets")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    began, version = time.monotonic(), version_of(folder_of("papers"))
    work = Walks(began + options.seconds, functools.partial(_note, began), fits_file(options.out, version))
    asked = [cell for cell in walk_cells() if not options.data or cell.settings["data"] in options.data]
    cells = at_hand(asked, work.note)
    with contextlib.closing(Store(options.out)) as store:
        return int(run(cells, store, work, version) > 0)


def _note(began: float, text: str) -> None:
    print(f"[{time.monotonic() - began:6.1f} s] {text}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
