"""The pages for everyone: the list, the model's page in words, and in a real browser its checks and predictions."""

import hashlib
import html
import json
import os
import re
import shutil
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from serving import served

from tacit.checks import at_most
from tacit.collector import Collector, using
from tacit.collector.app import create_app
from tacit.collector.headers import HEADERS
from tacit.collector.model_words import told
from tacit.collector.onlooker import of_model, percent
from tacit.files import models
from tacit.protocol import Protocol
from tacit.protocol.preview import expected
from tacit.schema import Category, Number, Schema, Target

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
SCREENSHOTS = os.environ.get("TACIT_SCREENSHOTS")
COLUMNS = (Number("age", 16, 90), Number("hours", 0, 80, missing=True), Category("shift", ("day", "night", "both")))
SLEEP = Schema(COLUMNS, Target("sleep", ("bad", "good")))
WAGE = Schema(COLUMNS, Target("wage", lower=0.0, upper=100.0))
TEXTS = {
    "en": {
        "title": "Sleep and shift work",
        "purpose": "Who sleeps badly, so that duty rosters can be made kinder?",
        "who": "The Institute for Made-up Studies",
        "questions": {
            "age": {"label": "How old are you?", "unit": "years"},
            "hours": {"label": "How long do you work?", "help": "In a usual week.", "unit": "hours a week"},
            "shift": {
                "label": "When do you work?",
                "values": {"day": "By day", "night": "At night", "both": "In changing shifts"},
            },
            "sleep": {"label": "Do you sleep well?", "values": {"bad": "Mostly not", "good": "Mostly yes"}},
        },
    },
    "de": {
        "title": "Schlaf und Schichtarbeit",
        "questions": {
            "age": {"label": "Wie alt sind Sie?", "unit": "Jahre"},
            "hours": {"label": "Wie lange arbeiten Sie?", "unit": "Stunden in der Woche"},
            "shift": {"label": "Wann arbeiten Sie?"},
            "sleep": {"label": "Schlafen Sie gut?", "values": {"bad": "Meist nicht", "good": "Meist ja"}},
        },
    },
}
PEOPLE = 20_000


def crowd(number):
    """Made-up people: who works by day, and not too long, sleeps well."""
    rng = np.random.default_rng(7)
    table = {
        "age": rng.uniform(16, 90, number),
        "hours": rng.uniform(0, 80, number),
        "shift": rng.choice(["day", "night", "both"], number),
    }
    good = (table["shift"] == "day") * 2.0 - 1.0 + (40 - table["hours"]) / 40 + rng.normal(size=number)
    return table, good


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    made = Collector(tmp_path_factory.mktemp("using") / "collector.sqlite")
    yield made
    made.close()


def publish(collector, protocol, table, targets, texts):
    slug = collector.create(protocol, texts)
    collector.open(slug)
    collector.database(slug).add(protocol.perturb_table(table, targets))
    collector.shut(slug)
    collector.train(slug)
    collector.publish(slug)
    return slug


@pytest.fixture(scope="module")
def agreed():
    return Protocol.create(
        epsilon=1.0, delta=1e-6, cohort=PEOPLE, schema=SLEEP, record_epsilon=8.0, withdrawal=True, purpose="sleep"
    )


@pytest.fixture(scope="module")
def sleep(collector, agreed):
    """A published study of two classes."""
    table, good = crowd(PEOPLE)
    return publish(collector, agreed, table, np.where(good > 0, "good", "bad"), TEXTS)


@pytest.fixture(scope="module")
def wage(collector):
    """A published study of a number, with little protection for the record."""
    table, good = crowd(3000)
    protocol = Protocol.create(epsilon=2.0, delta=1e-6, cohort=3000, schema=WAGE, purpose="wage", honest=1.0)
    return publish(collector, protocol, table, 50 + 10 * good, {})


@pytest.fixture(scope="module")
def tiny(collector):
    """Six people where twelve were asked for: nothing but noise."""
    table, good = crowd(6)
    protocol = Protocol.create(epsilon=1.0, delta=1e-3, cohort=12, schema=SLEEP, record_epsilon=8.0, purpose="tiny")
    return publish(collector, protocol, table, np.where(good > 0, "good", "bad"), {})


