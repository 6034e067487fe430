"""Figures 5, 6 and 7: convolutional networks on MNIST and CIFAR-10 by DP-SGD, DP-LSSGD, DP-Adam and DP-LSAdam.

In full, on a GPU (TACIT_DATA names the folder with mnist/ and cifar10/):

    python experiments/004_dp_lssgd/cnn.py --device cuda --epsilons 1.2 3 --runs 3
    python experiments/004_dp_lssgd/cnn.py --device cuda --data cifar10 --epsilons 3 8 --clip 3 --sigmas 0 1
    python experiments/004_dp_lssgd/cnn.py --device cuda --validate --steps 0.5 1 2 4 8 --sigmas 0 1 2

``--validate`` holds out the last tenth of the *training* images and leaves the test set alone: the way to choose a
constant.
``--figure 5`` is the paper's own setting (ReLU, batch 256, clip 1, step 0.15 or 0.001, accuracy after each epoch).
In small, on a CPU: ``--rows 600 --epochs 1 --epsilons 3 --sigmas 0 1``. Prints one JSON line a run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time

import numpy as np
from data import cifar10, mnist

from tacit.nn import CNNClassifier


def one(options: argparse.Namespace, data: tuple[np.ndarray, ...], cell: dict[str, object], run: int) -> None:
    """Train one network and print what it reached."""
    X, y, test, truth = data
    settings = {
        "delta": 1e-5, "adjacency": options.adjacency, "classes": range(10), "device": options.device,
        "clip": options.clip, "activation": options.activation, "momentum": options.momentum,
        "random_state": run, "verbose": options.verbose,
    }  # fmt: skip
    begun = time.perf_counter()
    model = CNNClassifier(**settings, **cell).fit(X, y)
    seconds = time.perf_counter() - begun
    score = 100 * float((model.predict(test) == truth).mean())
    (event,) = model.guarantee_.events
    print(json.dumps({
        "data": options.data, **cell, "run": run, "accuracy": round(score, 2), "steps_run": event.count,
        "price": round(model.guarantee_.verify(), 5), "status": model.guarantee_.status,
        "noise_multiplier": round(event.scale / options.clip, 4), "rate": round(event.rate, 6),
        "seconds": round(seconds, 1),
    }), flush=True)  # fmt: skip


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("mnist", "cifar10"), default="mnist")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--figure", type=int, choices=(5,))
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.2, 3.0])
    parser.add_argument("--sigmas", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--optimizers", nargs="+", default=["sgd"], choices=("sgd", "adam"))
    parser.add_argument(
        "--steps", type=float, nargs="+", help="effective step sizes, step / (1 - momentum); none: the rule"
    )
    parser.add_argument("--batches", type=int, nargs="+", help="expected batch sizes; none: the rule")
    parser.add_argument("--epochs", type=int, nargs="+", help="passes over the data; none: the rule")
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--activation", default="tanh")
    parser.add_argument("--adjacency", choices=("replace-one", "add-remove"), default="add-remove")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    X, y, test, truth = cifar10() if options.data == "cifar10" else mnist()
    X, y = X[: options.rows], y[: options.rows]
    if options.validate:
        kept = len(y) - len(y) // 10
        X, y, test, truth = X[:kept], y[:kept], X[kept:], y[kept:]
    if options.figure == 5:
        options.activation, options.momentum, options.optimizers = "relu", 0.0, ["sgd", "adam"]
        options.batches, options.epochs = options.batches or [256], options.epochs or [1, 5, 15, 30, 60]
    grid = itertools.product(
        options.epsilons, options.optimizers, options.batches or [None], options.epochs or [None],
        options.steps or [None], options.sigmas, range(options.runs),
    )  # fmt: skip
    for epsilon, optimizer, batch, epochs, step, sigma, run in grid:
        size = step
        if options.figure == 5 and step is None:
            size = 0.15 if optimizer == "sgd" else 0.001
        elif step is not None and optimizer == "sgd":
            size = step * (1 - options.momentum)
        cell = {
            "epsilon": epsilon,
            "optimizer": optimizer,
            "batch": batch,
            "epochs": epochs,
            "step": size,
            "smoothing": sigma,
        }
        one(options, (X, y, test, truth), cell, run)


if __name__ == "__main__":
    main()
