"""The statement for the release desk: true of its guarantee, in order, and with what stands against a release first."""

import base64
import dataclasses
import hashlib
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from tacit import Guarantee, Ledger, LinearRegression, LogisticRegression, RefutedWarning, Statement, save, spent
from tacit.cli.main import main
from tacit.privacy.answers import OPEN, QUESTIONS, meaning
from tacit.privacy.deployments import LEFT
from tacit.privacy.guarantee import checksum
from tacit.privacy.theorems import THEOREMS
from tacit.training import ONE_RELEASE

NOTEBOOK = Path(__file__).parent.parent / "docs" / "tutorials" / "release-desk.ipynb"
REGISTRY = {
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit", "privacy_unit_details", "number_of_privacy_units", "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name", "model_name_details", "trust_assumptions", "actors", "release_type", "release_type_details",
        "data_source_type", "data_source_type_details", "access_type", "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing", "justification",
        "utility", "additional_information",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}  # fmt: skip
"""The registry's schema, which takes no other fields."""


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(500, 3)) / 3
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def proven(data):
    return LogisticRegression(epsilon=1.0, delta=1e-6, classes=[0, 1]).fit(*data).guarantee_


@pytest.fixture(scope="module")
def refuted(data):
    model = LogisticRegression(
        epsilon=20.0, delta=0.01, classes=[0, 1], method="output-zhang-2017", calibration="paper"
    )
    with pytest.warns(RefutedWarning):
        return model.fit(*data).guarantee_


def said(statement, topic):
    (answer,) = [answer for answer in statement.answers if answer.topic == topic]
    return " ".join(answer.sentences)


def test_every_question_is_answered_in_order(proven):
    statement = proven.statement()
    assert [answer.topic for answer in statement.answers] == list(QUESTIONS)
    order = ["epsilon", "unit", "neighbours", "mechanism", "composition", "utility", "trust", "implementation",
             "access", "collection"]  # fmt: skip
    assert [topic for topic in QUESTIONS if topic in order] == order
    assert all(answer.sentences for answer in statement.answers)
    text = str(statement)
    assert [text.index(question) for question in QUESTIONS.values()] == sorted(map(text.index, QUESTIONS.values()))


def test_the_sentences_are_those_of_the_guarantee(proven):
    statement = proven.statement()
    assert statement.holds
    assert "epsilon = 1, delta = 1e-06" in said(statement, "epsilon")
    assert "one row" in said(statement, "neighbours").lower()
    other = proven.epsilon_at(adjacency="add-remove")
    shown = float(re.search(r"add-remove neighbours: epsilon = ([\d.]+)", said(statement, "neighbours"))[1])
    assert other <= shown < other * 1.0001
    assert "500" in said(statement, "public")
    row = THEOREMS[proven.theorem]
    assert all(part in said(statement, "mechanism") for part in (proven.method, row.statement, row.reference, row.page))
    assert all(assumption in said(statement, "preparation") for assumption in proven.assumptions)
    assert "operating system" in said(statement, "implementation")
    assert "tacit verify" in said(statement, "verification")
    assert statement.numbers["delta"] == proven.delta


def test_a_page_can_be_signed_where_nothing_stands_against_a_release(proven, refuted):
    page = proven.statement().to_html()
    assert "cannot answer questions 7, 8, 11 and 12:" in page
    questions = [*QUESTIONS]
    assert [questions[number - 1] for number in (7, 8, 11, 12)] == list(OPEN)
    assert "Date and signature" in page
    assert "Date and signature" not in refuted.statement().to_html()


def test_words_explain_what_they_use(proven):
    strength = said(proven.statement(), "epsilon")
    assert "its neighbour (question 3)" in strength
    assert [*QUESTIONS][2] == "neighbours"
    assert "(at most one in 1,000,000)" in strength
    assert "right at most 73.2 times out of 100." in strength  # as the report and the README have it
    assert "(at most one in 100,000)" in meaning(1.0, 1e-5)
    assert "except with" not in meaning(1.0, 0.0)
    assert "except with probability 1e-320." in meaning(1.0, 1e-320)
    assert "epsilon is multiplied by their number" in said(proven.statement(), "unit")
    assert "epsilons and deltas add up" in said(proven.statement(), "composition")
    assert "ask whoever prepared the table" in said(proven.statement(), "preparation")