@pytest.fixture(scope="module")
def web(collector):
    with TestClient(create_app(collector, rate=0)) as client:
        yield client


def model_of(collector, slug):
    return models.from_dict(json.loads(collector.model(slug)))


def test_the_list_has_open_and_published_studies(web, collector, sleep, agreed):
    draft = collector.create(replace(agreed, purpose="draft"), {"en": {"title": "<b>A draft</b>"}})
    texts = {"en": {"title": "<b>Bold</b>", "purpose": "P & Q"}}
    opened = collector.create(replace(agreed, purpose="open"), texts, admission="open")
    invited = collector.create(replace(agreed, purpose="invited"), texts)
    for slug in (opened, invited):
        collector.open(slug)
    page = web.get("/").text
    assert f'href="/m/{sleep}?lang=en"' in page
    assert f'href="/s/{opened}?lang=en"' in page
    assert draft not in page
    assert invited not in page  # who has its link may see it
    assert web.get(f"/s/{invited}").status_code == 200
    assert "&lt;b&gt;Bold&lt;/b&gt;" in page
    assert "<b>Bold" not in page
    assert "Veröffentlichte Modelle" in web.get("/", headers={"Accept-Language": "de"}).text
    assert f'href="/m/{sleep}?lang=de"' in web.get("/?lang=de").text
    assert web.get(f"/m/{opened}").status_code == 404
    assert web.get("/m/nothing").status_code == 404
    assert "There is no such model" in web.get("/m/nothing").text


def test_the_list_marks_studies_that_hardly_protect(web, sleep, wage):
    marked = {
        slug: "answers hardly protected" in part
        for part in web.get("/").text.split("<article")[1:]
        for slug in (sleep, wage)
        if slug in part
    }
    assert marked == {sleep: False, wage: True}


def test_people_get_a_page_where_there_is_none_and_programs_json(web):
    answer = web.get("/nothing", headers={"Accept": "text/html,*/*;q=0.8", "Accept-Language": "de"})
    assert (answer.status_code, "Diese Seite gibt es nicht" in answer.text) == (404, True)
    assert all(answer.headers[name] == value for name, value in HEADERS.items())
    assert web.get("/nothing").json()["reason"] == "no-page"
    for place in ("/api/nothing", "/api/studies/nothing"):
        assert web.get(place, headers={"Accept": "text/html"}).json()["reason"] in ("no-page", "no-study")


def test_an_empty_list_says_so(tmp_path):
    empty = Collector(tmp_path / "empty.sqlite")
    with TestClient(create_app(empty)) as client:
        assert "There is no study that anyone may take part in now." in client.get("/").text
    empty.close()


def test_the_page_says_what_the_file_states(web, collector, sleep, agreed):
    page = web.get(f"/m/{sleep}").text
    text = collector.model(sleep)
    assert hashlib.sha256(text.encode()).hexdigest() in page
    assert hashlib.sha256(web.get(f"/api/studies/{sleep}/model").content).hexdigest() in page
    assert f"curl -fsSo {sleep}.json http://testserver/api/studies/{sleep}/model &amp;&amp; tacit verify" in page
    assert "20,000" in page
    assert "at least 18,000 of the 20,000 contributors" in page
    assert "Do you sleep well?" in page
    assert "Mostly not or Mostly yes" in page
    model, _ = model_of(collector, sleep)
    said = told(agreed, model.guarantee_, model.record_guarantee_, "en")
    assert said.model.endswith("This is proven.")
    assert (said.numbers[0].epsilon, said.numbers[1].epsilon) == ("1", "8")
    assert (said.weak, "Read this before" in page) == (False, False)
    assert str(model.guarantee_.statement()).splitlines()[0] in page


def test_the_line_of_python_runs(web, sleep):
    """What is shown is what a person types: but for the address, it is run here."""
    (line,) = re.findall(r"<pre[^>]*>(from tacit.*?)</pre>", web.get(f"/m/{sleep}").text, re.DOTALL)
    line = html.unescape(line)
    assert f'.model("{sleep}")' in line
    names = {}
    exec(line.partition("\n")[0], names)
    assert callable(names["Client"].model)


