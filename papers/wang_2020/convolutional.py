"""Cells of the networks on MNIST and CIFAR-10: which runs they need, and what their points are (needs PyTorch).

A cell asks ``trained`` for the accuracies of its runs: by default they are trained here, side by side; results from
another machine can be handed in instead (``packing``). Prices come from the library's own plan: Poisson batches,
add-remove, privacy loss distributions. Accuracies on test images along the way are not private. TACIT_DEVICE names the
device (default: cpu, in double precision; elsewhere single).
"""

import functools
import os

import torch

from papers.wang_2020.convolutional_figures import STEPS, name_of
from papers.wang_2020.fleet import Fleet
from papers.wang_2020.rates import FIRST, at_edge, next_try, rate_at
from papers.wang_2020.runs import HELD, Run, fleets
from papers.wang_2020.stacked import Stack
from tacit import datasets
from tacit.checks import check
from tacit.datasets.stand_ins import cached
from tacit.mechanisms import Poisson
from tacit.nn.classifiers import CNNClassifier
from tacit.nn.train import NetworkDescent, NetworkLoss, NetworkPlan, rounding
from tacit.privacy import accounting
from tacit.privacy.noise import grid_slack
from tacit.privacy.theorems import THEOREMS
from tacit.types import Budget, Facts

DELTA = 1e-5
CLIPS = {"mnist": 1.0, "cifar10": 3.0}
RECORDS = {"mnist": 60_000, "cifar10": 50_000}
MOST = 120
"""Networks in one fleet."""


@cached
def read(data, split):
    """The stored images, read once a process. Prices count on the number of training images: another one raises."""
    images, labels = datasets.images(data, split)
    check(
        split != "train" or len(labels) == RECORDS[data],
        f"Expected {RECORDS[data]} training images of {data}, got {len(labels)}.",
    )
    return images, labels


def train_here(runs):
    """The accuracies at the marks of each run, trained on this machine."""
    device = os.environ.get("TACIT_DEVICE", "cpu")
    kind = torch.float64 if device == "cpu" else torch.float32
    return {
        run: curve for fleet in fleets(runs, MOST) for run, curve in Fleet(fleet, read, device, kind).train().items()
    }


@functools.cache
def plan_of(data, records, batch, steps, noise_multiplier):
    """The library's public plan of a run with this noise multiplier."""
    size, clip, sampler = sum(Stack.of(data, "relu").sizes), CLIPS[data], Poisson(min(1.0, batch / records))
    scale = noise_multiplier * clip
    slack = rounding(clip, records, size) + grid_slack(scale, size)
    released = (sampler.event(clip, slack, scale, records, steps, "gaussian"),)
    return NetworkPlan(
        sampler=sampler, steps=steps, clip=clip, scale=scale, divisor=sampler.expected(records, steps), events=released
    )


@functools.cache
def spent(data, records, batch, steps, noise_multiplier, step):
    """Epsilon after this many steps; None without noise."""
    if not noise_multiplier:
        return None
    return accounting.epsilon(plan_of(data, records, batch, steps, noise_multiplier).until(step), DELTA, "add-remove")


@functools.cache
def aimed_at(epsilon, data, records, batch, steps):
    """The noise multiplier of the library's calibration for this epsilon after all steps."""
    descent = NetworkDescent(rate=min(1.0, batch / records), steps=steps, clip=CLIPS[data])
    budget = Budget(epsilon, DELTA, "add-remove")
    return descent.calibrate(budget, _facts(data, records), None, "proven").scale / descent.clip


def _facts(data, records):
    size = sum(Stack.of(data, "relu").sizes)
    return Facts(records=records, features=size, outputs=1, radius=1.0, loss=NetworkLoss(outputs=10))