def test_a_person_is_the_unit_where_it_is(proven):
    person = dataclasses.replace(proven, rows_per_person=4)
    statement = person.statement()
    assert "One person of 500, with all of their rows at once: at most 4" in said(statement, "unit")
    assert "all rows of one person" in said(statement, "neighbours")
    assert "The number of people, 500" in said(statement, "public")


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0, 50.0, 1e5])
def test_the_best_guess_is_bounded_from_above(epsilon):
    """Against the optimal test of the pair that (epsilon, delta) allows, with probabilities added up by hand."""
    delta = 1e-3
    grown = math.exp(min(epsilon, 600.0))
    first = np.array([delta, (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown), 0.0])
    right = 0.5 * np.maximum(first, first[::-1]).sum()
    shown = float(re.search(r"right at most ([\d.]+) times out of 100\.$", meaning(epsilon, delta))[1]) / 100
    assert right <= shown <= min(1.0, right + 1e-3)
    factor = re.search(r"factor of at most (\S+),", meaning(epsilon, delta))
    assert epsilon > 700 or float(factor[1]) >= math.exp(epsilon)


def test_what_stands_against_a_release_comes_first(data, proven, refuted):
    X, y = data
    seeded = LogisticRegression(epsilon=1.0, classes=[0, 1], random_state=1).fit(X, y).guarantee_
    free = LogisticRegression(epsilon=math.inf, classes=[0, 1]).fit(X, y).guarantee_
    forged = dataclasses.replace(proven, epsilon=0.1)
    claimed = dataclasses.replace(refuted, status="claimed")
    cases = {
        "REFUTED": refuted, "ONLY CLAIMED": claimed, "NOT FOR RELEASE": seeded, "NOT PRIVATE": free,
        "NOT VERIFIED": forged,
    }  # fmt: skip
    for lead, guarantee in cases.items():
        statement = guarantee.statement()
        content = json.loads(statement.to_json())
        assert str(statement).startswith(lead)
        assert not statement.holds
        assert (content["holds"], content["registry"], content["registry_left_to_fill_in"]) == (False, None, [])
        body = statement.to_html().partition("<body>")[2]
        assert body.index(lead) < body.index("<h1>")
        assert "holds as stated" not in body
        assert "times out of 100" not in str(statement)


def test_a_refuted_claim_is_given_with_the_price_that_holds(refuted):
    words = said(refuted.statement(), "epsilon")
    assert "not to be relied on" in words
    price = refuted.epsilon_at()
    shown = float(re.search(r"recorded noise: epsilon = ([\d.]+)", words)[1])
    assert price > refuted.epsilon
    assert price <= shown < price * 1.0001


def test_paper_claims_without_noise_say_so():
    from tacit.privacy.events import Claimed

    claim = Guarantee(
        epsilon=1.0, delta=1e-5, adjacency="replace-one", status="refuted", method="pidp-sgd", theorem="pidp-sgd",
        records=10, events=(Claimed(1.0, 1e-5, "a paper"),), assumptions=(), seeded=False, calibration="paper",
    )  # fmt: skip
    assert "No noise is recorded" in said(claim.statement(), "epsilon")
    assert "add-remove" not in said(claim.statement(), "neighbours")


def test_json_has_the_registry_fields_and_certificates_that_verify(proven):
    content = json.loads(proven.statement().to_json())
    registry = content["registry"]
    assert set(registry) <= set(REGISTRY)
    for part, fields in registry.items():
        assert set(fields) <= REGISTRY[part], part
    assert registry["dp_variant"]["variant_name"] == "Approximate DP"
    assert registry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert registry["privacy_loss"]["number_of_privacy_units"] == 500
    assert registry["deployment_model"]["model_name"] == "Central"
    assert tuple(content["registry_left_to_fill_in"]) == LEFT
    filled = {f"{part}.{name}" for part, fields in registry.items() for name in fields}
    assert not filled & set(LEFT)
    (entry,) = content["guarantees"]
    assert Guarantee.from_dict(entry["guarantee"]) == proven


def test_a_pure_guarantee_is_registered_as_pure(data):
    X, y = data
    pure = LogisticRegression(epsilon=1.0, delta=0.0, classes=[0, 1], method="output-chaudhuri-2011").fit(X, y)
    registry = json.loads(pure.guarantee_.statement().to_json())["registry"]
    assert registry["dp_variant"]["variant_name"] == "Pure DP"
    assert registry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}


