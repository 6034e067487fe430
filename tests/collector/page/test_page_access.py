"""The contributor's page for everyone: phones, the keyboard, German, numbers as people write them, no script."""

import json
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from tacit.collector.app import create_app

NUMBERS = {
    "12": 12, " 3.5 ": 3.5, "3,5": 3.5, "-2": -2, "\u22122,5": -2.5, "1 234,5": 1234.5, "1.234.567": 1234567,
    "1,234.5": 1234.5, "1.234,5": 1234.5, "1\u202f234": 1234, ".5": 0.5, "1e3": 1000, "0,125": 0.125, "1'234": 1234,
    "": None, "x": None, "1,2,3": None, "1.23,4.5": None, "12 34": None, "Infinity": None, "0x10": None,
    "1e999": None, "5 m": None,
}  # fmt: skip
CODES = {
    "0123456789abcdefghjk": "01234-56789-ABCDE-FGHJK", "o1il0-00000-00000-00000": "01110-00000-00000-00000",
    "01234 56789 ABCDE FGHJ": None, "01234-56789-ABCDE-FGHJU": None, "": None,
}  # fmt: skip


@pytest.mark.parametrize(("width", "language", "scheme"), [(320, "de", "light"), (360, "en", "dark")])
def test_a_phone(device, study, width, language, scheme):
    (code,) = study.invite()
    person = device(viewport={"width": width, "height": 640}, is_mobile=True, has_touch=True, color_scheme=scheme)

    def fits(name):
        person.shoot(f"phone-{language}-{width}-{name}")
        assert person.page.evaluate("document.documentElement.scrollWidth") <= width

    person.go(study.slug, code, language)
    fits("1")
    person.page.click("#start")
    person.page.click("#questions [type=submit]")
    person.page.wait_for_selector("#mistakes .notice")
    fits("2")
    person.go(study.slug, code, language)
    person.answer(age="95")
    person.page.click("#exact summary")
    fits("3")
    person.page.click("#send")
    person.receipt()
    fits("5")


def test_the_keyboard_is_enough(device, study):
    (code,) = study.invite()
    person = device()
    press, focused = person.page.keyboard.press, "document.activeElement"

    def reach(wanted):
        for _ in range(60):
            press("Tab")
            if person.page.evaluate(f"{focused}.matches('{wanted}')"):
                assert (
                    person.page.evaluate(f"getComputedStyle({focused}).outlineStyle + {focused}.closest('.choice')")
                    != "nonenull"
                )
                return
        raise AssertionError(f"the Tab key does not reach {wanted}")

    def at(step):
        person.page.wait_for_selector(f"#step-{step}:visible")
        assert person.page.evaluate(f"{focused}.closest('section').id + {focused}.tagName") == f"step-{step}H2"

    person.go(study.slug, code)
    press("Tab")
    assert person.page.evaluate(f"{focused}.className") == "skip"
    reach("#start")
    press("Enter")
    at("questions")
    reach("#q0")
    press("Enter")  # too early: the mistakes are read out, and lead to their fields
    assert person.page.evaluate(f"{focused}.id") == "mistakes"
    press("Tab")
    press("Enter")
    assert person.page.evaluate(f"{focused}.id") == "q0"
    person.page.keyboard.type("41")
    reach("#q1-skip")
    press("Space")
    reach("input[name=q2]")
    press("Space")
    press("ArrowDown")
    reach("#q3")
    person.page.keyboard.type("police")
    reach("input[name=q4]")
    press("ArrowDown")
    reach("[type=submit]")
    press("Enter")
    at("numbers")
    assert person.page.inner_text(".leaving tbody tr:nth-child(3) td") == "At night"
    assert person.page.inner_text(".leaving tbody tr:nth-child(4) td") == "police"
    reach("#exact summary")
    press("Enter")
    reach("#send")
    press("Enter")
    at("receipt")


def test_german_by_the_browser_and_decimal_commas(device, study):
    (code,) = study.invite()
    person = device(locale="de-AT")
    person.page.goto(f"{person.site}/s/{study.slug}#{code}")
    person.page.wait_for_selector("#start:visible")
    assert person.page.get_attribute("html", "lang") == "de"
    assert "Schlaf und Schichtarbeit" in person.page.inner_text("h1")
    assert person.page.get_attribute("a[hreflang=en]", "href").endswith(f"?lang=en#{code}")
    person.answer(age="38,5")
    row = person.page.locator(".leaving tbody tr").first
    assert row.locator("th").inner_text() == "Wie alt sind Sie?"
    assert row.locator("td").first.inner_text() == "38,5 Jahre"
    assert person.page.inner_text(".leaving tbody tr:nth-child(4) th") == "What do you work in?"  # not in German
    person.page.click("#send")
    person.receipt()
    person.shoot("5-german")


