"""A server that lies in what it says of a study, to an honest page: one person sends one draw, and knows what it is."""

import json

from tacit.protocol import Protocol
from tacit.schema import Category, Number, Schema, Target


def lying(person, study, change):
    """The page's study as the server gives it, changed."""

    def told(route):
        said = route.fetch().json()
        change(said)
        route.fulfill(json=said)

    person.page.route(f"**/api/studies/{study.slug}", told)


def refused(person, study):
    person.page.goto("about:blank")
    person.page.goto(f"{person.site}/s/{study.slug}")
    person.page.wait_for_selector("text=Please do not contribute")
    return not person.page.is_visible("#start")


def lost(person, study, code=""):
    """Numbers that the server has taken, as if they had not arrived."""
    person.page.route("**/submissions", lambda route: route.fulfill(status=503, json={"reason": "busy", "detail": ""}))
    person.go(study.slug, code)
    person.answer()
    person.page.click("#send")
    person.page.wait_for_selector("#retry:visible")


def test_one_address_gets_one_draw_whatever_the_study_calls_itself(device, make_study):
    study, other = make_study("named", admission="open"), make_study("named otherwise", admission="open")
    person = device(excused=("status of 503",))
    lost(person, study)
    for name in (other.slug, "zzzzzzzzzz", "../x", None):
        lying(person, study, lambda said, name=name: said.update(study=name))
        assert refused(person, study)
        person.page.unroute(f"**/api/studies/{study.slug}")
    person.go(study.slug)
    person.page.wait_for_selector("#retry:visible")  # the same numbers, still
    assert person.kept(study.slug)["submission"] == json.loads(person.sent[0])["submission"]


def test_numbers_that_may_have_left_for_another_study_are_said_before_drawing(device, make_study):
    study, other = make_study("first", admission="open"), make_study("asked again", admission="open")
    person = device(excused=("status of 503",))
    lost(person, study)
    person.go(other.slug)
    person.page.click("#start")
    assert "another study may have left" in person.page.inner_text("#elsewhere")
    assert person.page.get_attribute("#elsewhere a", "href") == f"/s/{study.slug}"
    person.page.unroute("**/submissions")
    person.go(study.slug)
    person.page.click("#retry")
    person.receipt()
    person.go(other.slug)
    person.page.click("#start")
    assert person.page.inner_text("#elsewhere") == ""  # a receipt ends it


def weaker(said, epsilon, delta):
    """Less noise, and what is left of the guarantee stated."""
    said["guarantees"]["record"].update(epsilon=epsilon, delta=delta)
    for part in ("row", "cross"):
        scale, step, limit = (said["facts"][part][name] for name in ("scale", "step", "limit"))
        said["facts"][part] = {"scale": 0.3 * scale, "step": 0.5 * step, "limit": 4 * limit}


def test_strength_is_judged_by_the_best_guess_and_not_by_epsilon_alone(device, make_study):
    """At delta 0.01 an epsilon below 10 is possible with noise that shows one of two people in over 90 of 100 cases."""
    study = make_study("weak", admission="open")
    person = device()
    lying(person, study, lambda said: weaker(said, 9.9, 0.01))
    person.go(study.slug)
    person.answer()
    said = person.page.inner_text("#meaning")
    assert "These numbers reveal much about you" in said
    assert "epsilon is at most 9.9 " in said
    for delta in (0.02, 0.9999):
        lying(person, study, lambda said, delta=delta: weaker(said, 9.9, delta))
        assert refused(person, study)


def test_an_epsilon_of_nothing_is_a_number(device, make_study):
    def stronger(said):
        said["guarantees"]["record"].update(epsilon=0.0, delta=0.01)
        for part in ("row", "cross"):
            said["facts"][part]["scale"] *= 64
            said["facts"][part]["step"] *= 64

    study = make_study("strong", admission="open")
    person = device()
    lying(person, study, stronger)
    person.go(study.slug)
    person.answer()
    assert "epsilon is at most 0 at delta 0.01" in person.page.inner_text("#meaning")


def test_a_limit_that_chooses_among_draws_is_refused(device, study):
    person = device()
    lying(person, study, lambda said: said["facts"]["row"].update(limit=said["facts"]["row"]["limit"] // 2))
    assert refused(person, study)


def test_numbers_of_the_one_before_never_leave_with_the_next_ones_invitation(device, house, study):
    one, other = study.invite(2)
    person = device(excused=("status of 503",))
    lost(person, study, one)
    person.page.unroute("**/submissions")
    person.page.evaluate(f"location.hash = '{other}'")  # the next person's link, in the same tab
    person.page.wait_for_function(f"document.getElementById('invitation').value === '{other}'")
    person.page.evaluate("window.dispatchEvent(new Event('online'))")
    person.go(study.slug, other)  # and anew
    person.page.wait_for_selector("#retry:visible")
    assert person.page.evaluate("document.activeElement.tagName") == "H2"  # a hasty Enter sends nothing
    assert "They are mine" in person.page.inner_text("#retry")
    person.page.evaluate("window.dispatchEvent(new Event('online'))")
    person.page.click("#other-person")
    person.page.click("#device-forget")
    person.page.wait_for_selector("#start:visible")
    assert len(person.sent) == 1
    person.answer()
    person.page.click("#send")  # with the code that the link brought
    person.receipt()
    assert [json.loads(body)["invitation"] for body in person.sent] == [one, other]
    assert study.has(person.sent[1])


def test_what_was_typed_is_gone_once_it_is_sent(device, study):
    (code,) = study.invite()
    person = device()
    person.go(study.slug, code)
    person.answer(age="38.25")
    person.page.click("#send")
    person.receipt()
    assert "38.25" not in person.page.content()
    assert person.page.locator("#fields *, #numbers-table *").count() == 0


def test_values_with_names_that_every_object_has(device, house):
    names = ("constructor", "toString", "__proto__")
    schema = Schema((Number("age", 16, 90), Category("constructor", names)), Target("__proto__", ("bad", "valueOf")))
    protocol = Protocol.create(epsilon=1.0, delta=1e-6, cohort=200_000, schema=schema, record_epsilon=4.0)
    slug = house.create(protocol, {}, admission="open")
    house.open(slug)
    person = device()
    person.go(slug)
    assert person.page.locator("#fields .choice").all_text_contents()[1:4] == list(names)
    assert person.page.locator("#fields legend").all_text_contents() == ["constructor", "__proto__"]