def test_the_page_needs_nothing_and_escapes_everything(proven):
    hostile = dataclasses.replace(proven, assumptions=("<script>alert(1)</script>",))
    page = hostile.statement().to_html()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'(?:src|href)="(?!data:application/json;base64,)', page)
    assert "@import" not in page
    encoded = re.search(r"base64,([^\"]+)", page)[1]
    assert Guarantee.from_json(base64.b64decode(encoded).decode()) == hostile


def ledger(entries, **changed):
    settings = {
        "epsilon": 2.0, "delta": 1e-5, "adjacency": "replace-one", "rows_per_person": None, "spent": 1.5,
        "composition": "All events are priced together.",
    }  # fmt: skip
    return Statement.of_ledger(entries=entries, **(settings | changed))


def test_a_ledger_is_stated_as_a_whole(data, proven):
    X, _ = data
    second = LinearRegression(epsilon=0.5, delta=1e-6, target_bound=1.0).fit(X, X[:, 0]).guarantee_
    total = spent([proven, second], delta=1e-5)
    whole = ledger([("first", proven), ("second", second)], spent=total)
    assert whole.holds
    assert [answer.topic for answer in whole.answers] == list(QUESTIONS)
    assert "All events are priced together." in said(whole, "composition")
    assert all(f"{label}: epsilon" in said(whole, "mechanism") for label in ("first", "second"))
    assumed = [words for words in (*proven.assumptions, *second.assumptions) if words != ONE_RELEASE]
    assert all(words in said(whole, "preparation") for words in assumed)
    assert "one release" not in said(whole, "preparation").lower().replace("one release or another", "")
    assert "Somebody with several rows is protected less" in said(whole, "unit")
    fewer = dataclasses.replace(second, records=400)
    mixed = said(ledger([("first", proven), ("second", fewer)], spent=total), "public")
    assert mixed.startswith("first: The number of rows, 500,")
    assert mixed.count("second: The number of rows, 400,") == 1
    assert mixed.count(": ") == 2
    people = [(label, dataclasses.replace(one, rows_per_person=8)) for label, one in (("a", proven), ("b", second))]
    assert "One person, with all of their rows at once" in said(ledger(people, spent=total, rows_per_person=8), "unit")
    assert re.findall(r'download="(\S+?)"', whole.to_html()) == ["guarantee-1.json", "guarantee-2.json"]
    assert 'download="guarantee.json"' in proven.statement().to_html()
    content = json.loads(whole.to_json())
    assert content["numbers"]["spent"] == total
    assert content["registry"]["privacy_loss"]["privacy_parameters"]["epsilon"] == 2.0, "what may be spent, not so far"
    assert content["registry"]["deployment_model"]["release_type"] == "Many releases"
    assert [entry["label"] for entry in content["guarantees"]] == ["first", "second"]
    assert "second" in whole.to_html()


def test_a_ledger_states_itself(data, tmp_path, capsys):
    X, y = data
    path = tmp_path / "study.sqlite"
    book = Ledger(path, epsilon=3, delta=1e-6)
    assert book.statement().holds
    with book:
        first = LogisticRegression(epsilon=0.5, classes=[0, 1]).fit(X, y)
        LinearRegression(epsilon=0.5, target_bound=1.0).fit(X, X[:, 0])
    whole = book.statement()
    assert whole.holds
    assert (whole.numbers["epsilon"], whole.numbers["spent"], whole.numbers["releases"]) == (3.0, book.spent(), 2)
    assert f"1. LogisticRegression, {first.guarantee_.method}: epsilon = 0.5" in said(whole, "mechanism")
    assert main(["statement", str(path)]) == 0
    file = f"File {path.name}, SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}"
    assert capsys.readouterr().out.strip() == whole.text(file=file)
    assert whole.numbers["digest"] == book.balance().digest
    assert book.balance().digest in said(whole, "verification")
    assert "tacit ledger verify FILE" in said(whole, "verification")
    LogisticRegression(epsilon=0.1, classes=[0, 1], random_state=0, ledger=book).fit(X, y)
    assert main(["statement", str(path)]) == 1
    assert re.match(r"3\. .*: NOT FOR RELEASE", capsys.readouterr().out)


