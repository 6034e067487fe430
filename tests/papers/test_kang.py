"""The three papers of Kang et al.: every figure measures, draws and checks; the printed bounds against hand values."""

import math

import pytest

from papers.engine.figure import Panel, Size, TextTable
from papers.engine.library import load
from papers.shared import printed_bounds
from papers.shared import statements as says
from papers.shared.accuracy import with_gaps
from papers.shared.choosing import Axis
from papers.shared.curves import Curve
from tacit import datasets

CURVES = [
    ("kang_2020a", "figures2-3-lr"), ("kang_2020a", "figures2-3-mlp"), ("kang_2020a", "figure4"),
    ("kang_2023", "figures1-2-lr"), ("kang_2023", "figures1-2-mlp"),
    ("kang_2020b", "figures1-2-lr"), ("kang_2020b", "figures1-2-mlp"), ("kang_2020b", "small"),
]  # fmt: skip
TABLES = [("kang_2020a", "table1"), ("kang_2023", "table1"), ("kang_2020b", "table1")]
SMALLEST = {"rows": 200, "seeds": 1, "values": 1, "fits": 1, "extensions": 0}


def measured(paper, name, cells):
    found = load("papers", paper)
    figure = found.figure(name)
    points = [point for settings in cells for point in figure.measure(**settings)]
    return points, figure.show(points), figure.check(points, found.expected)


def here(figure):
    if figure.extras:
        pytest.importorskip("torch", reason="networks need PyTorch")
    absent = [name for name in figure.needs if not datasets.stored(name)]
    if absent:
        pytest.skip(f"data sets {absent} are not stored here")


@pytest.mark.parametrize(("paper", "name"), CURVES)
def test_a_tiny_cell_of_every_curve(paper, name):
    figure = load("papers", paper).figure(name)
    here(figure)
    cells = [settings | SMALLEST for settings in figure.cells(Size(quick=True)) if settings["data"] in small(name)]
    largest = max(c["epsilon"] for c in cells if c["epsilon"])
    cells = [settings for settings in cells if settings["epsilon"] in (None, largest)]
    points, drawn, findings = measured(paper, name, cells)
    statuses = {p["method"]: p["status"] for p in points}
    assert statuses.pop("no privacy") is None
    assert len(statuses) == len(cells) - 1
    assert {"refuted", "proven"} <= set(statuses.values()) <= {"refuted", "claimed", "proven"}
    published = ("PIDP", "PI-DBDP", "DBDP", "input perturbation")
    assert all(status != "proven" for method, status in statuses.items() if method.startswith(published))
    panels = [panel for panel in drawn if isinstance(panel, Panel)]
    assert [len(panel.lines) for panel in panels] == [len(cells), len(cells) - 1]  # accuracy, and gaps to the reference
    assert {line.label: line.status for line in panels[1].lines} == statuses
    if paper == "kang_2020a" and name.endswith("mlp"):
        assert len(findings) == 9  # three statements and a check for each reading of the noise, and the choices
    else:
        said = load("papers", paper).expected["curves"]
        missing = {key for key, words in said.items() if not any(f.statement.startswith(words) for f in findings)}
        assert missing == ({"gap_zero"} if (paper, name) == ("kang_2020a", "figure4") else set())
    assert all(f.seen for f in findings)


def small(name):
    """One data set: the cheapest of the figure."""
    return ("iris",) if name in ("figure4", "small") else ("bank_marketing",)


def test_the_gap_of_a_linear_model_is_not_below_the_optimum():
    figure = load("papers", "kang_2020a").figure("figure4")
    here(figure)
    cells = [c | SMALLEST for c in figure.cells(Size(quick=True)) if c["data"] in small("figure4")]
    points = [point for settings in cells for point in figure.measure(**settings)]
    gaps = [p["gap"] for p in with_gaps(points) if p["gap"] is not None]
    assert len(gaps) == len(cells) - 1
    assert min(gaps) > -1e-9
    assert max(gaps) > 1e-3  # noise costs something somewhere, or nothing was private


@pytest.mark.parametrize(("paper", "name"), TABLES)
def test_tables_of_bounds(paper, name):
    found = load("papers", paper)
    cells = list(found.figure(name).cells(Size()))
    points, drawn, findings = measured(paper, name, cells)
    assert all(isinstance(table, TextTable) for table in drawn)
    assert all(len(row) == len(table.head) for table in drawn for row in table.rows)
    assert [f.statement for f in findings] == list(found.expected["table1"].values())
    assert all(f.holds is not None for f in findings)
    assert len({(p["kind"], p["epsilon"], p["data"]) for p in points}) == len(cells)


