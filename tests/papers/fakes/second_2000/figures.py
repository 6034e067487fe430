"""A table, a figure with a cell that fails, and figures that cannot be run here."""

import math
import os
import signal
import warnings

from papers.engine.figure import Figure, Finding, Line, Panel, TextTable
from tacit import RefutedWarning


def cells(size):
    return [{"place": place, "quick": size.quick} for place in range(3)]


def measure(place, quick):
    warnings.warn("a published noise that falls short", RefutedWarning, stacklevel=2)
    return [{"value": 40.0 + place, "method": "count", "status": "claimed", "parts": [1, 2]}]


def fail(place, quick):
    if place == 1:
        raise ArithmeticError("one cell of three")
    if place == 2:
        os.kill(os.getpid(), signal.SIGKILL)  # as when memory runs out
    return measure(place, quick)


def table(points):
    rows = tuple((str(p["place"]), f"{p['value']:.1f}") for p in points)
    return [TextTable("Counts", ("place", "value"), rows)]


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


CITATION = "B. Author. Second. 2000."
FIGURES = (
    figure("table1", measure, table),
    figure("figure2", fail, lines),
    figure("figure3", measure, lines, needs=("no-such-set",)),
    figure("figure4", measure, lines, extras=("no_such_module",)),
    figure("figure5", measure, broken),
)
