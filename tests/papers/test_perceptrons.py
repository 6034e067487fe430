"""Perceptrons trained side by side: derivatives, tests and steps are the library's, and so are the points of a cell."""

import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch")

from torch.nn.utils import parameters_to_vector  # noqa: E402

from papers.engine.figure import Size  # noqa: E402
from papers.engine.library import load  # noqa: E402
from papers.engine.store import Store  # noqa: E402
from papers.perceptrons import algorithms, away  # noqa: E402
from papers.perceptrons.curvature import inverses, largest  # noqa: E402
from papers.perceptrons.fleet import Yard, member  # noqa: E402
from papers.perceptrons.stack import Stack  # noqa: E402
from papers.perceptrons.walking import Noise, Records, Walk, walk_by_steps  # noqa: E402
from papers.shared import together  # noqa: E402
from papers.shared.accuracy import Fitted  # noqa: E402
from tacit import RefutedWarning, datasets  # noqa: E402
from tacit.nn import MLPClassifier, mlp_network  # noqa: E402
from tacit.privacy.noise import SeededSource  # noqa: E402
from tacit.published import PublishedMLPClassifier  # noqa: E402
from tacit.published import curvature as library_curvature  # noqa: E402
from tacit.published.perceptron import Perceptron, Settings  # noqa: E402
from tacit.published.pi_dbdp_erm import unchanged  # noqa: E402

ALARM = 1e-6
D, N, RIDGE = 6, 40, 0.05


def records(rng, n=N):
    x = rng.normal(size=(n, D))
    return x / np.linalg.norm(x, axis=1, keepdims=True), rng.integers(0, 2, size=n)


def side_by_side(rng, networks=3, n=N):
    """Perceptrons of the library, and the same as a stack with records."""
    x, y = records(rng, n)
    settings = Settings(regularization=RIDGE, curvature_records=n, rank=5)
    singles = []
    for seed in range(networks):
        torch.manual_seed(seed)
        network = mlp_network(D, 2)
        with torch.no_grad():
            for weight in network.parameters():
                weight.mul_(2.5)
        singles.append(Perceptron(network, x, y, settings))
    flat = torch.from_numpy(np.stack([single.flat for single in singles]))
    return singles, Stack(flat.clone(), D, RIDGE), Records(torch.from_numpy(x), torch.from_numpy(y))


def noise_of(seed=0):
    return Noise(torch.Generator().manual_seed(seed), torch.device("cpu"), torch.float64)


def everyone(stack, given):
    count = len(stack.flat)
    return given.x.expand(count, -1, -1), given.y.expand(count, -1)


def test_derivatives_are_the_librarys(rng):
    singles, stack, given = side_by_side(rng)
    x, y = everyone(stack, given)
    rows, means = stack.gradients(x, y), stack.mean_gradient(x, y)
    hessian, direction = stack.hessian(x, y), torch.from_numpy(rng.normal(size=stack.flat.shape))
    image = hessian.times(direction)
    for i, single in enumerate(singles):
        assert rows[i].numpy() == pytest.approx(single.gradients(slice(None)), abs=1e-12)
        at = single.passes(single.x, single.labels)
        assert means[i].numpy() == pytest.approx(single.mean_gradient(at, single.x), abs=1e-12)
        expected = single.hessian(slice(None))(direction[i].numpy())
        assert image[i].numpy() == pytest.approx(expected, abs=1e-12)


def test_how_much_of_a_noise_is_passed_on_is_the_librarys(rng):
    singles, stack, given = side_by_side(rng)
    for place in range(5):
        found = stack.passed_on(given.x[[place] * 3], given.y[[place] * 3])
        expected = [one.passed_on(one.x[place], one.labels[place : place + 1]) for one in singles]
        assert found.numpy() == pytest.approx(np.array(expected), rel=1e-9)


