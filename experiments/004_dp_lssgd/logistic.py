"""Table 2 and Figures 3 and 4: multi-class logistic regression on MNIST with Laplacian smoothing.

    python experiments/004_dp_lssgd/logistic.py --epsilons 0.3 0.1 --sigmas 0 1 2 3 --runs 5
    python experiments/004_dp_lssgd/logistic.py --figure 3 --epsilons 0.2 0.1 --sigmas 0 1 3 --out losses.png
    python experiments/004_dp_lssgd/logistic.py --figure 4 --epsilons 0.1 0.2 --sigmas 0 1 2 3

Prints one JSON line a cell. ``--rows 5000 --runs 1`` is a small run.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import numpy as np
from data import mnist

from tacit import LogisticRegression
from tacit.losses import Softmax
from tacit.mechanisms import GradientPerturbation, Poisson
from tacit.noise import SeededSource, add_gaussian
from tacit.problem import Problem, Records
from tacit.smoothing import smooth_weights
from tacit.types import Budget


def rows(images: np.ndarray) -> np.ndarray:
    """Pixels as float32; the estimator clips rows to norm 1 (they are all longer)."""
    return images.reshape(len(images), -1).astype(np.float32)


def table(options: argparse.Namespace, data: tuple[np.ndarray, ...]) -> None:
    """One cell for each epsilon and sigma: accuracy over runs."""
    X, y, test, truth = data
    for epsilon in options.epsilons:
        for sigma in options.sigmas:
            begun, scores = time.perf_counter(), []
            for run in range(options.runs):
                model = LogisticRegression(
                    epsilon, delta=1e-5, adjacency=options.adjacency, classes=range(10), random_state=run,
                    method=GradientPerturbation(smoothing=sigma),
                ).fit(X, y)  # fmt: skip
                scores.append(100 * model.score(test, truth))
            spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
            print(json.dumps({
                "epsilon": epsilon, "adjacency": options.adjacency, "sigma": sigma, "runs": options.runs,
                "mean": round(float(np.mean(scores)), 2), "std": round(spread, 2), "status": model.guarantee_.status,
                "price": round(model.guarantee_.verify(), 6),
                "seconds": round((time.perf_counter() - begun) / options.runs, 1),
            }), flush=True)  # fmt: skip


def step_sizes(options: argparse.Namespace, data: tuple[np.ndarray, ...]) -> None:
    """Figure 4: steps a/t over Poisson batches, a from 0.5 to 3, accuracy for each sigma."""
    X, y, test, truth = data
    for epsilon in options.epsilons:
        for sigma in options.sigmas:
            for a in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
                mechanism = GradientPerturbation(
                    Poisson(128 / len(y)), steps=options.steps, clip=1.0, step=100 * a, momentum=0.0,
                    schedule="inverse", smoothing=sigma,
                )  # fmt: skip
                model = LogisticRegression(epsilon, delta=1e-5, classes=range(10), random_state=0, method=mechanism)
                score = 100 * model.fit(X, y).score(test, truth)
                print(json.dumps({"epsilon": epsilon, "sigma": sigma, "a": a, "accuracy": round(score, 2)}), flush=True)


def losses(options: argparse.Namespace, data: tuple[np.ndarray, ...]) -> None:
    """Figure 3: training and validation loss along the way (a diagnostic: these losses are not private)."""
    X, y, test, truth = data
    curves = {}
    for epsilon in options.epsilons:
        for sigma in options.sigmas:
            problem = Problem(Records.build(X, y.astype(float), 1.0, 0.5), Softmax(10), 10)
            held = Problem(Records.build(test, truth.astype(float), 1.0, 0.5), Softmax(10), 10)
            mechanism = GradientPerturbation(
                Poisson(128 / len(y)), steps=options.steps, clip=1.0, step=100.0, momentum=0.0, schedule="inverse",
                smoothing=sigma,
            )  # fmt: skip
            plan = mechanism.calibrate(Budget(epsilon, 1e-5), problem.facts, 1e-4, "proven")
            source, path = SeededSource(0), []
            batches = plan.sampler.batches(len(y), options.steps, source)

            def gradient(weights, plan=plan, problem=problem, source=source, path=path, batches=batches):
                path.append(weights)  # the plan's own chain, with the iterates kept
                part = replace(problem, records=problem.records.take(next(batches)))
                noisy = add_gaussian(part.clipped_gradient(weights, plan.clip), plan.scale, source) / plan.divisor
                return smooth_weights(noisy + plan.decay * weights, plan.smoothing, intercept=True)

            plan.descent.run(gradient, problem.start())
            curve = [
                (t, float(problem.value(path[t])[0]) / len(y), float(held.value(path[t])[0]) / len(truth))
                for t in range(0, options.steps, max(1, options.steps // 40))
            ]
            curves[(epsilon, sigma)] = curve
            print(
                json.dumps({"epsilon": epsilon, "sigma": sigma, "last": [round(v, 4) for v in curve[-1]]}), flush=True
            )
    if options.out:
        from matplotlib import pyplot as plt

        figure, axes = plt.subplots(1, 2 * len(options.epsilons), figsize=(5 * 2 * len(options.epsilons), 4))
        for i, epsilon in enumerate(options.epsilons):
            for sigma in options.sigmas:
                t, train, held = zip(*curves[(epsilon, sigma)], strict=True)
                axes[2 * i].semilogy(t, train, label=f"σ = {sigma:g}")
                axes[2 * i + 1].semilogy(t, held, label=f"σ = {sigma:g}")
            axes[2 * i].set(title=f"training loss, ε = {epsilon}", xlabel="step")
            axes[2 * i + 1].set(title=f"validation loss, ε = {epsilon}", xlabel="step")
            axes[2 * i].legend()
        figure.tight_layout()
        figure.savefig(options.out, dpi=120)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=int, choices=(3, 4))
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.30, 0.25, 0.20, 0.15, 0.10])
    parser.add_argument("--sigmas", type=float, nargs="+", default=[0.0, 1.0, 2.0, 3.0])
    parser.add_argument("--adjacency", choices=("replace-one", "add-remove"), default="replace-one")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--out")
    options = parser.parse_args()
    X, y, test, truth = mnist()
    data = (rows(X)[: options.rows], y[: options.rows], rows(test), truth)
    {None: table, 3: losses, 4: step_sizes}[options.figure](options, data)


if __name__ == "__main__":
    main()
