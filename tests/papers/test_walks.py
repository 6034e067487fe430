"""Algorithm 2 of Kang et al. 2020b for many logistic regressions at once: numbers, steps and points are as alone."""

import math
from dataclasses import replace

import numpy as np
import pytest

from papers.engine.store import Store
from papers.kang_2020b import walks
from papers.kang_2020b.figures import ELEMENTS, LINEAR, OURS
from papers.shared import together
from papers.shared.accuracy import Fitted
from tacit import datasets
from tacit.published.models import LinearModel
from tacit.published.pi_dbdp_erm import unchanged

CURVES = {curve.label: curve for curve in LINEAR}


def split_of(rng, n=60, d=5):
    def part(count):
        x = rng.normal(size=(count, d))
        y = (x[:, 0] + 0.5 * rng.normal(size=count) > 0).astype(int)
        return x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True)) * 0.9, y

    return [part(n), part(30), part(30)]


def model_of(epsilon=1.0, label=OURS, step=0.2, passes=0.5, seed=0, n=60, d=5):
    return CURVES[label].make({"step": step, "passes": passes}, epsilon, 1e-3, seed, (n, d))


def test_the_ground_is_the_librarys(rng):
    split = split_of(rng)
    ground = walks.Ground.of(model_of(), split)
    linear = LinearModel(walks.problem_of(model_of(), split[0]), 1e-3)
    linear.minimise()
    assert ground.start == pytest.approx(linear.flat, abs=1e-9)
    picks = np.arange(7)
    own = walks.slopes(ground.rows[picks] @ ground.start, ground.labels[picks])[:, None] * ground.rows[picks]
    moves = (own + 1e-3 * ground.start) @ ground.inverse / len(ground.labels)
    assert moves == pytest.approx(linear.influence(None)(picks), abs=1e-10)


def test_what_is_passed_on_and_a_step_are_the_librarys(rng):
    split = split_of(rng)
    ground = walks.Ground.of(model_of(), split)
    linear = LinearModel(walks.problem_of(model_of(), split[0]), 1e-3)
    weights = rng.normal(size=(7, len(ground.start)))
    rows, labels = ground.rows[:7], ground.labels[:7]
    found = walks.passed_on(rows, labels, weights, ground.columns)
    for i in range(7):
        linear.flat[:] = weights[i]
        assert found[i] == pytest.approx(linear.passed_on(rows[i], labels[i : i + 1]), rel=1e-10)


class Script:
    """Choices and normal numbers that were drawn before."""

    def __init__(self, picks, normals):
        self.picks, self.normals = list(picks), list(normals)

    def integers(self, n, size):
        return self.picks.pop(0)

    def standard_normal(self, shape):
        return self.normals.pop(0)[: shape[0]]


@pytest.mark.parametrize("label", [OURS, ELEMENTS])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
def test_a_walk_is_the_librarys_step_by_step(label, epsilon, rng):
    """One fit, the same choices and the same noise; some steps are quiet at the larger epsilons."""
    split = split_of(rng)
    model = model_of(epsilon, label)
    ground = walks.Ground.of(model, split)
    plan, status = walks._planned(model, ground)
    plan = replace(plan, rounds=3)
    assert status == "refuted"
    picks, normals = rng.integers(60, size=(3, 1, 10)), rng.normal(size=(30, 1, ground.columns))
    weights, quiet = walks.walk(ground, [plan], Script(picks, normals))
    linear = LinearModel(walks.problem_of(model, split[0]), 1e-3)
    linear.minimise()
    influence, used, still = linear.influence(None), iter(normals), 0
    for own in picks[:, 0]:
        silent = unchanged(influence(own), linear.flat, plan.epsilon, plan.test)
        rows, labels = linear.rows(own), linear.labels[own]
        for t in range(10):
            if not silent[t]:
                scale = plan.scale / math.sqrt(linear.passed_on(rows[t], labels[t : t + 1]))
                rows[t, : linear.columns] += scale * next(used)[0]
            linear.step(rows[t : t + 1], labels[t : t + 1], plan.rate)
        still += int(silent.sum())
    assert weights[0] == pytest.approx(linear.flat, rel=1e-8, abs=1e-8)
    assert quiet[0] == still / 30


def test_fits_side_by_side_do_not_touch_each_other(rng):
    split = split_of(rng)
    models = [model_of(e, label, step) for e, label, step in ((0.2, OURS, 0.1), (6.0, ELEMENTS, 0.5))]
    ground = walks.Ground.of(models[0], split)
    plans = [replace(walks._planned(model, ground)[0], rounds=2, scale=0.0) for model in models]
    picks = rng.integers(60, size=(2, 2, 10))
    both, _ = walks.walk(ground, plans, Script(picks, [np.zeros((2, ground.columns))] * 40))
    for i, plan in enumerate(plans):
        alone, _ = walks.walk(ground, [plan], Script(picks[:, i : i + 1], [np.zeros((1, ground.columns))] * 40))
        assert both[i] == pytest.approx(alone[0], abs=1e-12)


def test_what_is_measured_is_what_the_library_would_say(rng):
    split = split_of(rng)
    model = model_of(1.0, ELEMENTS)
    fitted = Fitted(model, *split)
    ground = walks.Ground.of(model_of(), split)
    weights = np.append(fitted.model.coef_.ravel(), fitted.model.intercept_[0] / walks.INTERCEPT)
    found = walks.measured(ground, weights, 0.5, "refuted")
    assert found.validation == pytest.approx(fitted.validation, abs=1e-6)
    assert (found.accuracy, found.loss) == pytest.approx((fitted.accuracy, fitted.loss), abs=1e-6)  # rows are rounded


def test_cells_are_stored(tmp_path):
    if not datasets.stored("bank_marketing"):
        pytest.skip("the data set bank_marketing is not stored here")
    small = {"rows": 150, "seeds": 2, "values": 1, "fits": 2, "extensions": 1}
    cells = [c for c in walks.walk_cells() if c.settings["data"] == "bank_marketing" and c.settings["epsilon"] == 7.0]
    cells = [type(c)(c.package, c.paper, c.figure, dict(c.settings) | small) for c in cells]
    assert [c.settings["method"] for c in cells] == [OURS, ELEMENTS]
    store = Store(tmp_path)
    work = walks.Walks(math.inf, lambda text: None, tmp_path / "fits.json")
    assert together.run(cells, store, work, "1+abc") == 0
    for kept in store.cells(cells):
        assert [point["seed"] for point in kept.points] == [0, 1]
        assert all(point["status"] == "refuted" and 0.5 < point["accuracy"] <= 1 for point in kept.points)
        assert all(0 <= point["noiseless"] <= 1 and point["tried"] <= 2 for point in kept.points)
    store.close()
