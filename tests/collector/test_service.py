"""The service through its interface for programs: receipts, retries, invitations, withdrawal, refusals, the model."""

import json

import pytest
from fastapi.testclient import TestClient

from tacit import PrivacyError, files
from tacit.collector.app import create_app
from tacit.collector.headers import HEADERS
from tacit.protocol import Database


@pytest.fixture
def web(collector):
    with TestClient(create_app(collector, rate=0)) as client:
        yield client


def body(submission, invitation=None):
    return {"invitation": invitation, "submission": json.loads(submission.to_json())}


def test_a_study_from_its_draft_to_its_model(web, collector, protocol, make_people, tmp_path):
    slug = collector.create(protocol, {"en": {"title": "Sleep"}})
    people = list(make_people(40).each())
    codes = collector.invite(slug, 40)
    place = f"/api/studies/{slug}"
    assert web.post(f"{place}/submissions", json=body(people[0], codes[0])).status_code == 404  # not open yet
    collector.open(slug)
    receipts = [web.post(f"{place}/submissions", json=body(*pair)) for pair in zip(people, codes, strict=True)]
    assert {one.status_code for one in receipts} == {201}
    again = web.post(f"{place}/submissions", json=body(people[3], codes[3]))
    assert (again.status_code, again.json()) == (200, receipts[3].json())
    assert web.get(place).json()["count"] == 40
    taken = web.post(f"{place}/withdrawals", json=body(people[0]))
    assert (taken.status_code, taken.json()["withdrawn"]) == (200, True)
    assert web.post(f"{place}/withdrawals", json=body(people[0])).status_code == 200
    assert web.post(f"{place}/submissions", json=body(people[0], codes[0])).json()["reason"] == "withdrawn"
    with Database(protocol) as base:
        for one in people[1:]:
            base.add(one)
        assert collector.database(slug).sums.to_bytes() == base.sums.to_bytes()
    collector.shut(slug)
    assert web.post(f"{place}/submissions", json=body(people[3], codes[3])).json() == receipts[3].json()
    assert web.get(f"{place}/model").status_code == 404
    collector.train(slug)
    assert web.post(f"{place}/withdrawals", json=body(people[1])).json()["reason"] == "trained"
    assert web.get(f"{place}/model").json()["reason"] == "no-model"
    collector.publish(slug)
    (tmp_path / "model.json").write_bytes(web.get(f"{place}/model").content)
    model = files.load(tmp_path / "model.json").model
    model.guarantee_.verify()
    model.record_guarantee_.verify()
    assert web.get("/api/studies").json() == [{"study": slug, "state": "published", "title": "Sleep"}]


def test_an_invitation_counts_once(web, collector, study, make_people):
    one, other, third = make_people(3).each()
    (code,) = collector.invite(study, 1)
    place = f"/api/studies/{study}/submissions"
    assert web.post(place, json=body(one)).json()["reason"] == "invitation-unknown"
    assert web.post(place, json=body(one, "AAAAA-AAAAA-AAAAA-AAAAA")).json()["reason"] == "invitation-unknown"
    assert web.post(place, json=body(one, code.lower().replace("-", " "))).status_code == 201
    assert web.post(place, json=body(other, code)).json()["reason"] == "invitation-used"
    assert web.post(place, json=body(third, code)).status_code == 409
    assert collector.tally(study).used == 1
    assert collector.count(study) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda one: "no", "unreadable"),
        (lambda one: {**one, "seeded": True}, "seeded"),
        (lambda one: {**one, "protocol": "0" * 32}, "foreign"),
        (lambda one: {**one, "q": one["q"][1:]}, "shape"),
        (lambda one: {**one, "q": [0.5, *one["q"][1:]]}, "unreadable"),
        (lambda one: {**one, "p": [2**60, *one["p"][1:]]}, "damaged"),
        (lambda one: {**one, "q": [2**45, *one["q"][1:]]}, "long"),
    ],
)
def test_what_no_program_sends_is_refused_and_counted(web, collector, study, make_people, change, reason):
    one = json.loads(next(make_people(1).each()).to_json())
    (code,) = collector.invite(study, 1)
    answer = web.post(f"/api/studies/{study}/submissions", json={"invitation": code, "submission": change(one)})
    assert (answer.status_code, answer.json()["reason"]) == (400, reason)
    assert sum(collector.tally(study).refused.values()) == 1
    assert (collector.count(study), collector.tally(study).used) == (0, 0)


def test_every_answer_has_the_headers(web, study):
    for place in ("/api/studies", f"/api/studies/{study}", "/nowhere", "/api/studies/UPPER"):
        answer = web.get(place)
        assert all(answer.headers[name] == value for name, value in HEADERS.items()), place
        assert "set-cookie" not in answer.headers


def test_limits_on_size_and_rate(collector, study):
    with TestClient(create_app(collector, rate=3)) as web:
        place = f"/api/studies/{study}/submissions"
        assert web.post(place, content=b"x" * 2**21).json()["reason"] == "too-large"
        answers = [web.post(place, content=b"x").json()["reason"] for _ in range(4)]
        assert answers == ["unreadable", "unreadable", "too-many", "too-many"]


def test_one_study_a_protocol(collector, protocol, study):
    with pytest.raises(PrivacyError, match="exactly this protocol"):
        collector.create(protocol, {})


@pytest.mark.parametrize(
    "texts",
    [{"fr": {}}, {"en": "title"}, {"en": {"title": 3}}, {"en": {"other": ""}}, {"en": {"questions": {"age": "Age"}}},
     {"en": {"questions": {"age": {"values": {"a": 1}}}}}],
)  # fmt: skip
def test_texts_that_pages_cannot_show_are_refused(collector, protocol, texts):
    with pytest.raises(ValueError, match="Expected"):
        collector.create(protocol, texts)