def test_inverses_are_the_librarys(rng):
    singles, stack, given = side_by_side(rng)
    x, y = everyone(stack, given)
    start, rows = rng.normal(size=stack.flat.shape), rng.normal(size=(3, 4, stack.flat.shape[1]))
    times = stack.hessian(x, y).times
    values, _ = largest(times, torch.from_numpy(start), 5)
    found = inverses(times, torch.from_numpy(start), 5, 0.1).times(torch.from_numpy(rows))
    for i, single in enumerate(singles):
        map_ = single.hessian(slice(None))
        expected, _ = library_curvature.largest(map_, start[i], 5)
        assert np.sort(values[i].numpy()) == pytest.approx(np.sort(expected), rel=1e-6, abs=1e-9)
        inverse = library_curvature.InverseHessian.of(map_, start[i], 5, 0.1)
        assert found[i].numpy() == pytest.approx(inverse.times(rows[i]), rel=1e-6, abs=1e-8)


def test_a_network_that_is_not_finite_leaves_the_others_alone(rng):
    _, stack, given = side_by_side(rng)
    x, y = everyone(stack, given)
    start = torch.from_numpy(rng.normal(size=stack.flat.shape))
    before = inverses(stack.hessian(x, y).times, start, 5, 0.1)
    stack.flat[1] = math.nan
    after = inverses(stack.hessian(x, y).times, start, 5, 0.1)
    for i in (0, 2):
        torch.testing.assert_close(after.shares[i], before.shares[i])
    assert bool(torch.isfinite(after.directions).all())
    assert not after.shares[1].any()


@pytest.mark.parametrize("limit", [0.3, 0.5, 1.0])
def test_the_chance_of_a_quiet_step_is_that_of_the_drawn_test(limit, rng):
    """Lines 8 to 10 as the library draws them, 20,000 times; two-sided, and a chance 10% off would be seen."""
    model = PublishedMLPClassifier(
        "pidp-sgd", 1.0, constant=1.0, contribution_constant=1.0, classes=[0, 1], delta=0.01, random_state=0
    )
    made = member(model, (N, D))
    plan = made.plan
    own = rng.normal(size=(1, 1, 3)) * 0.1 * limit
    deviation = 0.4 * limit
    object.__setattr__(plan, "contribution_scale", deviation)
    object.__setattr__(plan, "threshold", limit / plan.ratio)
    times = 20_000
    quiet = plan.small(np.repeat(own[0], times, axis=0), SeededSource((1,)), 2).sum()
    chance = float(
        algorithms.quiet_chance(
            torch.from_numpy(own), torch.tensor([deviation]).double(), torch.tensor([limit]).double()
        )
    )
    assert ALARM / 2 < stats.binom.cdf(quiet, times, chance) < 1 - ALARM / 2
    assert not ALARM / 2 < stats.binom.cdf(quiet, times, 0.9 * chance) < 1 - ALARM / 2


def test_networks_that_can_never_be_quiet_are_known_before():
    """A coordinate is quiet with the largest chance when the record has no influence."""
    deviations, limits = torch.tensor([1.0, 1.0, 1.0]).double(), torch.tensor([0.1, 3.0, 9.0]).double()
    assert algorithms.hopeful(100, deviations, limits).tolist() == [1, 2]
    none = algorithms.quiet_chance(torch.zeros(3, 1, 100).double(), deviations, limits)[:, 0]
    some = algorithms.quiet_chance(torch.full((3, 1, 100), 0.05).double(), deviations, limits)[:, 0]
    assert none[0] < 1e-12 < none[1]
    assert bool((some[:2] < none[:2]).all())


