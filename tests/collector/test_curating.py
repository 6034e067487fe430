"""The curator's pages through HTTP: who may do what, what a study goes through, and what the log says of it."""

import html
import json
import re
import threading
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from starlette.requests import Request

from tacit.checks import at_most
from tacit.collector import Collector, accounts, acts, curating, planning, trainer, visits
from tacit.collector.app import create_app
from tacit.collector.engine import reading
from tacit.collector.headers import HEADERS
from tacit.collector.layout import VISITS
from tacit.collector.reception import Reception

HOME = "http://here"
OWN = {"origin": HOME}
SCHEMA = """
[target]
name = "sleeps"
classes = ["no", "yes"]
[columns.age]
lower = 18
upper = 90
[columns.job]
values = ["office", "shift"]
"""
STUDY = {
    "schema": SCHEMA, "epsilon": "1", "delta": "1e-6", "cohort": "300", "record": "asked", "record_epsilon": "8",
    "honest": "0.9", "admission": "invitation", "withdrawal": "yes", "title_en": "Sleep", "title_de": "Schlaf",
    "labels_en": "age = How old are you?\nage.unit = years\njob.values.shift = In shifts",
}  # fmt: skip


@pytest.fixture
def base(tmp_path):
    made = Collector(tmp_path / "base.sqlite")
    yield made
    made.close()


@pytest.fixture
def people(base, monkeypatch):
    """Names and secrets, which are cheap to check; and previews of few studies."""
    monkeypatch.setattr(accounts, "_COST", 4)
    monkeypatch.setattr(planning, "CROWDS", (0.5, 1.0))
    monkeypatch.setattr(planning, "FACTORS", (1.0,))
    with base.engine.begin() as writing:
        return {role: accounts.add(writing, role, role) for role in ("curator", "viewer")}


class Browser:
    """A client that keeps cookies, and fills in the token of the last page's form."""

    def __init__(self, client, name=None, secret=None):
        self.client, self.token = client, ""
        if name:
            answer = self.client.post("/curator/sign-in", data={"name": name, "secret": secret}, headers=OWN)
            assert answer.headers["location"] == "/curator"
            self.get("/curator")

    def get(self, path):
        answer = self.client.get(path)
        found = re.search(r'name="form" value="(\w+)"', answer.text)
        self.token = found[1] if found else ""
        return answer

    def post(self, path, **form):
        return self.client.post(path, data={"form": self.token, **form}, headers=OWN)


@pytest.fixture
def app(base):
    return create_app(base, rate=0)


@pytest.fixture
def visit(app, people):
    """Sign in by role, each in a browser of its own; None is somebody who is not signed in."""
    opened = []

    def enter(role="curator"):
        client = TestClient(app, base_url=HOME, follow_redirects=False)
        if not opened:
            client.__enter__()
            opened.append(client)
        return Browser(client, role, people.get(role)) if role else Browser(client)

    yield enter
    for client in opened:
        client.__exit__(None, None, None)


def lines(base):
    with reading(base.engine) as asking:
        return [(act.who, act.what) for act in reversed(acts.acts(asking))]


def create(browser, **more):
    fields = {**STUDY, **more}
    seal = re.search(r'name="create" value="(\w+)"', browser.post("/curator/new", **fields).text)[1]
    return browser.post("/curator/new", **fields, create=seal).headers["location"].rpartition("/")[2]


def finish(place, browser):
    """Wait for the training."""
    for _ in range(1000):
        page = browser.get(place).text
        if "is being trained" not in page:
            return page
        threading.Event().wait(0.02)
    raise AssertionError("the training does not end")