def test_how_good_the_model_is_expected_to_be_is_said(web, sleep, wage, agreed):
    found = expected(agreed, PEOPLE)
    page = web.get(f"/m/{sleep}").text
    assert (
        f"right in about {100 * found.private:.0f} of 100 cases; guessing is right in {100 * found.guess:.0f}" in page
    )
    assert 'data-worth="yes"' in page
    assert "typical error can be expected to be about" in web.get(f"/m/{wage}").text
    assert "in etwa" in web.get(f"/m/{sleep}?lang=de").text


def test_a_model_of_noise_is_said_to_be_one_before_all_else(web, tiny):
    page = web.get(f"/m/{tiny}").text
    said = "This model is not expected to be better than guessing"
    assert page.index(said, page.index("<main")) < page.index("What this model does")
    assert 'data-worth="no"' in page
    assert "nicht besser als bloßes Raten" in web.get(f"/m/{tiny}?lang=de").text


def test_of_few_contributors_all_are_counted_on(web, tiny):
    page = web.get(f"/m/{tiny}").text
    assert "relies on all 6 contributors" in page
    assert "The others" not in page


def test_that_more_people_came_is_said_with_both_numbers(agreed):
    """The page's number is that of the people who came; contributors were told the one of the cohort."""
    many = agreed.guarantee(2 * PEOPLE)
    said = told(agreed, many, agreed.record_guarantee(), "en")
    assert percent(of_model(agreed).right) in said.came
    assert "designed for 20,000 people and 40,000 came" in said.came
    assert percent(said.seen.right) in said.model
    assert at_most(many.epsilon_at()) in said.anew  # what the command finds
    assert told(agreed, agreed.guarantee(), agreed.record_guarantee(), "en").came == ""


def test_weak_promises_are_said_first(web, collector, wage):
    page = web.get(f"/m/{wage}").text
    assert "Read this before you rely on it" in page
    assert "practically no protection" in page
    assert "relies on all 3,000 contributors" in page
    assert "Lesen Sie das, bevor" in web.get(f"/m/{wage}?lang=de").text


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_state_of_a_guarantee_has_its_sentence(collector, sleep, agreed, language):
    model, _ = model_of(collector, sleep)
    own, record = model.guarantee_, model.record_guarantee_
    found = {
        said.model
        for said in (
            told(agreed, own, record, language),
            told(agreed, replace(own, epsilon=20.0), record, language),
            told(agreed, replace(own, status="claimed"), record, language),
            told(agreed, replace(own, status="refuted"), record, language),
            told(agreed, record, record, language),
        )
    }
    assert len(found) == 5
    assert not any("{" in sentence for sentence in found)
    again = told(agreed, record, record, language)
    assert (again.count, len(again.trust)) == (0, 1)  # no trust in others is spoken of where it is not needed
    assert told(agreed, replace(own, status="claimed"), record, language).weak


def test_a_host_with_other_signs_is_not_repeated_in_a_command(web, sleep):
    for host in ("x;rm -rf ~", "a$(b)", "a b", "[::1", "x'y", "a&b"):
        page = web.get(f"/m/{sleep}", headers={"Host": host}).text
        assert re.search(f"curl -fsSo {sleep}.json (http://testserver|https://ADDRESS)/api", page), host
    page = web.get(f"/m/{sleep}", headers={"Host": "[::1]:8000"}).text
    assert f"curl -fsSo {sleep}.json http://[::1]:8000/api" in page


def test_languages_have_the_same_words_and_places():
    found = {}
    for language in ("en", "de"):
        text = (resources("tacit.collector") / "languages" / f"model.{language}.json").read_text(encoding="utf-8")
        found[language] = json.loads(text, object_pairs_hook=once)
    assert found["en"].keys() == found["de"].keys()
    for key, sentence in found["en"].items():
        assert set(re.findall(r"\{(\w+)\}", sentence)) == set(re.findall(r"\{(\w+)\}", found["de"][key])), key


def test_all_words_exist_and_are_used():
    """A key that is put together (``home.`` and a state) counts as all that begin with it."""
    here = Path(str(resources("tacit.collector")))
    words = set(json.loads((here / "languages" / "model.en.json").read_text(encoding="utf-8")))
    templates = [here / "templates" / f"{name}.html" for name in ("base", "home", "model", "missing", "unknown")]
    sources = [*templates, *(here / "static").glob("model*.js"), here / "using.py", here / "model_words.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    keys = set(re.findall(r"""["'`]([a-z]+\.[a-z-]*)""", text))
    plural = {key.rpartition(".")[0] for key in words if key.endswith((".one", ".other"))}
    said = set(re.findall(r"""say\(["']([a-z]+\.[a-z-]+)["'][,)]""", text))
    assert said <= words | plural
    parts = tuple(key for key in keys if key.endswith((".", "-")))
    plain = {"language", "skip", "footer"}
    assert {key for key in words - plain if key not in keys and not key.startswith((*parts, *plural))} == set()


