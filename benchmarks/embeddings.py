"""Private linear heads on frozen embeddings: a network of public digits describes digits that it was never shown.

    python benchmarks/embeddings.py accuracy [--seeds 3]     # embeddings, raw pixels, and no privacy: test part
    python benchmarks/embeddings.py whitening [--seeds 3]    # precondition= by rule, on, off: a validation split
    python benchmarks/embeddings.py wide [--columns 4096]    # seconds and peak memory of one wide head

MNIST's training images of 0 to 4 are the public records; a small convolutional network learns to tell them apart and is
frozen. The digits 5 to 9 are the private ones: what the network's last layer but one says about each is its row. Every
setting was fixed before the test part was looked at. Needs PyTorch, and MNIST under TACIT_DATA.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from markdown import table
from sklearn import linear_model
from torch import nn

from tacit import LogisticRegression, datasets

WIDTH, PASSES, BATCH = 384, 3, 64
DELTA = 1e-5
EPSILONS = (0.1, 0.5, 1.0, 3.0)
ADJACENCIES = ("replace-one", "add-remove")
HELD_OUT = 6_000
WIDE_RECORDS = 25_000


def network(seed=0):
    """Two convolutions, one wide layer (the embedding), and scores for five classes."""
    torch.manual_seed(seed)
    body = nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, WIDTH), nn.ReLU(),
    )  # fmt: skip
    return body, nn.Linear(WIDTH, 5)


def pretrained(images, labels, passes=PASSES):
    """The body of a network that was trained on public records, by Adam, with a fixed seed; frozen."""
    body, head = network()
    whole = nn.Sequential(body, nn.Dropout(0.5), head)
    optimizer = torch.optim.Adam(whole.parameters(), lr=1e-3)
    inputs, targets = torch.from_numpy(images[:, None] / np.float32(255)), torch.from_numpy(labels.astype(np.int64))
    for _ in range(passes):
        for some in torch.randperm(len(inputs)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(whole(inputs[some]), targets[some]).backward()
            optimizer.step()
    return body.eval().requires_grad_(False)


def alone(row):
    """A row as long as the models' clip, by itself; zeros stay zeros."""
    row = row.astype(np.float64)
    length = np.sqrt((row * row).sum())
    return row / length if length > 0 else row


def embedded(body, images):
    """One row an image, of norm 1: each image goes through the network alone, on one thread.

    In a batch the order in which a library adds up may change with the batch, and with it the last digits of every row:
    then a record would move rows that are not its own.
    """
    rows, threads = np.empty((len(images), WIDTH), dtype=np.float32), torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.no_grad():
        for row, image in zip(rows, images, strict=True):
            row[:] = alone(body(torch.from_numpy(image[None, None] / np.float32(255)))[0].numpy())
    torch.set_num_threads(threads)
    return rows


def pixels(images):
    """The raw pixels with the same normalisation, in place of embeddings."""
    return np.stack([alone(image.ravel()) for image in images]).astype(np.float32)


def digits(part, first, last):
    """MNIST's images of some digits, and which they are, from 0 on."""
    images, labels = datasets.images("mnist", part)
    kept = (labels >= first) & (labels <= last)
    return images[kept], labels[kept] - first


def private_parts():
    """Training and test part of the private digits, as (images, embeddings, labels)."""
    body = pretrained(*digits("train", 0, 4))
    parts = [digits(part, 5, 9) for part in ("train", "test")]
    return [(images, embedded(body, images), labels) for images, labels in parts]


def head(epsilon, adjacency, seed, **settings):
    """The model that all parts measure: defaults, but for what they name."""
    return LogisticRegression(
        epsilon, delta=DELTA, adjacency=adjacency, classes=range(5), random_state=seed, **settings
    )


def grid(train, test, seeds, **settings):
    """{(adjacency, epsilon): scores}, and the seconds of processor time that a fit took on average."""
    found, began = {}, time.process_time()
    for adjacency in ADJACENCIES:
        for epsilon in EPSILONS:
            models = [head(epsilon, adjacency, seed, **settings).fit(*train) for seed in range(seeds)]
            found[adjacency, epsilon] = [100 * model.score(*test) for model in models]
            words = f"{models[0].guarantee_.method}, {adjacency}, {epsilon:g}: {np.round(found[adjacency, epsilon], 2)}"
            print(words, file=sys.stderr, flush=True)
    return found, (time.process_time() - began) / (len(found) * seeds)