def bounds(paper, **facts):
    """The rows of a paper's table at numbers that can be worked out by hand: log(1/delta) = 1."""
    given = printed_bounds.Letters(**{"n": 10, "d": 2, "p": 3, "epsilon": 0.5, "delta": math.exp(-1), **facts})
    return load("papers", paper).figure("table1").measure.__self__.bounds(given)


def test_table_of_input_perturbation_by_hand():
    rows = bounds("kang_2020a", strong=0.25, T=5, G=2.0, L=3.0, D=4.0, rate=0.5)
    noise = {row: values["noise"] for row, values in rows.items()}
    risk = {row: values["excess empirical risk"] for row, values in rows.items()}
    # G^2 T log(1/delta) / (n (n-1) sqrt(Delta) eps^2) = 4 * 5 / (90 * 0.5 * 0.25) = 20 / 11.25
    assert noise["input perturbation, own noise"] == pytest.approx(20 / 11.25)
    # rate (2LD + G) G^3 d log^2 n / (n (n-1) sqrt(Delta) eps^2) = 0.5 * 26 * 8 * 2 * log^2(10) / 11.25
    assert risk["input perturbation, own noise"] == pytest.approx(208 * math.log(10) ** 2 / 11.25)
    # G^2 T / (n^2 eps^2) = 20/25; G^2 p log n / (n^2 eps^2) = 12 log(10)/25
    assert noise["gradient (Wang et al.)"] == pytest.approx(0.8)
    assert risk["gradient (Wang et al.)"] == pytest.approx(12 * math.log(10) / 25)
    # G^2 (1 + L/Delta)^2 log(2/delta) / (n^2 L^2 eps^2) = 4 * 169 * (1 + log 2) / 225; L G^2 p/(n^2 eps^2 Delta^2)
    assert noise["output (Zhang et al.)"] == pytest.approx(676 * (1 + math.log(2)) / 225)
    assert risk["output (Zhang et al.)"] == pytest.approx(36 / 1.5625)
    # G^2 n^2 log(n/delta) / eps^2 = 1600 (1 + log 10); G^2 p log^2(n/delta) / (n Delta eps^2) = 12 (..)^2 / 0.625
    assert noise["gradient (Bassily et al.)"] == pytest.approx(1600 * (1 + math.log(10)))
    assert risk["gradient (Bassily et al.)"] == pytest.approx(19.2 * (1 + math.log(10)) ** 2)
    # zeta^2 (eps + log(4/delta^2)) / eps^2 = 16 (2.5 + log 4); p b^2/(n^2 Delta) + Delta D^2
    assert noise["objective (Kifer et al.)"] == pytest.approx(16 * (2.5 + math.log(4)))
    assert risk["objective (Kifer et al.)"] == pytest.approx(3 * 16 * (2.5 + math.log(4)) / 25 + 4)
    # G^2 (log(16/delta) + eps) / (n eps^2) = 1.6 (1.5 + log 16); p G^2 (..) / (L n eps) = 0.8 (..)
    assert noise["input (Fukuchi et al.)"] == pytest.approx(1.6 * (1.5 + math.log(16)))
    assert risk["input (Fukuchi et al.)"] == pytest.approx(0.8 * (1.5 + math.log(16)))
    assert noise["output (Chaudhuri et al.)"] == pytest.approx(1.25)
    assert noise["objective (Chaudhuri et al.)"] == pytest.approx(0.5 - 2 * math.log(1 + 3 / 2.5))
    assert noise["local (Duchi et al.)"] is None
    assert risk["local (Duchi et al.)"] == pytest.approx(12 / math.sqrt(10))