def test_a_study_from_its_schema_to_its_model(visit, base):
    curator = visit()
    page = curator.post("/curator/new", **STUDY)
    assert page.status_code == 200
    text = page.text
    assert text.count("<figure") == 2
    assert 'id="expected"' in text
    assert not base.studies()
    slug = create(curator)
    study, place = base.study(slug), f"/curator/studies/{slug}"
    assert study.texts["en"]["questions"]["job"] == {"values": {"shift": "In shifts"}}
    assert study.protocol.withdrawal
    invited = curator.post(f"{place}/invitations", number="30")
    assert invited.headers["cache-control"] == "no-store"
    codes = re.findall(r"<td><code>([0-9A-Z-]{23})</code></td>", invited.text)
    assert len(set(codes)) == 30
    assert f"{HOME}/s/{slug}#{codes[0]}" in invited.text
    assert "data:text/csv" in invited.text
    assert curator.post(f"{place}/do/open").status_code == 303
    table = {"age": [40.0] * 30, "job": ["office"] * 30}
    for one, code in zip(study.protocol.perturb_table(table, ["no"] * 30).each(), codes, strict=True):
        body = {"invitation": code, "submission": json.loads(one.to_json())}
        assert curator.client.post(f"/api/studies/{slug}/submissions", json=body).status_code == 201
        assert curator.client.post(f"/api/studies/{slug}/submissions", json=body).status_code == 200
    page = curator.get(place).text
    assert 'data-live="count">30<' in page
    assert "The same submission again" in page
    assert 'data-live="used">30<' in page
    assert "right answers in 100" in page
    assert curator.get(f"{place}/do/close").text.count("cannot be undone") == 1
    assert curator.post(f"{place}/do/close").status_code == 303
    assert "missing" in curator.get(f"{place}/do/train").text
    assert curator.post(f"{place}/do/train").status_code == 303
    finish(place, curator)
    assert base.study(slug).state == "trained"
    assert curator.post(f"{place}/do/publish").status_code == 303
    assert base.model(slug)
    assert curator.post(f"{place}/do/train").status_code == 409
    done = ["create", "invite", "open", "close", "train", "trained", "publish"]
    assert lines(base)[2:] == [("curator", what) for what in ["sign-in", *done]]
    assert "The log is consistent" in curator.get("/curator/acts").text


def everything(slug):
    """Every form of the pages, with what it would need to succeed."""
    place = f"/curator/studies/{slug}"
    steps = [(f"{place}/do/{step}", {}) for step in ("open", "close", "train", "publish")]
    return [*steps, (f"{place}/invitations", {"number": "5"}), ("/curator/new", STUDY), ("/curator/sign-out", {})]


def test_every_form_is_in_the_list(base):
    posts = {route.path for route in curating.router(base).routes if "POST" in route.methods}
    known = {re.sub("/do/.*", "/do/{step}", path) for path, _ in everything("{slug}")}
    assert posts == known | {"/curator/sign-in"}


@pytest.mark.parametrize("how", ["no-token", "other-token", "foreign", "cross-site", "unsaid", "viewer", "signed-out"])
def test_nothing_changes_without_the_right(visit, base, protocol, how):
    slug = base.create(protocol, {})
    other, browser = visit(), visit("viewer" if how == "viewer" else "curator" if how != "signed-out" else None)
    browser.get("/curator")
    headers = {
        "foreign": {"origin": "https://evil.example"},
        "cross-site": {"sec-fetch-site": "cross-site"},
        "unsaid": {},
    }
    token = {"no-token": {"form": ""}, "other-token": {"form": other.token}}.get(
        how, {"form": browser.token or other.token}
    )
    with base.engine.begin() as asking:
        before = lines(base), asking.execute(VISITS.select()).all()
    for path, form in everything(slug):
        if how == "viewer" and path.endswith("sign-out"):
            continue  # viewers may leave
        answer = browser.client.post(path, data={**form, **token}, headers=headers.get(how, OWN))
        assert answer.status_code == (401 if how == "signed-out" else 403), path
        assert "othing was changed" in answer.text
        assert all(answer.headers[name] == value for name, value in HEADERS.items())
    with base.engine.begin() as asking:
        assert (lines(base), asking.execute(VISITS.select()).all()) == before
    assert [one.state for one in base.studies()] == ["draft"]
    assert base.tally(slug).invited == 0


def test_a_viewer_sees_everything_but_the_buttons(visit, base, protocol):
    slug = base.create(protocol, {"en": {"title": "Sleep"}})
    viewer = visit("viewer")
    for path in ("/curator", f"/curator/studies/{slug}", "/curator/acts"):
        page = viewer.get(path)
        assert page.status_code == 200
        assert re.findall(r'action="([^"]+)"', page.text) == ["/curator/sign-out"]
        assert "/do/" not in page.text
        assert "/curator/new" not in page.text
    assert viewer.get("/curator/new").status_code == 403
    assert viewer.get(f"/curator/studies/{slug}/do/open").status_code == 403


