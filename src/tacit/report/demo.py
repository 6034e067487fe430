"""The demonstration: every central method on data that ships with scikit-learn, at three budgets.

The data are public, so scores on held-out records may be shown; on private data such a score is a release of its own.
Bounds are constants of the data sets' own documentation, written down here and never computed.
"""

from __future__ import annotations

import functools
import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets, linear_model
from sklearn.model_selection import train_test_split

from tacit.estimators import LinearRegression, LogisticRegression
from tacit.mechanisms import METHODS
from tacit.report.results import Row, Statement, Study
from tacit.types import Array

EPSILONS = (0.1, 1.0, 3.0)
REPETITIONS = 3

# The "worst" measurements of the cell nuclei and their published ranges: Breast Cancer Wisconsin (Diagnostic).
_NUCLEI = ((7.93, 36.04), (12.02, 49.54), (50.41, 251.2), (185.2, 4254.0), (0.071, 0.223), (0.027, 1.058), (0.0, 1.252),
           (0.0, 0.291), (0.156, 0.664), (0.055, 0.208))  # fmt: skip
# Ten measurements as published (centred and scaled) and the target, within the ranges that scikit-learn documents.
_PATIENTS = ((-0.2, 0.2),) * 10
_PROGRESSION = (25.0, 346.0)


@dataclass(frozen=True)
class Task:
    """A data set split in public, a private estimator to train on it, and a model without privacy beside it."""

    title: str
    about: str
    score: str
    train: tuple[Array, NDArray[Any]] = field(repr=False)
    test: tuple[Array, NDArray[Any]] = field(repr=False)
    private: Callable[..., Any]
    plain: Any
    guess: tuple[str, float]

    def rate(self, model: Any) -> float:
        """The model's score on the held-out records: accuracy in percent, or root mean squared error."""
        rows, targets = self.test
        if self.score.startswith("accuracy"):
            return 100.0 * float(np.mean(model.predict(rows) == targets))
        return math.sqrt(np.mean((model.predict(rows) - targets) ** 2))


def _scaled(X: Array, bounds: Sequence[tuple[float, float]]) -> Array:
    """Columns from their public bounds to [-1, 1]; what lies outside is clipped."""
    lower, upper = np.asarray(bounds, dtype=np.float64).T
    return np.asarray(np.clip(2 * (X - lower) / (upper - lower) - 1, -1, 1))


def _split(X: Array, y: NDArray[Any]) -> tuple[tuple[Array, NDArray[Any]], tuple[Array, NDArray[Any]]]:
    train_rows, test_rows, train_targets, test_targets = train_test_split(X, y, test_size=0.3, random_state=0)
    return (train_rows, train_targets), (test_rows, test_targets)


def _breast_cancer() -> Task:
    table = datasets.load_breast_cancer()
    train, test = _split(_scaled(table.data[:, 20:], _NUCLEI), table.target)
    return Task(
        "Breast cancer: is a tumour malignant?",
        f"Breast Cancer Wisconsin (Diagnostic): {len(train[0])} patients to train on, 10 measurements each, two "
        f"classes by logistic regression; {len(test[0])} others to score it.",
        "accuracy in percent",
        train,
        test,
        functools.partial(LogisticRegression, classes=[0, 1]),
        linear_model.LogisticRegression(),
        ("always the commoner class", 100.0 * float(np.mean(test[1] == 1))),
    )


def _digits() -> Task:
    table = datasets.load_digits()
    train, test = _split(_scaled(table.data, [(0, 16)] * 64), table.target)
    return Task(
        "Handwriting: which digit is it?",
        f"Optical Recognition of Handwritten Digits: {len(train[0]):,} images to train on, 8 by 8 pixels, ten classes, "
        f"softmax regression; {len(test[0])} others to score it.",
        "accuracy in percent",
        train,
        test,
        functools.partial(LogisticRegression, classes=list(range(10))),
        linear_model.LogisticRegression(max_iter=1000),
        ("guessing", 10.0),
    )


def _diabetes() -> Task:
    table = datasets.load_diabetes()
    train, test = _split(_scaled(table.data, _PATIENTS), table.target)
    middle = math.sqrt(np.mean((test[1] - sum(_PROGRESSION) / 2) ** 2))
    return Task(
        "Diabetes: how far will the disease progress in a year?",
        f"Efron et al. 2004: {len(train[0])} patients to train on, 10 measurements each, linear regression by "
        f"one method of each kind; {len(test[0])} others to score it, on a scale from 25 to 346 where less is better.",
        "root mean squared error",
        train,
        test,
        functools.partial(LinearRegression, target_bound=_PROGRESSION),
        linear_model.LinearRegression(),
        ("the middle of the range", middle),
    )