def test_decisions_are_those_of_the_rounds_first_weights(rng, monkeypatch):
    """Two stretches of a round, and steps that move the weights far: lines 7 to 10 with the library's influences.

    The inverse Hessian is exact here, E is not small, and a step is quiet where its chance is above one half.
    """
    singles, stack, given = side_by_side(rng)
    for single in singles:
        single.settings = Settings(regularization=RIDGE, curvature_records=N, rank=1000, damping=0.01)
    model = published("pidp-sgd", 1.0, rounds=2, local=12, step=0.1, rank=1000, curvature_records=N, random_state=0)
    plan = member(model, (N, D)).plan
    object.__setattr__(plan, "error", 0.002)
    object.__setattr__(plan, "contribution_scale", 0.01)
    object.__setattr__(plan, "threshold", 0.06 / plan.ratio)
    walks, firsts = [], []

    def far(stack, records, walk, noise):
        if len(walks) % 2 == 0:  # the first stretch of a round
            firsts.append(stack.flat.clone())
        walks.append(walk)
        stack.flat += 0.5

    monkeypatch.setattr(algorithms, "walk", far)
    monkeypatch.setattr(algorithms, "TOGETHER", 7)
    noise = noise_of(4)
    monkeypatch.setattr(Noise, "uniform", lambda self, *shape: torch.full(shape, 0.5, dtype=torch.float64))
    algorithms.pidp_sgd(stack, given, [plan] * 3, model, noise)
    assert [walk.picks.shape[1] for walk in walks] == [7, 5, 7, 5]
    answers = set()
    for number, walk in enumerate(walks):
        for i, single in enumerate(singles):
            single.flat[:] = firsts[number // 2][i].numpy()
            own = single.influence(SeededSource((1,)))(walk.picks[i].numpy()) + plan.error
            chance = algorithms.quiet_chance(
                torch.from_numpy(own)[None], torch.tensor([0.01]).double(), torch.tensor([0.06]).double()
            )
            assert walk.quiet[i].tolist() == (chance[0] > 0.5).tolist()
            answers |= set(walk.quiet[i].tolist())
    assert answers == {True, False}


def test_a_record_whose_gradient_is_not_finite_counts_as_zero(rng):
    _, stack, given = side_by_side(rng)
    x, y = given.x[:4].expand(3, -1, -1).clone(), given.y[:4].expand(3, -1)
    clip, taken = torch.ones(3, 1).double(), torch.ones(3, 4).double()
    without = stack.clipped_sum(x[:, 1:], y[:, 1:], taken[:, 1:], clip)
    x[:, 0, 0] = math.inf
    torch.testing.assert_close(stack.clipped_sum(x.nan_to_num(posinf=math.nan), y, taken, clip), without)


@pytest.mark.parametrize("test", ["norm", "elements"])
def test_line_nine_is_the_librarys(test, rng):
    moves, weights = 0.2 * rng.normal(size=(2, 50, 4)), 1 + rng.uniform(size=(2, 4))
    epsilons = np.array([0.7, 0.3])
    by_norm = torch.full((2,), test == "norm")
    found = algorithms.unchanged(*(torch.from_numpy(part) for part in (moves, weights, epsilons)), by_norm)
    for i in range(2):
        assert found[i].tolist() == unchanged(moves[i], weights[i], epsilons[i], test).tolist()
    assert test == "norm" or 0 < int(found.sum()) < found.numel()


@pytest.mark.parametrize("on_rows", [False, True])
def test_steps_are_the_librarys(on_rows, rng):
    singles, stack, given = side_by_side(rng)
    picks, quiet = torch.from_numpy(rng.integers(0, N, (3, 8))), torch.from_numpy(rng.random((3, 8)) < 0.4)
    rates, scales = torch.tensor([0.1, 0.3, 0.5]).double(), torch.tensor([0.05, 0.1, 0.2]).double()
    walk_by_steps(stack, given, Walk(picks, quiet, rates, scales, on_rows), noise_of(5))
    drawn = noise_of(5)
    loud = ~quiet
    for t in range(8):
        shape = (3, D) if on_rows else stack.flat.shape
        normal = drawn.normal(*shape).numpy() if bool(loud[:, t].any()) else np.zeros(shape)
        for i, single in enumerate(singles):
            place = picks[i, t : t + 1].numpy()
            row, label = single.rows(place), single.labels[place]
            added = float(scales[i]) * normal[i] if loud[i, t] else None
            if on_rows and added is not None:
                row[0] += added / math.sqrt(single.passed_on(row[0], label))
            single.step(row, label, float(rates[i]), None if on_rows else added)
    for i, single in enumerate(singles):
        assert stack.flat[i].numpy() == pytest.approx(single.flat, abs=1e-10)


def flat(model):
    return parameters_to_vector(model.network_.parameters()).detach().double().numpy()


def yard_of(rng, n=N):
    split = [records(rng, n), records(rng, 20), records(rng, 20)]
    return split, Yard(split, "cpu", torch.float64)


def trained(yard, models):
    """The members' measurements, and their weights."""
    kept = []
    scored = yard.scored
    yard.scored = lambda stack, part: kept.append(stack.flat.clone()) or scored(stack, part)
    found = yard.trained([member(model, yard.shape) for model in models], 3)
    return found, kept[0].numpy()


@pytest.mark.parametrize(("smoothing", "clip"), [(0.0, 1.0), (1.5, 0.05)])
def test_dp_sgd_without_noise_is_the_librarys(smoothing, clip, rng):
    """All records, no noise: clipping, smoothing, momentum and falling steps are left."""
    split, yard = yard_of(rng)
    rest = {"delta": 1e-3, "classes": [0, 1], "bounds": (-1.0, 1.0), "smoothing": smoothing, "clip": clip}
    models = [
        MLPClassifier(math.inf, batch=N, epochs=7, step=step, random_state=k, **rest)
        for k, step in ((1, 0.3), (2, 1.0))
    ]
    found, weights = trained(yard, models)
    for i, model in enumerate(models):
        fitted = Fitted(model, *split)
        assert weights[i] == pytest.approx(flat(fitted.model), abs=2e-6)  # the library hands back single precision
        assert found[i].validation == pytest.approx(fitted.validation, abs=1e-5)
        assert (found[i].accuracy, found[i].loss) == pytest.approx((fitted.accuracy, fitted.loss), abs=1e-5)


@pytest.mark.parametrize(("rate", "scale"), [(0.25, 2.0), (1.0, 0.5)])
def test_dp_sgd_draws_the_noise_and_the_batches_of_its_plan(rate, scale, rng, monkeypatch):
    """One step of 40 networks: batches of the right size, and noise of the right scale (not 10% off)."""
    _, yard = yard_of(rng)
    rest = {"delta": 1e-3, "classes": [0, 1], "bounds": (-1.0, 1.0), "step": 1.0, "momentum": 0.0}
    made = member(MLPClassifier(1.0, batch=round(rate * N), epochs=1, random_state=0, **rest), yard.shape)
    plan = made.plan
    object.__setattr__(plan, "scale", scale)
    object.__setattr__(plan, "steps", 1)
    start = torch.zeros(40, D * D + 3 * D + 2, dtype=torch.float64)
    stack, sizes = Stack(start.clone(), D), []
    whole = Stack.clipped_sum
    monkeypatch.setattr(
        Stack,
        "clipped_sum",
        lambda self, x, y, taken, clip: sizes.append(taken.sum(1)) or 0 * whole(self, x, y, taken, clip),
    )
    algorithms.dp_sgd(stack, yard.train, [plan] * 40, [made.model] * 40, noise_of(3))
    noise = stack.flat * plan.divisor / scale
    square = float(noise.square().sum())
    count = noise.numel()
    assert stats.chi2.ppf(ALARM / 2, count) < square < stats.chi2.isf(ALARM / 2, count)
    assert not stats.chi2.ppf(ALARM / 2, count) < 1.21 * square < stats.chi2.isf(ALARM / 2, count)
    total = int(sizes[0].sum())
    assert ALARM / 2 <= stats.binom.cdf(total, 40 * N, rate) <= 1 - ALARM / 2 or rate == 1
    assert rate < 1 or total == 40 * N


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_batches_hold_the_records_whose_coin_fell(rate, rng):
    coins = torch.from_numpy(rng.random((4, 300)))
    chosen, taken = algorithms._batches(coins, rate, algorithms._largest_batch(300, rate))
    for i in range(4):
        assert sorted(chosen[i][taken[i]].tolist()) == (coins[i] < rate).nonzero()[:, 0].tolist()


def published(method, epsilon, **rest):
    return PublishedMLPClassifier(
        method,
        epsilon,
        delta=1e-3,
        constant=1.0,
        contribution_constant=1.0,
        classes=[0, 1],
        regularization=RIDGE,
        **rest,
    )


def test_input_perturbation_without_noise_is_the_librarys(rng):
    split, yard = yard_of(rng)
    models = [
        published("input-perturbation", math.inf, steps=9, step=step, random_state=k)
        for k, step in ((1, 0.5), (2, 2.0))
    ]
    found, weights = trained(yard, models)
    for i, model in enumerate(models):
        fitted = Fitted(model, *split)
        assert weights[i] == pytest.approx(flat(fitted.model), abs=1e-10)
        assert found[i].loss == pytest.approx(fitted.loss, abs=1e-10)
        assert found[i].noiseless is None


@pytest.mark.parametrize("shared", [False, True])
def test_perturbed_rows_have_the_plans_noise(shared, rng, monkeypatch):
    _, yard = yard_of(rng)
    seen = []
    mean_gradient = Stack.mean_gradient
    monkeypatch.setattr(Stack, "mean_gradient", lambda self, x, y: seen.append(x.clone()) or mean_gradient(self, x, y))
    models = [published("input-perturbation", 1.0, steps=1, shared=shared, random_state=k) for k in range(400)]
    members = [member(model, yard.shape) for model in models]
    yard.trained(members, 3)
    added = (seen[0] - yard.train.x) / members[0].plan.scale
    if shared:
        torch.testing.assert_close(added, added[:, :1].expand_as(added))
        added = added[:, :1]
    square, count = float(added.square().sum()), added.numel()
    assert stats.chi2.ppf(ALARM / 2, count) < square < stats.chi2.isf(ALARM / 2, count)
    assert not stats.chi2.ppf(ALARM / 2, count) < 1.21 * square < stats.chi2.isf(ALARM / 2, count)


def test_batches_of_dbdp_erm_have_their_size_and_no_record_twice(rng, monkeypatch):
    _, yard = yard_of(rng)
    seen = []
    mean_gradient = Stack.mean_gradient
    monkeypatch.setattr(Stack, "mean_gradient", lambda self, x, y: seen.append(x.clone()) or mean_gradient(self, x, y))
    yard.trained(
        [member(published("dbdp-erm", math.inf, steps=3, batch=0.25, random_state=k), yard.shape) for k in range(2)], 3
    )
    assert [tuple(x.shape) for x in seen] == [(2, 10, D)] * 3
    assert all(len(torch.unique(rows, dim=0)) == 10 for x in seen for rows in x)


@pytest.mark.parametrize(
    ("method", "rest"),
    [
        ("pidp-sgd", {"rounds": 2, "local": 6}), ("pidp-sgd", {"rounds": 1, "local": 5, "pretrained": True}),
        ("pi-dbdp-erm", {"steps": 20}), ("pi-dbdp-erm", {"steps": 20, "test": "elements"}),
    ],
)  # fmt: skip
def test_walks_without_noise_are_the_librarys(method, rest, rng):
    """One record, so that every choice is the same; no noise."""
    split = [records(rng, 1), records(rng, 20), records(rng, 20)]
    yard = Yard(split, "cpu", torch.float64)
    models = [published(method, 50.0, step=0.2, random_state=k, curvature_records=1, rank=3, **rest) for k in (1, 2)]
    for model in models:
        model.constant = 1e-12
    found, weights = trained(yard, models)
    for i, model in enumerate(models):
        fitted = Fitted(model, *split)
        assert weights[i] == pytest.approx(flat(fitted.model), abs=1e-6)
        assert found[i].status == fitted.status == "refuted"
        assert found[i].loss == pytest.approx(fitted.loss, abs=1e-6)


def test_the_near_minimiser_is_the_librarys(rng):
    split, yard = yard_of(rng)
    network = mlp_network(D, 2)
    model = Perceptron(network, *split[0], Settings(regularization=RIDGE, pretraining=15))
    found = yard.minimum(network, RIDGE, 15).numpy()
    model.minimise()
    assert found == pytest.approx(model.flat, abs=1e-5)


def test_first_weights_and_numbers_of_a_plan_are_the_librarys(rng):
    split, yard = yard_of(rng)
    model = published("pidp-sgd", 1.0, rounds=2, local=3, step=0.1, random_state=4)
    made = member(model, yard.shape)
    assert made.status == "refuted"
    assert (made.plan.rounds, made.plan.local, made.plan.rate) == (2, 3, 0.1)
    start = yard.start(model, False).numpy()
    model.step = 1e-40
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefutedWarning)
        model.fit(*split[0])
    assert start == pytest.approx(flat(model), abs=1e-12)
    assert made.plan.scale == pytest.approx(1.0 * (1 + RIDGE * 10) * math.sqrt(6 * math.log(2000)) / (N * 0.75))