def test_pages_are_for_those_who_are_signed_in(visit, base, protocol):
    slug = base.create(protocol, {"en": {"title": "Secret title"}})
    nobody = visit(None)
    place = f"/curator/studies/{slug}"
    for path in ("/curator", "/curator/new", "/curator/acts", place, f"{place}/do/open", "/curator/studies/none"):
        answer = nobody.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/curator/sign-in"), path
        assert not answer.text
    assert nobody.get(f"{place}/events").status_code == 401
    assert "set-cookie" not in nobody.get("/curator/sign-in").headers


def test_a_session_that_is_over_is_over(visit, base, protocol):
    slug, curator = base.create(protocol, {}), visit()
    with base.engine.begin() as writing:
        writing.execute(VISITS.update().values(seen=VISITS.c.seen - visits.IDLE - 1))
    assert curator.post(f"/curator/studies/{slug}/do/open").status_code == 401
    assert base.study(slug).state == "draft"
    assert curator.get("/curator").status_code == 303


def test_use_is_written_down_and_watching_is_no_use(visit, base, protocol):
    slug, curator = base.create(protocol, {}), visit()

    def seen():
        with reading(base.engine) as asking:
            return asking.execute(VISITS.select()).one().seen

    with base.engine.begin() as writing:
        writing.execute(VISITS.update().values(seen=(before := seen() - 100)))
    reception = Reception(base)
    token = next(one.value for one in curator.client.cookies.jar if one.name == "tacit")
    assert reception.present(token)
    assert reception.visitor(asking_with(token), using=False).account == "curator"
    assert seen() == before
    curator.get(f"/curator/studies/{slug}")
    assert seen() >= before + 100


def asking_with(token):
    headers = [(b"host", b"here"), (b"cookie", f"tacit={token}".encode())]
    return Request({"type": "http", "path": "/", "scheme": "http", "server": ("here", 80), "headers": headers})


def test_signing_in_gives_a_new_token_and_ends_the_old_one(visit, people):
    curator = visit()
    (cookie,) = [one for one in curator.client.cookies.jar if one.name == "tacit"]
    planted = cookie.value
    answer = curator.client.post("/curator/sign-in", data={"name": "curator", "secret": people["curator"]}, headers=OWN)
    assert answer.status_code == 303
    (cookie,) = [one for one in curator.client.cookies.jar if one.name == "tacit"]
    assert cookie.value != planted
    other = visit(None)
    other.client.cookies.set("tacit", planted, path="/curator")
    assert other.get("/curator").status_code == 303


def test_signing_out_ends_the_session_in_the_server(visit):
    curator = visit()
    token = next(one.value for one in curator.client.cookies.jar if one.name == "tacit")
    assert curator.post("/curator/sign-out").headers["location"] == "/curator/sign-in"
    curator.client.cookies.set("tacit", token, path="/curator")
    assert curator.get("/curator").status_code == 303


def test_wrong_secrets_are_refused_written_down_and_limited(visit, base, people):
    nobody = visit(None)

    def attempt(name, secret="wrong", **headers):
        return nobody.client.post("/curator/sign-in", data={"name": name, "secret": secret}, headers=headers or OWN)

    assert attempt("curator", people["curator"], origin="https://evil.example").status_code == 403
    assert attempt("curator", people["viewer"]).status_code == 403
    assert attempt(people["curator"], "curator").status_code == 403
    assert lines(base)[2:] == [("curator", "sign-in refused"), ("unknown name", "sign-in refused")]
    with reading(base.engine) as asking:
        assert people["curator"].lower() not in str(acts.acts(asking)).lower()
    assert [attempt("curator").status_code for _ in range(5)] == [403] * 4 + [429]
    assert attempt("curator", people["curator"]).status_code == 429  # the right one too: else the limit is none
    assert attempt("viewer", people["viewer"]).status_code == 303


