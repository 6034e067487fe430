"""Networks trained side by side: each step is the library's, and results from another machine are stored as such."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from papers.engine.figure import Size  # noqa: E402
from papers.engine.store import Store  # noqa: E402
from papers.wang_2020 import away, packing  # noqa: E402
from papers.wang_2020 import convolutional as networks  # noqa: E402
from papers.wang_2020.comparing import against, difference  # noqa: E402
from papers.wang_2020.fleet import Fleet, OutOfTime, batches  # noqa: E402
from papers.wang_2020.rates import FIRST, FURTHEST, at_edge, next_try, rate_at  # noqa: E402
from papers.wang_2020.runs import ALPHA, Run, as_text, fleets, from_text  # noqa: E402
from papers.wang_2020.stacked import ResponseNorm, Stack  # noqa: E402
from tacit.mechanisms import Poisson  # noqa: E402
from tacit.nn import cifar_network, mnist_network, smooth  # noqa: E402
from tacit.nn import train as library  # noqa: E402
from tacit.nn.architectures import ALPHA as TENSORFLOWS  # noqa: E402

RUN = Run(
    data="mnist", seed=0, optimizer="sgd", smoothing=0.0, noise=0.5, rate=0.1, batch=8, steps=3, marks=(1, 3), rows=24,
    scored=10,
)  # fmt: skip
KINDS = [
    RUN, replace(RUN, smoothing=2.0), replace(RUN, optimizer="adam", rate=0.01),
    replace(RUN, optimizer="adam", smoothing=1.0, clip=0.1), replace(RUN, momentum=0.9, smoothing=1.0),
    replace(RUN, clip=None, noise=0.0),
]  # fmt: skip
NETWORKS = {"mnist": mnist_network, "cifar10": cifar_network}


def pixels(data, split):
    draws = np.random.default_rng((len(data), len(split)))
    shape = (28, 28) if data == "mnist" else (3, 32, 32)
    return draws.integers(0, 256, (40, *shape), dtype=np.uint8), draws.integers(0, 10, 40)


def network_at(data, weights, activation="relu"):
    network = NETWORKS[data](activation=activation).double()
    torch.nn.utils.vector_to_parameters(weights.clone(), network.parameters())
    return network


@pytest.mark.parametrize(("data", "count"), [("mnist", 5), ("cifar10", 1)])
def test_clipped_sums_are_the_librarys(data, count):
    """Two groups of two networks, one place filled up: the sums of the library to rounding, whatever the clip."""
    stack = Stack.of(data, "relu", TENSORFLOWS)
    weights = torch.stack([stack.start(seed) for seed in range(4)])
    pictures = torch.from_numpy(pixels(data, "train")[0][: 2 * count]) / 255.0
    images = pictures.double().reshape(2, count, -1, *pictures.shape[-2:])
    labels = torch.arange(2 * count).reshape(2, count) % 10
    taken = torch.ones(2, count, dtype=torch.float64)
    taken[0, -1] = 0  # of CIFAR-10 nothing is left in the first group
    clips = [1.0, 0.1, 1e30, 3.0]
    column = torch.tensor([[np.inf if clip == 1e30 else clip] for clip in clips], dtype=torch.float64)
    found = stack.clipped_sums(weights, images.movedim(2, -1), labels, taken, column)
    for i, clip in enumerate(clips):
        keep = taken[i // 2] > 0
        network = network_at(data, weights[i])
        expected = library.clipped_sum(network, images[i // 2][keep], labels[i // 2][keep], clip)
        np.testing.assert_allclose(found[i].numpy(), expected, rtol=0, atol=1e-13)


def test_the_response_norm_is_tensorflows():
    """x / (1 + 0.001 / 9 * the sum of squares over nine channels)^0.75, as in the tutorial, in the library and here;
    the rows of Figure 6 were made with nine times that."""
    found = torch.rand(64, 2, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 20
    sums = torch.stack([(found[max(0, i - 4) : i + 5] ** 2).sum(0) for i in range(64)])
    expected = found / (1 + 0.001 / 9 * sums) ** 0.75
    for layer in cifar_network():
        if isinstance(layer, torch.nn.LocalResponseNorm):
            assert float((layer(found[None])[0] - expected).abs().max()) < 1e-12
    state = found.movedim(0, -1)[None, None, :, :, None]
    stronger = found / (1 + 0.009 / 9 * sums) ** 0.75
    for alpha, wanted in ((TENSORFLOWS, expected), (ALPHA, stronger)):
        normed = ResponseNorm(alpha)(state)[0, 0, :, :, 0].movedim(-1, 0)
        assert float((normed - wanted).abs().max()) < 1e-12
    norms = {layer.alpha for layer in Stack.of("cifar10", "relu").layers if isinstance(layer, ResponseNorm)}
    assert norms == {ALPHA}


def test_steps_are_the_librarys(monkeypatch):
    """Three steps of six kinds of networks at once, against the library's plan with the same batches and noise."""
    fleet = Fleet(KINDS, pixels)
    assert [tuple(p.shape) for p in mnist_network().parameters()] == fleet.stack.shapes
    draws = torch.Generator().manual_seed(fleet.noise.initial_seed())
    noises = [torch.randn(fleet.weights.shape, generator=draws, dtype=torch.float64) for _ in range(RUN.steps)]
    starts, drawn = fleet.weights.clone(), list(batches(0, 24, 8 / 24, RUN.steps))
    for t, positions in enumerate(drawn):
        fleet.step(t, [positions])
    monkeypatch.setattr(Poisson, "batches", lambda *_: iter(drawn))
    for i, run in enumerate(KINDS):
        steps = iter(noises)
        monkeypatch.setattr(
            library, "add_gaussian", lambda total, scale, _, i=i, steps=steps: total + scale * next(steps)[i].numpy()
        )
        network, clip = network_at("mnist", starts[i]), run.clip or 1e30
        kind = torch.optim.Adam if run.optimizer == "adam" else torch.optim.SGD
        more = {} if run.optimizer == "adam" else {"momentum": run.momentum}
        optimizer = smooth(kind(network.parameters(), lr=run.rate, **more), run.smoothing)
        plan = library.NetworkPlan(
            sampler=Poisson(8 / 24), steps=RUN.steps, clip=clip, scale=run.noise * clip, divisor=8.0, events=()
        )
        plan.run(library.NetworkProblem(network, optimizer, fleet.images.movedim(-1, 1), fleet.labels), None)
        expected = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
        assert float((fleet.weights[i] - expected).abs().max()) < 1e-11
        assert float((starts[i] - expected).abs().max()) > 1e-4
        right = (network(fleet.test.movedim(-1, 1)).argmax(1) == fleet.truth).double().mean()
        assert fleet.accuracies()[i] == pytest.approx(100 * float(right))


