"""Collections among strangers: what an honest fraction costs, what dishonest contributors do, and what is refused.

    python benchmarks/strangers.py accuracy [--draws 200]    # census table, honest = 1.0 against 0.9 and 0.7
    python benchmarks/strangers.py convexity                 # zero-senders: Lambda and epsilon, stated and true
    python benchmarks/strangers.py attacks [--trials 2000]   # copies and zero-senders, measured by an audit
    python benchmarks/strangers.py refused                   # every way to count a submission twice

Everything is seeded. The census table is read by ``tacit.datasets`` (TACIT_DATA); scores are of held-out records and
are not private.
"""

import argparse
import math
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from tacit import PrivacyError, datasets
from tacit.audit import audit_samplers
from tacit.linear.solvers.ball import minimise
from tacit.mechanisms.moments import Sums
from tacit.privacy import accounting
from tacit.privacy.noise import SeededSource
from tacit.protocol import Database, Protocol, Submission
from tacit.protocol.expect import draw
from tacit.schema import Target
from tacit.types import Budget

NUMBER, LABEL = Target("y", lower=-1, upper=1), Target("y", classes=(0, 1))
HELD_OUT = 20_000


def census():
    """Rows with the intercept's constant, and income scaled to [-1, 1], in a fixed random order."""
    X, income = datasets.load("acs_pums_2024").arrays()
    order = np.random.default_rng(0).permutation(len(X))
    X = X[order] / np.maximum(1.0, np.linalg.norm(X[order], axis=1, keepdims=True))
    income = np.asarray(income, dtype=float)[order]
    return X, np.clip((income - 1e5) / 1e5, -1, 1), np.where(income > 5e4, 1.0, -1.0)


def accuracy(draws):
    """Root mean square error (regression) and accuracy (classification) over draws of everyone's noise."""
    X, numbers, labels = census()
    print("task            n   record epsilon   honest   score     standard error   without noise")
    for target, y in ((NUMBER, numbers), (LABEL, labels)):
        for n in (2_048, 20_000, 200_000):
            for record in (None, 50.0, 10.0):
                for honest in (1.0, 0.9, 0.7):
                    _score(X, y, target, n, record, honest, draws)


def _score(X, y, target, n, record, honest, draws):
    made = Protocol.create(
        epsilon=1.0, delta=1e-6, cohort=n, columns=X.shape[1], target=target, record_epsilon=record, honest=honest
    )
    numbers = made.numbers
    design = np.hstack([X, np.full((len(X), 1), numbers.intercept)])
    train, test = slice(HELD_OUT, HELD_OUT + n), slice(0, HELD_OUT)
    second = numbers.curvature * design[train].T @ design[train]
    cross = numbers.slope * design[train].T @ y[train]

    def score(weights):
        scores = design[test] @ weights
        if target is NUMBER:
            return float(np.sqrt(np.mean((scores - y[test]) ** 2)))
        return float(np.mean(np.sign(scores) == y[test]))

    source = SeededSource(1)
    found = [score(draw(numbers, second, cross, n, source)) for _ in range(draws)]
    plain = score(minimise(second + 1e-9 * n * np.eye(len(cross)), cross, numbers.radius).weights)
    kind = "regression" if target is NUMBER else "classification"
    error = np.std(found) / math.sqrt(draws)
    print(f"{kind:<14}{n:>8,}   {record!s:>8}   {honest:>10.1f}   {np.mean(found):.4f}   {error:.4f}   {plain:.4f}")


def convexity():
    """What is left of Lambda and of epsilon when a part of the contributors sends zeros (or noise that it knows)."""
    for more in (
        {},
        {"record_epsilon": 50.0},
        {"record_epsilon": 10.0},
        {"record_epsilon": 2.0},
        {"record_epsilon": 10.0, "cohort": 100_000},
    ):
        for honest in (1.0, 0.9):
            settings = {"epsilon": 1.0, "delta": 1e-6, "cohort": 20_000, "columns": 5, "target": LABEL, **more}
            made = Protocol.create(honest=honest, **settings)
            n = made.numbers.cohort
            event = made.numbers.minimum(n)
            print(f"{more} honest={honest}: Lambda {accounting.input_convexity(event):.4g} stated")
            for part in (0.001, 0.01, 0.05, 0.1, 0.2):
                left = n - int(part * n)
                true = replace(event, honest=left, scale=made.numbers.cross_scale * math.sqrt(left))
                price = accounting.epsilon((true,), made.delta, "replace-one")
                strong = accounting.input_convexity(true)
                print(f"    {part:6.1%} send zeros: Lambda {strong:10.4g}  epsilon {price:.3g}")


