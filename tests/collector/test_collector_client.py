"""The Python client against a real server: receipts, lost connections, crashes, refusals, and a service that lies."""

import json
import os
import ssl
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from serving import Line, served

from tacit import collector as room
from tacit.checks import PrivacyError
from tacit.collector import Client, Collector, Receipt, Refused, Unanswered, pending
from tacit.collector.app import create_app
from tacit.protocol import Database, Protocol
from tacit.schema import Number, Schema, Target

PERSON = {"age": 40.0, "hours": 35.0, "job": "office"}
ANY = float("inf")


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    made = Collector(tmp_path_factory.mktemp("client") / "collector.sqlite")
    yield made
    made.close()


@pytest.fixture(scope="module")
def place(collector):
    with served(create_app(collector, rate=0)) as found:
        yield found


@pytest.fixture
def line(place):
    made = Line(place)
    yield made
    made.close()


@pytest.fixture(scope="module")
def agreed(schema):
    return Protocol.create(
        epsilon=1.0, delta=1e-6, cohort=300, schema=schema, record_epsilon=4.0, withdrawal=True, purpose="clients"
    )


@pytest.fixture
def study(collector, agreed, request):
    """An open study with a protocol of its own: one study a protocol."""
    slug = collector.create(replace(agreed, purpose=request.node.name), {"en": {"title": "Sleep"}})
    collector.open(slug)
    return slug


def patient(line, **settings):
    """A client that notes how long it would have waited."""
    waits = []
    made = Client(line.address, wait=waits.append, **settings)
    made.waits = waits
    line.clients.append(made)
    return made


def test_a_person_contributes_and_takes_it_back(line, collector, study):
    (code,) = collector.invite(study, 1)
    with patient(line) as client:
        assert study not in [one["study"] for one in client.studies()]  # it is reached by an invitation
        offer = client.study(study)
        assert (offer.state, offer.count, offer.protocol) == ("open", 0, collector.study(study).protocol)
        receipt = client.contribute(study, PERSON, "yes", code)
        assert collector.count(study) == 1
        assert receipt.submission.seeded is False
        assert client.send(pending.Pending(study, receipt.submission, code)) == receipt
        assert Receipt.from_json(receipt.to_json()) == receipt
        client.withdraw(study, receipt)
        client.withdraw(study, receipt.submission)
        assert collector.count(study) == 0
    assert client.waits == []
    assert line.opened == 1  # one connection for all


@pytest.mark.parametrize("fates", [["lost"], ["unheard"], ["cut"], ["lost", "cut", "unheard", "unheard"]])
def test_a_lost_connection_sends_the_same_again(line, collector, study, fates):
    """Nothing is drawn anew, whatever was lost: all bodies are one, and it is counted once."""
    (code,) = collector.invite(study, 1)
    client = patient(line)
    protocol = client.study(study).protocol
    line.fates, line.bodies = list(fates), []
    receipt = client.contribute(study, PERSON, "yes", code, protocol=protocol)
    assert len(line.bodies) == len(fates) + 1
    assert len(set(line.bodies)) == 1
    assert json.loads(line.bodies[0])["submission"] == json.loads(receipt.submission.to_json())
    assert collector.count(study) == 1
    assert client.waits == [0.5 * 2**tried for tried in range(len(fates))]


def test_who_gives_up_keeps_what_may_have_arrived(line, collector, study):
    (code,) = collector.invite(study, 1)
    client = patient(line, tries=3)
    protocol = client.study(study).protocol
    line.fates = ["unheard"] * 3
    with pytest.raises(Unanswered, match="asked 3 times") as lost:
        client.contribute(study, PERSON, "yes", code, protocol=protocol)
    (sent,) = lost.value.pending
    assert collector.count(study) == 1
    assert client.send(sent).submission == sent.submission
    assert collector.count(study) == 1