def test_the_learning_rate_falls_as_the_paper_and_the_classifier_have_it():
    assert [RUN.share(t) for t in (0, 9_999, 10_000)] == [1.0, 1.0, 0.1]
    linear = replace(RUN, fall="linear", steps=4)
    assert [linear.share(t) for t in range(4)] == [1.0, 0.75, 0.5, 0.25]


def test_the_start_is_pytorchs_rule():
    """Uniform within the bounds of the library's own networks, and close to them: a miss has a chance below 1e-20."""
    stack, start = Stack.of("mnist", "tanh"), Stack.of("mnist", "tanh").start(3)
    for piece, p in zip(start.split(stack.sizes), mnist_network().parameters(), strict=True):
        if p.numel() > 500:
            assert float(piece.abs().max()) == pytest.approx(float(p.detach().abs().max()), rel=0.1)


def test_batches_are_poisson():
    """Sizes have the mean and the spread of a binomial (six standard errors: 1e-8), no record comes twice."""
    found = list(batches(5, 1_000, 0.1, 400))
    sizes = np.array([len(batch) for batch in found])
    assert all(len(set(batch.tolist())) == len(batch) for batch in found)
    assert abs(sizes.mean() - 100) < 6 * np.sqrt(90 / 400)
    assert abs(sizes.var() - 90) < 6 * 90 * np.sqrt(2 / 400)
    often = np.bincount(np.concatenate(found), minlength=1_000)
    assert np.abs(often - 40).max() < 7.5 * 6  # 1,000 counts of variance 36
    assert [b.tolist() for b in batches(5, 1_000, 0.1, 3)] == [b.tolist() for b in found[:3]]


def test_fleets_are_rectangles():
    runs = [replace(RUN, seed=seed, smoothing=float(s)) for s in range(5) for seed in range(2)]
    runs += [replace(RUN, seed=9), replace(RUN, steps=4)]
    found = list(fleets([*runs, runs[0]], 6))
    assert sorted(as_text(run) for fleet in found for run in fleet) == sorted(map(as_text, runs))
    for fleet in found:
        assert len(fleet) <= 6
        assert len({run.company for run in fleet}) == 1
        assert len({[r.seed for r in fleet].count(run.seed) for run in fleet}) == 1
    with pytest.raises(ValueError, match="equally many"):
        Fleet([runs[0], runs[1], runs[2], runs[4]], pixels)
    assert from_text(as_text(RUN)) == RUN


