"""Training of one convolutional network on MNIST or CIFAR-10 (needs PyTorch).

The chain is that of ``tacit.nn``: Poisson batches, clipped sums, noise through the one door, the price by privacy loss
distributions (add-remove). The noise multiplier is given, as in the paper, and the epsilon after each epoch computed.
The accuracy on the test images along the way is not private. TACIT_DEVICE names the device (default: cpu).
"""

import functools
import os

import numpy as np
import torch

from papers.wang_2020.convolutional_figures import name_of
from tacit import datasets
from tacit.mechanisms import Poisson
from tacit.nn import CNNClassifier, cifar_network, mnist_network, smooth
from tacit.nn.train import NetworkPlan, NetworkProblem, rounding
from tacit.privacy import accounting
from tacit.privacy.noise import SeededSource, grid_slack
from tacit.privacy.theorems import THEOREMS

DELTA = 1e-5
NETWORKS = {"mnist": mnist_network, "cifar10": cifar_network}
CLIPS = {"mnist": 1.0, "cifar10": 3.0}
DECAY_AT = 10_000
"""The step at which the paper divides the learning rate by ten."""


@functools.cache
def pictures(data, split, rows):
    """The first images, in [0, 1] and with a channel axis, and their labels, on the device."""
    images, labels = (part[:rows] for part in read(data, split))
    if images.ndim == 3:
        images = images[:, None]
    device = os.environ.get("TACIT_DEVICE", "cpu")
    return torch.from_numpy(images).to(device).float() / 255, torch.from_numpy(labels).to(device)


@functools.cache
def read(data, split):
    """The stored images, read once a process."""
    return datasets.images(data, split)


def plan_of(records, size, batch, epochs, clip, noise_multiplier):
    """The public plan of a run with this noise multiplier."""
    sampler, steps = Poisson(min(1.0, batch / records)), max(1, round(epochs * records / batch))
    scale = noise_multiplier * clip
    slack = rounding(clip, records, size) + (grid_slack(scale, size) if scale else 0.0)
    released = (sampler.event(clip, slack, scale, records, steps, "gaussian"),) if scale else ()
    return NetworkPlan(
        sampler=sampler, steps=steps, clip=clip, scale=scale, divisor=sampler.expected(records, steps), events=released
    )


def score(network, images, labels):
    """Accuracy in percent."""
    kind = next(network.parameters()).dtype
    with torch.no_grad():
        right = sum(
            int((network(part.to(kind)).argmax(dim=1) == truth).sum())
            for part, truth in zip(images.split(2_000), labels.split(2_000), strict=True)
        )
    return 100 * right / len(labels)


def defaults(epsilon, optimizer, smoothing, epochs, rows, run):
    """The classifier as it comes, with its rules (``epochs`` None): test accuracy in percent."""
    images, labels = (part[:rows] for part in read("mnist", "train"))
    test, truth = (part[:rows] for part in read("mnist", "test"))
    model = CNNClassifier(
        epsilon, delta=DELTA, adjacency="add-remove", classes=range(10), optimizer=optimizer, smoothing=smoothing,
        epochs=epochs, random_state=run, device=os.environ.get("TACIT_DEVICE", "cpu"),
    ).fit(images, labels)  # fmt: skip
    accuracy = 100 * float((model.predict(test) == truth).mean())
    return [{"method": name_of(optimizer, smoothing), "status": model.guarantee_.status, "accuracy": accuracy}]


def measure(data, optimizer, smoothing, noise_multiplier, step, batch, epochs, rows, run):
    """One network: epsilon and test accuracy after each epoch. A noise multiplier of 0 is no privacy."""
    images, labels = pictures(data, "train", rows)
    test, truth = pictures(data, "test", rows)
    source = SeededSource((run, 5))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(source.words(1)[0] >> np.uint64(1)))
        network = NETWORKS[data](activation="relu").to(images.device)
    size = sum(p.numel() for p in network.parameters())
    plan = plan_of(len(labels), size, batch, epochs, CLIPS[data], noise_multiplier)
    kind = torch.optim.SGD if optimizer == "sgd" else torch.optim.Adam
    chosen = smooth(kind(network.parameters(), lr=step), smoothing)
    schedule = torch.optim.lr_scheduler.MultiStepLR(chosen, [DECAY_AT])
    marks = {round((k + 1) * plan.steps / epochs): k + 1 for k in range(epochs)}
    points = []

    def after_step(t):
        schedule.step()
        if t not in marks:
            return
        spent = plan.until(t)
        points.append({
            "method": name_of(optimizer, smoothing), "status": THEOREMS["sampled-gradient"].status if spent else None,
            "epoch": marks[t], "accuracy": score(network, test, truth),
            "epsilon": accounting.epsilon(spent, DELTA, "add-remove") if spent else None,
        })  # fmt: skip

    plan.run(NetworkProblem(network, chosen, images, labels, after_step), source)
    return points
