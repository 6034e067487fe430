"""A study about sleep, the real service in a thread, and people's browsers on its page for contributors."""

import json
import os
import shutil
import threading
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.collector import Collector, contributing
from tacit.collector.app import create_app
from tacit.protocol import Database, Protocol, Submission
from tacit.schema import Category, Number, Schema, Target

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
SCREENSHOTS = os.environ.get("TACIT_SCREENSHOTS")
TEXTS = {
    "en": {
        "title": "Sleep and shift work",
        "who": "The Institute for Made-up Studies",
        "purpose": "We want to find out who sleeps badly, so that duty rosters can be made kinder.",
        "about": "The model will be published for everyone. It says how age, working hours and shifts go together with "
        "sleep.\n\nTaking part is voluntary.",
        "questions": {
            "age": {"label": "How old are you?", "unit": "years"},
            "hours": {"label": "How long do you work?", "help": "In a usual week.", "unit": "hours a week"},
            "shift": {
                "label": "When do you work?",
                "values": {"day": "By day", "night": "At night", "both": "In changing shifts"},
            },
            "trade": {"label": "What do you work in?"},
            "sleep": {"label": "Do you sleep well?", "values": {"bad": "Mostly not", "good": "Mostly yes"}},
        },
    },
    "de": {
        "title": "Schlaf und Schichtarbeit",
        "purpose": "Wir möchten wissen, wer schlecht schläft, damit Dienstpläne freundlicher werden.",
        "questions": {
            "age": {"label": "Wie alt sind Sie?", "unit": "Jahre"},
            "hours": {"label": "Wie lange arbeiten Sie?", "help": "In einer üblichen Woche.", "unit": "Stunden"},
            "shift": {
                "label": "Wann arbeiten Sie?",
                "values": {"day": "Tagsüber", "night": "Nachts", "both": "Im Wechsel"},
            },
            "sleep": {"label": "Schlafen Sie gut?", "values": {"bad": "Meist nicht", "good": "Meist ja"}},
        },
    },
}
TRADES = ("care", "industry", "logistics", "police", "fire service", "hospitality", "railways", "media", "retail")
SCHEMA = Schema(
    (
        Number("age", 16, 90),
        Number("hours", 0, 80, missing=True),
        Category("shift", ("day", "night", "both")),
        Category("trade", TRADES),
    ),
    Target("sleep", ("bad", "good")),
)


@pytest.fixture(scope="session")
def sleep_protocol():
    return Protocol.create(
        epsilon=1.0, delta=1e-6, cohort=200_000, schema=SCHEMA, record_epsilon=4.0, purpose="sleep", withdrawal=True
    )


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """The collector behind the service."""
    made = Collector(tmp_path_factory.mktemp("collector") / "studies.sqlite")
    yield made
    made.close()


@pytest.fixture(scope="module")
def site(house, sleep_protocol):
    """The address of the real service, which runs in a thread.

    The sentences do not depend on a purpose: they are computed once for all studies.
    """
    said = contributing.promised
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contributing, "promised", lambda _, language: said(sleep_protocol, language))
        yield from served(house)


