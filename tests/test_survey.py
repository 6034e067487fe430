"""The survey of methods: what papers only claim is listed apart, with the status that its own guarantee states."""

from __future__ import annotations

import pytest

from docs.methods_list import PLACE, text
from tacit.cli.main import main
from tacit.mechanisms import METHODS
from tacit.privacy.theorems import THEOREMS
from tacit.published import PUBLISHED, PiDbdpErm
from tacit.report import catalogue as survey


def test_published_algorithms_have_a_block_of_their_own_with_their_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    blocks = capsys.readouterr().out.rstrip().split("\n\n")
    assert "never for private records" in " ".join(blocks[2].split())
    lines = {line.split()[0]: line for line in blocks[3].splitlines()}
    assert list(lines) == ["name", *PUBLISHED]
    assert not set(lines) & set(METHODS)
    for name, method in PUBLISHED.items():
        assert f" {THEOREMS[name].status} " in lines[name]  # each has a theorem of its own name
        assert method.paper in lines[name]
        assert any(lines[name].endswith(f"'{proven}'") for proven in METHODS)


def test_the_stored_table_is_of_today() -> None:
    assert PLACE.read_text(encoding="utf-8") == text(), "run `make methods`"


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_status_follows_the_theorem(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    assert survey.published_status(PUBLISHED[name]) in ("refuted", "claimed")
    monkeypatch.setitem(THEOREMS, name, replace(THEOREMS[name], status="claimed"))
    assert survey.published_status(PUBLISHED[name]) == "claimed"


@pytest.mark.parametrize(("given", "used"), [(8.0, 8.0), (None, 1.0)])
def test_a_constant_that_is_given_stays_and_one_that_is_open_becomes_one(given, used, monkeypatch) -> None:
    from dataclasses import replace

    looked_at = []
    monkeypatch.setattr(survey, "_status", lambda method, *rest: looked_at.append((method.mechanism.constant, *rest)))
    survey.published_status(replace(PUBLISHED["pi-dbdp-erm"], mechanism=PiDbdpErm(constant=given)))
    assert looked_at == [(used, 1.0, "replace-one", "paper")]
