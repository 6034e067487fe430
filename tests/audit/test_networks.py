"""The audit of a network from one run: strong canaries, an attack that sees them, broken trainers that are caught."""

import math
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="audits of networks need PyTorch, install '.[torch]'")

import torch

from tacit.audit import all_methods as survey
from tacit.audit.canaries import audit_network, network, plant
from tacit.audit.onerun import best_share, bound, guessed
from tacit.cli import main as cli
from tacit.nn import MLPClassifier, mlp_network
from tacit.nn import train as trainer
from tacit.privacy.accounting import gaussian_mu
from tacit.types import Budget

CLAIM = Budget(1.0, 1e-5)
SMALL = 400


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def little_noise(monkeypatch):
    """A trainer whose noise is a sixth of what its guarantee says."""
    sound = trainer.add_gaussian
    monkeypatch.setattr(trainer, "add_gaussian", lambda total, scale, source: sound(total, scale / 6, source))


def no_noise(monkeypatch):
    """A trainer that has forgotten its noise."""
    monkeypatch.setattr(trainer, "add_gaussian", lambda total, scale, source: total)


def no_clip(monkeypatch):
    """A trainer that has forgotten to clip."""
    sound = trainer.clipped_sum
    monkeypatch.setattr(trainer, "clipped_sum", lambda net, x, y, clip, chunk: sound(net, x, y, 1e9, chunk))


def test_canaries_are_orthogonal_and_always_clipped():
    planted = plant(100)
    rows = planted.canaries.rows
    assert np.array_equal(rows @ rows.T, rows.shape[1] * np.eye(100))
    assert not (rows @ planted.base.rows.T).any()
    assert np.array_equal(planted.others.targets, 1 - planted.canaries.targets)
    torch.manual_seed(0)
    net = mlp_network(rows.shape[1], 2, 8)
    one, two = torch.from_numpy(rows[:1]).float(), torch.tensor([0])
    here, there = trainer.clipped_sum(net, one, two, 0.5), trainer.clipped_sum(net, one, 1 - two, 0.5)
    assert np.linalg.norm(here) == pytest.approx(0.5)
    assert here == pytest.approx(-there, abs=1e-6)  # a flipped label is all that a replaced record can do


def test_under_stress_the_last_weights_show_what_all_steps_may():
    """The distance of the two kinds of scores is that of the Gaussian mechanism of the claim, within 6 deviations.

    Scores are normal with equal spread; for so many canaries the distance of their means, in spreads, has a standard
    deviation of sqrt(4 + mu^2/2)/sqrt(SMALL) = 0.117 (mu = 1.67), so 6 are 0.7: a false alarm has probability 2e-9. A
    tenth is allowed for what the attack does not see (measured: 7%). An attack that sees nothing would be 8 deviations
    outside. The bound takes 92 right guesses of 120, 10 deviations less than are expected.
    """
    model = network(Budget(8.0, 1e-5), stressed=True)
    result = audit_network(model, canaries=SMALL, seed=1)
    assert not hasattr(model, "network_"), "the model that was given is not trained"
    spread = math.sqrt((result.first.var() + result.second.var()) / 2)
    distance = (result.first.mean() - result.second.mean()) / spread
    mu = gaussian_mu(8.0, 1e-5)
    assert 0.9 * mu - 0.7 < distance < mu + 0.7
    assert 0.5 < result.epsilon <= result.ceiling
    assert result.runs == 1


@pytest.mark.parametrize(("stressed", "adjacency"), [(False, "replace-one"), (True, "add-remove")])
def test_a_sound_network_is_spared(stressed, adjacency):
    """Each alarms with probability 1e-7 at most, if the guarantee holds; delta is small, or nothing could be shown."""
    claim = Budget(1.0, 1e-10, adjacency)
    result = audit_network(network(claim, stressed=stressed), canaries=SMALL, confidence=1 - 1e-7, seed=2)
    assert result.verdict == "consistent"
    assert result.ceiling > 1.0, "this audit could not have failed"


