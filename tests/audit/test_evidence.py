"""Evidence: each recorded verdict is re-created in small, and the records are whole."""

import json
from pathlib import Path

import pytest

from tacit.audit import evidence
from tacit.audit.evidence import CASES, load, refuted

SMALL = {
    "kang-2020a-independent-1000": (1.0, 3000),
    "kang-2020a-shared": (1.0, 3000),
    "kang-2020b-algorithm-2": (1.0, 3000),
    "kang-2023": (1.0, 3000),
}


@pytest.mark.parametrize("name", SMALL)
def test_refutations_are_made_again_in_small(name):
    """Bounds of 2.8 and more against a claim of 1: a few thousand runs show them."""
    c, trials = SMALL[name]
    assert c in refuted(name)
    result = evidence.CASES[name].measure(c, trials=trials, seed=11)
    assert result.verdict == "violated", str(result)


@pytest.mark.parametrize("name", CASES)
def test_records_are_whole(name):
    data = load(name)
    assert data["format"] == "tacit-evidence"
    assert [entry["c"] for entry in data["audits"]] == list(evidence.CONSTANTS)
    for entry in data["audits"]:
        assert entry["claimed"] == 1
        assert entry["delta"] == 1e-4
        assert entry["confidence"] == 0.999
        assert (entry["verdict"] == "violated") == (entry["epsilon"] > 1)
        assert entry["epsilon"] <= entry["ceiling"] + 1e-9


def test_recording_writes_what_loading_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "HERE", tmp_path)
    monkeypatch.setattr(evidence, "CONSTANTS", (1.0,))
    case = CASES["kang-2020b-algorithm-2"]
    monkeypatch.setitem(CASES, case.name, type(case)(**{**vars(case), "trials": 400}))
    path = evidence.record(case.name)
    assert json.loads(path.read_text()) == evidence.load(case.name)
    with pytest.raises(ValueError, match="Unknown case"):
        evidence.load("nothing")


def test_the_documentation_shows_the_recorded_evidence():
    """Written by ``python -c "from tacit.audit import evidence; print(evidence.markdown(), end='')"``."""
    page = Path(__file__).parents[2] / "docs" / "audit-evidence.inc"
    assert page.read_text(encoding="utf-8") == evidence.markdown()


def test_the_audit_of_the_audit_is_recorded():
    alarms = json.loads((evidence.HERE / "false-alarms.json").read_text())
    assert alarms["audits"] == 1000
    assert alarms["confidence"] == 0.999
    assert max(alarms["violations"].values()) <= 3
    rows = json.loads((evidence.HERE / "power.json").read_text())["rows"]
    assert all(row["gaussian"][1] >= 0.7 for row in rows), "the median audit reaches 0.7 of epsilon"