def test_a_crash_draws_no_new_noise(line, collector, study, tmp_path):
    """The file is on the disk before the first byte leaves; after a crash the same submission is sent."""
    (code, other) = collector.invite(study, 2)
    place = tmp_path / "pending.jsonl"
    protocol = collector.study(study).protocol
    line.fates = ["unheard"]
    with pytest.raises(Unanswered):
        patient(line, tries=1).contribute(study, PERSON, "yes", code, protocol=protocol, keep=place)
    (kept,) = pending.kept(place)
    assert place.stat().st_mode & 0o077 == 0
    receipt = patient(line).contribute(study, PERSON, "yes", code, keep=place)
    assert receipt.submission == kept.submission
    assert collector.count(study) == 1
    with pytest.raises(ValueError, match="of others"):
        patient(line).contribute(study, PERSON, "yes", other, keep=place)
    with pytest.raises(FileExistsError):
        pending.keep(place, [kept])
    place.write_text(place.read_text().splitlines()[0])
    with pytest.raises(ValueError, match="nothing of it was sent"):
        patient(line).contribute(study, PERSON, "yes", code, keep=place)


def test_an_organisation_sends_many(line, collector, study, tmp_path):
    codes = collector.invite(study, 4)
    rng = np.random.default_rng(0)
    table = {"age": rng.uniform(18, 90, 5), "hours": rng.uniform(0, 80, 5), "job": ["office"] * 5}
    client = patient(line)
    found = client.contribute_table(study, table, ["yes"] * 5, [*codes, codes[0]], keep=tmp_path / "all.jsonl")
    assert [type(one) for one in found] == [Receipt] * 4 + [Refused]
    assert found[4].refusal.reason == "invitation-used"
    assert len({one.content for one in found[:4]}) == 4
    again = client.contribute_table(study, table, ["yes"] * 5, [*codes, codes[0]], keep=tmp_path / "all.jsonl")
    assert again[:4] == found[:4]
    assert (collector.count(study), line.opened) == (4, 1)
    with Database(collector.study(study).protocol) as base:
        for one in found[:4]:
            base.add(one.submission)
        assert base.sums.to_bytes() == collector.database(study).sums.to_bytes()
    with pytest.raises(ValueError, match="one invitation"):
        client.contribute_table(study, table, ["yes"] * 5, collector.invite(study, 4))
    line.fates = ["through", "through", "lost", "lost"]
    with pytest.raises(Unanswered) as lost:
        patient(line, tries=2).send_table([pending.Pending(study, one.submission) for one in found[:4]])
    assert len(lost.value.pending) == 4


def test_the_model_is_verified(line, collector, study, schema):
    client = patient(line)
    with pytest.raises(Refused) as refused:
        client.model(study)
    assert refused.value.refusal.reason == "no-model"
    *codes, late = collector.invite(study, 31)
    rng = np.random.default_rng(1)
    table = {"age": rng.uniform(18, 90, 30), "hours": rng.uniform(0, 80, 30), "job": ["office"] * 30}
    client.contribute_table(study, table, rng.choice(["no", "yes"], 30), codes)
    collector.shut(study)
    with pytest.raises(Refused) as refused:
        client.contribute(study, PERSON, "yes", late)
    assert (refused.value.refusal.reason, refused.value.pending) == ("closed", ())
    trained = collector.train(study)
    collector.publish(study)
    found = client.model(study)
    assert np.array_equal(found.model.coef_, trained.coef_)
    assert found.schema == schema
    other = replace(collector.study(study).protocol, purpose="another")
    with pytest.raises(PrivacyError, match="another collection"):
        client.model(study, other)


def test_refusals_have_a_reason_and_a_sentence(line, collector, study):
    client = patient(line)
    with pytest.raises(Refused) as refused:
        client.contribute(study, PERSON, "yes", "AAAAA-AAAAA-AAAAA-AAAAA")
    assert (refused.value.refusal.status, refused.value.refusal.reason) == (403, "invitation-unknown")
    assert "did not give out" in str(refused.value)
    with pytest.raises(Refused, match="no such study"):
        client.study("a" * 10)
    for slug in ("", "../../x", "A" * 10, None):
        with pytest.raises(ValueError, match="ten letters"):
            client.study(slug)
    with pytest.raises(ValueError, match="needs an invitation"):
        client.contribute(study, PERSON, "yes")