def test_rates_are_chosen_inside():
    scores = dict.fromkeys(FIRST, 1.0)
    for best, beyond in ((0, ()), (2, ()), (3, (4,)), (-3, (-4,)), (FURTHEST, ())):
        assert next_try({**scores, best: 2.0}) == beyond
        assert at_edge({**scores, best: 2.0}) is (abs(best) > 2)  # as far as it goes; the row says that it is an edge
    assert [rate_at(0.15, k) for k in (-3, 0, 3)] == [0.015, 0.15, 1.5]
    assert np.diff(np.log10([rate_at(0.001, k) for k in FIRST])) == pytest.approx(1 / 3, abs=1e-3)


def test_every_optimiser_is_offered_the_same_rates():
    """Two decades of them, whether it smooths or not."""
    chosen = [cell.settings for cell in packing.network_cells("figure7") if cell.settings["part"] == "chosen"]
    kinds = {(c["epochs"], c["target"], c["optimizer"], c["smoothing"]) for c in chosen}
    assert len(chosen) == len(kinds) == 8
    assert {epochs for epochs, *_ in kinds} == {15}
    for optimizer, rate in (("sgd", 0.15), ("adam", 0.001)):
        asked = [
            {(k, run.rate, run.seed) for k, runs in networks.offered(
                "mnist", optimizer, sigma, 0.2, 256, 15, None, networks.trial_seeds(2), FIRST, held=True).items()
             for run in runs}
            for sigma in (0.0, 1.0)
        ]  # fmt: skip
        assert asked[0] == asked[1]
        assert {run_rate for _, run_rate, _ in asked[0]} == {rate_at(rate, k) for k in range(-3, 4)}


def test_differences():
    """Paired by seed: what runs share does not count, and a run that one side lacks is left out."""
    seen = difference({0: 3.0, 1: 14.0, 2: 25.0}, {2: 22.0, 1: 12.0, 0: 2.0, 9: 70.0})
    assert (seen.one, seen.other, seen.mean) == (14.0, 12.0, 2.0)
    assert seen.half == pytest.approx(2.4841, abs=1e-3)  # t(2) = 4.3027 times the root of 1/3
    assert (seen.above(), seen.above(5.0), seen.reaches(5.0), seen.reaches(4.0)) == (None, False, False, None)
    assert difference({0: 3.0, 1: 3.1}, {0: 1.0, 1: 1.2}).above() is True
    assert difference({0: 3.0}, {0: 1.0}).above() is None
    assert against({0: 3.0, 1: 5.0}).half == pytest.approx(12.706, abs=1e-3)


def test_aimed_networks_choose_their_rate_and_spend_the_target():
    """Trials have seeds of their own, on records of which none is scored; the price is the library's."""
    asked = []

    def trained(runs):
        asked.extend(runs)
        return {run: [90.0 - abs(np.log10(run.rate / 0.5)) + run.seed / 1e3] for run in runs}

    points = networks.chosen("mnist", "sgd", 2.0, 2.0, 64, 1, 1_000, 3, 2, trained)
    trials = [run for run in asked if run.held]
    assert len(trials) == 21
    assert {(p["rate"], p["sigma"], p["method"]) for p in points} == {(rate_at(0.15, 2), 2.0, "DP-LSSGD")}
    assert {p["at_edge"] for p in points} == {False}
    assert not {run.seed for run in trials} & {run.seed for run in asked if not run.held}
    assert all(1.98 < p["epsilon"] <= 2.0 for p in points)
    assert points[0]["validation"] == pytest.approx(90.0 - abs(np.log10(0.5 / rate_at(0.15, 2))) + 0.101)
    model = networks.CNNClassifier(2.0, delta=1e-5, adjacency="add-remove", classes=range(10), batch=64, epochs=1)
    (event,) = model.fit(np.zeros((1_000, 28, 28), dtype=np.uint8), np.arange(1_000) % 10).guarantee_.events
    assert event.scale == pytest.approx(points[0]["noise_multiplier"], rel=1e-9)


def test_prices_count_on_the_number_of_images(monkeypatch):
    monkeypatch.setattr(networks.datasets, "images", pixels)
    networks.read.cache_clear()
    with pytest.raises(ValueError, match="Expected 60000 training images of mnist, got 40"):
        networks.read("mnist", "train")