def test_table_of_pidp_sgd_by_hand():
    # p and n make the first expressions the smaller ones: m/(n eps)^2 = 3/25, 1/n = 0.1.
    rows = bounds("kang_2023", k=2)
    population = {row: v["excess population risk"] for row, v in rows.items() if "excess population risk" in v}
    empirical = {row: v["excess empirical risk"] for row, v in rows.items() if "excess empirical risk" in v}
    assert population["Feldman et al. 2020, strongly convex"] == pytest.approx(0.22)
    assert population["Feldman et al. 2020, convex"] == pytest.approx(math.sqrt(3) / 5 + math.sqrt(0.1))
    assert population["DP-SGD, theorems 1 and 3"] == pytest.approx(
        min(0.22, math.sqrt(3) / (10**1.5 * 0.5) + 3**1.5 / (10**2.5 * 0.125))
    )
    # k m = 6: 6/(1000/4) + 0.1 = 0.124; 6/(10^2.5/4) + 10^-1.5 = 0.1075; 6^1.5/(100/8) + 0.5/sqrt(60) = 1.24
    assert population["PIDP-SGD, theorems 6 and 7"] == pytest.approx(24 / 10**2.5 + 10**-1.5)
    assert empirical["DP-SGD, theorems 1 and 3"] == pytest.approx(3 * math.log(10) / 25)
    assert empirical["Wang et al. 2017"] == pytest.approx(3 * math.log(10) ** 2 / 25)
    assert empirical["PIDP-SGD, theorems 6 and 7"] == pytest.approx(0.2 * 3 * math.log(10) / 25)


def test_table_of_data_perturbation_by_hand():
    rows = bounds("kang_2020b", T=5, G=2.0)
    assert rows["Song et al. 2013"] == {"noise": pytest.approx(4.0), "utility": None}
    assert rows["DP-SGD (Abadi et al.)"]["noise"] == pytest.approx(0.8)
    assert rows["output (Wu et al.)"]["noise"] == pytest.approx(4 * (1 + math.log(1.25)) / 25)
    assert rows["output (Wu et al.)"]["utility"] == pytest.approx((4 + math.log(10)) / 10 + 0.6)
    assert rows["DP-LSSGD (Wang et al.)"]["noise"] == pytest.approx(20 * 1.5 / 25)
    assert rows["DP-LSSGD (Wang et al.)"]["utility"] == pytest.approx(2 * math.sqrt(12) / 5)
    assert rows["PI-DBDP-SGD (worst case)"]["utility"] == pytest.approx(12 * math.log(10) / 25)
    assert rows["T/n^2"] == {"largest epsilon of theorem 2": pytest.approx(0.05)}


def test_a_printed_factor_is_judged_up_to_a_constant():
    """That of Song et al. is right but for G log(1/delta); that of Wu et al. has another power of epsilon."""
    found = load("papers", "kang_2020b")
    cells = list(found.figure("table1").cells(Size()))
    findings = {f.statement: f for f in measured("kang_2020b", "table1", cells)[2]}
    verdicts = {key: findings[words] for key, words in found.expected["table1"].items() if key.endswith("_factor")}
    assert {key: finding.holds for key, finding in verdicts.items()} == {
        "noise_song_factor": True, "utility_smoothed_factor": True, "utility_wu_factor": False,
    }  # fmt: skip
    # G log(1/delta): 1 for networks, sqrt(1.25) for logistic regression
    log = math.log(1000)
    assert f"{log:.3g} (MLP" in verdicts["noise_song_factor"].seen
    assert f"{math.sqrt(1.25) * log:.3g} (LR" in verdicts["noise_song_factor"].seen
    # sqrt(log n), that of Iris' 90 and of KDD's 42,000 training records
    assert f"{math.sqrt(math.log(90)):.3g} (LR on iris" in verdicts["utility_smoothed_factor"].seen
    assert f"{math.sqrt(math.log(42_000)):.3g} (LR on kddcup99" in verdicts["utility_smoothed_factor"].seen


def line(method, values, status="refuted", data="a", y="accuracy", spread=0.001):
    """Three seeds a point."""
    return [
        {"data": data, "method": method, "epsilon": e, "status": status, y: v + spread * k}
        for e, v in values.items() for k in (-1, 0, 1)
    ]  # fmt: skip


