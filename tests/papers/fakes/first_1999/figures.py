"""Lines over epsilon; cells say in a file that they ran, and do what the file "orders" says."""

import os
import signal
import threading
from pathlib import Path

from papers.engine.figure import Figure, Finding, mean_of, panels


def cells(size):
    return [
        {"method": method, "epsilon": epsilon, "seed": seed}
        for method in ("ours", "theirs")
        for epsilon in (0.1, 1.0)
        for seed in range(size.pick(4, 2))
    ]


def measure(method, epsilon, seed):
    notes = Path(os.environ["FAKES_NOTES"])
    with (notes / "ran.txt").open("a") as file:
        file.write(f"{method} {epsilon} {seed}\n")
    orders = notes / "orders"
    if orders.exists() and len((notes / "ran.txt").read_text().splitlines()) >= 5:
        number = getattr(signal, orders.read_text())
        orders.unlink()
        os.kill(os.getppid(), number)
        threading.Event().wait()  # until this process is ended from outside
    value = {"ours": 2.0, "theirs": 1.0}[method] * epsilon + seed
    status = {"ours": "proven", "theirs": "refuted"}[method]
    return [{"accuracy": value, "status": status}, {"accuracy": None, "status": status, "note": "no value"}]


def show(points):
    return panels(points, x="epsilon", y="accuracy", x_scale="log")


def check(points, expected):
    ours, theirs = (mean_of(points, "accuracy", method=name) for name in ("ours", "theirs"))
    return [
        Finding("Ours is better", ours > theirs, f"{ours:.3f} against {theirs:.3f}"),
        Finding("Ours is twice as good", ours > 2 * theirs, f"{ours / theirs:.3f} times"),
        Finding("It rains", None, f"the paper says {expected['rain']}"),
    ]


CITATION = "A. <Author>. First & foremost. 1999."
FIGURES = (
    Figure("figure1", "Figure 1: lines <of> two", "Ours is better.", "Nothing differs.", cells, measure, show, check),
)