def served(house):
    uvicorn = pytest.importorskip("uvicorn", reason="the service needs uvicorn")
    server = uvicorn.Server(uvicorn.Config(create_app(house, rate=0), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        thread.join(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture(scope="module")  # not longer: two of Playwright's loops at a time are one too many
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is tried in a browser, by Playwright")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


class Study:
    """A study that takes submissions."""

    def __init__(self, house, protocol, texts=TEXTS, admission="invitation"):
        self.house, self.protocol = house, protocol
        self.slug = house.create(protocol, texts, admission=admission)
        house.open(self.slug)

    def invite(self, number=1):
        return self.house.invite(self.slug, number)

    def has(self, *bodies):
        """These letters are counted, once each, and nothing else is: the sums agree to the bit."""
        with Database(self.protocol) as wanted:
            for body in bodies:
                assert wanted.add(Submission.from_json(json.dumps(json.loads(body)["submission"]))).added == 1
            return self.house.database(self.slug).sums.to_bytes() == wanted.sums.to_bytes()


@pytest.fixture
def make_study(house, sleep_protocol):
    """Makes studies; the purpose makes each another protocol."""

    def make(purpose, texts=TEXTS, admission="invitation"):
        return Study(house, replace(sleep_protocol, purpose=purpose), texts, admission)

    return make


@pytest.fixture
def study(make_study, request):
    """A study for this test alone, by invitation."""
    return make_study(request.node.name)


class Device:
    """One person's browser on the page, and all that it asked for and complained about."""

    def __init__(self, context, site):
        self.context, self.site = context, site
        self.asked, self.sent, self.complaints = [], [], []
        context.on("request", self._request)
        self.page = self.tab()

    def empty(self):
        """As if nobody had used it."""
        self.context.set_offline(False)
        for page in self.context.pages[1:]:
            page.close()
        self.page.unroute_all()
        if self.page.url.startswith(self.site):
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.goto("about:blank")
        self.asked, self.sent, self.complaints = [], [], []

    def tab(self):
        page = self.context.new_page()
        page.set_default_timeout(30_000)
        page.on(
            "console", lambda line: self.complaints.append(line.text) if line.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def _request(self, request):
        self.asked.append(request.url)
        if request.method == "POST":
            self.sent.append(request.post_data)

    def go(self, slug, code="", language="en", page=None):
        page = page or self.page
        page.goto("about:blank")  # an address that differs after its # only would not be loaded anew
        page.goto(f"{self.site}/s/{slug}?lang={language}#{code}")
        page.wait_for_selector("#progress:visible")

    def answer(self, page=None, age="38.5", shift="1", sleep="0"):
        page = page or self.page
        page.click("#start")
        page.fill("#q0", age)
        page.check("#q1-skip")
        page.check(f"input[name=q2][value='{shift}']")
        page.select_option("#q3", "2")
        page.check(f"input[name=q4][value='{sleep}']")
        page.click("#questions [type=submit]")
        page.wait_for_selector("#step-numbers:visible")

    def body(self, page=None):
        return (page or self.page).text_content("#body")

    def receipt(self, page=None):
        page = page or self.page
        page.wait_for_selector("#step-receipt:visible")
        return {name: page.text_content(f"#receipt-{name}") for name in ("study", "protocol", "content", "code")}

    def kept(self, slug):
        return json.loads(self.page.evaluate(f"localStorage.getItem('tacit-contribution-{slug}')"))

    def shoot(self, name):
        if SCREENSHOTS:
            Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(SCREENSHOTS) / f"contribute-{name}.png", full_page=True)


@pytest.fixture(scope="module")
def idle(browser):
    """Contexts that wait to be used again, by their options: a new one costs a second, an old one is emptied."""
    return defaultdict(list)


@pytest.fixture
def device(browser, site, idle):
    """Makes devices; in the end all they asked for was on this site, without cookies and without complaints.

    ``excused``: what the network's own failures are called on the console.
    """
    made = []

    def make(excused=(), fresh=False, **options):
        key = json.dumps(options, sort_keys=True)
        if fresh or not idle[key]:
            chosen = {"locale": "en-GB", "viewport": {"width": 1100, "height": 800}, **options}
            one = Device(browser.new_context(**chosen), site)
        else:
            one = idle[key].pop()
        made.append((one, excused, None if fresh else key))
        return one

    yield make
    for one, excused, key in made:
        asked, complaints, cookies = one.asked, one.complaints, one.context.cookies()
        if key is None:
            one.context.close()
        else:
            one.empty()
            idle[key].append(one)
        assert all(url.startswith((f"{site}/", "blob:", "about:")) for url in asked)
        assert cookies == []
        assert [line for line in complaints if not any(word in line for word in excused)] == []
