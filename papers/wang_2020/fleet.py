"""Many networks trained side by side, each with its own noise, clip, rate, smoothing and optimiser (needs PyTorch).

One step is the library's (:mod:`tacit.nn.train`): a Poisson batch, single records' gradients clipped, their sum with
Gaussian noise divided by the expected batch, smoothed, and given to SGD or Adam; a test holds it to the library's
within rounding. It differs in what an experiment may do and a private release may not: networks of one seed share their
start and their batches (each has noise of its own), the noise is PyTorch's, and on a GPU numbers are single precision
(without TF32). The price of a run is that of the library's event for the same sampler, computed elsewhere.
"""

import time

import numpy as np
import torch

from papers.wang_2020.runs import HELD
from papers.wang_2020.stacked import Stack

BETAS, TINY = (0.9, 0.999), 1e-8
LOOK = 32
"""Steps between looks at the clock."""
FILL = 16
"""Batches are filled up to a multiple of this, so that shapes repeat."""


class OutOfTime(Exception):
    """The fleet would end too late: nothing of it is kept."""


def use_full_precision():
    """No TF32 in products or convolutions."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def batches(seed, records, rate, steps):
    """Positions of the records of each step: every record with this chance, by a binomial count and a subset of it."""
    draws = np.random.default_rng((seed, records, 7))
    for _ in range(steps):
        yield draws.choice(records, draws.binomial(records, rate), replace=False, shuffle=False)


def _filled(drawn, device):
    """Batches of several seeds at a step, as positions and ones for true records, filled with position 0."""
    width = -(-max(1, *map(len, drawn)) // FILL) * FILL
    rows, ones = np.zeros((len(drawn), width), dtype=np.int64), np.zeros((len(drawn), width), dtype=np.float32)
    for i, positions in enumerate(drawn):
        rows[i, : len(positions)], ones[i, : len(positions)] = positions, 1.0
    return torch.from_numpy(rows).to(device), torch.from_numpy(ones).to(device)


class Optimizers:
    """SGD with momentum or Adam for every network, as PyTorch has them, after Laplacian smoothing of each parameter."""

    def __init__(self, runs, stack, kind):
        def column(values):
            return torch.tensor([float(value) for value in values], **kind)[:, None]

        self.sizes, self.count = stack.sizes, 0
        self.rates, self.momenta = column(run.rate for run in runs), column(run.momentum for run in runs)
        self.adam = column(run.optimizer == "adam" for run in runs) > 0
        self.sigmas = column(run.smoothing for run in runs)
        self.factors = [self._factors(size, kind) for size in self.sizes] if bool((self.sigmas > 0).any()) else None
        zeros = torch.zeros(len(runs), sum(self.sizes), **kind)
        self.first, self.second = zeros, zeros.clone()

    def _factors(self, size, kind):
        angles = torch.pi * torch.arange(size // 2 + 1, dtype=torch.float64, device=kind["device"]) / size
        return (1 / (1 + 4 * self.sigmas.double() * torch.sin(angles) ** 2)).to(kind["dtype"])

    def smoothed(self, gradients):
        """(I - sigma L)^-1 of every parameter by itself, in row-major order; as it was where sigma is 0."""
        if self.factors is None:
            return gradients
        parts = [
            torch.fft.irfft(torch.fft.rfft(part) * factors, n=part.shape[1]) if part.shape[1] > 1 else part
            for part, factors in zip(gradients.split(self.sizes, dim=1), self.factors, strict=True)
        ]
        return torch.where(self.sigmas > 0, torch.cat(parts, dim=1), gradients)

    def step(self, weights, gradients, share):
        """Change the weights in place; ``share`` is the part of the learning rate that is left."""
        gradients, (b, c) = self.smoothed(gradients), BETAS
        self.count += 1
        self.first = torch.where(
            self.adam, b * self.first + (1 - b) * gradients, self.momenta * self.first + gradients
        )  # fmt: skip
        self.second = c * self.second + (1 - c) * gradients.square()
        size = (self.second / (1 - c**self.count)).sqrt_().add_(TINY)
        moved = torch.where(self.adam, self.first / (1 - b**self.count) / size, self.first)
        weights -= share * self.rates * moved


def parts(read, run, device, dtype):
    """Training images, labels, and those that are scored; images (n, height, width, channels) in [low, 1]."""
    found = []
    for split, rows in (("train", run.rows), ("test", run.scored)):
        images, labels = (torch.from_numpy(part[:rows]) for part in read(run.data, split))
        images = images[..., None] if images.ndim == 3 else images.movedim(1, -1)
        scaled = images.to(device=device, dtype=dtype).contiguous() / 255
        found += [run.low + (1 - run.low) * scaled, labels.to(device)]
    images, labels, test, truth = found
    if run.held:
        cut = len(labels) - min(HELD, len(labels) // 2)
        return images[:cut], labels[:cut], images[cut:], labels[cut:]
    return images, labels, test, truth


class Fleet:
    """Networks of one company, ordered by seed and equally many of each, with their images on the device."""

    def __init__(self, runs, read, device="cpu", dtype=torch.float64):
        use_full_precision()
        self.runs, self.model, self.kind = runs, runs[0], {"device": device, "dtype": dtype}
        seeds = dict.fromkeys(run.seed for run in runs)
        each = [sum(run.seed == seed for run in runs) for seed in seeds]
        ordered = [seed for seed in seeds for _ in range(each[0])]
        if len({run.company for run in runs}) > 1 or [run.seed for run in runs] != ordered:
            raise ValueError("Expected runs of one company, ordered by seed, equally many of each.")
        self.stack = Stack.of(self.model.data, self.model.activation)
        self.images, self.labels, self.test, self.truth = parts(read, self.model, device, dtype)
        self.weights = torch.stack([self.stack.start(run.seed) for run in runs]).to(**self.kind)
        self.clips = torch.tensor([[np.inf if run.clip is None else run.clip] for run in runs], **self.kind)
        self.scales = torch.tensor([[run.noise * (run.clip or 0.0)] for run in runs], **self.kind)
        self.optimizers = Optimizers(runs, self.stack, self.kind)
        self.noise = torch.Generator(device).manual_seed(_noise_seed(runs))
        self.rate = min(1.0, self.model.batch / len(self.labels))
        self.drawn = zip(*(batches(seed, len(self.labels), self.rate, self.model.steps) for seed in seeds), strict=True)

    def step(self, t, positions):
        """One step of all networks; ``positions`` are the records of each seed's batch."""
        index, taken = _filled(positions, self.kind["device"])
        images, labels = self.images[index], self.labels[index]
        total = self.stack.clipped_sums(self.weights, images, labels, taken.to(self.kind["dtype"]), self.clips)
        total += self.scales * torch.randn(total.shape, generator=self.noise, **self.kind)
        self.optimizers.step(self.weights, total / (self.rate * len(self.labels)), self.model.share(t))

    def train(self, until=None):
        """The accuracies in percent at the marks, by run.

        Edges: OutOfTime is raised as soon as the steps so far tell that the last would be after ``until``, a time of
        ``time.monotonic``.
        """
        curves, began = [[] for _ in self.runs], time.monotonic()
        for t, positions in enumerate(self.drawn):
            self.step(t, positions)
            if t + 1 in self.model.marks:
                for curve, accuracy in zip(curves, self.accuracies(), strict=True):
                    curve.append(accuracy)
            if until is not None and (t + 1) % LOOK == 0:
                now = time.monotonic()
                if t + 1 == LOOK:
                    began = now  # what comes before is slower: libraries are loaded and memory is taken
                left = (now - began) * (self.model.steps - t - 1) / (t + 1 - LOOK) if t + 1 > 4 * LOOK else 0.0
                if now + left > until:
                    raise OutOfTime(f"Stopped after {t + 1} of {self.model.steps} steps, {left:.0f} s before the end.")
        return dict(zip(self.runs, curves, strict=True))

    def accuracies(self, block=250):
        """Percent of scored images that each network names rightly; all see the same."""
        right = torch.zeros(len(self.weights), dtype=torch.int64, device=self.kind["device"])
        with torch.no_grad():
            for part, truth in zip(self.test.split(block), self.truth.split(block), strict=True):
                scores, _ = self.stack.forward(self.weights, part[None])
                right += (scores.argmax(dim=2) == truth).sum(dim=1)
        return (100 * right.double() / len(self.truth)).tolist()


def _noise_seed(runs):
    """A number that differs between fleets and does not change from one time to the next."""
    return int(np.random.SeedSequence([11, *(ord(c) for c in repr(runs))]).generate_state(1, np.uint64)[0]) >> 1