def test_what_is_wrong_with_a_ledger_comes_first(data, proven, refuted):
    X, y = data
    seeded = LogisticRegression(epsilon=1.0, delta=1e-6, classes=[0, 1], random_state=1).fit(X, y).guarantee_
    other = LogisticRegression(epsilon=1.0, delta=1e-6, classes=[0, 1], adjacency="add-remove").fit(X, y).guarantee_
    cases = {
        "OVER BUDGET": ledger([("a", proven)], spent=2.1),
        "a: REFUTED": ledger([("a", refuted)]),
        "a: NOT FOR RELEASE": ledger([("a", seeded)]),
        "a: NOT COVERED: its neighbours": ledger([("a", other)]),
        "a: NOT COVERED: it protects a row": ledger([("a", proven)], rows_per_person=3),
    }
    for lead, statement in cases.items():
        assert str(statement).startswith(lead)
        assert json.loads(statement.to_json())["registry"] is None
        assert "times out of 100" not in str(statement)
    assert str(ledger([("a", proven)], spent=math.nan)).startswith("OVER BUDGET"), "an unknown total is within nothing"
    assert ledger([], spent=0.0).holds
    assert ledger([], spent=0.0).registry is None
    with pytest.raises(ValueError, match="composed"):
        ledger([], composition="")


def test_the_command_prints_writes_and_judges(data, proven, tmp_path, capsys):
    model = LogisticRegression(epsilon=1.0, delta=1e-6, classes=[0, 1]).fit(*data)
    path, page = tmp_path / "model.json", tmp_path / "page.html"
    save(model, path)
    assert main(["statement", str(path), "--html", str(page)]) == 0
    assert capsys.readouterr().out == f"Wrote {page}.\n"
    assert main(["statement", str(path)]) == 0
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    file = f"File {path.name}, SHA-256 {digest}"
    assert capsys.readouterr().out.strip() == model.guarantee_.statement().text(file=file)
    assert "<h1>" in page.read_text()
    assert file in page.read_text()
    assert main(["statement", str(path), "--json"]) == 0
    (content,) = json.loads(capsys.readouterr().out)
    assert content["format"] == "tacit-statement"
    assert content["file"] == file
    forged = dataclasses.replace(proven, epsilon=0.1).to_json()
    path.write_text(forged)
    assert main(["statement", str(path)]) == 1
    assert capsys.readouterr().out.startswith("NOT VERIFIED")
    assert main(["statement", str(path), "--html", str(page)]) == 1
    assert "speaks against a release" in capsys.readouterr().err
    path.write_text(forged.replace(checksum({})[:1], "x"))
    assert main(["statement", str(path)]) == 1
    assert "nothing to state" in capsys.readouterr().err
    assert main(["statement", str(path), "--html", str(tmp_path / "none" / "page.html")]) == 2


def test_records_of_contributors_are_stated_beside_the_model(tmp_path, capsys):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2)) / 3
    model = LogisticRegression(epsilon=2.0, classes=[0, 1], method="input-local").fit(X, X[:, 0] > 0)
    save(model, tmp_path / "model.json")
    assert main(["statement", str(tmp_path / "model.json"), "--json"]) == 0
    of_model, of_record = json.loads(capsys.readouterr().out)
    assert of_model["numbers"]["records"] == 200
    assert of_record["numbers"]["records"] == 1
    assert of_record["registry"]["deployment_model"]["model_name"] == "Local"
    assert "owner of the record" in json.dumps(of_record)


@pytest.mark.filterwarnings("default::tacit.MisuseWarning")
def test_the_notebook_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "notebook"}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
            kept = "".join(line for output in cell["outputs"] for line in output["text"])
            assert (capsys.readouterr().out == "") == (kept == ""), cell["id"]
    assert (tmp_path / "statement.html").exists()


def test_every_epsilon_of_a_guarantee_has_the_same_digits(proven, tmp_path, capsys):
    path = tmp_path / "guarantee.json"
    path.write_text(proven.to_json())
    assert main(["verify", str(path)]) == 0
    other = f"{proven.epsilon_at(adjacency='add-remove'):.3g}"
    found = re.findall(r"epsilon = (\S+)", capsys.readouterr().out)
    assert len({number for number in found if number.startswith(other[:-1])}) == 1


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_a_theorem_cites_each_source_once_and_its_page_is_there(name):
    row = THEOREMS[name]
    cited = row.reference.split("; ")
    assert len(cited) == len(set(cited))
    assert (NOTEBOOK.parents[2] / row.place).is_file()


def test_one_table_is_counted_as_one(proven):
    old = dataclasses.replace(proven, assumptions=("0.02 of the budget (of mu^2) for counts of 1 tables",))
    assert "counts of 1 tables" not in str(old) + str(old.statement())
    assert "counts of 1 tables" in old.to_json(), "what a file holds stays as it is"
