"""Logistic regression by DP-SGD with Opacus' optimiser, noise and accountant, at several step sizes.

The setting of the project's earlier measurements: zero start, clip 1, 20 epochs, Poisson batches of 1,024 records (a
quarter of the records where there are few), noise by the PRV accountant. (epsilon, delta) under add-remove.
"""

import functools
import time
import warnings
from collections.abc import Iterator

import numpy as np

STEPS = (0.25, 1.0, 4.0, 16.0, 64.0)
EPOCHS, BATCH, CLIP = 20, 1024, 1.0


def fits(X, y, X_test, epsilon: float, delta: float, seed: int) -> Iterator[tuple[float, float, np.ndarray]]:
    """Step size, CPU seconds and the probability of label 1 for the test rows, for each of STEPS."""
    import torch

    rows, labels, tests = (torch.as_tensor(values, dtype=torch.float32) for values in (X, y, X_test))
    batch = min(BATCH, len(rows) // 4)
    rate = batch / len(rows)
    count = round(EPOCHS / rate)
    noise = multiplier(epsilon, delta, rate, count)
    for step in STEPS:
        start = time.process_time()
        with warnings.catch_warnings():  # that the rows need no gradient
            warnings.filterwarnings("ignore", "Full backward hook is firing")
            network = _descend(rows, labels, rate, count, noise, step, seed)
        seconds = time.process_time() - start
        with torch.no_grad():
            positive = torch.sigmoid(network(tests))[:, 0].double().numpy()
        yield step, seconds, positive


@functools.lru_cache(maxsize=64)
def multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Opacus' noise multiplier, its tolerances a part of epsilon: the default of 0.01 wastes a tenth of 0.1."""
    from opacus.accountants.utils import get_noise_multiplier

    with warnings.catch_warnings():  # about the Rényi orders from which its search starts
        warnings.simplefilter("ignore")
        return get_noise_multiplier(
            target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=steps, accountant="prv",
            epsilon_tolerance=epsilon / 100, eps_error=min(0.01, epsilon / 20),
        )  # fmt: skip


def _descend(rows, labels, rate: float, steps: int, noise: float, step: float, seed: int):
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    random = torch.Generator().manual_seed(seed)
    linear = torch.nn.Linear(rows.shape[1], 1)
    torch.nn.init.zeros_(linear.weight)
    torch.nn.init.zeros_(linear.bias)
    network = GradSampleModule(linear)
    optimiser = DPOptimizer(
        torch.optim.SGD(network.parameters(), lr=step), noise_multiplier=noise, max_grad_norm=CLIP,
        expected_batch_size=rate * len(rows), generator=random,
    )  # fmt: skip
    for _ in range(steps):
        chosen = (torch.rand(len(rows), generator=random) < rate).nonzero()[:, 0]
        optimiser.zero_grad()
        scores = network(rows[chosen])[:, 0]
        torch.nn.functional.binary_cross_entropy_with_logits(scores, labels[chosen]).backward()
        optimiser.step()
    return network
