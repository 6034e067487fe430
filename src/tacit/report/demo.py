"""The demonstration: a made-up hospital, private models of it at several budgets, and a whole job under one ledger."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count as count_from
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from tacit.estimators import AdditiveClassifier
from tacit.evaluation import evaluate
from tacit.evaluation.scores import Evaluation
from tacit.ledger import Ledger, suspended
from tacit.mechanisms import METHODS
from tacit.privacy.guarantee import Guarantee
from tacit.report.effects import Effects
from tacit.report.patients import DELTA, Hospital
from tacit.report.results import Job, Marks, Row, Shape, Statement, Step, Study
from tacit.statistics import describe

TRAINED, HELD_OUT = 15_000, 10_000
EPSILONS, PLACE = (0.1, 0.3, 1.0, 3.0), 2
"""The budgets, and the place of the one to speak of."""
REPETITIONS, OF_OTHERS = 5, 2
"""Models at each budget: of the two defaults, and of every other method."""
BUDGET, LOOK, SCORE = 2.0, 0.2, 0.3
"""Epsilons of the job: the whole ledger's, that of the first look at the table, and that of the score."""

Train = Callable[[float], tuple[Marks, Guarantee]]


@dataclass(frozen=True)
class Demonstration:
    """All that the page shows: scores over epsilon, one model with its curves beside the truth, and the job."""

    study: Study
    job: Job
    guarantee: Guarantee
    effects: Effects
    shapes: dict[str, Shape]


def others() -> tuple[str, ...]:
    """Methods for logistic regression by a curator who holds the records."""
    return tuple(name for name, one in METHODS.items() if one.mechanism.site != "input" and "logistic" in one.losses)


def run(
    *,
    sizes: tuple[int, int] = (TRAINED, HELD_OUT),
    methods: Sequence[str] | None = None,
    epsilons: tuple[float, ...] = EPSILONS,
    place: int = PLACE,
    repetitions: tuple[int, int] = (REPETITIONS, OF_OTHERS),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Demonstration:
    """Train everything, one model after the other; every fit draws its own noise from the operating system."""
    people = Hospital.made_up(*sizes)
    contest: list[tuple[str, Train, int]] = [
        ("a curve for each column", people.curves, repetitions[0]),
        ("a weight for each column", people.weights, repetitions[0]),
    ]
    for name in others() if methods is None else methods:
        contest.append((name, partial(people.weights, method=name), repetitions[1]))
    total, done = len(epsilons) * sum(count for _, _, count in contest), count_from(1)
    with threadpool_limits(1):  # matrices this small are slower with several threads, which wait for each other
        job, model = _job(people, epsilons[place])
        with suspended():  # nobody is in this table: a ledger that happens to be open is for other people
            rows = [_row(*one, epsilons, place, lambda: progress(next(done), total)) for one in contest]
    study = Study(
        epsilons=epsilons, place=place, curves=rows[0], weights=rows[1], others=tuple(rows[2:]),
        plain_curves=people.curves_without_privacy(), plain_weights=people.weights_without_privacy(),
        guess=people.guess(), trained=sizes[0], held_out=sizes[1],
    )  # fmt: skip
    (effects,) = Effects.of(model)
    return Demonstration(study, job, model.guarantee_, effects, people.shapes())


def _row(name: str, train: Train, count: int, epsilons: Sequence[float], place: int, after: Callable[[], None]) -> Row:
    """So many models at every budget, each with noise of its own; ``after`` each of them, somebody is told."""
    fits: list[list[tuple[Marks, Guarantee]]] = []
    for epsilon in epsilons:
        fits.append([])
        for _ in range(count):
            fits[-1].append(train(epsilon))
            after()
    return Row(name, tuple(tuple(mark for mark, _ in models) for models in fits), Statement.of(fits[place][0][1]))


def _job(people: Hospital, epsilon: float) -> tuple[Job, AdditiveClassifier]:
    """Look at the table, train a model, score it: three releases about the same people, charged to one ledger.

    The model's scores are log odds (margin 0), so that its curves can be laid beside those of the recipe.
    """
    train, test = people.train, people.test
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder, "job.sqlite"), BUDGET, DELTA) as ledger:
        table = describe(train.table, epsilon=LOOK, schema=people.schema)
        model = AdditiveClassifier(epsilon, schema=people.schema, margin=0.0).fit(train.table)
        found = evaluate(model, test.table, test.returned, epsilon=SCORE, metrics=["accuracy", "auc"])
        balance, entries = ledger.verify(), ledger.entries
    said = (
        ("Look at the table", _seen(table.columns)),
        ("Train the model", f"a curve for each of {len(people.schema.columns)} columns, shown above"),
        ("Score it on held-out patients", _scored(found)),
    )
    steps = tuple(Step(did, out, entry.epsilon_at(DELTA)) for (did, out), entry in zip(said, entries, strict=True))
    return Job(steps, balance), model


def _seen(columns: dict[str, Any]) -> str:
    """Two of the released means, with their intervals."""
    said = [
        f"mean {name} {columns[name]['mean']:.1f} ({columns[name]['mean_interval'][0]:.1f} to "
        f"{columns[name]['mean_interval'][1]:.1f})"
        for name in ("age", "nights")
    ]
    return f"{said[0]}, {said[1]}, and much more"


def _scored(found: Evaluation) -> str:
    """The released scores, with their intervals."""
    scores = ", ".join(
        f"{name.replace('auc', 'AUC')} {value} ({low} to {high})" for name, value, low, high in found.rows()
    )
    return " ".join([scores, *found.remarks()])