def write_idx(place, stem, images, labels):
    place.mkdir(exist_ok=True)
    (place / f"{stem}-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(16) + images.tobytes()))
    (place / f"{stem}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(bytes(8) + labels.astype(np.uint8).tobytes()))


def test_training_away(tmp_path, capsys):
    """Stages run in order; what fails, and what has no time, is noted, and the rest is kept."""
    for split, stem in (("train", "train"), ("test", "t10k")):
        write_idx(tmp_path / "mnist", stem, *pixels("mnist", split))
    trial = replace(RUN, marks=(3,), held=True)
    rungs = {
        k: [[as_text(replace(run, rate=rate_at(0.1, k), smoothing=1.0))] for run in (trial, RUN)]
        for k in range(-FURTHEST, FURTHEST + 1)
    }
    plan = [
        {"name": "bad", "runs": [as_text(replace(RUN, data="letters"))]}, {"name": "chosen", "ladders": [rungs]},
        {"name": "plain", "runs": [as_text(run) for run in KINDS]},
    ]  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    command = [str(tmp_path), "--seconds", "600", "--out", str(tmp_path / "r.json"), "--device", "cpu", "--version"]
    away.main([*command, "v"])
    kept = json.loads((tmp_path / "r.json").read_text())
    assert {as_text(run) for run in KINDS} < set(kept["runs"])
    assert all(len(curve) == len(from_text(text).marks) for text, curve in kept["runs"].items())
    assert any("KeyError" in note or "Error" in note for note in kept["notes"])
    assert "as chosen: [" in capsys.readouterr().out
    assert len([text for text in kept["runs"] if from_text(text).held]) >= 7
    away.main([*command, "v"])
    again = json.loads((tmp_path / "r.json").read_text())
    assert (again["runs"], again["seconds"]) == (kept["runs"], kept["seconds"]), "nothing is trained twice"
    with pytest.raises(ValueError, match="made by v, not by w"):
        away.main([*command, "w"])
    alone = Fleet(KINDS, away.reader(tmp_path)).train()
    assert {as_text(run): curve for run, curve in alone.items()}.items() <= kept["runs"].items()
    with pytest.raises(OutOfTime):
        Fleet([replace(RUN, steps=40, marks=(40,), batch=1)], pixels).train(until=0.0)


def test_pictures_come_back(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    images = np.random.default_rng(1).integers(0, 256, (200, 3, 32, 32), dtype=np.uint8)
    monkeypatch.setattr(networks, "read", lambda *_: (images, np.arange(200) % 10))
    packing._draw(tmp_path / "cifar10", "test", 200)
    back, labels = away.reader(tmp_path)("cifar10", "test")
    assert (back == images).all()
    assert (labels == np.arange(200) % 10).all()


def test_results_are_adopted(tmp_path):
    """A cell whose runs are all there is stored with the results' version; one that lacks a run is left out."""
    size = Size(quick=True)
    runs = packing.needed(packing.network_cells("figure5", size))
    kept = {as_text(run): [50.0 + run.smoothing] * len(run.marks) for run in runs[:3]}
    results = tmp_path / "r.json"
    results.write_text(json.dumps({"version": "1+abc", "runs": kept, "seconds": dict.fromkeys(kept, 2.0)}))
    for _ in range(2):  # again is the same
        counts = packing.adopt(results, tmp_path / "out", size=size)
    assert counts["figure5"] == [3, 1]
    assert counts["figure7"][0] == 2  # whose runs are Figure 5's
    stored = Store(tmp_path / "out").cells(packing.network_cells("figure5", size))
    assert {cell.version for cell in stored} == {"1+abc"}
    assert {cell.seconds for cell in stored} == {2.0}
    assert {p["accuracy"] for cell in stored for p in cell.points} == {50.0, 51.0}


def test_every_run_of_the_figures_is_packed():
    """The runs that cells ask for, once all trials are known, are in the plan."""
    stages = packing.stages()
    packed = {run for stage in stages for run in stage.get("runs", ())}
    packed |= {run for stage in stages for rungs in stage.get("ladders", ()) for rung in rungs.values()
               for part in rung for run in part}  # fmt: skip

    def trained(runs):
        assert set(runs) <= packed
        return {run: [50.0 - abs(np.log10(run.rate))] * len(run.marks) for run in runs}

    for cell in packing.network_cells("figure7"):
        if cell.settings["part"] == "chosen" and cell.settings["optimizer"] == "sgd":
            networks.chosen(**{k: v for k, v in cell.settings.items() if k != "part"}, trained=trained)


def test_what_has_rows_is_not_packed(tmp_path):
    """Three of five seeds have rows, and only the others are trained."""
    (tmp_path / "wang_2020").mkdir()
    for figure in ("figure1", "figure5", "figure7"):
        done = [cell.key[:12] for cell in packing.network_cells(figure) if cell.settings.get("run", 0) < 3]
        rows = "cell,accuracy\n" + "".join(f"{key},1\n,2\n" for key in done)
        (tmp_path / "wang_2020" / f"{figure}.csv").write_text(rows)
    asked = packing.needed(packing.network_cells("figure5"))
    for kept, seeds in ((None, range(5)), (tmp_path, range(3, 5))):
        packed = {run for stage in packing.stages(kept) for run in stage.get("runs", ())}
        assert {run.seed for run in packed.intersection(asked)} == set(seeds)