def test_statements_see_what_is_there_and_what_is_not():
    ours, other = line("ours", {0.1: 0.6, 1.0: 0.9}), line("other", {0.1: 0.7, 1.0: 0.8}, "proven")
    both = ours + other
    assert says.follows(both, "s", ("ours",)).holds
    assert says.follows(line("ours", {0.1: 0.9, 1.0: 0.6}), "s", ("ours",)).holds is False
    assert says.beats(both, "s", "ours", ("other",)).holds is False  # one cell of two is not most
    assert says.beats(both, "s", "ours", ("other",), share=0.4).holds
    assert says.gains(both, "s", "ours", ("other",)).holds
    assert says.gains(both, "s", "other", ("ours",)).holds is False
    assert says.behind(both, "s", "ours", ("other",), below=0.1).holds
    assert says.behind(both, "s", "other", ("ours",), below=0.1).holds is False
    assert says.alike(both, "s", "ours", ("other",)).holds is False
    assert says.fluctuates(both, "s", "ours").holds is False
    assert says.vanishes(line("ours", {0.1: 1.0, 1.0: 0.005}, y="gap"), "s", "ours").holds
    assert says.vanishes(line("ours", {0.1: 0.005, 1.0: 1.0}, y="gap"), "s", "ours").holds is False
    assert says.vanishes(ours, "s", "ours").statement == "s (taken as: at most 0.01 at the largest epsilon)"
    price = says.proven_price(both, "ours")
    assert price.holds is False
    assert "1 of 2" in price.seen
    assert says.beats(ours, "s", "ours", ("other",)).holds is None
    assert says.follows(ours[:1], "s", ("ours",)).holds is None


def test_a_large_gap_of_the_longest_run_decides_nothing():
    """The limit is ours; a small gap is seen all the same, and so is a large one of a run that could be longer."""
    curves = [Curve("ours", None, (Axis("steps", (20, 200), lowest=1, highest=200),))]

    def found(gap, *steps):
        gaps = line("ours", {0.1: 1.0, 1.0: gap}, y="gap")
        chosen = dict(zip((0.1, 1.0), steps, strict=True))
        return says.vanishes([{**p, "chosen": f"steps = {chosen[p['epsilon']]}"} for p in gaps], "s", "ours", curves)

    limited = found(1.0, 20, 200)
    assert limited.holds is None
    assert limited.seen.endswith("Runs end at 200 steps, which is our limit, and 1 of 2 choices lie at it.")
    assert found(0.005, 200, 200).holds
    assert found(1.0, 200, 20).holds is False


def test_a_tie_of_models_that_predict_one_class_is_no_cell():
    same = line("ours", {0.1: 0.8}, spread=0.0) + line("other", {0.1: 0.8}, "proven", spread=0.0)
    assert "better than the best of them in 0, worse in 0" in says.proven_price(same, "ours").seen
    assert says.beats(same, "s", "ours", ("other",)).holds is None
    more = same + line("ours", {1.0: 0.9}) + line("other", {1.0: 0.8})
    assert says.beats(more, "s", "ours", ("other",)).seen.count("1 of 1") == 1


def test_one_curve_that_falls_by_chance_does_not_decide():
    """Twelve flat curves; one falls by an amount that a single comparison at 95% would call a fall."""
    flat = [p for k in range(11) for p in line(f"m{k}", {0.1: 0.8, 1.0: 0.8}, spread=0.01)]
    falls = line("m11", {0.1: 0.8, 1.0: 0.775}, spread=0.01)
    methods = [f"m{k}" for k in range(12)]
    assert says.follows(falls, "s", ("m11",)).holds is False
    assert says.follows(flat + falls, "s", methods).holds is None
    assert says.follows(flat + line("m11", {0.1: 0.8, 1.0: 0.6}, spread=0.01), "s", methods).holds is False


def test_statements_that_ask_for_some_or_from_an_epsilon_on():
    points = (
        line("ours", {0.1: 0.5, 1.0: 0.9}) + line("near", {0.1: 0.5, 1.0: 0.9}) + line("far", {0.1: 0.9, 1.0: 0.99})
    )
    assert says.alike(points, "s", "ours", ("near", "far"), some=True).holds
    assert says.alike(points, "s", "ours", ("near", "far")).holds is False
    better = line("ours", {0.1: 0.5, 1.0: 0.9}) + line("other", {0.1: 0.6, 1.0: 0.8})
    assert says.beats(better, "s", "ours", ("other",)).holds is False
    assert says.beats(better, "s", "ours", ("other",), least=0.5).holds


def test_statements_cannot_tell_what_noise_hides():
    """The same means as above, with seeds that differ by more than the methods do; and a single seed."""
    both = line("ours", {0.1: 0.6, 1.0: 0.9}, spread=0.3) + line("other", {0.1: 0.7, 1.0: 0.8}, "proven", spread=0.3)
    for points in (both, both[::3]):
        assert says.follows(points, "s", ("ours",)).holds is None
        assert says.beats(points, "s", "ours", ("other",)).holds is None
        assert says.alike(points, "s", "ours", ("other",)).holds is None
        assert says.gains(points, "s", "ours", ("other",)).holds is None
        assert says.behind(points, "s", "ours", ("other",), below=0.1).holds is None
        assert says.proven_price(points, "ours").holds is None
    assert says.fluctuates(both[::3], "s", "ours").holds is None  # one run has no spread
    gaps = line("ours", {0.1: 1.0, 1.0: 0.005}, y="gap", spread=0.1)
    assert says.vanishes(gaps, "s", "ours").holds is None


