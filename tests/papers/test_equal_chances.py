"""How settings are chosen, and how differences are judged."""

import math

import numpy as np
import pytest
from scipy import stats

from papers.engine.figure import Size
from papers.engine.library import load
from papers.shared import choosing, intervals
from papers.shared.accuracy import show
from papers.shared.choosing import Axis, count
from papers.shared.curves import Curve
from papers.shared.statements import chances


def choose(axes, score, **rest):
    """By a score of one setting."""
    return choosing.choose(axes, lambda settings: [score(setting) for setting in settings], **rest)


STEP, LENGTH = Axis("step", (0.01, 0.1, 1.0)), Axis("steps", (10, 100), lowest=1, highest=100)


def near(best):
    """A score that is best at one step size and, a little, at many steps."""
    return lambda setting: (-abs(math.log10(setting["step"] / best)) + 0.001 * setting.get("steps", 0), 0.0)


def test_the_best_of_all_combinations_is_chosen():
    choice = choose((STEP, LENGTH), near(0.1))
    assert choice.setting == {"step": 0.1, "steps": 100}
    assert choice.score == pytest.approx(0.1)
    assert (choice.tried, choice.inside) == (6, True)
    assert choice.words == "step = 0.1, steps = 100"


@pytest.mark.parametrize(("best", "tried"), [(0.001, 9), (1e-4, 10), (100.0, 10)])
def test_a_grid_is_extended_where_its_edge_is_best(best, tried):
    choice = choose((STEP, LENGTH), near(best))
    assert choice.setting["step"] == pytest.approx(best)
    assert (choice.tried, choice.inside) == (tried, True)


def test_a_choice_that_stays_at_the_edge_says_so():
    choice = choose((STEP,), lambda setting: (setting["step"], 0.0), extensions=2)
    assert choice.setting["step"] == pytest.approx(100.0)
    assert (choice.tried, choice.inside) == (5, False)


def test_beyond_a_limit_there_is_no_edge():
    limited = Axis("step", (0.01, 0.1, 1.0), highest=2.0)
    choice = choose((limited,), lambda setting: (setting["step"], 0.0))
    assert choice.setting["step"] == 2.0
    assert choice.inside
    whole = Axis("times", (1, 10, 100), lowest=1)
    assert choose((whole,), lambda setting: (-setting["times"], 0.0)).setting == {"times": 1}
    assert choose((whole,), lambda setting: (setting["times"], 0.0), extensions=1).setting == {"times": 1000}


def test_the_loss_decides_where_accuracies_are_equal():
    choice = choose((STEP, LENGTH), lambda setting: (0.5, near(0.1)(setting)[0]))
    assert choice.setting == {"step": 0.1, "steps": 100}
    assert (choice.score, choice.tried, choice.inside) == (0.5, 6, True)


def test_every_axis_is_extended():
    def short(setting):
        return -abs(math.log10(setting["step"] / 0.1)) - 0.001 * setting["steps"], 0.0

    choice = choose((STEP, LENGTH), short)
    assert choice.setting == {"step": 0.1, "steps": 1}
    assert (choice.tried, choice.inside) == (9, True)  # the other step sizes at the new length too
    unlimited = Axis("steps", (10, 100))
    assert choose((STEP, unlimited), near(0.1), extensions=1).setting == {"step": 0.1, "steps": 1000}
    assert not choose((STEP, unlimited), near(0.1), extensions=1).inside


def test_one_value_alone_may_be_moved_by_a_factor():
    length = Axis("steps", (60,), lowest=1, highest=200, factor=10 / 3)
    for best, tried in ((60, 3), (200, 3), (1, 5)):
        choice = choose((length,), lambda setting, best=best: (-abs(math.log(setting["steps"] / best)), 0.0))
        assert (choice.setting, choice.tried, choice.inside) == ({"steps": best}, tried, True)
    assert choose((Axis("steps", (60,)),), lambda setting: (0.0, 0.0)).tried == 1


def choice(chosen, method="m", seed=0, inside=True, resplit=False):
    return {
        "data": "a", "method": method, "epsilon": 0.1, "seed": seed, "resplit": resplit, "validation": 0.9, "tried": 6,
        "inside": inside, "chosen": chosen,
    }  # fmt: skip


def test_choices_at_the_longest_run_are_counted():
    """Nothing beyond is tried, so that they lie at no edge; that is not to say that longer runs would not be better."""
    curves = [Curve("m", None, (STEP, LENGTH)), Curve("free", None, (STEP,))]
    points = [choice("step = 0.1, steps = 100", seed=s) for s in (0, 1)] + [choice("step = 0.1", "free")]
    found = chances(points, curves)
    assert found.holds is False
    assert "at an edge: 0; at the longest run allowed: 1 of 1 choices (m, steps = 100: 1)" in found.seen
    assert chances([choice("step = 0.1, steps = 10")], curves).holds
    assert chances([choice("step = 1, steps = 10", inside=False)], curves).holds is False
    splits = [choice(f"step = 0.1, steps = {n}", seed=n, resplit=True) for n in (10, 100, 100)]
    assert "2 of 2 choices" not in chances(splits, curves).seen
    assert "1 of 2 choices" in chances(splits, curves).seen  # a choice a split
    assert chances([choice("step = 0.1", "free")], curves).holds
    assert "1 of 1 choices" in chances([choice("step = 0.1, steps = 99")], curves).seen  # up to 1%
    assert "0 of 1 choices" in chances([choice("step = 0.1, steps = 98")], curves).seen
    apart = [choice("step = 0.1, steps = 10", seed=s, inside=s > 0, resplit=True) for s in (0, 1, 2)]
    assert "at an edge: 1 of 1 cells (1 of 3 choices) (m on a at 0.1)" in chances(apart, curves).seen
    assert chances([choice("step = 0.1, steps = 10")]).holds is None  # what is allowed is not known


