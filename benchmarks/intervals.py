"""Coverage and width of confidence intervals for coefficients, over simulated tables and on the census table.

python benchmarks/intervals.py --fits 1000
python benchmarks/intervals.py --census

A design is calibrated once, and fitted that often: the labels or targets are new for each fit, the rows every 20 fits.
Widths are medians over fits and coefficients, in units of the plain interval's: that of the exact curvature at the true
coefficients, without noise.
"""

import argparse
import math
from dataclasses import dataclass, replace

import numpy as np
from markdown import table
from scipy import stats
from sklearn import linear_model

from tacit import LinearRegression, LogisticRegression, datasets
from tacit.linear.losses import Logistic, Squared
from tacit.linear.problem import Problem, Records
from tacit.mechanisms.unshrunk import Unshrunk
from tacit.privacy.noise import SeededSource
from tacit.types import Budget

CONSTANT, LEVEL, SAME_ROWS = 0.5, 0.95, 20
RESIDUAL = 0.15
QUANTILE = float(stats.norm.ppf((1 + LEVEL) / 2))


@dataclass(frozen=True)
class Design:
    """A population: rows of a kind within the unit ball, coefficients of this norm, an intercept; ``uneven`` residuals
    grow with the first column, so that only robust intervals hold."""

    model: str
    rows: str
    records: int
    columns: int
    epsilon: float
    intercept: float = 0.0
    norm: float = 0.0
    uneven: bool = False

    @property
    def coefficients(self):
        """Alternating, the later half zero, and the intercept's weight."""
        places = np.arange(self.columns)
        bare = np.where(places % 2, 1.0, -0.5) * (places < max(2, self.columns // 2))
        norm = self.norm or (0.8 if self.model == "linear" else 4.0)
        return np.append(norm * bare / np.linalg.norm(bare), self.intercept / CONSTANT)


DESIGNS = (
    Design("linear", "normal", 500, 2, 3.0),
    Design("linear", "normal", 2_000, 2, 1.0),
    Design("linear", "skewed", 5_000, 5, 3.0),
    Design("linear", "normal", 10_000, 5, 1.0, intercept=0.5, norm=0.3),
    Design("linear", "correlated", 20_000, 10, 3.0),
    Design("linear", "indicators", 20_000, 5, 1.0),
    Design("linear", "ill-conditioned", 50_000, 10, 1.0),
    Design("linear", "normal", 50_000, 20, 1.0),
    Design("linear", "normal", 50_000, 5, 0.3),
    Design("linear", "normal", 50_000, 5, 3.0, norm=0.3, uneven=True),
    Design("linear", "normal", 1_000, 20, 0.3),
    Design("logistic", "normal", 1_000, 2, 3.0),
    Design("logistic", "normal", 5_000, 2, 1.0),
    Design("logistic", "skewed", 10_000, 5, 3.0),
    Design("logistic", "normal", 20_000, 5, 1.0, intercept=-3.0),
    Design("logistic", "normal", 20_000, 5, 1.0, norm=12.0),
    Design("logistic", "correlated", 20_000, 10, 3.0),
    Design("logistic", "indicators", 50_000, 5, 1.0, intercept=-1.0),
    Design("logistic", "ill-conditioned", 50_000, 10, 3.0),
    Design("logistic", "normal", 50_000, 20, 1.0),
    Design("logistic", "normal", 50_000, 2, 0.3),
    Design("logistic", "normal", 1_000, 20, 0.3),
    Design("logistic", "normal", 50_000, 2, 1.0, intercept=-6.2, norm=1.4),
    Design("logistic", "normal", 50_000, 2, 1.0, intercept=-5.3, norm=1.4),
    Design("logistic", "normal", 50_000, 2, 1.0, intercept=-4.6, norm=1.4),
    Design("logistic", "normal", 50_000, 5, 1.0, intercept=-2.9, norm=1.4),
    Design("logistic", "normal", 50_000, 5, 5.0, intercept=-5.3, norm=1.4),
    Design("logistic", "normal", 200_000, 2, 1.0, intercept=-5.3, norm=1.4),
    Design("logistic", "normal", 200_000, 5, 5.0, intercept=-4.6, norm=1.4),
    Design("logistic", "normal", 500_000, 2, 5.0, intercept=-6.2, norm=1.4),
    Design("logistic", "normal", 500_000, 5, 1.0, intercept=-5.3, norm=1.4),
    Design("logistic", "normal", 50_000, 2, 1.0, norm=25.0),
    Design("logistic", "normal", 50_000, 5, 1.0, norm=25.0),
    Design("logistic", "normal", 50_000, 2, 1.0, norm=35.0),
    Design("logistic", "normal", 50_000, 2, 1.0, norm=60.0),
    Design("logistic", "normal", 50_000, 2, 5.0, norm=60.0),
    Design("logistic", "normal", 100_000, 2, 5.0, norm=35.0),
)
"""The last ones have rare outcomes (rates of 0.2, 0.5, 1 and 5 percent), and strong signals."""


def rows_of(kind: str, records: int, columns: int, rng):
    """Rows within the unit ball."""
    normal = rng.normal(size=(records, columns))
    spread = np.geomspace(1, 0.1, columns)
    X = {
        "normal": lambda: 0.6 * normal,
        "correlated": lambda: 0.5 * (0.8 * rng.normal(size=(records, 1)) + 0.6 * normal),
        "ill-conditioned": lambda: 0.6 * math.sqrt(columns) * normal * spread / np.linalg.norm(spread),
        "skewed": lambda: 0.4 * rng.exponential(size=(records, columns)),
        "indicators": lambda: 1.0 * (rng.random((records, columns)) < np.linspace(0.1, 0.6, columns)),
    }[kind]() / math.sqrt(columns)  # fmt: skip
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)


def targets_of(design: Design, scores, X, rng):
    """Targets of the right model: even residuals, whatever the row; or labels."""
    if design.model == "logistic":
        return np.where(rng.random(len(scores)) < 1 / (1 + np.exp(-scores)), 1.0, -1.0)
    size = RESIDUAL * math.sqrt(3) * (3 * np.abs(X[:, 0]) if design.uneven else 1.0)
    return np.clip(scores + size * rng.uniform(-1, 1, len(scores)), -1, 1)


def plain_widths(design: Design, rows, scores):
    """Half the plain interval, of every weight."""
    chances = 1 / (1 + np.exp(-scores))
    curves = np.full(len(scores), RESIDUAL**-2) if design.model == "linear" else chances * (1 - chances)
    return QUANTILE * np.sqrt(np.diag(np.linalg.inv((rows * curves[:, None]).T @ rows)))


def simulate(design: Design, fits: int, seed: int = 0) -> dict:
    """Coverage of both kinds of intervals, their widths, and how often the noise hides the coefficients."""
    rng, truth = np.random.default_rng(seed), design.coefficients
    loss = Squared(1.0) if design.model == "linear" else Logistic()
    plan, found = None, {"uncertainty": [], "robust_uncertainty": []}
    for fit in range(fits):
        if fit % SAME_ROWS == 0:
            X = rows_of(design.rows, design.records, design.columns, rng)
            rows = np.column_stack([X, np.full(len(X), CONSTANT)])
            scores = rows @ truth
            records = Records.build(X, np.zeros(len(X)), 1.0, CONSTANT)
            plain = plain_widths(design, rows, scores)
        problem = Problem(replace(records, targets=targets_of(design, scores, X, rng)[:, None]), loss)
        if plan is None:
            plan = Unshrunk().calibrate(Budget(design.epsilon, design.records**-1.5), problem.facts, None, "proven")
        solution = plan.run(problem, SeededSource((seed, fit)))
        away = truth - solution.weights[:, 0]
        for kind, entries in found.items():
            below, above = solution.extras[kind].reach(LEVEL)
            entries.append(((-below <= away) & (away <= above), (below + above) / 2 / plain))
    result = {}
    for kind, entries in found.items():
        hits, widths = (np.array(part) for part in zip(*entries, strict=True))
        result[kind] = hits.mean(), hits.mean(axis=0).min(), np.median(widths), np.isfinite(widths).mean()
    return result


def simulations(fits: int) -> str:
    """The table of all designs."""
    head = ["model", "rows", "n", "columns", "ε", "", "covered", "worst", "robust", "width", "robust", "bounded"]
    lines = []
    for design in DESIGNS:
        found = simulate(design, fits)
        (covered, worst, width, bounded), (robust, _, wide, _) = found["uncertainty"], found["robust_uncertainty"]
        words = [f"intercept {design.intercept:g}"] * bool(design.intercept)
        words += [f"norm {design.norm:g}"] * bool(design.norm) + ["uneven residuals"] * design.uneven
        lines.append([
            design.model, design.rows, f"{design.records:,}", str(design.columns), f"{design.epsilon:g}",
            ", ".join(words), *(f"{100 * part:.1f}" for part in (covered, worst, robust)), f"{width:.2f}",
            f"{wide:.2f}", f"{100 * bounded:.0f}%",
        ])  # fmt: skip
        print(lines[-1], flush=True)
    return table(head, lines)


COLUMNS = ("AGEP", "SEX", "SCHL", "DIS", "NATIVITY", "WKHP")


def census(epsilon: float = 1.0) -> str:
    """All rows of the census table: each coefficient, its interval, and that over the plain one, both kinds."""
    data = datasets.load("acs_pums_2024")
    schema = replace(data.schema, columns=tuple(c for c in data.schema.columns if c.name in COLUMNS))
    X, income = schema.encode(data.table), schema.encode_target(data.table)
    rows, rich, lines = np.column_stack([X, np.ones(len(X))]), income > 50_000, []
    for name, model, y in (
        ("income", LinearRegression(epsilon, target_bound=(0, 200_000), inference=True, random_state=0), income),
        ("income above 50,000", LogisticRegression(epsilon, inference=True, random_state=0), rich),
    ):
        model.fit(X, y)
        plain, exact = plain_fit(rows, y, model)
        widths = []
        for robust in (False, True):
            ends = model.confidence_intervals(LEVEL, robust=robust)
            low, high = (np.append(np.ravel(end), ends.intercept[i]) for i, end in enumerate((ends.lower, ends.upper)))
            widths.append((high - low) / 2)
        found = np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
        for i, column in enumerate((*COLUMNS, "intercept")):
            ratios = [f"{width[i] / own[i]:.2f}" for width, own in zip(widths, plain, strict=True)]
            lines.append([name, column, f"{exact[i]:.5g}", f"{found[i]:.5g} ± {widths[0][i]:.2g}", *ratios])
    return table(["target", "column", "plain", f"private, ε = {epsilon:g}", "width", "robust width"], lines)


def plain_fit(rows, y, model):
    """Half the plain intervals, by the model and robust, and the plain coefficients."""
    if isinstance(model, LinearRegression):
        exact = np.linalg.lstsq(rows, y, rcond=None)[0]
        slopes = y - rows @ exact
        curves = np.ones(len(y))
        spread = float((slopes**2).sum()) / (len(y) - rows.shape[1])
    else:
        fitted = linear_model.LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(rows[:, :-1], y)
        exact = np.append(fitted.coef_[0], fitted.intercept_)
        chances = 1 / (1 + np.exp(-rows @ exact))
        slopes, curves, spread = y - chances, chances * (1 - chances), 1.0
    inverse = np.linalg.inv((rows * curves[:, None]).T @ rows)
    middle = (rows * slopes[:, None] ** 2).T @ rows
    return [QUANTILE * np.sqrt(np.diag(kind)) for kind in (spread * inverse, inverse @ middle @ inverse)], exact


def main() -> None:
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description="Coverage and width of confidence intervals for coefficients.")
    parser.add_argument("--fits", type=int, default=1000, help="fits a design (default: 1000)")
    parser.add_argument("--census", action="store_true", help="the census table instead of simulated ones")
    given = parser.parse_args()
    print(census() if given.census else simulations(given.fits))


if __name__ == "__main__":
    main()