@pytest.mark.parametrize(
    ("broken", "adjacency"),
    [(little_noise, "replace-one"), (little_noise, "add-remove"), (no_clip, "add-remove")],
)
def test_broken_trainers_are_caught(broken, adjacency, monkeypatch):
    """At 99.9% confidence: a sound trainer would be accused with probability 0.001 at most.

    It takes 167 right guesses of 200; with a sixth of the noise 193 are expected, with a deviation of 2.7, so one in
    1e20 is missed. Without clipping a gradient is some 8 times too long. A trainer without noise: see the command.
    """
    broken(monkeypatch)
    claim = Budget(1.0, 1e-5, adjacency)
    result = audit_network(network(claim, stressed=True), canaries=1000, seed=3)
    assert result.verdict == "violated"


def test_the_share_is_the_one_that_shows_most_where_a_claim_can_be_refuted():
    def measured(share, mu, claim, seed):
        rng = np.random.default_rng(seed)
        inside = rng.random(1000) < 0.5
        order = np.argsort(mu * inside + rng.standard_normal(1000))
        total = guessed(1000, share)
        right = (~inside[order[: total // 2]]).sum() + inside[order[-total // 2 :]].sum()
        return bound(1000, total, int(right), claim.delta, 1e-3)

    for epsilon, factor in ((1.0, 4), (8.0, 1)):  # at 8 the ceiling is below the claim
        claim = Budget(epsilon, 1e-5)
        mu, chosen = factor * gaussian_mu(epsilon, 1e-5), best_share(1000, claim, 0.999)
        means = {s: np.mean([measured(s, mu, claim, k) for k in range(8)]) for s in {1.0, 0.3, chosen}}
        assert means[chosen] > max(means.values()) - 0.15
        assert (means[chosen] > epsilon) == (epsilon < 8)


def test_the_command_audits_a_network(tmp_path, capsys):
    out, picture = tmp_path / "mlp.md", tmp_path / "mlp.svg"
    words = ["audit", "mlp", "--epsilon", "1", "--canaries", "100", "--seed", "1", "--out", str(out)]
    assert cli.main([*words, "--out", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "mlp, default settings: epsilon >=" in said
    assert "mlp, under stress: epsilon >=" in said
    assert "| mlp | replace-one | proven |" in out.read_text()
    assert "canaries; one run | 100 |" in out.read_text()
    assert picture.read_text().startswith("<svg")


def test_the_command_accuses_a_broken_network(monkeypatch, capsys):
    no_noise(monkeypatch)
    assert cli.main(["audit", "mlp", "--canaries", "200", "--seed", "1"]) == 1
    assert capsys.readouterr().out.count("claimed 1: VIOLATED\n") == 2  # at default settings, and under stress


def test_what_cannot_be_audited_is_refused(capsys):
    assert cli.main(["audit", "mlp", "--loss", "logistic"]) == 2
    assert cli.main(["audit", "mlp", "--canaries", "3"]) == 2
    said = capsys.readouterr().err
    assert "Leave out --loss" in said
    assert "canaries=3" in said
    with pytest.raises(ValueError, match="Expected delta"):
        audit_network(MLPClassifier(1.0, classes=(0, 1)))


def test_the_table_has_networks_where_pytorch_is(monkeypatch):
    seen = []
    monkeypatch.setattr(survey, "METHODS", {})
    monkeypatch.setattr(survey, "audit_method", lambda name, budget, **rest: seen.append((name, budget.adjacency)))
    survey.audit_all(CLAIM)
    assert seen == [("mlp", "replace-one"), ("mlp", "add-remove")]
    monkeypatch.setattr(survey, "available", lambda: False)
    assert survey.audit_all(CLAIM) == []
    assert len(seen) == 2


def test_without_pytorch_the_command_says_what_to_install():
    blocked = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("no module named torch")

sys.meta_path.insert(0, Missing())
from tacit.cli.main import main
sys.exit(main(["audit", "mlp"]))
"""
    found = subprocess.run([sys.executable, "-c", blocked], check=False, capture_output=True, text=True)
    assert found.returncode == 2
    assert found.stderr == "tacit: Audits of networks need PyTorch. In Tacit's source: pip install '.[torch]'.\n"