def count(data, rows, held=False):
    """Training records of a run."""
    records = RECORDS[data] if rows is None else min(rows, RECORDS[data])
    return records - min(HELD, records // 2) if held else records


def scored(data, rows):
    """How many test images are scored: as many as records where only some are taken, 5,000 of CIFAR-10 at most."""
    most = {"mnist": None, "cifar10": 5_000}[data]
    return most if rows is None else min(rows, most or rows)


def total_steps(epochs, records, batch):
    """Steps of so many passes, as the library counts them."""
    return max(1, round(epochs / min(1.0, batch / records)))


def _marks(steps, epochs):
    return tuple(sorted({round((k + 1) * steps / epochs) for k in range(epochs)}))


def _status(noise_multiplier):
    return THEOREMS["sampled-gradient"].status if noise_multiplier else None


def measure(data, optimizer, smoothing, noise_multiplier, step, batch, epochs, rows, run, trained=train_here):
    """One network: epsilon and test accuracy after each epoch. Multiplier 0: no privacy, and nothing is clipped."""
    records = count(data, rows)
    steps = total_steps(epochs, records, batch)
    wanted = Run(
        data=data, seed=run, optimizer=optimizer, smoothing=smoothing, noise=noise_multiplier, rate=step, batch=batch,
        steps=steps, marks=_marks(steps, epochs), clip=CLIPS[data] if noise_multiplier else None, rows=rows,
        scored=scored(data, rows),
    )  # fmt: skip
    accuracies = trained([wanted])[wanted]
    return [
        {"method": name_of(optimizer, smoothing), "status": _status(noise_multiplier), "accuracy": accuracy,
         "epoch": round(mark * epochs / steps), "epsilon": spent(data, records, batch, steps, noise_multiplier, mark)}
        for mark, accuracy in zip(wanted.marks, accuracies, strict=True)
    ]  # fmt: skip


def aimed_runs(data, optimizer, smoothing, target, rate, batch, epochs, rows, seeds, held=False):
    """Runs with noise for epsilon = ``target`` after all epochs; ``held``: on all but the validation images."""
    records = count(data, rows, held)
    steps = total_steps(epochs, records, batch)
    noise = aimed_at(target, data, records, batch, steps)
    return [
        Run(
            data=data, seed=seed, optimizer=optimizer, smoothing=smoothing, noise=noise, rate=rate, batch=batch,
            steps=steps, marks=(steps,), clip=CLIPS[data], held=held, rows=rows,
            scored=scored(data, rows),
        )
        for seed in seeds
    ]  # fmt: skip


def trial_seeds(trials):
    """Those of runs on which a learning rate is chosen: no other run has them."""
    return range(100, 100 + trials)


def aimed(data, optimizer, smoothing, target, step, batch, epochs, rows, runs, trained=train_here):
    """Networks whose noise is aimed at epsilon = ``target`` after all epochs, at the learning rate ``step``."""
    finals = aimed_runs(data, optimizer, smoothing, target, step, batch, epochs, rows, range(runs))
    return _ends(finals, trained(finals), epochs, {"validation": None, "tried": None, "at_edge": None})


def chosen(data, optimizer, smoothing, target, batch, epochs, rows, trials, runs, trained=train_here):
    """As ``aimed``, with the learning rate chosen on validation images.

    These are the last 10,000 training images; a rate's score is the mean of ``trials`` noisy runs on the others, aimed
    at the same epsilon. Every optimiser is offered the same rates (``rates``), whatever its sigma.
    """
    scores, tries = {}, FIRST
    while tries:
        asked = offered(data, optimizer, smoothing, target, batch, epochs, rows, trial_seeds(trials), tries, held=True)
        curves = trained([run for part in asked.values() for run in part])
        scores |= {place: sum(curves[run][-1] for run in part) / trials for place, part in asked.items()}
        tries = next_try(scores)
    best = max(scores, key=scores.get)
    finals = offered(data, optimizer, smoothing, target, batch, epochs, rows, range(runs), (best,))[best]
    how = {"validation": scores[best], "tried": len(scores), "at_edge": at_edge(scores)}
    return _ends(finals, trained(finals), epochs, how)


def offered(data, optimizer, smoothing, target, batch, epochs, rows, seeds, places, held=False):
    """The runs at these places of ``rates``, by place."""
    rates = {k: rate_at(STEPS[optimizer], k) for k in places}
    return {
        k: aimed_runs(data, optimizer, smoothing, target, rate, batch, epochs, rows, seeds, held)
        for k, rate in rates.items()
    }


def _ends(finals, curves, epochs, how):
    """A point for each of these runs: what it spends, and the accuracy at its end."""
    one, noise = finals[0], finals[0].noise
    epsilon = spent(one.data, count(one.data, one.rows), one.batch, one.steps, noise, one.steps)
    return [
        {"method": name_of(run.optimizer, run.smoothing), "status": _status(noise), "run": run.seed,
         "noise_multiplier": noise, "epsilon": epsilon, "accuracy": curves[run][-1], "epoch": epochs,
         "rate": run.rate, "sigma": run.smoothing, **how}
        for run in finals
    ]  # fmt: skip


def defaults(epsilon, optimizer, smoothing, epochs, rows, run, trained=train_here):
    """The classifier as it comes, with its rules (``epochs`` None): test accuracy in percent."""
    model = CNNClassifier(
        epsilon, delta=DELTA, adjacency="add-remove", classes=range(10), optimizer=optimizer, smoothing=smoothing,
        epochs=epochs,
    )  # fmt: skip
    budget, records = Budget(epsilon, DELTA, "add-remove"), count("mnist", rows)
    descent = model._mechanism(budget, records)
    plan = descent.calibrate(budget, _facts("mnist", records), None, "proven")
    optimizer_of, _ = model._optimizer(torch.nn.Linear(1, 1), plan.steps)
    wanted = Run(
        data="mnist", seed=run, smoothing=smoothing, optimizer=optimizer, noise=plan.scale / plan.clip,
        rate=optimizer_of.param_groups[0]["lr"], batch=round(plan.divisor), steps=plan.steps, marks=(plan.steps,),
        clip=plan.clip, momentum=model.momentum, activation=model.activation, fall="linear", low=-1.0, rows=rows,
        scored=scored("mnist", rows),
    )  # fmt: skip
    accuracy = trained([wanted])[wanted][-1]
    return [{"method": name_of(optimizer, smoothing), "status": _status(plan.scale), "accuracy": accuracy}]