@pytest.mark.parametrize(
    ("field", "typed", "sentence"),
    [
        ("schema", "", "paste a schema"),
        ("schema", "[columns.age]\nlower = 1\nupper = 2", "no target"),
        ("schema", "{ not json", "not valid JSON"),
        ("schema", "= = =", "not valid TOML"),
        ("schema", "a = " + "[" * 5000, "not valid TOML"),
        ("schema", "{\"a\":" + "[" * 5000, "not valid JSON"),
        ("schema", SCHEMA.replace("upper = 90", "upper = 1"), "bound of column 'age' must be below the upper"),
        ("schema", SCHEMA.replace('"yes"]', '"yes", "maybe"]'), "two classes"),
        ("schema", "columns = 3\n[target]\nname = 'a'\nclasses = ['b', 'c']", "schema"),
        ("epsilon", "nan", "above 0"),
        ("epsilon", "one", "type a number"),
        ("cohort", "1,000", "whole number"),
        ("cohort", "9" * 300, "100,000,000"),
        ("delta", "2", "at most 0.01"),
        ("delta", "0.0034", "at most one in the cohort"),
        ("record_epsilon", "", "type a number"),
        ("record_epsilon", "1001", "at most 1000"),
        ("record", "", "choose what one record"),
        ("epsilon", "5e-324", "outside the range"),
        ("epsilon", "1e-9", "do not fit together"),
        ("schema", SCHEMA.replace('"office"', "1e308"), "could not be tried"),
        ("title_en", "", "title"),
        ("labels_en", "height = How tall?", "Line 1"),
        ("labels_de", "age = Alter?\njob.values.moon = Mond", "Line 2"),
        ("admission", "all", "choose"),
    ],
)  # fmt: skip
def test_mistakes_are_sentences_beside_what_was_typed(visit, base, field, typed, sentence):
    fields = {**STUDY, "title_de": "", "about_en": "<b>Kept</b>", field: typed}
    page = visit().post("/curator/new", **fields)
    assert page.status_code == 422
    assert sentence in html.unescape(page.text)
    assert "&lt;b&gt;Kept&lt;/b&gt;" in page.text
    assert html.escape(typed) in page.text.replace("&#34;", "&quot;").replace("&#39;", "&#x27;")
    assert not base.studies()


def test_only_what_was_seen_is_created(visit, base):
    curator = visit()
    seal = re.search(r'name="create" value="(\w+)"', curator.post("/curator/new", **STUDY).text)[1]
    changed = {**STUDY, "epsilon": "2"}, {**STUDY, "title_en": "Sleep!"}, {**STUDY, "admission": "open"}
    for form in changed:
        assert "You changed something" in curator.post("/curator/new", **form, create=seal).text
    assert not base.studies()
    assert curator.post("/curator/new", **STUDY, create=seal).status_code == 303
    again = curator.post("/curator/new", **STUDY, create=seal)  # pressed twice
    assert again.status_code == 409
    assert "already a study with exactly this protocol" in again.text
    assert len(base.studies()) == 1


def test_little_protection_is_said_before_and_after(visit, base):
    curator = visit()
    page = curator.post("/curator/new", **{**STUDY, "record": "needed", "admission": "open"}).text
    assert "Little protection" in page
    assert "Anyone can contribute" in page
    assert "No better than guessing" not in page
    assert "No better than guessing" in curator.post("/curator/new", **STUDY).text
    slug = create(curator, record="needed", record_epsilon="")
    assert "Little protection" in curator.get(f"/curator/studies/{slug}").text


def test_what_curators_type_is_escaped(visit):
    curator, bad = visit(), '<script>alert("1")</script>'
    slug = create(curator, title_en=bad, purpose_en=bad)
    for path in ("/curator", f"/curator/studies/{slug}", f"/curator/studies/{slug}/do/open"):
        page = curator.get(path).text
        assert "alert(" in page
        assert "<script>alert" not in page
        assert not re.search(r"<[^>]+ (style|on\w+)=", page)


def test_invitations_are_bounded_and_only_where_they_are_asked_for(visit, base, protocol):
    curator, slug = visit(), base.create(protocol, {})
    place = f"/curator/studies/{slug}/invitations"
    for number in ("0", "-1", "", "ten", "5001", "9" * 400):
        assert curator.post(place, number=number).status_code == 422
    open_one = base.create(replace(protocol, purpose="open"), {}, admission="open")
    assert curator.post(f"/curator/studies/{open_one}/invitations", number="1").status_code == 409
    assert (base.tally(slug).invited, base.tally(open_one).invited) == (0, 0)
    assert curator.post("/curator/studies/zzzzzzzzzz/invitations", number="1").status_code == 404
    assert curator.post(f"/curator/studies/{slug}/do/anything").status_code == 404


@pytest.fixture
def full(base, protocol, make_people):
    """A closed study of forty people."""
    slug = base.create(protocol, {})
    base.open(slug)
    base.database(slug).add(make_people(40))
    base.shut(slug)
    return slug