def attacks(trials):
    """An audit of the model when one person's submission is counted m times, or when others know their noise."""
    n = 100_000
    for honest, sent in ((1.0, 0), (1.0, 10_000), (1.0, 99_999), (0.9, 10_000)):
        made = Protocol.create(
            epsilon=1.0, delta=1e-6, cohort=n, columns=2, intercept=False, target=LABEL, honest=honest
        )
        _attack(made.numbers, f"honest={honest}, {sent:,} send zeros", 1, sent, trials)
    made = Protocol.create(epsilon=1.0, delta=1e-6, cohort=n, columns=2, intercept=False, target=LABEL)
    _attack(made.numbers, "one submission 100 times (as if copies were counted)", 100, 0, trials)


def _attack(numbers, name, times, zeros, trials):
    n = numbers.cohort
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n - 1 - zeros, 2))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    base = Sums.of(*numbers.perturb(X, y, SeededSource(5)))
    clean = numbers.slope * X.T @ y

    def model(label, rng):
        source = SeededSource(int(rng.integers(2**62)))
        one = Sums.of(*numbers.perturb(np.array([[0.0, 1.0]]), np.array([label]), source))
        noise = numbers.cross_scale * math.sqrt(len(X)) * rng.standard_normal(2)
        cross = np.rint((clean + noise) / numbers.steps[1]).astype(np.int64).astype(object)
        sums = Sums.exactly(n - 1 + times, base.second + times * one.second, cross + times * one.cross)
        return numbers.train(sums, source).weights[:, 0]

    def sampler(label):
        return lambda rng, count: np.array([model(label, rng) for _ in range(count)])

    found = audit_samplers(sampler(1.0), sampler(-1.0), Budget(1.0, 1e-6), trials=2 * trials, seed=3)
    print(f"{name}: epsilon >= {found.epsilon:.2f} (could show {found.ceiling:.2f}), {found.verdict}", flush=True)


def refused():
    """Copies, zeros, extreme vectors, split, merged and doubled databases."""
    made = Protocol.create(epsilon=1.0, delta=1e-5, cohort=1000, columns=3, target=NUMBER, record_epsilon=10.0)
    X = np.random.default_rng(0).normal(size=(1000, 3))
    sent = made.perturb_table(X, X[:, 0])
    base = Database(made)
    print("all:", base.add(sent))
    one = next(sent.take(slice(0, 1)).each())
    print("one again, by itself:", base.add(one))
    print("in another order:", base.add(sent.take(np.arange(1000)[::-1])))
    zero = Submission(made.fingerprint, (0,) * 4, (0,) * 4)
    print("zeros:", base.add(zero), "/ again:", base.add(zero))
    row, cross = made.numbers.limits
    print("a row as long as may be:", base.add(Submission(made.fingerprint, (row, 0, 0, 0), (0,) * 4)))
    print("longer, no entry beyond:", base.add(Submission(made.fingerprint, (row, 1, 0, 0), (0,) * 4)))
    print("a long cross part:", base.add(Submission(made.fingerprint, (0,) * 4, (cross, 0, 1, 0))))
    _tried("the first model", base.train)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (("in memory", None), ("on disk", Path(folder) / "b.sqlite")):
            other = Database(made, path)
            other.add(sent.take(slice(0, 999)))
            _tried(f"another database {name} with the same submissions", other.train)
            _tried("merging the two", lambda other=other: other.merge(base))
            other.close()
    base.add(made.perturb(X[0], 0.0))
    _tried("training again after one more", base.train)


def _tried(name, action):
    try:
        found = action()
        print(f"{name}: {found.guarantee_.status}, epsilon {found.guarantee_.epsilon:g}")
    except PrivacyError as error:
        print(f"{name}: REFUSED. {error}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("accuracy", "convexity", "attacks", "refused"))
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--trials", type=int, default=2000)
    options = parser.parse_args()
    if options.part == "accuracy":
        accuracy(options.draws)
    elif options.part == "attacks":
        attacks(options.trials)
    else:
        {"convexity": convexity, "refused": refused}[options.part]()