def seeds(method, values, data="a", epsilons=(0.1, 1.0), **more):
    """The same values, one a seed, at every epsilon."""
    return [
        {"data": data, "method": method, "epsilon": e, "status": "proven", "accuracy": v, "seed": k, **more}
        for e in epsilons for k, v in enumerate(values)
    ]  # fmt: skip


def test_a_model_of_noise_fluctuates_though_equal_seeds_make_its_curve_flat():
    noise = (0.2, 0.9, 0.3, 0.8, 0.6, 0.4)
    found = says.fluctuates(seeds("m", noise), "s", "m")
    assert found.holds
    assert "a at 2 of 2 epsilons" in found.seen
    assert says.fluctuates(seeds("m", (0.81, 0.812, 0.809, 0.81, 0.811, 0.81)), "s", "m").holds is False
    once = seeds("m", noise, epsilons=(0.1,)) + seeds("m", [0.8] * 6, epsilons=(1.0,))
    assert says.fluctuates(once, "s", "m").holds  # at one epsilon, on the only set
    still = [p for data in "bc" for p in seeds("m", [0.8] * 6, data)]
    assert says.fluctuates(once + still, "s", "m").holds is False  # on one set of three
    some = says.fluctuates(once + still, "s", "m", some=True)
    assert some.holds
    assert some.statement == (
        "s (taken as: on some data set a standard deviation over runs of more than 0.02 at some epsilon)"
    )
    assert says.fluctuates(still, "s", "m", some=True).holds is False
    splits = seeds("no privacy", noise) + seeds("m", [v - 0.01 for v in noise])
    assert says.fluctuates(splits, "s", "m").holds is None  # no more than the splits do
    gaps = [{**p, "gap": p["accuracy"]} for p in seeds("m", noise)]
    assert says.fluctuates(gaps, "s", "m", y="gap").seen.endswith(says.BY_ACCURACY)


def test_alike_says_what_it_tests_and_how_often_ours_is_better():
    points = line("ours", {0.1: 0.9, 0.5: 0.9, 1.0: 0.9}) + line("other", {0.1: 0.8, 0.5: 0.9, 1.0: 0.91})
    found = says.alike(points, "Almost the same", "ours", ("other",))
    assert found.holds
    assert found.statement == "Almost the same (taken as: no more than 0.02 worse)"
    assert "3 of 3 cells, and better by more than that in 1" in found.seen


def test_findings_about_gaps_say_that_accuracy_chose():
    points = line("ours", {0.1: 0.5, 1.0: 0.1}, y="gap") + line("other", {0.1: 0.6, 1.0: 0.3}, "proven", y="gap")
    assert says.follows(points, "s", ("ours",), y="gap").seen.endswith(says.BY_ACCURACY)
    assert says.beats(points, "s", "ours", ("other",), y="gap").seen.endswith(says.BY_ACCURACY)
    assert says.alike(points, "s", "ours", ("other",), y="gap").seen.endswith(says.BY_ACCURACY)
    assert says.vanishes(points, "s", "ours").seen.endswith(says.BY_ACCURACY)
    price = says.proven_price(points, "ours", y="gap")
    assert price.seen.endswith(says.BY_ACCURACY)
    assert price.holds is False
    assert "better than the best of them in 2, worse in 0" in price.seen
    accuracy = line("ours", {0.1: 0.5, 1.0: 0.6})
    assert says.BY_ACCURACY not in says.follows(accuracy, "s", ("ours",)).seen


def test_one_cell_of_many_that_stands_out_by_chance_does_not_decide():
    """A single cell at this distance is enough; one of twenty is not."""
    one = line("ours", {0.1: 0.775}, spread=0.01) + line("other", {0.1: 0.8}, spread=0.01)
    flat = [
        p for k in range(19) for m in ("ours", "other") for p in line(m, {0.1: 0.8}, data=f"d{k}", spread=0.01)
    ]  # fmt: skip
    assert says.behind(one, "s", "ours", ("other",), below=0.1).holds
    found = says.behind(one + flat, "s", "ours", ("other",), below=0.1)
    assert found.holds is None
    assert "behind in 1 of 20 cells" in found.seen