def test_a_study_with_too_little_noise_is_refused_before_anything_is_drawn(line, collector, protocol):
    slug = collector.create(replace(protocol, purpose="little"), {}, admission="open")
    collector.open(slug)
    client = patient(line)
    with pytest.raises(PrivacyError, match="Nothing was drawn"):
        client.contribute(slug, PERSON, "yes")
    assert not any(line.bodies)
    client.contribute(slug, PERSON, "yes", most=ANY)
    assert collector.count(slug) == 1


class Stub:
    """A caller that answers what it was told to."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def ask(self, *_, **__):
        return 200, self.answers.pop(0)


def lying(*answers):
    client = Client("http://localhost")
    client._caller = Stub(*(json.dumps(one).encode() for one in answers))
    return client


def test_a_service_that_lies_is_found_out(line, collector, study):
    data = json.loads(patient(line)._caller.ask("GET", f"/api/studies/{study}")[1])
    weaker = json.loads(json.dumps(data))
    weaker["protocol"]["numbers"]["cross_scale"] /= 2
    with pytest.raises(PrivacyError, match="fingerprint does not match"):
        lying(weaker).study(study)
    with pytest.raises(ValueError, match="not what its interface describes"):
        lying({**data, "study": "b" * 10}).study(study)
    with pytest.raises(ValueError, match="not what its interface describes"):
        lying({key: data[key] for key in data if key != "protocol"}).study(study)
    with pytest.raises(ValueError, match="not what its interface describes"):
        lying([]).study(study)
    person = collector.study(study).protocol.perturb(PERSON, "yes")
    sent = pending.Pending(study, person)
    good = {"study": study, "protocol": person.protocol, "content": person.many().contents()[0].hex(), "code": "A"}
    assert lying(good).send(sent).code == "A"
    for wrong in ({"content": "0" * 32}, {"study": "b" * 10}, {"protocol": "0" * 32}, {"code": 1}, {"more": 1}):
        with pytest.raises(Unanswered, match="not known whether") as doubt:
            lying({**good, **wrong}).send(sent)
        assert doubt.value.pending == (sent,)
    with pytest.raises(ValueError, match="not what its interface describes"):
        lying({"study": study, "content": "0" * 32, "withdrawn": True}).withdraw(study, person)


@pytest.mark.parametrize("address", ["http://collector.example.org", "http://10.0.0.1:80", "http://127.0.0.1.nip.io"])
def test_only_this_machine_is_spoken_to_without_encryption(address):
    with pytest.raises(ValueError, match="https"):
        Client(address)
    Client(address, plain=True)


def test_addresses_and_certificates():
    for address in ("http://127.0.0.1:1", "http://[::1]:1", "http://localhost", "https://collector.example.org/sub/"):
        Client(address)
    for address in ("collector.example.org", "ftp://x", "https://me@x", "https://x?a=1", "https://"):
        with pytest.raises(ValueError, match="address of a service"):
            Client(address)
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(ValueError, match="checks certificates"):
        Client("https://collector.example.org", context=blind)
    with pytest.raises(ValueError, match="positive"):
        Client("https://collector.example.org", seconds=0)


def test_a_certificate_that_nobody_signed_is_refused_at_once(collector, study, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl does not make a certificate here")
    with served(create_app(collector), ssl_keyfile=str(key), ssl_certfile=str(certificate)) as (_, port):
        waits = []
        with pytest.raises(ssl.SSLCertVerificationError):
            Client(f"https://localhost:{port}", wait=waits.append).studies()
        assert waits == []
        own = ssl.create_default_context(cafile=certificate)
        with Client(f"https://localhost:{port}", context=own) as client:
            assert client.study(study).state == "open"


def test_a_busy_service_is_asked_again_later(collector, study):
    with served(create_app(collector, rate=1)) as place:
        line = Line(place)
        client = patient(line, tries=3)
        protocol = client.study(study).protocol
        codes = collector.invite(study, 2)
        client.contribute(study, PERSON, "yes", codes[0], protocol=protocol)
        with pytest.raises(Refused) as refused:
            client.contribute(study, PERSON, "yes", codes[1], protocol=protocol)
        assert refused.value.refusal.reason == "too-many"
        assert client.waits == [60.0, 60.0]
        line.close()


def test_the_client_needs_no_extras():
    """Nothing that the service needs is loaded for the client."""
    program = (
        "from tacit.collector import Client, Refused; Client('https://x.example'); import sys; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ)
    assert not {"fastapi", "sqlalchemy", "uvicorn", "pydantic", "starlette", "jinja2", "httpx"} & set(
        done.stdout.split()
    )
    assert {*room.__all__} == {*room._PLACES}
    assert all(getattr(room, name) for name in room.__all__)
    with pytest.raises(AttributeError, match="no attribute"):
        room.nothing  # noqa: B018


def test_a_record_of_numbers_of_another_kind(line, collector):
    schema = Schema((Number("age", 18, 90),), Target("wage", lower=0, upper=100))
    protocol = Protocol.create(epsilon=1.0, delta=1e-6, cohort=300, schema=schema, record_epsilon=4.0, purpose="wage")
    slug = collector.create(protocol, {}, admission="open")
    collector.open(slug)
    assert patient(line).contribute(slug, {"age": 30}, 50.0).protocol == protocol.fingerprint


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"age": 137}, "age"),
        ({"age": "17.9"}, "age"),
        ({"hours": float("inf")}, "hours"),
        ({"hours": -1}, "hours"),
        ({"job": "Office"}, "job"),
        ({"job": 3}, "job"),
    ],
)
def test_an_answer_that_was_not_declared_is_sent_only_if_asked(line, collector, study, monkeypatch, wrong, name):
    """A record is one person's: it can be corrected before it is sent, and not after."""
    (code,) = collector.invite(study, 1)
    client = patient(line)
    with monkeypatch.context() as patch:
        patch.setattr(Protocol, "perturb", lambda *_: 1 / 0)
        with pytest.raises(ValueError, match=f"An answer to '{name}'") as refused:
            client.contribute(study, {**PERSON, **wrong}, "yes", code)
        assert str(wrong[name]) not in str(refused.value)
    table = {key: [cell, wrong.get(key, cell)] for key, cell in PERSON.items()}
    with pytest.raises(ValueError, match="An answer to"):
        client.contribute_table(study, table, ["yes", "no"], [code, code])
    assert collector.count(study) == 0
    client.contribute(study, {**PERSON, **wrong}, "yes", code, strict=False)
    assert collector.count(study) == 1


@pytest.mark.parametrize("cell", [None, "", float("nan")])
def test_what_is_left_out_passes(line, collector, study, cell):
    codes = collector.invite(study, 3)
    client = patient(line)
    for name, code in zip(PERSON, codes, strict=True):
        client.contribute(study, {**PERSON, name: cell}, "yes", code)
    assert collector.count(study) == 3


def test_a_marker_passes_and_a_target_keeps_its_bounds(schema):
    from tacit.protocol.declared import check_declared

    marked = replace(schema, missing=("-1", "n/a"), target=Target("wage", lower=0, upper=10))
    made = Protocol.create(epsilon=1.0, delta=1e-6, cohort=300, schema=marked)
    check_declared(made, {"age": -1, "hours": "n/a", "job": "n/a"}, 10)
    for aim in (-0.1, 10.1, float("nan"), [5, 11]):
        with pytest.raises(ValueError, match="'wage' is not between"):
            check_declared(made, {**PERSON}, aim)
