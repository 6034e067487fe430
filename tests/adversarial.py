"""Problems made to be hard to solve, by number: tests take some hundreds, ``benchmarks/adversarial_solves.py`` all."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from tacit.linear import losses
from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers.certain import least_strength, solver_slack
from tacit.privacy.noise import longest

LOSSES = [
    *losses.LOSSES, Logistic(2.0), Logistic(32.0), HuberHinge(0.05), HuberHinge(1e-2), HuberHinge(1e-4),
    HuberHinge(1e-6), Squared(1e-3), Squared(50.0), Softmax(2), Softmax(10), Softmax(4, 32.0),
]  # fmt: skip
ROWS = (
    "plain", "clusters", "duplicates", "separable", "collinear", "uneven", "tiny", "huge", "alike", "odd", "sparse",
    "line",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A problem with its regulariser and linear term, and what its certificate allows."""

    name: str
    loss: str
    problem: Problem
    tau: float
    slack: float


def rows_of(kind, n, d, rng):
    """Rows of one hard kind."""
    plain = rng.normal(size=(n, d))
    near = 10 ** rng.uniform(-9, -1)
    some = int(rng.integers(1, max(2, n // 6) + 1))
    middles = rng.normal(size=(some, d))[rng.integers(0, some, n)]
    return {
        "plain": plain,
        "clusters": middles + near * plain,
        "duplicates": middles,
        "separable": plain + 3 * np.sign(plain[:, :1]),
        "collinear": plain[:, :1] @ rng.normal(size=(1, d)) + near * plain,
        "uneven": plain * 10 ** np.linspace(0, -8, d),
        "tiny": 1e-6 * plain,
        "huge": 1e6 * plain,
        "alike": np.tile(plain[:1], (n, 1)),
        "odd": np.vstack([np.tile(plain[:1], (n - 1, 1)), -1e3 * plain[-1:]]),
        "sparse": plain * (rng.random((n, d)) < 0.15),
        "line": np.linspace(-1, 1, n)[:, None] * np.ones((1, d)),
    }[kind]


def targets_of(loss, x, columns, rng):
    """Labels that follow a hidden direction, some of them wrong."""
    score = x @ rng.normal(size=(x.shape[1], loss.classes if loss.coupled else columns))
    wrong = rng.random((len(x), 1)) < rng.choice([0.0, 0.01, 0.1, 0.5])
    if loss.coupled:
        return np.where(wrong, rng.integers(0, loss.classes, size=(len(x), 1)), score.argmax(axis=1)[:, None]) * 1.0
    signs = np.where(score >= 0, 1.0, -1.0) * np.where(wrong, -1.0, 1.0)
    if loss.targets == "signs":
        return signs
    low, high = loss.targets
    return 0.5 * (low + high) + 0.5 * (high - low) * signs * rng.choice([1.0, rng.random()])


def case(number):
    """The problem of this number: all that is drawn comes from it."""
    rng = np.random.default_rng([2024, number])
    loss = LOSSES[number % len(LOSSES)]
    kind = ROWS[(number // len(LOSSES)) % len(ROWS)]
    n = int(rng.choice([1, 2, 5, 20, 60, 200, 350, 1000, 3000], p=[0.04, 0.04, 0.08, 0.2, 0.2, 0.16, 0.16, 0.09, 0.03]))
    d = int(rng.choice([1, 2, 5, 12, 30]))
    columns = 1 if loss.coupled or rng.random() < 0.8 else int(rng.integers(2, 6))
    x = rows_of(kind, n, d, rng)
    y = targets_of(loss, x, columns, rng)
    thin = rng.random() < 0.25
    records = Records.build(
        sparse.csr_array(x) if thin else x, y, float(rng.choice([1.0, 1.0, 0.1, 10.0])), float(rng.choice([0.0, 0.5]))
    )
    plain = Problem(records, loss, loss.classes if loss.coupled else columns)
    facts = plain.facts
    weak = rng.choice([0.0, rng.uniform(0, 1), rng.uniform(1, 4), rng.uniform(4, 12)], p=[0.5, 0.2, 0.2, 0.1])
    strong = least_strength(facts) * 10**weak
    name = f"{number}: {loss} {kind} n={n} d={d} columns={columns} {'csr' if thin else 'dense'} weak={weak:.2f}"
    full = replace(plain, strength=strong)
    if rng.random() < 0.4:  # as output perturbation solves it
        return Case(name, loss.name, full, 1e-6 * facts.gradient, solver_slack(facts, strong))
    scale = facts.gradient * 10 ** rng.uniform(-3, 5)  # from epsilon in the thousands to epsilon below 1e-4
    linear = scale * rng.normal(size=(facts.features, facts.outputs))
    slack = solver_slack(facts, strong, scale * longest(facts.size, "gaussian"))
    return Case(f"{name} scale={scale:.2g}", loss.name, replace(full, linear=linear), 1e-7 * scale, slack)


def exact_norm(problem, weights):
    """The gradient norm in extended precision, written out: a second road to the certificate."""
    long = np.longdouble
    x, w = problem.records.design.dense(slice(None)).astype(long), weights.astype(long)
    slopes = problem.loss.slope(x @ w, problem.records.targets.astype(long))
    total = x.T @ slopes + problem.strength * w
    if problem.linear is not None:
        total = total + problem.linear
    return np.sqrt((total**2).sum())
