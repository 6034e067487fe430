"""The audit of a single run, and the command line."""

import json

import numpy as np
import pytest

from tacit.audit.onerun import audit_one_run
from tacit.audit.pairs import Data
from tacit.cli import main as cli
from tacit.privacy.accounting import gaussian_mu
from tacit.types import Budget

CANARIES = 400
BASE = Data(np.zeros((5, CANARIES)), np.ones(5))
ONES = Data(np.eye(CANARIES), np.ones(CANARIES))


def noisy_sum(scale):
    """The sum of all rows with Gaussian noise: each canary has a coordinate of its own."""
    return lambda X, y, rng: X.sum(axis=0) + scale * rng.standard_normal(X.shape[1])


def test_one_run_finds_missing_noise_and_spares_sound_noise():
    claim = Budget(1.0, 1e-5, "add-remove")
    sound = 1 / gaussian_mu(1.0, 1e-5)
    for seed in range(20):  # each alarms with probability 1e-6 at most
        result = audit_one_run(noisy_sum(sound), lambda w, c: w, BASE, ONES, claim, confidence=1 - 1e-6, seed=seed)
        assert result.verdict == "consistent"
    bad = audit_one_run(noisy_sum(0.1), lambda w, c: w, BASE, ONES, claim, seed=1)
    assert bad.verdict == "violated"
    assert bad.runs == 1
    assert bad.epsilon <= bad.ceiling


def test_one_run_takes_two_versions_of_each_canary_for_replace_one():
    claim = Budget(1.0, 1e-5)
    others = Data(-np.eye(CANARIES), np.ones(CANARIES))
    result = audit_one_run(noisy_sum(0.2), lambda w, c: w, BASE, ONES, claim, others=others, seed=1)
    assert result.verdict == "violated"
    with pytest.raises(ValueError, match="others"):
        audit_one_run(noisy_sum(1.0), lambda w, c: w, BASE, ONES, claim)


def test_one_run_with_one_share_may_show_more():
    claim = Budget(1.0, 1e-5, "add-remove")
    many, one = (
        audit_one_run(noisy_sum(0.1), lambda w, c: w, BASE, ONES, claim, seed=1, **shares)
        for shares in ({}, {"shares": (0.5,)})
    )
    assert one.attack == f"{CANARIES // 2} of {CANARIES // 2} guesses right"
    assert one.epsilon == one.ceiling
    assert one.epsilon > many.epsilon
    with pytest.raises(ValueError, match="shares"):
        audit_one_run(noisy_sum(0.1), lambda w, c: w, BASE, ONES, claim, shares=())


def test_command_audits_one_method(tmp_path, capsys):
    out = tmp_path / "audit.json"
    code = cli.main(
        [
            "audit",
            "output",
            "--epsilon",
            "1",
            "--loss",
            "huber-hinge",
            "--seconds",
            "0.5",
            "--seed",
            "1",
            "--out",
            str(out),
        ]
    )
    said = capsys.readouterr().out
    assert code == 0
    assert "output, huber-hinge loss: epsilon >=" in said
    data = json.loads(out.read_text())
    assert data["methods"][0]["audits"][0]["verdict"] == "consistent"
    assert {"version", "date", "confidence"} <= set(data)
    picture = tmp_path / "audit.svg"
    assert (
        cli.main(["audit", "output", "--loss", "logistic", "--seconds", "0.5", "--seed", "1", "--out", str(picture)])
        == 0
    )
    assert picture.read_text().startswith("<svg")


def test_command_writes_the_table(tmp_path, capsys, monkeypatch):
    from tacit.audit import all_methods as survey

    monkeypatch.setattr(survey, "METHODS", {"output-wu-2017": survey.METHODS["output-wu-2017"]})
    monkeypatch.setattr(survey, "available", lambda: False)  # networks: test_networks.py
    out = tmp_path / "table.md"
    assert cli.main(["audit", "--all", "--seconds", "0.2", "--seed", "1", "--out", str(out)]) == 0
    table = out.read_text()
    assert "| output-wu-2017 | replace-one | proven |" in table
    assert "| output-wu-2017 | add-remove |" not in table, "its analysis does not cover add-remove"


def test_command_says_what_is_missing(capsys):
    assert cli.main(["audit"]) == 2
    assert cli.main(["audit", "input-kang-2020"]) == 2
    assert "python -m papers.evidence" in capsys.readouterr().err
    assert cli.main(["audit", "nothing"]) == 2
    assert "Unknown method" in capsys.readouterr().err
