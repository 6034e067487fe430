"""The contributor's page in a real browser: a person contributes, loses the network, tries twice, takes it back."""

import json
import math
from pathlib import Path

import pytest

from tacit.collector.onlooker import of_record
from tacit.protocol import Submission

DAY, NIGHT = "0", "1"  # places of radio buttons
LOST = ("net::ERR_FAILED", "net::ERR_INTERNET_DISCONNECTED")


def test_a_person_contributes_the_numbers_that_are_shown(device, house, study, sleep_protocol):
    (code,) = study.invite()
    person = device()
    person.go(study.slug, code)
    person.shoot("1-about")
    person.answer()
    person.page.click("#exact summary")
    person.shoot("3-numbers")
    shown = person.body()
    submission = json.loads(shown)["submission"]
    cells = person.page.locator("#exact-table td").all_text_contents()
    assert [int(cell) for cell in cells] == [
        n for pair in zip(submission["q"], submission["p"], strict=True) for n in pair
    ]
    assert len(cells) == 2 * sleep_protocol.numbers.features
    with person.page.expect_download() as saved:
        person.page.click("#download-body")
    assert Path(saved.value.path()).read_text() == shown
    right = math.ceil(100 * of_record(study.protocol).right)  # the page computes it by itself
    assert f"at most {right} of 100" in person.page.inner_text("#meaning")
    assert "epsilon is at most 4 at delta 0.000001" in person.page.inner_text("#meaning")
    assert person.sent == []  # nothing leaves before the button
    person.page.click("#send")
    receipt = person.receipt()
    person.shoot("5-receipt")
    assert person.sent == [shown]
    assert json.loads(shown) == {"invitation": code, "submission": {**submission, "seeded": False}}
    read = Submission.from_json(json.dumps(submission))
    assert receipt == house.receipt(study.slug, study.protocol.fingerprint, read.many().contents()[0])
    assert study.has(shown)
    with person.page.expect_download() as saved:
        person.page.click("#download-receipt")
    assert json.loads(Path(saved.value.path()).read_text()) == {"receipt": receipt, "submission": submission}


def test_answers_and_the_invitation_are_kept_nowhere(device, study):
    (code,) = study.invite()
    person = device()
    person.go(study.slug, code)
    person.answer(age="38.25")
    assert person.page.evaluate("localStorage.length") == 0
    person.page.click("#send")
    person.receipt()
    assert set(person.kept(study.slug)) == {"submission", "receipt", "withdrawn"}
    assert set(person.kept(study.slug)["submission"]) == {"format", "protocol", "q", "p", "seeded"}
    stored = person.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert code not in stored
    assert "38.25" not in stored
    assert person.page.evaluate("localStorage.length + sessionStorage.length") == 1


def test_changed_answers_keep_the_noise(device, study):
    person = device()
    person.go(study.slug)
    person.answer(shift=DAY)
    first = json.loads(person.body())["submission"]
    person.page.click("#back-to-questions")
    person.page.check(f"input[name=q2][value='{NIGHT}']")
    person.page.click("#questions [type=submit]")
    second = json.loads(person.body())["submission"]
    changed = [[i for i, pair in enumerate(zip(first[k], second[k], strict=True)) if len(set(pair)) > 1] for k in "qp"]
    assert changed == [[3, 4], [3, 4]]  # the slots of day and night, after age, hours and hours not said


def test_numbers_that_did_not_arrive_are_sent_again(device, house, study):
    (code,) = study.invite()
    person = device(LOST)
    person.go(study.slug, code)
    person.answer()
    person.page.route("**/submissions", lambda route: route.abort())
    person.page.click("#send")
    person.page.wait_for_selector("#retry:visible")
    person.shoot("4-lost")
    assert house.count(study.slug) == 0
    person.page.unroute("**/submissions")
    person.page.click("#retry")
    person.receipt()
    assert len(person.sent) == 2
    assert len(set(person.sent)) == 1
    assert study.has(person.sent[0])