def once(pairs):
    assert len({key for key, _ in pairs}) == len(pairs)
    return dict(pairs)


def test_pages_keep_to_the_policy(web, sleep):
    """No script or style stands in a page, and no answer has a cookie."""
    for place in ("/", f"/m/{sleep}", "/api", "/m/nothing"):
        answer = web.get(place)
        assert all(answer.headers[name] == value for name, value in HEADERS.items()), place
        assert "set-cookie" not in answer.headers
        assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|javascript:", answer.text), place
        assert not re.search(r'(?:src|href)="(?:https?:)?//', answer.text), place


def test_the_interface_is_described_for_people(web):
    page = web.get("/api").text
    for words in ("POST /api/studies/{study}/submissions", "invitation-used", "submission.q", "too-slow", "408"):
        assert words in page


def test_words_of_the_form_are_those_of_the_contributors_page(web):
    said = web.get("/words/model.de.json").json()
    assert said["mistake.number"] == web.get("/words/page.de.json").json()["mistake.number"]
    assert using.PAGE == "model"


# In a browser


@pytest.fixture(scope="module")
def place(collector):
    with served(create_app(collector, rate=0)) as (host, port):
        yield f"http://{host}:{port}"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is tried in a browser, by Playwright")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser, place):
    """Opens a page, and holds it to: no errors, requests to its own origin only, nothing but GET, no cookies."""
    made, wrong = [], []

    def open_page(path, **settings):
        context = browser.new_context(**settings)
        made.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request",
            lambda asked: (
                None if asked.url.startswith((place, "blob:")) and asked.method == "GET" else wrong.append(asked.url)
            ),
        )
        page.goto(place + path)
        return page

    yield open_page
    for context in made:
        assert context.cookies() == []
        context.close()
    assert wrong == []


def shoot(page, name):
    if SCREENSHOTS:
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)


def narrow(page):
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


SCORED = """async ([slug, people]) => {
  const { score } = await import("/static/client/predict.js");
  const study = await (await fetch(`/api/studies/${slug}`)).json();
  const model = await (await fetch(`/api/studies/${slug}/model`)).json();
  return people.map((answers) => score(study.facts, model, answers));
}"""


def test_the_browser_predicts_what_python_predicts(visit, collector, sleep, wage):
    """To 1e-12: probabilities of the second class, and values, of people within and beyond the bounds."""
    table, _ = crowd(40)
    table["age"][:3], table["hours"][3:6] = (10.0, 95.0, 16.0), np.nan
    people = [{name: table[name][i].item() for name in table} for i in range(40)]
    for one in people[3:6]:
        one["hours"] = None
    page = visit("/")
    for slug in (sleep, wage):
        model, schema = model_of(collector, slug)
        rows = schema.encode(table, collector.study(slug).protocol.numbers.clip)
        found = page.evaluate(SCORED, [slug, people])
        if slug == sleep:
            exact, got = model.predict_proba(rows)[:, 1], [one["probability"] for one in found]
        else:
            exact, got = model.predict(rows), [one["value"] for one in found]
        assert np.abs(np.array(got) - exact).max() <= 1e-12 * max(1.0, np.abs(exact).max())
        assert np.ptp(exact) > 0.01


