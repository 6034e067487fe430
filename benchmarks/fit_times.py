"""Seconds to fit and to predict as ratios to scikit-learn's: tables of many shapes in memory, one thread.

python benchmarks/fit_times.py --times 3 --shapes 10000x10 10000x100

Ours and theirs run in turn on the same rows, so that what else the machine does meets both; seconds of the processor.
"""

import argparse
import time
from functools import partial

import numpy as np
from markdown import table
from scipy import sparse
from sklearn import linear_model, svm
from threadpoolctl import threadpool_limits

from tacit import LinearRegression, LinearSVC, LogisticRegression

SHAPES = (
    "1000x10", "10000x10", "100000x10", "1000000x10", "10000x100", "100000x100", "10000x1000", "30000x2000x10",
    "100000x5000s",
)  # fmt: skip
"""Rows x columns; x classes, or s for sparse rows of which 1% is stored."""
SLOW = {("10000x100", "logistic"): 3.0, ("10000x1000", "logistic"): 3.0}


def rows_of(shape: str) -> tuple[object, np.ndarray, np.ndarray]:
    """Rows of norm about 1, labels and targets."""
    records, features, *classes = (int(number) for number in shape.removesuffix("s").split("x"))
    rng = np.random.default_rng(0)
    if shape.endswith("s"):
        X = sparse.random(records, features, 0.01, "csr", random_state=0) * np.sqrt(3 / (0.01 * features))
    else:
        X = rng.normal(0, 0.95 / np.sqrt(features), (records, features))
    scores = X @ (3 * rng.normal(size=(features, classes[0] if classes else 1)))
    noisy = scores + rng.logistic(size=scores.shape)
    labels = noisy.argmax(axis=1) if classes else (noisy[:, 0] > 0).astype(int)
    return X, labels, np.clip(0.5 + 0.1 * noisy[:, 0], 0, 1)


def models(classes: int) -> dict[str, tuple]:
    """Ours, theirs, and whether it learns targets."""
    own = {"delta": 1e-6, "random_state": 0}
    logistic = LogisticRegression(1.0, classes=range(classes), **own), linear_model.LogisticRegression(), False
    if classes > 2:
        return {"logistic": logistic}
    return {
        "logistic": logistic,
        "SVC": (LinearSVC(1.0, classes=range(2), **own), svm.LinearSVC(), False),
        "linear": (LinearRegression(1.0, target_bound=(0.0, 1.0), **own), linear_model.LinearRegression(), True),
    }


def least(times: int, *works) -> list[float]:
    """The least seconds of each of several, in turn."""
    best = [np.inf] * len(works)
    for _ in range(times):
        for place, work in enumerate(works):
            begin = time.process_time()
            work()
            best[place] = min(best[place], time.process_time() - begin)
    return best


def goal(shape: str, model: str) -> tuple[float, str]:
    """What is to be reached: a ratio, or of 10^3 rows 10 milliseconds."""
    if shape.startswith("1000x"):
        return 0.010, "10 ms"
    most = 4.0 if shape.endswith("s") else SLOW.get((shape, model), 1.5)
    return most, f"{most:g}"


def main() -> None:
    """A line a shape and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--shapes", nargs="*", default=SHAPES)
    given = parser.parse_args()
    lines = []
    with threadpool_limits(1):
        for shape in given.shapes:
            X, labels, targets = rows_of(shape)
            for name, (ours, theirs, regression) in models(int(labels.max()) + 1).items():
                y = targets if regression else labels
                own, other = least(given.times, partial(ours.fit, X, y), partial(theirs.fit, X, y))
                most, words = goal(shape, name)
                reached = (own if words.endswith("ms") else own / other) <= most
                what = f"{name} ({ours.guarantee_.method})"
                lines.append(
                    [
                        shape,
                        what,
                        f"{1e3 * own:.1f}",
                        f"{1e3 * other:.1f}",
                        f"{own / other:.2f}",
                        words,
                        "reached" if reached else "MISSED",
                    ]
                )
                print("  ".join(lines[-1]), flush=True)
                if shape == "1000000x10" and name == "logistic":
                    for part in ("predict", "predict_proba"):
                        own, other = least(
                            given.times, partial(getattr(ours, part), X), partial(getattr(theirs, part), X)
                        )
                        lines.append(
                            [
                                shape,
                                part,
                                f"{1e3 * own:.1f}",
                                f"{1e3 * other:.1f}",
                                f"{own / other:.2f}",
                                "1.5",
                                "reached" if own <= 1.5 * other else "MISSED",
                            ]
                        )
                        print("  ".join(lines[-1]), flush=True)
    print("\n" + table(("shape", "what", "ms", "scikit-learn ms", "ratio", "goal", ""), lines))


if __name__ == "__main__":
    main()
