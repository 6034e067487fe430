"""Figures of Wang et al. 2020 (DP-LSSGD): one small cell of each, and what is drawn and checked."""

import importlib.util

import numpy as np
import pytest
from measuring import OnePaper

from papers.engine.figure import Panel, Size, TextTable
from papers.engine.grid import grid

ONE = OnePaper("wang_2020")
PAPER, measured, outcome = ONE.paper, ONE.measured, ONE.outcome


@pytest.mark.parametrize(("name", "letter"), [("table3", "gamma"), ("table4", "beta")])
def test_tables_3_and_4_have_the_printed_digits(name, letter):
    points = measured(name, letter=letter)
    (table,), found = outcome(name, points)
    printed = PAPER.expected["table_3_gamma" if letter == "gamma" else "table_4_beta"]
    for row in table.rows:
        assert list(row[1:]) == [f"{printed[str(sigma)]:.3f}" for sigma in range(1, 6)]
    assert [finding.holds for finding in found] == [True, True]
    wrong = [{**points[0], "value": points[0]["value"] + 1e-3}, *points[1:]]
    assert [finding.holds for finding in outcome(name, wrong)[1]] == [False, False]


def test_two_signals():
    points = measured("figure2", run=0)
    drawn, found = outcome("figure2", points)
    assert [len(panel.lines) for panel in drawn if isinstance(panel, Panel)] == [3, 3]
    assert all(finding.holds for finding in found)


def test_losses_along_the_way():
    """Three sigmas at two epsilons; without noise the loss falls."""
    points = [
        point
        for epsilon in (0.2, 0.1)
        for sigma in (0.0, 1.0, 3.0)
        for point in measured("figure3", epsilon=epsilon, smoothing=sigma, run=0, epochs=1, rows=1_000)
    ]
    assert {p["step"] for p in points} >= {0, 1, 8}
    start = [p["training"] for p in points if p["step"] == 0]
    assert start == pytest.approx([np.log(10)] * 6)
    assert {p["status"] for p in points} == {"proven"}
    drawn, found = outcome("figure3", points)
    assert [panel.title for panel in drawn] == [
        "training loss, ε = 0.2", "validation loss, ε = 0.2", "training loss, ε = 0.1", "validation loss, ε = 0.1"
    ]  # fmt: skip
    assert len(found) == 5
    flipped = [{**p, "training": p["training"] + 99 * p["smoothing"], "validation": p["step"]} for p in points]
    assert [finding.holds for finding in outcome("figure3", flipped)[1]] == [False] * 5


def test_the_watched_descent_is_the_plans_own():
    """Looking on changes nothing: the last point is the loss of the model that the estimator's chain gives."""
    one, two = (
        measured("figure3", epsilon=0.5, smoothing=1.0, run=run, epochs=1, rows=500)[-1]["training"] for run in (0, 0)
    )
    assert one == two
    other = measured("figure3", epsilon=0.5, smoothing=1.0, run=1, epochs=1, rows=500)[-1]["training"]
    assert other != one


def test_step_sizes():
    points = [
        point
        for sigma in (0.0, 1.0)
        for point in measured("figure4", epsilon=0.1, smoothing=sigma, a=1.0, run=0, epochs=1, rows=1_000)
    ]
    drawn, found = outcome("figure4", points)
    assert len(drawn) == len(found) == 1
    better = [{**p, "accuracy": 50 + p["smoothing"]} for p in points]
    worse = [{**p, "accuracy": 50 - p["smoothing"]} for p in points]
    assert [outcome("figure4", part)[1][0].holds for part in (better, worse)] == [True, False]


def test_table_2_stands_beside_the_papers_numbers():
    points = [
        point
        for sigma in (0.0, 3.0)
        for point in measured("table2", epsilon=0.1, smoothing=sigma, run=0, rows=500)
    ]  # fmt: skip
    (table,), found = outcome("table2", points)
    assert [row[0] for row in table.rows] == ["σ = 0", "σ = 0, the paper", "σ = 3", "σ = 3, the paper"]
    assert table.rows[3][1] == "77.13 ± 0.77"
    assert found[1].holds is None  # 500 images say nothing about the paper's 50,000
    whole = [{**p, "rows": None, "accuracy": 80.0 + p["smoothing"]} for p in points]
    assert [finding.holds for finding in outcome("table2", whole)[1]] == [True, True, None]


def test_utility_bounds():
    points = [
        point
        for sigma in (0.0, 1.0)
        for point in measured("table1", epsilon=1.0, smoothing=sigma, run=0, epochs=1, rows=400)
    ]
    assert all(0 < p["gap"] <= p["convex_bound"] for p in points)
    assert all(p["gradient"] <= p["nonconvex_bound"] for p in points)
    (table,), found = outcome("table1", points)
    assert len(table.rows) == 2
    assert found[0].holds is True
    broken = [{**p, "gap": 2 * p["convex_bound"]} for p in points]
    assert outcome("table1", broken)[1][0].holds is False


