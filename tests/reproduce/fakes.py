"""A small folder of experiments, written where a test wants it, and the real command on it."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

FIRST = '''
"""Lines over epsilon; cells say in a file that they ran, and do what the file "orders" says."""
import os
import signal
import threading
from pathlib import Path

import data
import shared
from papers.engine.figure import Figure, Finding, Paper, mean_of, panels

HERE = Path(__file__).parent


def cells(size):
    return [
        {"method": method, "epsilon": epsilon, "seed": seed}
        for method in ("ours", "theirs") for epsilon in (0.1, 1.0) for seed in range(size.pick(4, 2))
    ]


def measure(method, epsilon, seed):
    import late

    with (HERE / "ran.txt").open("a") as file:
        file.write(f"{method} {epsilon} {seed}\\n")
    orders = HERE / "orders"
    if orders.exists() and len((HERE / "ran.txt").read_text().splitlines()) >= 5:
        number = getattr(signal, orders.read_text())
        orders.unlink()
        os.kill(os.getppid(), number)
        threading.Event().wait()  # until this process is ended from outside
    value = {"ours": 2.0, "theirs": 1.0}[method] * epsilon + seed + data.SHIFT + late.SHIFT + shared.SHIFT
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


PAPER = Paper("901", "A. <Author>. First & foremost. 1999.", (
    Figure("figure1", "Figure 1: lines <of> two", "Ours is better.", "Nothing differs.", cells, measure, show, check),
))
'''
SECOND = '''
"""A table, a figure with a cell that fails, and figures that cannot be run here."""
import math
import os
import signal
import warnings

import data
from tacit import RefutedWarning
from papers.engine.figure import Figure, Finding, Line, Panel, Paper, Table


def cells(size):
    return [{"place": place, "quick": size.quick} for place in range(3)]


def measure(place, quick):
    warnings.warn("a published noise that falls short", RefutedWarning)
    return [{"value": data.SHIFT + place, "method": "count", "status": "claimed", "parts": [1, 2]}]


def fail(place, quick):
    if place == 1:
        raise ArithmeticError("one cell of three")
    if place == 2:
        os.kill(os.getpid(), signal.SIGKILL)  # as when memory runs out
    return measure(place, quick)


def table(points):
    rows = tuple((str(p["place"]), f"{p['value']:.1f}") for p in points)
    return [Table("Counts", ("place", "value"), rows)]


def lines(points):
    flat = Line("flat $ line", "claimed", (1.0, 10.0), (0.5, 0.0), (-0.5, math.nan), (1.5, math.nan))
    plain = Line("plain", None, (1.0, 10.0), (0.7, 0.7), (0.7, 0.7), (0.7, 0.7))
    return [Panel("A panel", "records", "gap", (flat, plain), "log", "log")]


def check(points, expected):
    return [Finding("All are there", len(points) == 3, f"{len(points)} points")]


def broken(points):
    raise KeyError("nothing to show")


def figure(name, run, show, **more):
    return Figure(name, f"The {name}", "Something.", "As in the paper.", cells, run, show, check, **more)


PAPER = Paper("902", "B. Author. Second. 2000.", (
    figure("table1", measure, table),
    figure("figure2", fail, lines),
    figure("figure3", measure, lines, needs=("no-such-set",)),
    figure("figure4", measure, lines, extras=("no_such_module",)),
    figure("figure5", measure, broken),
))
'''


def write(folder: Path) -> Path:
    """Two papers that both have a module ``data``, and a module that they share."""
    folder.mkdir()
    (folder / "shared.py").write_text("SHIFT = 0\n")
    for name, text, shift in (("901_first", FIRST, 0.0), ("902_second", SECOND, 40.0)):
        (folder / name).mkdir()
        (folder / name / "figures.py").write_text(text)
        (folder / name / "data.py").write_text(f"SHIFT = {shift}\n")
    (folder / "901_first" / "late.py").write_text("SHIFT = 0\n")
    (folder / "901_first" / "expected.json").write_text('{"rain": "often"}')
    return folder


def command(experiments: Path, out: Path, *words: str) -> subprocess.CompletedProcess:
    """``tacit reproduce`` in a process of its own. It ends when all processes that share its output have ended."""
    program = "import sys; from tacit.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, "reproduce", *words, "--experiments", str(experiments), "--out", str(out),
         "--workers", "2"],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def ran(experiments: Path) -> list[str]:
    """What the cells of the first paper wrote when they ran."""
    file = experiments / "901_first" / "ran.txt"
    return file.read_text().splitlines() if file.exists() else []


def stored(out: Path) -> list[tuple]:
    """(settings, points, version, seconds) of every stored cell."""
    rows = sqlite3.connect(out / "rows.sqlite")
    try:
        return rows.execute("SELECT settings, points, version, seconds FROM cells").fetchall()
    finally:
        rows.close()
