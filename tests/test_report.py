"""Pages of fitted models: one file that opens offline, with everything escaped. The demo's is in test_demo.py."""

from __future__ import annotations

import base64
import dataclasses
import html
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import AdditiveClassifier, Guarantee, LogisticRegression, Schema
from tacit.cli.main import main
from tacit.estimators.terms import parts_of
from tacit.files import load, save
from tacit.linear.losses import probabilities
from tacit.privacy.guarantee import checksum
from tacit.report import effects, pictures
from tacit.report.meaning import Meaning, _left_out
from tacit.report.page import CURATOR, write_model_report
from tacit.report.results import Accounts

VOID = {"meta", "br", "link", "img"}


class Checker(HTMLParser):
    """Tags are balanced, ids are unique, nothing is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href"):
                assert (value or "").startswith(("#", "data:"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(path: Path) -> tuple[str, Checker]:
    text = path.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    assert "script" not in checker.tags
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    return text, checker


def test_a_page_opens_with_what_is_promised_and_folds_the_certificate(tmp_path: Path) -> None:
    X = np.random.default_rng(1).normal(size=(50, 2))
    model = LogisticRegression(1.0, method="output").fit(X, X[:, 0] > 0)
    write_model_report(tmp_path / "r.html", model, "<script>alert(1)</script>")
    text, checker = checked(tmp_path / "r.html")
    assert "&lt;script&gt;alert(1)" in text
    assert "right at most 73.2 times out of 100" in text  # (e + delta) / (e + 1), rounded up
    assert text.index("50 times out of 100") < text.index("<dl") < text.index("<details>") < text.index("base64,")
    assert "open" not in re.findall(r"<details([^>]*)>", text)
    certificate = re.search(r"base64,([A-Za-z0-9+/=]+)", text)
    assert certificate
    assert Guarantee.from_json(base64.b64decode(certificate[1]).decode()) == model.guarantee_
    assert checker.tags.count("dt") == 6


def priced(epsilon: float, **settings: Any) -> Guarantee:
    X = np.random.default_rng(1).normal(size=(60, 2))
    groups = np.arange(60) // 2 if "rows_per_person" in settings else None
    found: Guarantee = LogisticRegression(epsilon, **settings).fit(X, X[:, 0] > 0, groups=groups).guarantee_
    return found


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 9.0])
def test_the_best_guess_is_never_stated_too_low(epsilon: float) -> None:
    guarantee = priced(epsilon, method="gradient")
    (odds,) = re.findall(r"at most ([\d.]+) times out of 100", Meaning.of(guarantee).words[0])
    grown = np.exp(guarantee.epsilon)
    best = 100 * (grown + guarantee.delta) / (grown + 1)
    assert best <= float(odds) <= min(100, best + 0.1 + 1e-9)


def test_words_follow_the_neighbours_and_the_unit() -> None:
    assert "two versions of it: a, or b" in Meaning.of(priced(1.0), ": a, or b").words[0]
    assert (
        "whether the table contains it" in Meaning.of(priced(1.0, adjacency="add-remove", method="gradient")).words[0]
    )
    assert "two versions of them" in Meaning.of(priced(1.0, rows_per_person=2)).words[0]
    assert any("epsilon is above 10" in words for words in Meaning.of(priced(20.0)).words)


def test_a_guarantee_that_does_not_hold_has_no_reassuring_words() -> None:
    for guarantee, first in (
        (priced(1.0, random_state=1), "NOT FOR RELEASE"),
        (dataclasses.replace(priced(1.0), epsilon=0.1), "NOT VERIFIED"),
    ):
        meaning = Meaning.of(guarantee)
        assert meaning.first[0].startswith(first)
        assert meaning.words == ()
        facts = {name: sentence for name, _, sentence in meaning.facts}
        assert facts["epsilon"] == facts["delta"] == "Stated, but not to be relied on: see above."
    assert Meaning.of(priced(np.inf)).facts == ()


@pytest.mark.parametrize("delta", [1e-320, 1e-200, 1e-6, 0.0])
def test_any_delta_has_its_words(delta: float) -> None:
    facts = {name: sentence for name, _, sentence in Meaning.of(priced(1.0, method="gradient", delta=1e-6)).facts}
    assert facts["delta"] == "The probability that the promise leaves out: at most one in 1,000,000."
    words = _left_out(delta)
    assert ("one in" in words) == (delta == 1e-6)
    assert ("no exception" in words) == (delta == 0)


def shown_counts(text: str) -> list[int]:
    return [int(cell.replace(",", "")) for cell in re.findall(r'--learned:[\d.]+">([\d,]+)</td><td>', text)]


def test_a_model_with_individual_accounting_shows_the_histogram_to_the_curator(tmp_path: Path) -> None:
    X = np.random.default_rng(3).normal(size=(300, 4)) * np.linspace(0.05, 1, 300)[:, None]
    model = LogisticRegression(2.0, method="individual", delta=1e-4).fit(X, X[:, 0] > 0)
    write_model_report(tmp_path / "r.html", model, "mine")
    text, _ = checked(tmp_path / "r.html")
    assert text.index("NOT PRIVATE") < text.index("<section>")  # before anything else on the page
    counts, edges = model.spent_.histogram(1e-4)
    assert shown_counts(text) == counts.tolist()
    assert sum(shown_counts(text)) == 300
    assert f"{edges[3]:.4f} to {edges[4]:.4f}" in text
    own = model.spent_.epsilon(1e-4)
    assert f"{np.median(own):.4g}" in text
    assert own.max() <= 2.0
    longest = re.findall(r"--learned:([\d.]+)", text)
    assert max(map(float, longest)) == 1.0  # the fullest cell has the full bar


def test_models_without_accounts_have_a_page_without_them(tmp_path: Path) -> None:
    X = np.random.default_rng(3).normal(size=(300, 2))
    model = LogisticRegression(1.0, method="input").fit(X, X[:, 0] > 0)
    write_model_report(tmp_path / "r.html", model, "mine")
    text, checker = checked(tmp_path / "r.html")
    assert CURATOR[:11] not in text
    assert "own epsilon</th>" not in text
    assert checker.tags.count("details") == 2  # the guarantee of the model and that of one record
    assert "as it leaves its owner" in text


def test_without_noise_there_is_no_account_to_show(tmp_path: Path) -> None:
    X = np.random.default_rng(3).normal(size=(60, 2))
    model = LogisticRegression(np.inf, method="individual").fit(X, X[:, 0] > 0)
    assert Accounts.of(model.spent_, model.guarantee_).counts == ()
    write_model_report(tmp_path / "r.html", model, "<b>")
    text, checker = checked(tmp_path / "r.html")
    assert "No account is held here" in text
    assert "b" not in checker.tags
    assert "(not private, for the curator only)" in text
    assert "NOT PRIVATE: no noise was added" in text
    assert "out of 100" not in text  # nothing is promised


def test_the_command_line_writes_the_page_of_a_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(3).normal(size=(200, 2)).round(3)
    lines = [f"{a},{b},{int(a > 0)}" for a, b in rows]
    Path("t.csv").write_text("\n".join(["a,b,y", *lines]) + "\n", encoding="utf-8")
    line = "fit t.csv --target y --classes 0,1 --epsilon 1 --method individual --out m.json --report"
    assert main([*line.split(), "no/page.html"]) == 2
    assert "The folder of --report no/page.html does not exist." in capsys.readouterr().err
    assert not Path("m.json").exists()
    assert main([*line.split(), "page.html"]) == 0
    assert "Wrote m.json and page.html." in capsys.readouterr().out
    text, _ = checked(Path("page.html"))
    assert sum(shown_counts(text)) == 200
    assert "spent" not in Path("m.json").read_text()  # the accounts stay with the curator


# --- the curves of additive models ----------------------------------------------------------------------------------
HOSTILE = ["<script>alert(1)</script>", "$\\quad{$", '" onload="x', "a\nb\x07", "資本", "]]>", "{{ title }}", "-->"]


def additive(columns: dict[str, dict[str, object]], classes: int = 2, records: int = 300, **settings: object) -> Any:
    rng = np.random.default_rng(5)
    schema = Schema.from_dict({"columns": columns})
    table: dict[str, Any] = {
        name: rng.choice(declared["values"], records) if "values" in declared else rng.uniform(0, 10, records)
        for name, declared in columns.items()
    }
    first = np.asarray(next(iter(table.values())), dtype=np.float64)
    return AdditiveClassifier(2.0, schema=schema, random_state=1, **settings).fit(table, (first * classes // 10.001))


NUMBER: dict[str, object] = {"lower": 0, "upper": 10}


def test_an_additive_model_has_a_picture_a_column_and_says_what_the_band_is(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    columns = {"age": NUMBER, "pay": {"lower": 0, "upper": 1e6, "missing": True}, "job": {"values": ["a", "b"]}}
    model = additive(columns, pairs=[("age", "job")])
    write_model_report(tmp_path / "r.html", model, "mine")
    text, checker = checked(tmp_path / "r.html")
    assert checker.tags.count("svg") == checker.tags.count("figcaption") == 4
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", text)
    assert captions[0] == "age"  # what the target was made of comes first
    assert sorted(captions) == ["age", "age &amp; job", "job", "pay"]
    assert all(sentence in html.unescape(text) for sentence in (effects.BAND, effects.CARE, effects.SPREAD))
    assert effects.NO_BAND not in text
    for term in model.terms_:
        assert all(f"<td>{value:+.3g}</td>" in text for value in (*term.values, *term.lower, *term.upper))
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)


def test_effects_are_in_the_order_of_what_they_move(tmp_path: Path) -> None:
    model = additive({"age": NUMBER, "noise": NUMBER, "job": {"values": ["a", "b"]}})
    (part,) = effects.Effects.of(model)
    spreads = [effect.spread for effect in part.effects]
    assert spreads == sorted(spreads, reverse=True)
    for effect in part.effects:
        place = [term.name for term in model.terms_].index(effect.term.name)
        slots = parts_of(model.schema_)[place][1]
        weights = model.slot_weights_[slots] * [label != "other" for label in effect.term.labels]
        mean = np.average(effect.term.values, weights=weights)
        assert effect.spread == pytest.approx(np.sqrt(np.average((effect.term.values - mean) ** 2, weights=weights)))
        assert effect.noise == pytest.approx(np.sqrt(np.average(model.slot_errors_[slots] ** 2, weights=weights)))


@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_a_score_is_called_log_odds_only_where_it_is(margin: float) -> None:
    model = additive({"age": NUMBER}, margin=margin)
    (part,) = effects.Effects.of(model)
    assert part.unit == ("score of 1" if margin else "log odds of 1")
    chance = float(probabilities(np.array([[-0.5, 0.5]]), margin)[0, 1])
    assert f"{chance:.0%}" in part.start
    assert "A positive score speaks for 1, a negative one for 0." in part.start
    assert ("73%" in part.start) == (margin == 0)  # 1 / (1 + 1/e)


def test_several_classes_and_methods_without_a_band_have_their_words(tmp_path: Path) -> None:
    model = additive({"age": NUMBER, "job": {"values": ["a", "b"]}}, classes=3, method="output")
    write_model_report(tmp_path / "r.html", model, "mine")
    text, checker = checked(tmp_path / "r.html")
    assert [f"<h3>Score of {label}</h3>" in text for label in ("0", "1", "2")] == [True] * 3
    assert checker.tags.count("figcaption") in (0, 6)
    assert effects.NO_BAND in text
    assert effects.BAND not in text


def test_without_matplotlib_curves_are_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "available", lambda: False)
    write_model_report(tmp_path / "r.html", additive({"age": NUMBER}), "mine")
    text, checker = checked(tmp_path / "r.html")
    assert "svg" not in checker.tags
    assert "pip install '.[plot]'" in text
    assert checker.tags.count("table") == 2


@pytest.mark.filterwarnings("error")
def test_a_hostile_model_file_does_not_break_the_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    odd: dict[str, object] = {"lower": -1e-3, "upper": 1e9, "knots": [0, 1e-9, 5]}
    columns: dict[str, dict[str, object]] = {"age": NUMBER, "kinds": {"values": HOSTILE}, "odd": odd}
    columns |= {name: {"lower": 0, "upper": 10, "knots": 3} for name in HOSTILE[:4]}
    save(additive(columns, pairs=[("kinds", HOSTILE[0])]), tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content["coef"][0][:3] = [1.7e308, -1.7e308, 1.7e308]  # terms of it are no numbers
    content["slots"]["slot_errors_"][-1] = 1e200
    del content["checksum"]
    (tmp_path / "m.json").write_text(json.dumps({**content, "checksum": checksum(content)}))
    with np.errstate(all="ignore"):
        found, _ = load(tmp_path / "m.json")
        write_model_report(tmp_path / "r.html", found, HOSTILE[0])
    text, checker = checked(tmp_path / "r.html")
    assert checker.tags.count("figcaption") == checker.tags.count("svg") == len(found.terms_)
    assert "too large to draw" in text
    assert "資本" in text
    for svg in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        ET.fromstring(svg)
