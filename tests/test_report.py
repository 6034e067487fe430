"""Reports: one file that opens offline, with everything escaped."""

from __future__ import annotations

import base64
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
from tacit.report import demo, effects, pictures
from tacit.report.page import CURATOR, write_model_report, write_report
from tacit.report.results import Accounts, Row, Statement, Study

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


@pytest.fixture(scope="module")
def guarantee() -> Guarantee:
    X = np.random.default_rng(1).normal(size=(50, 2))
    found: Guarantee = LogisticRegression(1.0, method="output").fit(X, X[:, 0] > 0).guarantee_
    return found


def study(guarantee: Guarantee) -> Study:
    statement = Statement.of(guarantee)
    scores = ((50.0, 60.0), (80.0, 90.0))
    rows = tuple(
        Row(name, group, scores, (statement, statement))
        for name, group in (("auto", ""), ("<b>one", "output"), ("two", "output"), ("three", "gradient"))
    )
    return Study("A <study>", "about & so on", "accuracy", (0.1, 1.0), rows, ("plain", 95.0), ("guess", 45.0))


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


def test_a_report_is_one_balanced_file_with_pictures_and_certificates(tmp_path: Path, guarantee: Guarantee) -> None:
    pytest.importorskip("matplotlib")
    write_report(tmp_path / "r.html", "<script>alert(1)</script>", summary="a < b\n\nc", studies=[study(guarantee)] * 2)
    text, checker = checked(tmp_path / "r.html")
    assert "&lt;script&gt;alert(1)" in text
    assert "&lt;b&gt;one" in text
    assert checker.tags.count("svg") == 4  # two studies with two groups; the row without a group has no picture
    assert "currentColor" in text
    assert pictures.INK not in text
    certificate = re.search(r"base64,([A-Za-z0-9+/=]+)", text)
    assert certificate
    assert Guarantee.from_json(base64.b64decode(certificate[1]).decode()) == guarantee


def test_without_matplotlib_there_are_tables_and_a_hint(
    tmp_path: Path, guarantee: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "available", lambda: False)
    write_report(tmp_path / "r.html", "title", studies=[study(guarantee)], guarantees={"my model": guarantee})
    text, checker = checked(tmp_path / "r.html")
    assert "svg" not in checker.tags
    assert "tacit[plot]" in text
    assert "my model" in text
    assert text.count("55.0 ± 5.0") == 4


def test_pictures_are_well_formed_and_reproducible(guarantee: Guarantee) -> None:
    pytest.importorskip("matplotlib")
    traces = [pictures.Trace("a < b", (1.0, 2.0), (0.1, 0.1))]
    levels = [pictures.Level("plain", 2.5)]

    def draw() -> str:
        return pictures.curves(
            title="t", score="s", epsilons=(0.1, 1.0), traces=traces, levels=levels, limits=(0.0, 3.0), key="k"
        )

    assert draw() == draw()
    ET.fromstring(draw())


@pytest.mark.parametrize(
    ("plain", "guess", "mean", "share"),
    # accuracy, error (less is better), worse than a guess, better than plain, nothing to learn
    [
        (95.0, 45.0, 70.0, 0.5),
        (50.0, 80.0, 65.0, 0.5),
        (95.0, 45.0, 10.0, 0.0),
        (95.0, 45.0, 99.0, 1.0),
        (5.0, 5.0, 5.0, 0.0),
    ],
)
def test_learned_is_the_share_of_the_way_from_a_guess(plain: float, guess: float, mean: float, share: float) -> None:
    assert Study("", "", "", (), (), ("", plain), ("", guess)).learned(mean) == pytest.approx(share)


