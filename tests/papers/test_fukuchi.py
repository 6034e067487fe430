"""Figures of Fukuchi et al. 2017: one small cell of each, and what is drawn and checked."""

import pytest
from measuring import OnePaper

from papers.engine.figure import Panel, Size, TextTable
from papers.engine.grid import grid
from papers.fukuchi_2017.figures import _judged

ONE = OnePaper("fukuchi_2017")
PAPER, measured, outcome = ONE.paper, ONE.measured, ONE.outcome


def mean(points, **where):
    values = [p["score"] for p in points if all(p[k] == v for k, v in where.items())]
    return sum(values) / len(values)


def test_the_paper_sizes_are_those_of_the_paper():
    cells = grid(PAPER, PAPER.figure("figure1"), Size())
    assert len(cells) == 10
    assert {cell.settings["draws"] for cell in cells} == {10}
    assert {cell.settings["largest"] for cell in cells} == {21}
    assert len(grid(PAPER, PAPER.figure("figure1"), Size(runs=3))) == 3


def test_a_split_of_linear_regression():
    """Input approaches the plain model and Obj-Gauss; ten draws at 2^15 spread by less than a hundredth."""
    points = measured("figure1", task="regression", split=0, draws=10, largest=15, rows=60_000)
    for kind in ("proven", "paper"):
        large, small = (mean(points, method=f"Input ({kind})", epsilon=1.0, n=n) for n in (2**15, 2**9))
        assert large < small
        assert large < 1.05 * mean(points, method=f"Obj-Gauss ({kind})", epsilon=1.0, n=2**15)
        assert large > mean(points, method="NP", epsilon=1.0, n=2**15)
    status = {p["method"]: p["status"] for p in points}
    assert status == {
        "Input (proven)": "proven", "Input (paper)": "claimed", "Obj-Gauss (proven)": "proven",
        "Obj-Gauss (paper)": "proven", "Output": "proven", "NP": None,
    }  # fmt: skip
    drawn, found = outcome("figure1", points)
    assert [panel.title for panel in drawn] == ["epsilon = 0.1, delta = 0.01", "epsilon = 1.0, delta = 0.01"]
    assert all(len(panel.lines) == 6 for panel in drawn)
    assert found[0].holds is True
    assert found[1].holds is None  # 2^21 records were not measured


def test_a_split_of_classification():
    points = measured("figure2", task="classification", split=0, draws=3, largest=15, rows=60_000)
    assert mean(points, method="Input (proven)", epsilon=1.0, n=2**15) > (
        mean(points, method="NP", epsilon=1.0, n=2**15) - 0.03
    )
    assert len({p["score"] for p in points if p["method"] == "NP" and p["n"] == 2**15}) == 1
    drawn, found = outcome("figure2", points)
    assert len(drawn) == 2
    assert len(found) == 8


def test_checks_of_the_curves_can_fail():
    """An Input that gets worse with n, and is far from Obj-Gauss, is not seen to be what the paper says."""
    points = [
        {"method": method, "epsilon": epsilon, "n": n, "score": base + 1e-4 * draw, "status": "proven"}
        for kind in ("proven", "paper")
        for epsilon in (0.1, 1.0)
        for n, ours in ((2**7, 0.5), (2**21, 0.9))
        for method, base in ((f"Input ({kind})", ours), (f"Obj-Gauss ({kind})", 0.4), ("NP", 0.4))
        for draw in range(5)
    ]
    _, found = outcome("figure1", points)
    assert {finding.holds for finding in found} == {False}


@pytest.mark.parametrize(
    ("ours", "spread", "expected"),
    [((0.8, 0.4001), 1e-5, True), ((0.8, 0.9), 1e-5, False), ((0.5, 0.499), 0.1, None), ((0.5, 0.501), 0.1, None)],
    ids=["falls", "rises", "falls within the band", "rises within the band"],
)
def test_within_the_band_nobody_can_tell(ours, spread, expected):
    """A mean on the paper's side of a limit shows nothing when its band reaches over the limit."""
    points = [
        {"method": method, "epsilon": epsilon, "n": n, "score": score + spread * draw, "status": "proven"}
        for kind in ("proven", "paper")
        for epsilon in (0.1, 1.0)
        for n, own in zip((2**7, 2**21), ours, strict=True)
        for method, score in ((f"Input ({kind})", own), (f"Obj-Gauss ({kind})", 0.4), ("NP", 0.4))
        for draw in range(-2, 3)
    ]
    _, found = outcome("figure1", points)
    approaches = [finding.holds for finding in found if "approaches" in finding.statement]
    assert approaches == [expected] * 4


@pytest.mark.parametrize(("value", "expected"), [(0.9, None), (1.1, None), (0.7, True), (1.3, False)])
def test_a_limit_inside_the_band_decides_nothing(value, expected):
    assert _judged(value, 0.2, 1.0) is expected


@pytest.mark.parametrize("kind", ["proven", "paper"])
def test_the_trade_off(kind):
    points = measured("alpha", calibration=kind, cohort=2**17, trials=3)
    assert [p["model"] for p in points] == pytest.approx([p["alpha"] for p in points])
    other = "paper" if kind == "proven" else "proven"
    drawn, found = outcome("alpha", points + [{**p, "method": other} for p in points])
    assert sum(isinstance(part, Panel) for part in drawn) == 4
    # sqrt(alpha) is what Corollary 1 gives; the exact price is nearly proportional to alpha.
    assert [finding.holds for finding in found[:3]] == [True, False, True]


def test_rates_of_table_1():
    points = measured("table1", epsilon=1.0, largest=13, trials=3)
    drawn, found = outcome("table1", points + [{**p, "epsilon": 0.1} for p in points])
    (table,) = [part for part in drawn if isinstance(part, TextTable)]
    assert len(table.rows) == 10  # five methods, two epsilons
    assert len(found) == 4
    worse = [{**p, "bound": 0.0} if p["method"].startswith("Input") else p for p in points]
    _, found = outcome("table1", worse + [{**p, "epsilon": 0.1} for p in worse])
    assert {finding.holds for finding in found} == {False}