CELLS = {"rows": 150, "seeds": 2, "values": 1, "fits": 2, "extensions": 2}


@pytest.mark.parametrize(("paper", "figure"), away.FIGURES)
def test_cells_are_measured_as_they_would_be_one_by_one(paper, figure, tmp_path):
    """Every curve of a figure on a few records: the same columns, settings and statuses as without a fleet."""
    if not datasets.stored("bank_marketing"):
        pytest.skip("the data set bank_marketing is not stored here")
    cells = [
        c for c in away.perceptron_cells([(paper, figure)], Size(quick=True)) if c.settings["data"] == "bank_marketing"
    ]
    largest_epsilon = max(c.settings["epsilon"] for c in cells)
    cells = [_small(c) for c in cells if c.settings["epsilon"] == largest_epsilon]
    store, notes = Store(tmp_path), []
    work = away.Work("cpu", math.inf, notes.append)
    assert together.run(cells, store, work, "1+abc") == 0
    for cell, kept in zip(cells, store.cells(cells), strict=True):
        assert kept.version == "1+abc"
        assert kept.seconds > 0
        assert [point["seed"] for point in kept.points] == [0, 1]
        assert all(point["tried"] <= 3 and 0 <= point["accuracy"] <= 1 for point in kept.points)
        if cell not in cells[:2]:
            continue  # the others are made in the same way, and take long one by one
        measure = load("papers", paper).figure(figure).measure
        alone = measure(**(dict(cell.asked) | {"extensions": 0, "seeds": 1, "fits": 1}))
        assert list(alone[0]) == list(kept.points[0])
        assert alone[0]["status"] == kept.points[0]["status"]
        assert (alone[0]["noiseless"] is None) == (kept.points[0]["noiseless"] is None)
    store.close()