def test_a_curve_whose_guarantee_changes_is_drawn_as_one_line_a_status():
    shared = {"data": "a", "loss": 1.0, "gap": 0.1, "accuracy": 0.5, "noiseless": None, "seed": 0}
    points = [{**shared, "method": "m", "epsilon": e, "status": s} for e, s in ((0.1, "proven"), (1.0, "refuted"))]
    lines = {line.label: line.status for line in show(points)[0].lines}
    assert lines == {"m, where proven": "proven", "m, where refuted": "refuted"}


def test_every_tuned_method_of_a_figure_has_as_many_settings():
    for paper, names in (
        ("kang_2020a", ("figures2-3-lr", "figures2-3-mlp", "figure4")),
        ("kang_2020b", ("figures1-2-lr", "figures1-2-mlp", "small")),
        ("kang_2023", ("figures1-2-lr", "figures1-2-mlp")),
    ):
        for name in names:
            figure = load("papers", paper).figure(name)
            grid = figure.cells.__self__
            tuned = {curve.label: count(curve.axes) for curve in grid.curves if curve.axes}
            assert len(set(tuned.values())) == 1, (paper, name, tuned)
            first = [curve.axes[0] for curve in grid.curves if curve.axes]
            assert all(axis.values[-1] / axis.values[0] >= 99 for axis in first), (paper, name)
            assert all(cell["fits"] >= 3 and cell["values"] is None for cell in figure.cells(Size()))
            assert {cell["seeds"] for cell in figure.cells(Size())} == ({10} if grid.resplit else {1, 5})
            assert grid.resplit == (name in ("figure4", "small"))


def test_a_difference_is_that_of_welch():
    one, other = np.random.default_rng(0).normal(size=6), np.random.default_rng(1).normal(1.0, 3.0, size=9)
    found = intervals.difference(list(one), list(other))
    known = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(known.low), pytest.approx(known.high))
    assert found.mean == pytest.approx(one.mean() - other.mean())
    single = stats.t.interval(0.95, 5, one.mean(), stats.sem(one))
    assert (intervals.mean(list(one)).low, intervals.mean(list(one)).high) == pytest.approx(single)


def test_a_deviation_has_the_interval_of_chi_square():
    values = list(np.random.default_rng(0).normal(0.0, 2.0, size=8))
    found = intervals.deviation(values)
    share = [stats.chi2.cdf(7 * (found.mean / end) ** 2, 7) for end in (found.low, found.high)]
    assert share == pytest.approx([0.975, 0.025])
    assert intervals.deviation([1.0]).above(0.0) is None
    assert intervals.deviation([1.0, 1.0]).above(0.0) is False


def test_pairs_are_compared_within_their_split():
    """Two methods that differ by exactly 1 on splits that differ by far more; and against Student's t."""
    splits = [10.0, -20.0, 35.0]
    one, other = [s + 1 for s in splits], splits
    assert intervals.paired([(1.0, one), (-1.0, other)]) == intervals.Interval(1.0, 1.0, 1.0)
    assert intervals.difference(one, other).above(0) is None
    noisy = [s + e for s, e in zip(splits, (0.9, 1.1, 1.3), strict=True)]
    known = stats.ttest_rel(noisy, other).confidence_interval(0.95)
    found = intervals.paired([(1.0, noisy), (-1.0, other)])
    assert (found.low, found.high) == (pytest.approx(known.low), pytest.approx(known.high))


def test_answers_and_their_counts():
    assert intervals.Interval(1.0, 0.5, 1.5).above(0.4) is True
    assert intervals.Interval(1.0, 0.5, 1.5).above(1.5) is False
    assert intervals.Interval(1.0, 0.5, 1.5).above(1.0) is None
    assert intervals.mean([1.0]).above(0.0) is None  # one run has no spread
    assert intervals.mean([1.0, 1.0]).above(0.0) is True
    found = intervals.Count.of([True, True, None, False])
    assert (found.total, found.more_than(0.4), found.more_than(0.5), found.more_than(0.75)) == (4, True, None, False)
    assert (found.all, found.any) == (False, True)
    assert intervals.Count.of([True, None]).all is None
    assert intervals.Count.of([False, None]).any is None
    assert found.told("cells") == "2 of 4 cells (1 undecided)"
    assert intervals.Count.of([True]).told("curves") == "1 of 1 curves"