TASKS: dict[str, Callable[[], Task]] = {"breast-cancer": _breast_cancer, "digits": _digits, "diabetes": _diabetes}


def _takers(loss: str) -> tuple[str, ...]:
    """The default, and every method of a curator who holds the records that takes this loss."""
    central = (name for name, method in METHODS.items() if method.mechanism.site != "input" and loss in method.losses)
    return ("auto", *central)


_ADMITTED = {
    "breast-cancer": _takers("logistic"),
    "digits": _takers("softmax"),
    "diabetes": ("auto", "statistics", "objective", "adaptive", "gradient", "output"),
}


@functools.cache
def _task(name: str) -> Task:
    return TASKS[name]()


def _row(name: str, method: str, epsilons: tuple[float, ...], repetitions: int) -> Row:
    """One method on one task; every fit draws its own noise from the operating system."""
    task = _task(name)
    scores, statements = [], []
    for epsilon in epsilons:
        models = [task.private(epsilon, method=method).fit(*task.train) for _ in range(repetitions)]
        scores.append(tuple(task.rate(model) for model in models))
        statements.append(Statement.of(models[0].guarantee_))
    return Row(method, _site(method), tuple(scores), tuple(statements))


def _site(method: str) -> str:
    """Where the noise goes; nowhere in particular for the default, which is one of the others."""
    return METHODS[method].mechanism.site if method in METHODS else ""


def run(
    *,
    tasks: Sequence[str] = tuple(TASKS),
    methods: Sequence[str] = ("auto", *METHODS),
    epsilons: tuple[float, ...] = EPSILONS,
    repetitions: int = REPETITIONS,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Study]:
    """Train every method on the tasks that admit it, in several processes, and collect the scores."""
    jobs = [(task, method) for task in tasks for method in methods if method in _ADMITTED[task]]
    # The sampled gradient methods take longest to calibrate: first in, so that no process waits for them at the end.
    jobs.sort(key=lambda job: _site(job[1]) != "gradient")
    rows: dict[tuple[str, str], Row] = {}
    with _pool(min(workers or os.cpu_count() or 1, 8, len(jobs))) as submit:
        for job, row in submit(jobs, epsilons, repetitions):
            rows[job] = row
            progress(len(rows), len(jobs))
    return [
        _study(task, epsilons, [rows[task, method] for method in methods if (task, method) in rows]) for task in tasks
    ]


def _study(name: str, epsilons: tuple[float, ...], rows: Sequence[Row]) -> Study:
    task = _task(name)
    plain = ("without privacy (scikit-learn)", task.rate(task.plain.fit(*task.train)))
    return Study(task.title, task.about, task.score, epsilons, tuple(rows), plain, task.guess)


Submit = Callable[[Sequence[tuple[str, str]], tuple[float, ...], int], Iterator[tuple[tuple[str, str], Row]]]


@contextmanager
def _pool(workers: int) -> Iterator[Submit]:
    """Runs jobs here (one worker) or in processes of their own, each with one thread for linear algebra."""
    if workers <= 1:
        yield lambda jobs, epsilons, repetitions: ((job, _row(*job, epsilons, repetitions)) for job in jobs)
        return
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"  # read by the libraries of the new processes when they load
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:

            def submit(
                jobs: Sequence[tuple[str, str]], epsilons: tuple[float, ...], repetitions: int
            ) -> Iterator[tuple[tuple[str, str], Row]]:
                futures = {pool.submit(_row, *job, epsilons, repetitions): job for job in jobs}
                for future in as_completed(futures):
                    yield futures[future], future.result()

            yield submit
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def summary(studies: Sequence[Study]) -> str:
    """What the tables show of their first method, which is the default, and what to expect: two paragraphs."""
    found = []
    for study in studies:
        middle, row = len(study.epsilons) // 2, study.rows[0]
        name = study.title.split(":")[0].lower()
        found.append(f"{name}, {study.score} {row.means[middle]:.1f} ({study.plain[1]:.1f} without privacy)")
    first = studies[0]
    return (
        "Every central method, trained with fresh noise and with a guarantee that anyone can recompute (replace-one "
        f"neighbours, delta = n**-1.5, {len(first.rows[0].scores[0])} repetitions). At epsilon = "
        f"{first.epsilons[len(first.epsilons) // 2]:g}, method '{first.rows[0].name}' comes to: "
        + "; ".join(found)
        + ".\n\n"
        "These data sets are small, a few hundred to a thousand records, and privacy is harder with fewer records, "
        "because each one must be hidden among the others: at epsilon = 0.1 many methods are close to guessing, or "
        "below it. The noise falls as 1/(n epsilon), so ten times the records at a tenth of the epsilon do about "
        "as well."
    )