def _small(cell):
    settings = dict(cell.settings) | CELLS
    return type(cell)(cell.package, cell.paper, cell.figure, settings)


def test_a_run_that_is_out_of_time_stores_what_is_finished_and_goes_on_later(tmp_path):
    if not datasets.stored("bank_marketing"):
        pytest.skip("the data set bank_marketing is not stored here")
    cells = [
        _small(c)
        for c in away.perceptron_cells([away.FIGURES[2]], Size(quick=True))
        if c.settings["data"] == "bank_marketing"
    ][:2]
    store, notes = Store(tmp_path), []
    assert together.run(cells, store, away.Work("cpu", -math.inf, notes.append), "1+abc") == 2
    assert any("too little time" in note for note in notes)
    assert not store.cells(cells)
    work = away.Work("cpu", math.inf, notes.append, tmp_path / "fits.json")
    assert together.run(cells[:1], store, work, "1+abc") == 0
    again = away.Work("cpu", math.inf, notes.append, tmp_path / "fits.json")
    assert again.known == work.known
    assert again.seconds == work.seconds
    assert together.run(cells, store, again, "1+abc") == 0
    assert len(store.cells(cells)) == 2
    store.close()


def test_cells_that_were_trained_together_share_their_time(tmp_path):
    cells = [_small(c) for c in away.perceptron_cells([away.FIGURES[2]], Size(quick=True))][:3]
    store = Store(tmp_path)
    for k, cell in enumerate(cells[:2]):
        store.add(cell, "[{}]", "1+abc", 1.0 + k)
    store.share_seconds(cells)
    assert [kept.seconds for kept in store.cells(cells)] == [1.5, 1.5]
    store.close()


def test_fits_are_asked_for_by_cell_setting_and_seed():
    """The same setting of two epsilons is two fits."""
    cells = [c for c in away.perceptron_cells(away.FIGURES[:1]) if c.settings["data"] == "adult"]
    keys = {(cell.key, json.dumps({"step": 1.0}), 0) for cell in cells}
    assert len(keys) == len(cells)
    assert {c.settings["method"] for c in cells} >= {"PIDP-SGD, c = 1, c' = 0.1", "DP-SGD (Abadi et al.)"}


SCRIPT = """
import torch
from papers.perceptrons.kernel import agreement
print(agreement("cpu", columns=5, networks=3, steps=3))
"""


def test_the_kernel_takes_the_same_steps():
    """By Triton's interpreter, in a process of its own; a GPU run compares them before it begins."""
    pytest.importorskip("triton", reason="the kernel needs Triton, which comes with PyTorch for GPUs")
    root = Path(away.__file__).parents[2]
    words = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=words, cwd=root, check=False
    )
    assert done.returncode == 0, done.stderr