def test_numbers_whose_receipt_was_lost_are_counted_once(device, house, study):
    (code,) = study.invite()
    person = device(LOST)
    person.go(study.slug, code)
    person.answer()

    def lose(route):
        route.fetch()
        route.abort()

    person.page.route("**/submissions", lose)
    person.page.click("#send")
    person.page.wait_for_selector("#retry:visible")
    assert study.has(person.sent[0])
    person.page.unroute("**/submissions")
    house.shut(study.slug)  # the receipt is given after closing, too
    person.page.reload()
    person.page.wait_for_selector("#retry:visible")
    assert "may have left" in person.page.inner_text("#sending-problem")
    person.page.click("#retry")
    receipt = person.receipt()
    assert set(person.sent) == {person.sent[0]}
    assert study.has(person.sent[0])
    person.page.reload()
    assert person.receipt() == receipt
    assert "already" in person.page.inner_text("#receipt")


def test_offline_numbers_leave_when_the_network_is_back(device, study):
    (code,) = study.invite()
    person = device(LOST)
    person.go(study.slug, code)
    person.answer()
    person.context.set_offline(True)
    person.page.click("#send")
    person.page.wait_for_selector("#retry:visible")
    assert "offline" in person.page.inner_text("#sending-problem")
    person.context.set_offline(False)
    person.receipt()
    assert study.has(person.sent[-1])
    assert len(set(person.sent)) == 1


def test_an_invitation_is_used_twice(device, study):
    one, other = study.invite(2)
    first, second = device(), device(excused=("status of 409", "status of 403"))
    first.go(study.slug, one)
    first.answer()
    first.page.click("#send")
    first.receipt()
    second.go(study.slug)
    second.answer()
    second.page.click("#send")  # without a code nothing is sent
    assert second.page.evaluate("document.activeElement.id") == "invitation"
    assert second.sent == []
    for code, words in (("ZZZZZ" * 4, "does not belong to this study"), (one, "was used already")):
        second.page.fill("#invitation", code)
        second.page.click("#send:visible, #retry:visible")
        second.page.wait_for_selector(f"text={words}")
        assert study.has(first.sent[0])
    second.shoot("4-invitation-used")
    second.page.fill("#invitation", other.lower().replace("-", " "))
    second.page.click("#retry")
    second.receipt()
    assert len({json.dumps(json.loads(body)["submission"]) for body in second.sent}) == 1
    assert json.loads(second.sent[-1])["invitation"] == other
    assert study.has(first.sent[0], second.sent[-1])


def test_a_second_tab_does_not_send_other_numbers(device, study):
    codes = study.invite(2)
    person = device()
    person.go(study.slug, codes[0])
    person.answer()
    tabs = [person.page, person.tab()]
    person.go(study.slug, codes[1], page=tabs[1])
    person.answer(tabs[1])
    tabs[0].bring_to_front()
    tabs[0].click("#send")
    receipt = person.receipt()
    tabs[1].bring_to_front()
    tabs[1].click("#send")
    assert person.receipt(tabs[1]) == receipt
    assert len(person.sent) == 1
    assert study.has(person.sent[0])


def test_a_receipt_for_other_numbers_is_not_taken(device, house, study):
    (code,) = study.invite()
    person = device()
    person.go(study.slug, code)
    person.answer()
    wrong = house.receipt(study.slug, study.protocol.fingerprint, bytes(16))
    person.page.route("**/submissions", lambda route: route.fulfill(status=201, json=wrong))
    person.page.click("#send")
    person.page.wait_for_selector("text=not for your numbers")
    assert person.kept(study.slug)["receipt"] is None


@pytest.mark.parametrize("change", [("row", 0.5), ("cross", 0.9), ("row", 0.0)])
def test_a_study_whose_noise_is_less_than_it_states_is_refused(device, study, change):
    part, factor = change
    person = device()

    def less(route):
        said = route.fetch().json()
        said["facts"][part]["scale"] *= factor
        route.fulfill(json=said)

    person.page.route(f"**/api/studies/{study.slug}", less)
    person.page.goto(f"{person.site}/s/{study.slug}")
    person.page.wait_for_selector("text=Please do not contribute")
    assert not person.page.is_visible("#start")