def test_the_choice_of_constants():
    rule = {"steps": 5, "clip": 0.35, "time": 1.0}
    settings = {"epsilon": 0.3, "smoothing": 2.0, "run": 0, "rows": 500}
    points = measured("choice", **settings, **rule)
    points = [{**p, "steps": 80} for p in points]  # as if by the rule
    points += [{**points[0], "clip": 0.5, "accuracy": points[0]["accuracy"] + 5}]
    (table,), (finding,) = outcome("choice", points)
    assert [row[0] for row in table.rows] == ["the rule", "clip 0.5"]
    assert finding.holds is False
    assert outcome("choice", points[:1])[1][0].holds is True
    assert len(grid(PAPER, PAPER.figure("choice"), Size(runs=1))) == 3 * 2 * 9


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the extra torch is not installed")
class TestNetworks:
    SMALL = {"step": 0.15, "batch": 16, "epochs": 2, "rows": 32, "run": 0}  # noqa: RUF012

    def points(self, name="figure5", data="mnist", **more):
        if "step" not in more:
            return [
                {**point, "rows": None}
                for optimizer in ("sgd", "adam")
                for sigma in (0.0, 1.0)
                for point in self.points(name, data, optimizer=optimizer, smoothing=sigma, step=0.1)
            ]
        return measured(name, data=data, noise_multiplier=2.0, **{**self.SMALL, **more})

    def test_four_optimisers_spend_the_same(self):
        points = self.points()
        assert {p["method"] for p in points} == {"DP-SGD", "DP-LSSGD", "DP-Adam", "DP-LSAdam"}
        assert [p["epoch"] for p in points] == [1, 2] * 4
        drawn, found = outcome("figure5", points)
        assert [part.title for part in drawn] == ["noise multiplier 2.0", "privacy spent", "After the last epoch"]
        assert found[-1].holds is True
        dearer = [{**points[-1], "epsilon": 9.0}]
        assert outcome("figure5", points[:-1] + dearer)[1][-1].holds is False

    def test_the_price_is_that_of_the_classifier(self):
        """A classifier asked for this epsilon takes this noise multiplier, to the calibration's half a per cent."""
        from tacit.nn import CNNClassifier

        last = self.points(optimizer="sgd", smoothing=0.0, step=0.15)[-1]
        images = np.zeros((32, 28, 28), dtype=np.uint8)
        model = CNNClassifier(
            last["epsilon"], delta=1e-5, adjacency="add-remove", classes=range(10), batch=16, epochs=2, random_state=0
        )
        (event,) = model.fit(images, np.arange(32) % 10).guarantee_.events
        assert event.scale == pytest.approx(2.0, rel=5e-3)
        assert model.guarantee_.status == last["status"] == "proven"

    def test_figure_6(self):
        points = measured("figure6", data="cifar10", optimizer="sgd", smoothing=1.0, noise_multiplier=2.0, step=0.15,
                          batch=4, epochs=1, rows=4, run=0)  # fmt: skip
        assert points[0]["method"] == "DP-LSSGD"

    def test_figure_7(self):
        points = self.points("figure7")
        points += [{**p, "smoothing": 3.0} for p in points if p["method"] == "DP-LSSGD"]
        points = [{**p, "step": 0.15, "epsilon": p["epsilon"] / 100} for p in points]
        drawn, found = outcome("figure7", points)
        assert len(drawn) == 3
        assert len(found) == 4
        assert all(finding.holds is not None for finding in found)

    def test_the_defaults(self):
        settings = {"epsilon": 3.0, "optimizer": "sgd", "epochs": 1, "rows": 64, "run": 0}
        points = [q for sigma in (0.0, 1.0) for q in measured("defaults", smoothing=sigma, **settings)]
        (table,), found = outcome("defaults", points)
        assert [row[:2] for row in table.rows] == [("sgd", "0"), ("sgd", "1")]
        assert found[0].holds is None
        whole = [{**p, "rows": None, "accuracy": 90 - p["smoothing"]} for p in points]
        assert outcome("defaults", whole)[1][0].holds is False

    def test_figure_1(self):
        points = measured("figure1", part="network", data="mnist", optimizer="sgd", smoothing=0.0, noise_multiplier=0.0,
                          **self.SMALL)  # fmt: skip
        assert points[0]["epsilon"] is None
        assert points[0]["status"] is None
        private = [{**p, "noise_multiplier": 2.0, "epsilon": 1.0, "status": "proven"} for p in points]
        for epsilon in (None, 0.3, 0.2, 0.1):
            points += measured("figure1", part="logistic", epsilon=epsilon, smoothing=0.0, run=0, epochs=1, rows=500)
        drawn, found = outcome("figure1", points + private)
        assert [panel.title for panel in drawn] == [
            "training loss of logistic regression", "validation loss of logistic regression", "network on MNIST"
        ]  # fmt: skip
        assert [len(panel.lines) for panel in drawn] == [4, 4, 2]
        assert len(found) == 3


def test_tables_are_tables():
    assert isinstance(outcome("table3", measured("table3", letter="gamma"))[0][0], TextTable)