def lines(name, found, seconds):
    """Rows of a table: mean and deviation over seeds."""
    for adjacency in ADJACENCIES:
        scores = [found[adjacency, epsilon] for epsilon in EPSILONS]
        yield [name, adjacency, *(f"{np.mean(s):.2f} ± {np.std(s, ddof=1):.2f}" for s in scores), f"{seconds:.1f}"]


TITLES = ("rows", "neighbours", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "CPU s a fit")


def accuracy(options):
    """The test part: embeddings, raw pixels, and scikit-learn without privacy."""
    (images, rows, labels), (new_images, new_rows, new_labels) = private_parts()
    kinds = {"embeddings": (rows, new_rows), "raw pixels": (pixels(images), pixels(new_images))}
    shown = []
    for kind, (X, new) in kinds.items():
        shown += lines(f"{kind} ({X.shape[1]})", *grid((X, labels), (new, new_labels), options.seeds))
    for kind, (X, new) in kinds.items():
        plain = linear_model.LogisticRegression(C=100.0, max_iter=1000).fit(X, labels)
        shown.append([f"{kind}, scikit-learn", "no privacy", f"{100 * plain.score(new, new_labels):.2f}", *[""] * 4])
    print(f"n = {len(labels):,}, {len(new_labels):,} to score, δ = {DELTA:g}, {options.seeds} seeds\n")
    print(table(TITLES, shown))


def whitening(options):
    """The last records of the training part, held out: is the rule for ``precondition`` a good one here?"""
    (_, rows, labels), _ = private_parts()
    train, test = (rows[:-HELD_OUT], labels[:-HELD_OUT]), (rows[-HELD_OUT:], labels[-HELD_OUT:])
    shown = []
    for choice in ("auto", True, False):
        shown += lines(f"precondition={choice!r}", *grid(train, test, options.seeds, precondition=choice))
    print(f"n = {len(train[1]):,}, {HELD_OUT:,} of the training part held out, {options.seeds} seeds\n")
    print(table(TITLES, shown))


def widened(rows, columns):
    """Public random features of the embeddings, relu(x W), as rows of norm 1."""
    weights = np.random.default_rng(0).normal(size=(rows.shape[1], columns)).astype(np.float32)
    made = np.maximum(rows @ weights, 0)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def wide(options):
    """Seconds and peak memory of a head of many columns, each in a process of its own."""
    (_, rows, labels), (_, new, new_labels) = private_parts()
    shown = []
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "embeddings.npz"
        np.savez(store, rows=rows[:WIDE_RECORDS], labels=labels[:WIDE_RECORDS], new=new, new_labels=new_labels)
        for classes in (5, 2):
            for epsilon in (1.0, 3.0):
                command = [sys.executable, __file__, "one", "--store", str(store), "--columns", str(options.columns)]
                command += ["--classes", str(classes), "--epsilon", str(epsilon)]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                shown.append(json.loads(done.stdout))
    print(f"n = {WIDE_RECORDS:,}, {options.columns:,} columns in float32, add-remove, δ = {DELTA:g}\n")
    titles = ("classes", "ε", "method", "test accuracy", "wall s", "CPU s", "matrix MB", "peak / matrix")
    print(table(titles, shown))


def one(options):
    """One wide fit, and the peak of its memory, the matrix included; two classes are 5 and the rest."""
    from memory import resident, trimmed

    stored = np.load(options.store)
    labels, new_labels = (np.minimum(stored[name], options.classes - 1) for name in ("labels", "new_labels"))
    before = trimmed()
    X = widened(stored["rows"], options.columns)
    trimmed()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    wall, cpu = time.perf_counter(), time.process_time()
    model = LogisticRegression(options.epsilon, delta=DELTA, adjacency="add-remove", random_state=0).fit(X, labels)
    wall, cpu, peak = time.perf_counter() - wall, time.process_time() - cpu, resident("VmHWM") - before
    score = model.score(widened(stored["new"], options.columns), new_labels)
    print(json.dumps([
        str(options.classes), f"{options.epsilon:g}", model.guarantee_.method, f"{100 * score:.2f}", f"{wall:.0f}",
        f"{cpu:.0f}", f"{X.nbytes / 1e6:.0f}", f"{peak / X.nbytes:.2f}",
    ]))  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("accuracy", "whitening", "wide", "one"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--columns", type=int, default=4096)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--store", help="for 'one', which 'wide' calls: the embeddings' file")
    options = parser.parse_args()
    globals()[options.part](options)