def test_a_contribution_is_taken_back(device, study, tmp_path):
    one, other = study.invite(2)
    first, second = device(), device()
    for person, code in ((first, one), (second, other)):
        person.go(study.slug, code)
        person.answer()
        person.page.click("#send")
        person.receipt()
    with second.page.expect_download() as saved:
        second.page.click("#download-receipt")
    first.page.click("#withdraw")
    first.page.click("#withdraw-sure")
    first.page.wait_for_selector("text=was withdrawn")
    assert study.has(second.sent[0])
    first.page.reload()
    first.page.wait_for_selector("text=was withdrawn")
    third = device()  # another device, with the receipt's file
    third.go(study.slug)
    third.page.click("#earlier summary")
    damaged = tmp_path / "damaged.json"
    text = json.loads(Path(saved.value.path()).read_text())
    text["submission"]["q"][0] += 1
    damaged.write_text(json.dumps(text))
    third.page.set_input_files("#receipt-file", damaged)
    third.page.wait_for_selector("text=not a receipt of this study")
    third.page.set_input_files("#receipt-file", saved.value.path())
    third.page.click("#withdraw")
    third.page.click("#withdraw-sure")
    third.page.wait_for_selector("text=was withdrawn")
    assert study.has()


def test_another_person_on_the_same_device(device, study):
    codes = study.invite(2)
    person = device()
    for code in codes:
        person.go(study.slug, code)
        person.answer()
        person.page.click("#send")
        person.receipt()
        person.page.click("#forget")
        assert "reveals more" in person.page.inner_text("#device")
        person.page.click("#device-forget")
        person.page.wait_for_selector("#start:visible")
        assert person.page.evaluate("localStorage.length") == 0
    assert study.has(*person.sent)


def test_a_receipt_can_be_forgotten_on_a_shared_device(device, study):
    (code,) = study.invite()
    person = device()
    person.go(study.slug, code)
    person.answer()
    person.page.click("#send")
    receipt = person.receipt()
    assert "added the numbers with this checksum to its sums" in person.page.inner_text("#receipt")
    assert "keeps the noisy numbers and the receipt" in person.page.inner_text("#kept-here")
    person.shoot("5-kept")
    person.page.click("#forget-receipt")
    person.page.wait_for_selector("text=has forgotten it")
    person.shoot("5-forgotten")
    assert person.page.evaluate("localStorage.length + sessionStorage.length") == 0
    left = person.page.content() + person.page.url + person.page.input_value("#invitation")
    assert not any(secret in left for secret in (code, receipt["content"], receipt["code"]))
    assert study.has(person.sent[0])  # the contribution itself stays


def test_a_receipt_of_what_was_taken_back_says_so(device, study):
    (code,) = study.invite()
    person = device()
    person.go(study.slug, code)
    person.answer()
    person.page.click("#send")
    person.receipt()
    person.page.click("#withdraw")
    person.page.click("#withdraw-sure")
    person.page.wait_for_selector("text=was withdrawn")
    said = person.page.inner_text("#receipt")
    assert "has taken them out again" in said
    assert "Anyone who has it can withdraw" not in said


def test_whether_an_invitation_is_needed_and_there_is_said_first(device, study):
    (code,) = study.invite()
    person = device()
    person.go(study.slug)
    assert "Your link does not contain one" in person.page.inner_text("#invited")
    person.shoot("1-no-invitation")
    person.go(study.slug, code)
    assert "Your link contains one" in person.page.inner_text("#invited")
    assert "all but the last: “Do you sleep well?”" in person.page.inner_text("#step-about")
    top, first = (
        person.page.locator(place).bounding_box()["y"] for place in ("#invited", "#step-about .card >> nth=0")
    )
    assert top < first


@pytest.mark.parametrize("state", ["closed", "trained"])
def test_a_study_that_is_over_says_so_first(device, house, study, state):
    person = device()
    house.shut(study.slug)

    def told(route):  # a model is trained elsewhere; here it is what the page does about it
        route.fulfill(json={**route.fetch().json(), "state": state})

    person.page.route(f"**/api/studies/{study.slug}", told)
    person.page.goto(f"{person.site}/s/{study.slug}")
    person.page.wait_for_selector("#starting", state="hidden")
    notice, first = (person.page.locator(p).bounding_box()["y"] for p in ("#not-open", "#step-about .card >> nth=0"))
    assert notice < first
    assert not person.page.is_visible("#start")
    assert person.page.is_visible("#earlier") == (state == "closed")  # once there is a model, it is too late