def test_a_person_checks_and_predicts(visit, collector, sleep):
    page = visit(f"/m/{sleep}", viewport={"width": 1100, "height": 900})
    page.wait_for_selector("#checks li")
    outcomes = page.eval_on_selector_all("#checks li", "all => all.map((one) => one.dataset.outcome)")
    assert outcomes == ["good", "good", "good"]
    assert "is at most 8" in page.inner_text("#checks")
    page.get_by_role("button", name="Predict").click()
    assert "3 answers need your attention" in page.inner_text("#mistakes")
    page.get_by_role("textbox", name="How old are you?").fill("30")
    page.get_by_role("textbox", name="How long do you work?").fill("20")
    page.get_by_label("By day").check()
    page.get_by_role("button", name="Predict").click()
    page.wait_for_selector("#result")
    model, schema = model_of(collector, sleep)
    clip = collector.study(sleep).protocol.numbers.clip
    chance = model.predict_proba(schema.encode({"age": [30.0], "hours": [20.0], "shift": ["day"]}, clip))[0, 1]
    shown = page.inner_text("#prediction")
    assert ("Mostly yes" if chance > 0.5 else "Mostly not") in shown
    assert f"about {round(100 * max(chance, 1 - chance))} %" in shown
    assert page.inner_text("#quality strong") in shown
    assert page.inner_text("#mistakes") == ""
    shoot(page, "model-en")
    page.get_by_label("At night").check()
    assert page.locator("#result").count() == 0  # it was of other answers


def test_in_german_on_a_phone_by_keyboard(visit, sleep):
    page = visit(f"/m/{sleep}?lang=de", viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.wait_for_selector("#questions:not([hidden])")
    narrow(page)
    page.locator("#q0").focus()
    page.keyboard.type("30")
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.type("20,5")
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#result")
    assert "hält das Modell" in page.inner_text("#result")
    narrow(page)
    shoot(page, "model-de-phone-dark")


def test_a_number_is_predicted_with_a_caution(visit, wage):
    page = visit(f"/m/{wage}", viewport={"width": 320, "height": 640})
    page.wait_for_selector("#questions:not([hidden])")
    page.locator("#q0").fill("30")
    page.locator("#q1-skip").check()
    page.locator("#q2-field input").first.check()
    page.get_by_role("button", name="Predict").click()
    assert "estimate for “wage” is about" in page.inner_text("#result")
    narrow(page)
    shoot(page, "model-number-narrow")


def test_noise_has_no_probability(visit, tiny):
    page = visit(f"/m/{tiny}", viewport={"width": 360, "height": 640})
    page.wait_for_selector("#questions:not([hidden])")
    page.locator("#q0").fill("30")
    page.locator("#q1").fill("30")
    page.locator("#q2-field input").first.check()
    page.get_by_role("button", name="Predict").click()
    shown = page.inner_text("#prediction")
    assert "not expected to be better than guessing" in shown[: shown.index("The model’s best guess")]
    assert "%" not in shown
    narrow(page)
    shoot(page, "model-noise")


def test_a_damaged_file_and_a_false_promise_are_found(visit, collector, sleep, browser, place):
    """A file that was changed on its way, or states a smaller epsilon than the noise gives, or another study's."""
    page = visit("/")
    content = json.loads(collector.model(sleep))
    content["record_guarantee"]["epsilon"] = 7.9
    content["guarantee"]["collection"] = "0" * 32
    page.context.route(f"**/api/studies/{sleep}/model", lambda route: route.fulfill(json=content))
    page.goto(f"{place}/m/{sleep}")
    page.wait_for_selector("#checks li")
    outcomes = page.eval_on_selector_all("#checks li", "all => all.map((one) => one.dataset.outcome)")
    assert outcomes == ["bad", "bad", "bad"]
    assert page.locator("#questions").is_hidden()  # such a model predicts nothing
    shoot(page, "model-damaged")


def test_where_no_checksum_can_be_computed_it_is_said(visit, sleep, place):
    page = visit("/")
    page.add_init_script("Object.defineProperty(crypto, 'subtle', {value: undefined})")
    page.goto(f"{place}/m/{sleep}")
    page.wait_for_selector("#checks li")
    assert "over https only" in page.inner_text("#checks li >> nth=0")


def test_without_a_script_the_page_still_tells(visit, sleep):
    page = visit(f"/m/{sleep}", java_script_enabled=False)
    assert "This part needs JavaScript" in page.inner_text("#verify")
    assert "curl" in page.inner_text("#command")


def test_the_list_and_the_interface_in_a_browser(visit, sleep):
    for width in (320, 1100):
        page = visit("/", viewport={"width": width, "height": 700})
        narrow(page)
        shoot(page, f"home-{width}")
        page = visit("/api", viewport={"width": width, "height": 700})
        narrow(page)
        shoot(page, f"api-{width}")
