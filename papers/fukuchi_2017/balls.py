"""Figure 2 at small n with several balls ||w|| <= eta: the paper leaves eta open, and Input's noise grows with it."""

import warnings

import numpy as np

from papers.fukuchi_2017 import census
from tacit import RefutedWarning
from tacit.privacy.noise import SeededSource
from tacit.types import Budget

RADII = (3.0, 5.0, 10.0)
"""The ball of the regression, the one of figure2, and one between."""


def cells(size):
    """One cell a split."""
    rows = 100_000 if size.quick else None
    return [{"split": split, "draws": 10, "largest": 11, "rows": rows} for split in range(size.pick(10, 2))]


def measure(split, draws, largest, rows):
    """One split: the accuracy of Obj-Gauss (radius None), and of Input with each ball, means over the draws."""
    design, _, labels = census.load(rows)
    order = np.random.default_rng((1, split)).permutation(len(design))  # the split of figure2
    test, train = np.split(order, [len(order) // 5])
    test, wanted = test[: census.TESTED], census.sizes(largest)
    sums, source = census.prefix_sums(design, labels, train, wanted), SeededSource((4, split))
    points = []
    for n in wanted:
        X, y = design[train[:n], :-1], labels[train[:n]]
        for epsilon in census.EPSILONS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RefutedWarning)  # every point carries its status
                central = census.classifiers(X, y, epsilon, draws, 100 * split)
            found = {(name, None): value for name, value in central.items() if name.startswith("Obj-Gauss")}
            for radius in RADII:
                setting = census.setting_of("classification", design.shape[1], n, radius)
                inputs = census.quadratic_weights(
                    "classification", setting, Budget(epsilon, census.DELTA), *sums[n], draws, source
                )
                found |= {(name, radius): value for name, value in inputs.items() if name.startswith("Input")}
            for (method, radius), (status, weights) in found.items():
                hits = (design[test] @ np.array(weights).T > 0) == (labels[test, None] > 0)
                points.append({
                    "method": method, "radius": radius, "status": status, "epsilon": epsilon, "n": n,
                    "score": float(hits.mean()),
                })  # fmt: skip
    return points
