"""The curator's pages in a real browser: from signing in to the published model, live, by keyboard, and on a phone.

Screenshots are written to the folder that ``TACIT_SCREENSHOTS`` names.
"""

import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import httpx2
import numpy as np
import pytest

pytest.importorskip("playwright", reason="this test needs playwright: pip install playwright")
uvicorn = pytest.importorskip("uvicorn", reason="this test needs uvicorn: pip install '.[collector]'")

from playwright.sync_api import expect, sync_playwright  # noqa: E402

from tacit.collector import Collector, accounts  # noqa: E402
from tacit.collector.app import create_app  # noqa: E402

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A collector that is served on this machine: (address, collector, secrets)."""
    collector = Collector(tmp_path_factory.mktemp("base") / "base.sqlite")
    with collector.engine.begin() as base:
        secrets = {role: accounts.add(base, role, role) for role in ("curator", "viewer")}
    server = uvicorn.Server(uvicorn.Config(create_app(collector, rate=0), port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        threading.Event().wait(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", collector, secrets
    server.should_exit = True
    thread.join()
    collector.close()


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, service):
    """A fresh browser without cookies; any message on its console, and any request elsewhere, fails the test."""
    context = chromium.new_context(base_url=service[0], viewport={"width": 1200, "height": 900})
    opened, wrong = context.new_page(), []
    told = "status of 422"  # that a form has mistakes, which the page shows
    opened.on("console", lambda one: wrong.append(one.text) if one.type == "error" and told not in one.text else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda asked: None if asked.url.startswith((service[0], "data:")) else wrong.append(asked.url))
    yield opened
    context.close()
    assert not wrong


def keep(page, name):
    """A screenshot, where they are asked for; the page must not be wider than its window."""
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
    folder = os.environ.get("TACIT_SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"curator-{name}.png", full_page=True)


def sign_in(page, service, role="curator"):
    page.goto("/curator")
    page.get_by_label("Name").fill(role)
    page.get_by_label("Secret").fill(service[2][role])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/curator")


def bodies(protocol, codes, seed=0):
    rng, number = np.random.default_rng(seed), len(codes)
    table = {
        "age": rng.uniform(18, 90, number),
        "hours": rng.uniform(0, 80, number),
        "job": rng.choice(["office", "shifts", "none"], number),
    }
    people = protocol.perturb_table(table, rng.choice(["no", "yes"], number)).each()
    return [
        {"invitation": code, "submission": json.loads(one.to_json())} for one, code in zip(people, codes, strict=True)
    ]


def plan(page):
    """From an empty form to a draft, by a mistake and a preview."""
    page.get_by_role("link", name="New study").first.click()
    for code, title, purpose, about in (
        ("en", "Sleep and shift work", "Who sleeps well, and what does work have to do with it?",
         "We would like to know how working hours and sleep go together."),
        ("de", "Schlaf und Schichtarbeit", "Wer schläft gut, und was hat die Arbeit damit zu tun?",
         "Wir möchten wissen, wie Arbeitszeit und Schlaf zusammenhängen."),
    ):  # fmt: skip
        page.locator(f"#title_{code}").fill(title)
        page.locator(f"#purpose_{code}").fill(purpose)
        page.locator(f"#about_{code}").fill(about)
    page.locator("#who_en").fill("The sleep laboratory of a made-up university")
    page.locator("#labels_en").fill("age = How old are you?\nage.unit = years\nhours = How long do you work in a week?")
    page.locator("#cohort").fill("20,000")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#cohort-error")).to_contain_text("whole number")
    expect(page.locator("#title_de")).to_have_value("Schlaf und Schichtarbeit")
    keep(page, "mistake")
    page.locator("#cohort").fill("20000")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview figure")).to_have_count(2)
    expect(page.locator("#expected tbody tr")).to_have_count(5)
    keep(page, "preview")
    page.get_by_role("button", name="Create this study").click()
    page.wait_for_url("**/studies/*")
    keep(page, "draft")


def invite(page, number, link):
    """Codes, and a file with them."""
    page.get_by_label("New invitations").fill(str(number))
    page.get_by_role("button", name="Invite").click()
    page.wait_for_url("**/invitations")
    codes = page.locator("#invitations td:first-child code").all_inner_texts()
    assert len(set(codes)) == number
    keep(page, "invited")
    with page.expect_download() as saved:
        page.get_by_role("link", name="CSV").click()
    lines = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    assert lines[1] == f"{codes[0]},{link}#{codes[0]}"
    page.get_by_role("link", name="Back to the study").click()
    return codes


def step(page, name):
    page.get_by_role("link", name=name).click()
    page.wait_for_url("**/do/*")
    keep(page, name.split()[0].lower())
    page.get_by_role("button", name=name).click()


def watch(page, sent, address):
    """The numbers change while submissions come in, and the page is not loaded again."""
    expect(page.locator("#connection")).to_contain_text("change as people contribute")
    loaded = page.evaluate("performance.timeOrigin")
    count = page.locator("[data-live=count]")
    expect(count).to_have_text("0")
    with httpx2.Client() as api:
        for part in (sent[:1], sent[1:25], sent[25:50]):
            for body in part:
                assert api.post(address, json=body).status_code == 201
            expect(count).to_have_text(str(sent.index(part[-1]) + 1))
        api.post(address, json=sent[0])
        api.post(address, json={**sent[50], "invitation": sent[0]["invitation"]})
        api.post(address, content=b"nonsense")
    expect(page.locator("#refused tr")).to_have_count(3)
    expect(page.locator("[data-live=used]")).to_have_text("50")
    expect(page.locator("[data-live=expected]")).to_contain_text("right answers in 100")
    assert page.evaluate("performance.timeOrigin") == loaded
    keep(page, "watched")


def test_a_curator_creates_watches_trains_and_publishes(page, service):
    address, collector, _ = service
    page.goto("/curator")
    keep(page, "sign-in")
    sign_in(page, service)
    plan(page)
    (study,) = collector.studies()
    codes = invite(page, 60, f"{address}/s/{study.slug}")
    step(page, "Open the study")
    page.wait_for_url(f"**/studies/{study.slug}")
    watch(page, bodies(study.protocol, codes), f"{address}/api/studies/{study.slug}/submissions")
    step(page, "Close the study")
    step(page, "Train the model")
    step(page, "Publish the model")  # the page shows by itself that the training is over
    expect(page.locator(".badge").first).to_have_text("published")
    keep(page, "published")
    page.get_by_role("link", name="Log").click()
    expect(page.get_by_text("The log is consistent")).to_be_visible()
    keep(page, "log")
    page.get_by_role("link", name="Studies").click()
    page.wait_for_url("**/curator")
    keep(page, "studies")
    assert collector.model(study.slug)


def test_the_keyboard_is_enough(page, service, protocol):
    slug = service[1].create(replace(protocol, purpose="keyboard"), {"en": {"title": "By keyboard"}})
    page.goto("/curator")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"

    def go_to(words):
        for _ in range(60):
            page.keyboard.press("Tab")
            told = page.evaluate("document.activeElement.innerText || document.activeElement.id")
            if told == words:
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                return
        raise AssertionError(words)

    go_to("name")
    page.keyboard.type("curator")
    go_to("secret")
    page.keyboard.type(service[2]["curator"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/curator")
    go_to("By keyboard")
    page.keyboard.press("Enter")
    page.wait_for_url("**/studies/*")
    go_to("Open the study")
    page.keyboard.press("Enter")
    page.wait_for_url("**/do/open")
    go_to("Open the study")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/studies/{slug}")
    expect(page.locator(".badge").first).to_have_text("open")


def test_a_phone_is_wide_enough_and_a_session_ends(page, service, protocol):
    collector = service[1]
    slug = collector.create(replace(protocol, purpose="phone"), {"en": {"title": "On a telephone"}})
    page.set_viewport_size(PHONE)
    sign_in(page, service, "viewer")
    keep(page, "phone-studies")
    page.goto(f"/curator/studies/{slug}")
    expect(page.get_by_text("Your account may view pages")).to_be_visible()
    expect(page.locator("#connection")).to_contain_text("up to date")
    keep(page, "phone-study")
    with collector.engine.begin() as base:
        service[2]["viewer"] = accounts.renew(base, "viewer")  # which ends all sessions of the account
    collector.open(slug)  # the stream wakes up, and ends
    expect(page.locator("#connection")).to_contain_text("Your session has ended")
    page.reload()
    page.wait_for_url("**/sign-in")
    keep(page, "phone-sign-in")


def test_without_scripts_the_pages_show_their_numbers(chromium, service):
    context = chromium.new_context(base_url=service[0], java_script_enabled=False, viewport=PHONE)
    page = context.new_page()
    sign_in(page, service)
    page.goto("/curator/new")
    page.get_by_label("Title").first.fill("Without scripts")
    page.locator("#schema").fill('{"columns": {"age": {"lower": 0, "upper": 99}}, '
                                 '"target": {"name": "income", "lower": 0, "upper": 1000}}')  # fmt: skip
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#expected caption")).to_contain_text("Typical error")
    if os.environ.get("TACIT_SCREENSHOTS"):
        page.screenshot(path=Path(os.environ["TACIT_SCREENSHOTS"]) / "curator-phone-preview.png", full_page=True)
    page.get_by_role("button", name="Create this study").click()
    page.wait_for_url("**/studies/*")
    expect(page.locator("[data-live=count]")).to_have_text("0")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    context.close()