def test_two_curators_press_at_once_and_one_model_is_trained(visit, base, full, monkeypatch):
    one, other, gate, asked = visit(), visit(), threading.Event(), []
    whole = Collector.train
    monkeypatch.setattr(Collector, "train", lambda *a, **k: (asked.append(k["who"]), gate.wait(30), whole(*a, **k))[2])
    place = f"/curator/studies/{full}"
    assert one.post(f"{place}/do/train").status_code == 303
    assert other.post(f"{place}/do/train").status_code == 303
    assert "is being trained" in other.get(place).text
    gate.set()
    finish(place, one)
    assert asked == ["curator"]
    assert base.study(full).state == "trained"
    assert len(base.database(full).trainings) == 1


def test_a_training_that_was_stopped_leaves_the_records_guarantee(visit, base, full, monkeypatch):
    from tacit.protocol import Protocol

    place, curator = f"/curator/studies/{full}", visit()

    def broken(*_):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("tacit.mechanisms.input.InputNumbers.train", broken)
        curator.post(f"{place}/do/train")
        finish(place, curator)
    assert base.study(full).state == "training"
    assert trainer.standing(base, base.study(full)) == "lost"
    page = curator.get(place).text
    assert "was interrupted" in page
    assert "practically no protection" in curator.get(f"{place}/do/train").text
    assert curator.post(f"{place}/do/train").status_code == 409
    curator.post(f"{place}/do/train", accept="record")
    finish(place, curator)
    assert base.study(full).state == "trained"
    content = json.loads(base.study(full).model)
    assert content["guarantee"]["epsilon"] == Protocol.record_guarantee(base.study(full).protocol).epsilon


def test_a_training_that_was_stopped_at_its_end_gives_its_model(visit, base, full, monkeypatch):
    place, curator = f"/curator/studies/{full}", visit()
    with monkeypatch.context() as patch:
        patch.setattr("tacit.collector.collection.written", lambda *_: 1 / 0)
        curator.post(f"{place}/do/train")
        finish(place, curator)
    (made,) = base.database(full).trainings
    assert trainer.standing(base, base.study(full)) == "kept"
    assert "stopped at its end" in curator.get(place).text
    curator.post(f"{place}/do/train", accept="record")  # not needed, and not taken
    finish(place, curator)
    content = json.loads(base.study(full).model)
    assert content["guarantee"]["epsilon"] == base.study(full).protocol.guarantee(40).epsilon
    assert base.database(full).trainings == (made,)
    with reading(base.engine) as asking:
        assert not any("accepted" in act.note for act in acts.acts(asking))


def test_a_training_that_cannot_begin_says_why(visit, base, protocol):
    slug, curator = base.create(protocol, {}), visit()
    base.shut(slug)
    place = f"/curator/studies/{slug}"
    curator.post(f"{place}/do/train")
    assert "no submissions to train on" in finish(place, curator)
    assert base.study(slug).state == "closed"


def test_two_acts_at_once_are_both_in_the_log(collector):
    """On PostgreSQL too: the second one waits."""
    failed = []

    def write(number):
        try:
            for _ in range(5):
                with collector.engine.begin() as base:
                    acts.write(base, f"writer {number}", "test")
        except Exception as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    [one.start() for one in writers]
    [one.join() for one in writers]
    assert not failed
    assert len(lines(collector)) == 20
    with reading(collector.engine) as base:
        assert acts.verify(base)


def test_of_a_draft_nobody_is_told(visit, base, protocol, make_people):
    slug, client = base.create(protocol, {}), visit(None).client
    (one,) = make_people(1).each()
    whole = json.loads(one.to_json())
    for kind in ("submissions", "withdrawals"):
        for sent in (whole, {**whole, "p": [1], "q": [1]}, {**whole, "protocol": "0" * 32}):
            for place in (slug, "z" * 10):
                answer = client.post(f"/api/studies/{place}/{kind}", json={"submission": sent})
                assert answer.json()["reason"] == "no-study"
    assert base.tally(slug).refused == {}
    base.open(slug)
    answer = client.post(f"/api/studies/{slug}/submissions", json={"submission": json.loads(one.to_json())})
    assert answer.json()["reason"] == "invitation-unknown"