def test_numbers_beyond_the_bounds_and_unsure_ones_are_said_gently(device, study):
    person = device()
    person.go(study.slug)
    person.page.click("#start")
    person.page.fill("#q0", "120")
    assert "counts as 90" in person.page.inner_text("#q0-hint")
    person.page.fill("#q0", "1.234")
    assert "Read as 1.234" in person.page.inner_text("#q0-hint")
    person.page.fill("#q0", "forty")
    person.page.click("#questions [type=submit]")
    assert "type a number" in person.page.inner_text("#q0-error")
    assert person.page.get_attribute("#q0", "aria-invalid") == "true"
    person.page.fill("#q0", "40")
    assert person.page.inner_text("#q0-error") == ""
    assert person.page.is_visible("#mistakes")
    person.page.check("#q1-skip")
    person.page.check("input[name=q2] >> nth=0")
    person.page.select_option("#q3", "none")
    person.page.check("input[name=q4] >> nth=0")
    assert not person.page.is_visible("#mistakes")
    assert person.page.get_attribute("#q0", "aria-invalid") is None


def test_numbers_and_codes_are_read_as_people_write_them(device, study):
    person = device()
    person.go(study.slug)
    read = """async ([name, texts]) => {
        const words = await import("/static/contribute-words.js");
        return texts.map((text) => words[name](text));
    }"""
    found = person.page.evaluate(read, ["readNumber", list(NUMBERS)])
    assert {text: one and one["value"] for text, one in zip(NUMBERS, found, strict=True)} == NUMBERS
    assert dict(zip(CODES, person.page.evaluate(read, ["readCode", list(CODES)]), strict=True)) == CODES


def test_words_of_a_study_are_text_and_nothing_else(device, make_study):
    evil = "<script>throw 1</script><img src=x onerror=throw>"
    texts = {
        "title": evil,
        "purpose": evil,
        "about": evil,
        "questions": {"age": {"label": evil, "help": evil, "unit": evil}},
    }
    study = make_study(evil, {"en": texts}, "open")
    person = device()
    person.go(study.slug)
    person.answer()
    assert "<script>" in person.page.inner_text(".leaving")
    assert person.page.inner_text(".leaving tbody tr:nth-child(3) th") == "shift"  # not in any language
    assert not person.page.is_visible("#invitation")
    person.page.click("#send")
    person.receipt()
    assert json.loads(person.sent[0])["invitation"] is None
    assert person.page.locator("img, script:not([src])").count() == 0


def test_without_scripts_there_is_still_everything_to_read(device, study):
    person = device(java_script_enabled=False)
    person.page.goto(f"{person.site}/s/{study.slug}")
    text = person.page.inner_text("main")
    assert "needs JavaScript" in text
    assert "tacit contribute" in text
    assert f"{person.site}/api/studies/{study.slug}" in text
    assert not person.page.is_visible("#start")
    assert not person.page.is_visible("#starting")
    person.shoot("1-no-script")


def test_an_old_browser_is_told(device, study):
    person = device(fresh=True)
    person.page.add_init_script("delete globalThis.BigUint64Array")
    person.page.goto(f"{person.site}/s/{study.slug}")
    person.page.wait_for_selector("#old-browser:visible")
    assert not person.page.is_visible("#start")


def test_a_study_that_cannot_be_loaded_is_said_so(device, study):
    person = device(excused=("net::ERR_FAILED",))
    person.page.route("**/api/studies/*", lambda route: route.abort())
    person.page.goto(f"{person.site}/s/{study.slug}")
    person.page.wait_for_selector("text=could not be loaded")
    assert not person.page.is_visible("#start")


def test_studies_that_are_over_or_unknown(house, sleep_protocol):
    slug = house.create(replace(sleep_protocol, purpose="over"), {})
    web = TestClient(create_app(house, rate=0))
    draft, unknown = web.get(f"/s/{slug}"), web.get("/s/aaaaaaaaaa?lang=de")
    assert (draft.status_code, unknown.status_code) == (404, 404)
    assert "no such study" in draft.text
    assert "gibt es nicht" in unknown.text
    house.open(slug)
    assert "This study is closed" not in web.get(f"/s/{slug}").text
    house.shut(slug)
    over = web.get(f"/s/{slug}", headers={"accept-language": "fr, de;q=0.8, en;q=0.7"})
    assert over.status_code == 200
    assert "Diese Studie ist geschlossen" in over.text
    assert "set-cookie" not in over.headers
    for header in ("", "xx", "de;q=0", "de;q=x", ";;,", "en-US,en;q=0.9,de;q=0.8"):
        assert '<html lang="en">' in web.get(f"/s/{slug}", headers={"accept-language": header}).text
