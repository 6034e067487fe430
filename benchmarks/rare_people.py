"""A rare outcome of people with several rows: how well it is ranked and found, over the bound on rows per person.

python benchmarks/rare_people.py --seeds 5

Made-up visits: 4,000 patients with one to eight each, 11% of them with the outcome. A bound of None trains on single
visits, which protects less. Test rows are of other patients.
"""

import argparse
from itertools import product

import numpy as np
import pandas as pd
from markdown import table
from sklearn.metrics import recall_score, roc_auc_score

from tacit import AdditiveClassifier, LogisticRegression, Schema

WARDS = ["surgery", "medicine", "heart", "child"]
SCHEMA = Schema.from_dict(
    {
        "target": {"name": "back", "classes": ["no", "yes"]},
        "columns": {
            "age": {"lower": 18, "upper": 100}, "days": {"lower": 1, "upper": 30}, "ward": {"values": WARDS},
            "pressure": {"lower": 60, "upper": 240}, "drugs": {"lower": 0, "upper": 15},
        },
    }
)  # fmt: skip
BOUNDS = (None, 3, 8)


def visits(people: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table, and whose rows they are; patients differ in age and in a frailty that nobody wrote down."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(people), np.minimum(rng.geometric(0.35, people), 8))
    age, frail = rng.integers(18, 95, people)[patient], rng.normal(size=people)[patient]
    rows = len(patient)
    days, ward = np.minimum(rng.geometric(0.2, rows), 30), rng.choice(WARDS, rows)
    pressure, drugs = rng.normal(130, 20, rows).clip(80, 220), rng.poisson(3 + frail.clip(0)).clip(0, 15)
    risk = 0.03 * (age - 56) + 0.06 * (days - 5) + 0.9 * (ward == "heart") - 2.75
    risk += 0.15 * (drugs - 3) + 0.01 * (pressure - 130) + 0.5 * frail
    back = np.where(rng.random(rows) < 1 / (1 + np.exp(-risk)), "yes", "no")
    found = pd.DataFrame({"age": age, "days": days, "ward": ward, "pressure": pressure, "drugs": drugs, "back": back})
    return found, patient


def scores(kind: str, epsilon: float, weight: str | None, bound: int | None, seed: int) -> tuple[float, float, float]:
    """AUC, the mean probability of the outcome, and the share of outcomes that are found."""
    (train, patient), (test, _) = visits(4000, 500 + seed), visits(8000, 99)
    settings = {"epsilon": epsilon, "class_weight": weight, "rows_per_person": bound, "random_state": seed}
    groups = None if bound is None else patient
    if kind == "linear":
        model = LogisticRegression(classes=["no", "yes"], **settings)
        model.fit(SCHEMA.encode(train, 1.0), train["back"], groups=groups)
        chances = model.predict_proba(SCHEMA.encode(test, 1.0))[:, 1]
    else:
        chances = AdditiveClassifier(schema=SCHEMA, **settings).fit(train, groups=groups).predict_proba(test)[:, 1]
    true = test["back"] == "yes"
    return roc_auc_score(true, chances), chances.mean(), recall_score(true, chances > 0.5)


def main() -> None:
    """Print one table: AUC, mean probability and, with balanced weights, recall."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="fits for each mean (default: 5)")
    seeds, lines = range(parser.parse_args().seeds), []
    for kind, epsilon in product(("linear", "additive"), (0.5, 2.0, 20.0)):
        cells = []
        for bound in BOUNDS:
            usual = np.mean([scores(kind, epsilon, None, bound, seed) for seed in seeds], axis=0)
            balanced = np.mean([scores(kind, epsilon, "balanced", bound, seed) for seed in seeds], axis=0)
            cells.append(f"{usual[0]:.3f}, {usual[1]:.3f}, {balanced[2]:.0%}")
        lines.append([kind, f"{epsilon:g}", *cells])
        print(*lines[-1], sep=" | ", flush=True)
    head = ["model", "ε", *("single visits" if bound is None else f"bound {bound}" for bound in BOUNDS)]
    print("\n" + table(head, lines))


if __name__ == "__main__":
    main()