def test_studies_by_invitation_are_not_listed_until_their_model_is(visit, base, protocol, make_people):
    slug, client = base.create(protocol, {}), visit(None).client
    anyone = base.create(replace(protocol, purpose="anyone"), {}, admission="open")

    def listed():
        return {one["study"] for one in client.get("/api/studies").json()}

    assert listed() == set()
    base.open(slug)
    base.open(anyone)
    assert listed() == {anyone}
    base.database(slug).add(make_people(20))
    base.shut(slug)
    base.train(slug)
    assert listed() == {anyone}
    base.publish(slug)
    assert listed() == {anyone, slug}


def test_links_begin_with_the_public_address(visit, base, protocol, people):
    slug, curator = base.create(protocol, {}), visit()
    place = f"/curator/studies/{slug}/invitations"
    page = curator.post(place, number="1").text
    assert f"{HOME}/s/{slug}#" in page
    assert "the address that your browser used" in page
    odd = {"host": 'x"y', "sec-fetch-site": "same-origin"}
    answer = curator.client.post(place, data={"form": curator.token, "number": "1"}, headers=odd)
    assert (answer.status_code, base.tally(slug).invited) == (400, 1)
    base.public = "https://collector.example.org"
    page = curator.post(place, number="1").text
    assert f"https://collector.example.org/s/{slug}#" in page
    assert HOME not in page
    assert "your browser used" not in page
    for wrong in ("collector.example.org", "https://a/b", "https://a b", "javascript:1"):
        with pytest.raises(ValueError, match="public address"):
            Collector("unused.sqlite", public=wrong)


def test_protocols_are_told_apart_as_their_files_are(schema):
    from tacit.collector.api import promised
    from tacit.protocol import Protocol
    from tacit.schema import Schema, Target

    common = {"epsilon": 1.0, "delta": 1e-6, "cohort": 300}
    pair = [
        Protocol.create(schema=Schema(schema.columns, Target("t", classes=classes)), **common)
        for classes in ((0, 1), (False, True))
    ]
    assert pair[0].schema == pair[1].schema  # for Python these are the same numbers
    assert pair[0] != pair[1]
    assert Protocol.from_json(pair[0].to_json()) == pair[0]
    for one in pair:
        assert promised(one)["model"]["collection"] == one.fingerprint


def test_a_model_that_only_guesses_is_announced_at_every_step(visit, base, protocol, make_people):
    """Forty of three hundred people teach nothing with this noise; what is expected is said, and loudly."""
    weak, curator = replace(protocol, purpose="weak"), visit()
    slug = base.create(weak, {})
    place = f"/curator/studies/{slug}"
    base.open(slug)
    assert "Nobody has contributed: there is nothing to learn from" in curator.get(f"{place}/do/close").text
    table = {"age": [40.0] * 10, "hours": [1.0] * 10, "job": ["none"] * 10}
    base.database(slug).add(weak.perturb_table(table, ["no", "yes"] * 5))
    for step, act in (("close", base.shut), ("train", base.train), ("publish", base.publish)):
        page = curator.get(f"{place}/do/{step}").text
        assert page.count('id="hopeless"') == 1, step
        assert "A model of 10 people is not expected to be better than guessing" in page
        act(slug)


def test_what_is_expected_is_said_where_it_is_good(visit, base, schema):
    from tacit.protocol import Protocol

    slug = base.create(Protocol.create(epsilon=2.0, delta=1e-6, cohort=200_000, schema=schema), {})
    page = visit().get(f"/curator/studies/{slug}/do/open").text
    assert "What can be expected of a model of 200,000 people" in page
    assert 'id="hopeless"' not in page


def test_both_guarantees_of_the_model_are_shown_before_it_is_published(visit, base, full):
    curator, place = visit(), f"/curator/studies/{full}"
    assert 'id="made"' not in curator.get(place).text
    base.train(full)
    content = json.loads(base.study(full).model)
    for path in (place, f"{place}/do/publish"):
        page = " ".join(html.unescape(curator.get(path).text).split())  # wherever its lines are broken
        assert '<table class="guarantees">' in page
        for name in ("guarantee", "record_guarantee"):
            assert f'<td class="number">{at_most(content[name]["epsilon"], 4)}</td>' in page
        assert "for 40 records" in page
        assert "TRUST FOR ONE RECORD" in page
        assert '<td class="number">1e-6</td>' in page


def test_the_page_knows_whether_there_is_a_ledger(visit, base, full):
    curator, place = visit(), f"/curator/studies/{full}/do/train"
    assert "without a ledger" in curator.get(place).text
    base.ledger = "some.ledger"
    assert "charged to the ledger that this service was started with" in curator.get(place).text