def test_demo_on_a_small_grid(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    studies = demo.run(
        methods=("auto", "objective", "statistics"), epsilons=(1.0, 50.0), repetitions=2, workers=1,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen[-1] == (7, 7)
    assert [[row.name for row in study.rows] for study in studies] == [
        ["auto", "objective"],
        ["auto", "objective"],
        ["auto", "objective", "statistics"],
    ]
    cancer, _, diabetes = studies
    assert cancer.rows[0].means[1] > 85  # epsilon = 50 is close to no privacy at all: 96 there
    assert diabetes.rows[0].means[1] < 65  # 55.7 without privacy, 78.8 for the middle of the range
    assert all(len(set(row.scores[0])) == 2 for row in diabetes.rows)  # every fit draws its own noise
    assert all(len(row.statements) == 2 for study in studies for row in study.rows)
    assert "1/(n epsilon)" in demo.summary(studies)
    header, cells = cancer.cells()
    assert header == ["", "epsilon = 1", "epsilon = 50"]
    assert [line[0] for line in cells] == ["auto", "objective", cancer.plain[0], cancer.guess[0]]
    assert [len(line) for line in cells] == [3, 3, 2, 2]
    write_report(tmp_path / "r.html", "demo", summary=demo.summary(studies), studies=studies)
    checked(tmp_path / "r.html")


def test_demo_admits_every_method_somewhere() -> None:
    local = {"input", "input-local", "local-duchi-2013"}  # noise at the record: not among the central methods
    assert {name for names in demo._ADMITTED.values() for name in names} == {"auto", *demo.METHODS} - local
    for task, names in demo._ADMITTED.items():
        loss = {"breast-cancer": "logistic", "digits": "softmax", "diabetes": "squared"}[task]
        assert all(loss in demo.METHODS[name].losses for name in names if name != "auto")


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


def test_a_guarantee_wraps_on_a_phone(tmp_path: Path) -> None:
    write_report(tmp_path / "r.html", "t")
    text, _ = checked(tmp_path / "r.html")
    (narrow,) = re.findall(r"@media \(max-width: 40rem\) (.*)", text)
    assert "pre { white-space: pre-wrap;" in narrow


def test_models_without_accounts_have_a_page_without_them(tmp_path: Path) -> None:
    X = np.random.default_rng(3).normal(size=(300, 2))
    model = LogisticRegression(1.0, method="input").fit(X, X[:, 0] > 0)
    write_model_report(tmp_path / "r.html", model, "mine")
    text, checker = checked(tmp_path / "r.html")
    assert CURATOR[:11] not in text
    assert "own epsilon</th>" not in text
    assert "only with method 'individual'" in html.unescape(text)
    assert "only with method 'individual'" not in text  # quotes are escaped like all that is put in
    assert checker.tags.count("details") == 2  # the guarantee of the model and that of one record
    assert "as it leaves its owner" in text


def test_without_noise_there_is_no_account_to_show(tmp_path: Path) -> None:
    X = np.random.default_rng(3).normal(size=(60, 2))
    model = LogisticRegression(np.inf, method="individual").fit(X, X[:, 0] > 0)
    accounts = Accounts.of(model.spent_, model.guarantee_)
    assert accounts.counts == ()
    write_report(tmp_path / "r.html", "t", accounts={"<b>": accounts})
    text, checker = checked(tmp_path / "r.html")
    assert "No account is held here" in text
    assert "b" not in checker.tags
    assert "&lt;b&gt; (not private" in text


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
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text).split("Guarantees")[0]


def test_effects_are_in_the_order_of_what_they_move(tmp_path: Path) -> None:
    model = additive({"age": NUMBER, "noise": NUMBER, "job": {"values": ["a", "b"]}})
    (part,) = effects.Effects.of(model)
    spreads = [effect.spread for effect in part.effects]
    assert spreads == sorted(spreads, reverse=True)
    for effect in part.effects:  # the curves have mean 0 over the same weights
        place = [term.name for term in model.terms_].index(effect.term.name)
        slots = parts_of(model.schema_)[place][1]
        weights = model.slot_weights_[slots]
        assert effect.spread == pytest.approx(np.sqrt(np.average(np.square(effect.term.values), weights=weights)))
        assert effect.noise == pytest.approx(np.sqrt(np.average(model.slot_errors_[slots] ** 2, weights=weights)))


@pytest.mark.parametrize("margin", [0.0, 1.5])
def test_a_score_is_called_log_odds_only_where_it_is(margin: float) -> None:
    model = additive({"age": NUMBER}, margin=margin)
    (part,) = effects.Effects.of(model)
    assert part.unit == ("score of 1.0" if margin else "log odds of 1.0")
    chance = float(probabilities(np.array([[-0.5, 0.5]]), margin)[0, 1])
    assert f"{chance:.0%}" in part.start
    assert ("73%" in part.start) == (margin == 0)  # 1 / (1 + 1/e)


def test_several_classes_and_methods_without_a_band_have_their_words(tmp_path: Path) -> None:
    model = additive({"age": NUMBER, "job": {"values": ["a", "b"]}}, classes=3, method="output")
    write_model_report(tmp_path / "r.html", model, "mine")
    text, checker = checked(tmp_path / "r.html")
    assert [f"<h3>Score of {label}</h3>" in text for label in ("0.0", "1.0", "2.0")] == [True] * 3
    assert checker.tags.count("figcaption") in (0, 6)
    assert effects.NO_BAND in text
    assert effects.BAND not in text


def test_without_matplotlib_curves_are_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "available", lambda: False)
    write_model_report(tmp_path / "r.html", additive({"age": NUMBER}), "mine")
    text, checker = checked(tmp_path / "r.html")
    assert "svg" not in checker.tags
    assert "tacit[plot]" in text
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
