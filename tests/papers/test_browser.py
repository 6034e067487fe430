"""The report in a real browser: no error, every figure drawn, nothing wider than a phone, readable in light and dark.

A small one is made here; the one that ``TACIT_REPORT`` names, which continuous integration has just made, is looked at
too.
"""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import running

pytest.importorskip("matplotlib", reason="pictures need the extra 'plot': pip install '.[plot]'")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1400,1000",
    "--disable-background-networking", "--disable-component-update", "--v=0",
    "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr",
)  # fmt: skip
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
SCHEMES = {"dark": 0, "light": 1}
LISTEN = """<script>
const seen = [];
addEventListener("error", event => seen.push(event.message || `not loaded: ${event.target.outerHTML}`), true);
</script>"""
LOOK = """<script>
addEventListener("load", () => {
  const box = part => { const r = part.getBoundingClientRect(); return [r.width, r.height]; };
  const colour = (part, name) => part ? getComputedStyle(part)[name] : null;
  const results = [...document.querySelectorAll("article.result")].map(part => ({
    id: part.id, left: part.querySelector(".trouble") !== null,
    pictures: [...part.querySelectorAll("figure.panel svg")].map(svg => ({
      box: box(svg), lines: [...svg.querySelectorAll("path")].filter(p => p.getBBox().width > 20).length })),
    tables: [...part.querySelectorAll("table.drawn")].map(box) }));
  const probe = document.createElement("pre");
  probe.id = "probe";
  probe.textContent = JSON.stringify({ seen, results, wide: document.documentElement.scrollWidth, window: innerWidth,
    page: colour(document.body, "backgroundColor"), text: colour(document.body, "color"),
    ink: colour(document.querySelector("figure.panel svg text"), "fill") });
  parent.document.body.append(probe);
});
</script>"""

pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here: apt-get install chromium")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    assert running.here(folder, folder / "out", "--all", "--quick") == 1  # one of its figures is meant to fail
    return folder / "out" / "report.html"


@pytest.fixture(scope="module")
def reports(report):
    """The small report, and the one that TACIT_REPORT names."""
    given = os.environ.get("TACIT_REPORT")
    return [report, *([Path(given)] if given else [])]


def look(page, folder, size="desktop", scheme="light"):
    """What a browser sees of a copy of the page with two small scripts in it, and what its console says.

    The copy is in a frame: a window of its own is never narrower than 500 pixels.
    """
    text = page.read_text(encoding="utf-8").replace("<head>", f"<head>{LISTEN}", 1).replace("</body>", f"{LOOK}</body>")
    width, height = SIZES[size]
    copy = folder / "copy.html"
    copy.write_text(
        '<!doctype html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head><body>'
        f'<iframe style="border:0;width:{width}px;height:{height}px" srcdoc="{html.escape(text)}"></iframe>'
        "</body></html>",
        encoding="utf-8",
    )
    done = subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}",
         f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", "--dump-dom", copy.as_uri()],
        capture_output=True, text=True, timeout=180, check=True,
    )  # fmt: skip
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(found[1])), console


def contrast(one, other):
    """The contrast ratio of the Web Content Accessibility Guidelines, of two colours 'rgb(r, g, b)'."""

    def light(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("size", "scheme"), [("phone", "dark"), ("desktop", "light")])
def test_every_figure_is_drawn_without_an_error(size, scheme, reports, tmp_path):
    for page in reports:
        seen, console = look(page, tmp_path, size, scheme)
        assert (seen["seen"], console) == ([], [])
        assert seen["results"]
        for result in seen["results"]:
            parts = [*(picture["box"] for picture in result["pictures"]), *result["tables"]]
            assert parts or result["left"], f"{result['id']} shows nothing"
            assert all(width > 40 and height > 20 for width, height in parts), result["id"]
            assert all(picture["lines"] for picture in result["pictures"]), f"{result['id']} has an empty picture"
        assert seen["window"] == SIZES[size][0]
        assert seen["wide"] <= seen["window"], "the page is wider than the window"
        for colour in filter(None, (seen["text"], seen["ink"])):
            assert contrast(colour, seen["page"]) > 7
        assert (contrast(seen["page"], "rgb(0, 0, 0)") < 2) == (scheme == "dark")


def test_the_small_report_shows_what_it_should(report, tmp_path):
    results = {result["id"]: result for result in look(report, tmp_path)[0]["results"]}
    assert len(results) == 6
    assert len(results["paper-first-1999-figure1"]["pictures"]) == 1
    assert len(results["paper-second-2000-table1"]["tables"]) == 1
    assert results["paper-second-2000-figure3"]["left"]


def test_an_error_would_be_seen(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<html><head></head><body><div style="width:4000px">wide</div><script>console.error("loud"); '
        'throw new Error("broken")</script><img src="nowhere.png"></body></html>'
    )
    seen, console = look(page, tmp_path)
    assert any("broken" in words for words in seen["seen"])
    assert any("loud" in line for line in console)
    assert seen["wide"] > seen["window"]
    assert any("nowhere.png" in words for words in seen["seen"])
