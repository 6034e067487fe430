"""The Python client against services that lie, stall and vanish: one draw a person, in the caller's hands."""

import _thread
import http.server
import json
import os
import socket
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tacit.checks import PrivacyError
from tacit.collector import Client, Receipt, Refused, Unanswered, once
from tacit.collector import pending as pendings
from tacit.collector.timed import TimedConnection
from tacit.protocol import Protocol

STUDY, CODE, OTHER = "abcdefghjk", "AAAAA-BBBBB-CCCCC-DDDDD", "AAAAA-BBBBB-CCCCC-EEEEE"
PERSON = {"age": 40.0, "hours": 35.0, "job": "office"}
CLOSED = b'{"reason":"closed","detail":"It is closed."}'
BUSY = b'{"reason":"unavailable","detail":"Not now."}'


def receipt(request):
    sent = pendings.Pending(STUDY, pendings.Submission.from_dict(json.loads(request)["submission"]))
    content = sent.submission.many().contents()[0].hex()
    return json.dumps({"study": STUDY, "protocol": sent.submission.protocol, "content": content, "code": "X"}).encode()


def answered(status, body, **headers):
    """A whole answer of HTTP, the last on its connection."""
    more = "Connection: close\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def dripping(request):
    """A byte now and then, for longer than a try may take; at its end the receipt is good."""
    body = receipt(request)
    yield f"HTTP/1.1 201 X\r\nContent-Length: {150 + len(body)}\r\n\r\n".encode()
    for _ in range(150):
        threading.Event().wait(0.02)
        yield b" "
    yield body


def dripping_head(request):
    """The same with the lines before the answer."""
    yield b"HTTP/1.1 100 Continue\r\n\r\n"
    for place in range(90):
        threading.Event().wait(0.03)
        yield b"HTTP/1.1 100 Continue\r\n\r\n" if place % 2 else b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\n"
    yield answered(201, receipt(request))


def good(request):
    yield answered(201, receipt(request))


def plainly(data):
    return lambda _: iter([data])


FOREIGN = json.dumps({"study": STUDY, "protocol": "0" * 32, "content": "00" * 16, "code": "X"}).encode()
DOUBTFUL = {
    "502": [plainly(answered(502, b"bad gateway"))],
    "504": [plainly(answered(504, b"gateway timeout"))],
    "500 in words": [plainly(answered(500, BUSY))],
    "503": [plainly(answered(503, BUSY))],
    "lost, 503": [plainly(b""), plainly(answered(503, BUSY))],
    "lost, 410": [plainly(b""), plainly(answered(410, CLOSED))],
    "503, 410": [plainly(answered(503, BUSY)), plainly(answered(410, CLOSED))],
    "504, 429": [plainly(answered(504, b"")), plainly(answered(429, b'{"reason":"too-many","detail":"Later."}'))],
    "a stranger's 403": [plainly(answered(403, b"<html>blocked</html>"))],
    "switching": [plainly(b"HTTP/1.1 101 X\r\n\r\n")],
    "another's receipt": [plainly(answered(201, FOREIGN))],
    "portal": [plainly(answered(200, b"<html>Welcome to our hotel</html>"))],
    "huge": [plainly(answered(201, b" " * (16 * 2**20 + 1)))],
    "deep": [plainly(answered(201, b"[" * 200_000))],
    "not Unicode": [plainly(answered(201, b"\xff\xfe"))],
    "redirect": [plainly(answered(307, b"", Location="http://127.0.0.1:1/"))],
    "cut": [plainly(b'HTTP/1.1 201 X\r\nContent-Length: 300\r\n\r\n{"stu')],
    "bad status": [plainly(b"HTTP/1.1 abc\r\n\r\n")],
    "bad chunks": [plainly(b"HTTP/1.1 201 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")],
    "many headers": [plainly(b"HTTP/1.1 201 X\r\n" + b"A: b\r\n" * 1000 + b"\r\n")],
    "drip": [dripping],
    "drip of headers": [dripping_head],
}


class Hostile(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append(request)
        ways = self.server.ways
        way = ways.pop(0) if len(ways) > 1 else ways[0]
        self.close_connection = way is not good
        try:
            for part in way(request):
                self.wfile.write(part)
                self.wfile.flush()
        except OSError:
            pass


@pytest.fixture(scope="module")
def service():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def fresh(service, monkeypatch):
    """A service that saw nothing, and a process that drew nothing."""
    service.seen, service.ways = [], [good]
    monkeypatch.setattr("tacit.collector.client.MEMORY", once.Memory())


@pytest.fixture(scope="module")
def agreed(schema):
    return Protocol.create(epsilon=1.0, delta=1e-6, cohort=300, schema=schema, record_epsilon=4.0, purpose="hostile")


@contextmanager
def calling(service, **settings):
    with Client(service.address, **{"tries": 2, "seconds": 20.0, "wait": lambda _: None, **settings}) as client:
        yield client


def draws(service):
    """The different numbers that were on the wire."""
    return {json.dumps(json.loads(one)["submission"]) for one in service.seen}


@pytest.mark.parametrize("way", DOUBTFUL)
def test_what_may_have_left_is_given_back_and_sent_again(service, agreed, way):
    """However a service fails: the caller has the submission, and a second call sends the very same."""
    service.ways = list(DOUBTFUL[way])
    seconds = 0.5 if "drip" in way else 20.0
    with calling(service, seconds=seconds) as client, pytest.raises(Unanswered) as doubt:
        client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed)
    (sent,) = doubt.value.pending
    assert draws(service) == {sent.submission.to_json().replace(":", ": ").replace(",", ", ")}
    assert any("pending of this exception" in note for note in doubt.value.__notes__)
    assert not any(str(number) in str(doubt.value.__notes__) for number in sent.submission.p)
    service.ways = [good]
    with calling(service) as client:
        found = client.contribute(STUDY, PERSON, "yes", CODE.lower().replace("-", " "))  # asks nothing of the study
        assert found.submission == sent.submission
        assert client.send(sent) == found
    assert len(draws(service)) == 1


def test_a_refusal_has_what_was_refused(service, agreed):
    service.ways = [plainly(answered(410, CLOSED))]
    with calling(service) as client:
        with pytest.raises(Refused) as refused:
            client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed)
        (sent,) = refused.value.pending
        service.ways = [good]
        assert client.contribute(STUDY, PERSON, "yes", CODE).submission == sent.submission
        corrected = client.send(replace(sent, invitation=OTHER))
    assert json.loads(service.seen[-1])["invitation"] == OTHER
    assert corrected.submission == sent.submission
    assert len(draws(service)) == 1


def test_a_redirect_is_not_followed_by_a_second_draw(service, agreed):
    """It says to give another address: there, too, the same is sent."""
    service.ways = [plainly(answered(308, b""))]
    with calling(service) as client, pytest.raises(Unanswered, match="another address"):
        client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed)
    service.ways = [good]
    with Client(service.address.replace("127.0.0.1", "localhost")) as client:
        client.contribute(STUDY, PERSON, "yes", CODE)
    assert len(draws(service)) == 1


@pytest.mark.parametrize("moment", ["answer", "pause"])
def test_an_interruption_has_it_too(service, agreed, moment):
    def interrupted(_):
        raise KeyboardInterrupt

    def interrupting(_):
        _thread.interrupt_main()
        yield b"HTTP/1.1 201 X\r\nContent-Length: 300\r\n\r\n"
        threading.Event().wait(0.2)

    service.ways = [interrupting if moment == "answer" else plainly(b"")]
    with calling(service, wait=interrupted) as client:
        with pytest.raises(KeyboardInterrupt) as stop:
            client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed)
        (sent,) = stop.value.pending
        assert any("pending of this exception" in note for note in stop.value.__notes__)
        service.ways = [good]
        assert client.contribute(STUDY, PERSON, "yes", CODE).submission == sent.submission
    assert len(draws(service)) == 1


def test_without_an_invitation_a_client_draws_once_unless_told(service, agreed):
    service.ways = [plainly(answered(504, b""))]
    with calling(service) as client:
        with pytest.raises(Unanswered) as doubt:
            client.contribute(STUDY, PERSON, "yes", protocol=agreed)
        for keeping in ({}, {"protocol": agreed}):
            with pytest.raises(PrivacyError, match="again=True") as refused:
                client.contribute(STUDY, PERSON, "yes", **keeping)
            assert refused.value.pending == doubt.value.pending
        with pytest.raises(PrivacyError, match="again=True"):
            client.contribute_table(
                STUDY, {"age": [1, 2], "hours": [1, 2], "job": ["none"] * 2}, ["no"] * 2, [None, None]
            )
        service.ways = [good]
        client.send(*doubt.value.pending)
        assert len(draws(service)) == 1
        client.contribute(STUDY, PERSON, "yes", protocol=agreed, again=True)
        assert len(draws(service)) == 2
        with pytest.raises(PrivacyError, match="again=True"):  # the word was for that one
            client.contribute(STUDY, PERSON, "yes", protocol=agreed)
    with calling(service) as client:
        client.contribute(STUDY, PERSON, "yes", protocol=agreed)  # another client is another one's
    assert len(draws(service)) == 3


def test_an_invitation_is_of_one_record(service, agreed):
    """Other answers, another protocol, other company: nothing is drawn, and what was drawn is handed back."""
    others = {"age": [40.0, 50.0], "hours": [35.0, 20.0], "job": ["office", "none"]}
    with calling(service) as client:
        first = client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed)
        for call in (
            lambda: client.contribute(STUDY, {**PERSON, "age": 41.0}, "yes", CODE),
            lambda: client.contribute(STUDY, PERSON, "no", CODE, again=True),
            lambda: client.contribute(STUDY, PERSON, "yes", CODE, protocol=replace(agreed, purpose="another")),
            lambda: client.contribute_table(STUDY, others, ["yes", "no"], [CODE, OTHER], protocol=agreed),
        ):
            with pytest.raises(PrivacyError, match="Nothing was drawn") as refused:
                call()
            assert [one.submission for one in refused.value.pending] == [first.submission]
    assert len(service.seen) == 1


def test_a_table_is_sent_again_as_it_was(service, agreed):
    table = {"age": [40.0, 50.0, 60.0], "hours": [35.0, 20.0, 1.0], "job": ["office", "none", "none"]}
    service.ways = [good, plainly(answered(504, b""))]
    codes = [CODE, OTHER, CODE]
    with calling(service) as client:
        with pytest.raises(Unanswered) as doubt:
            client.contribute_table(STUDY, table, ["yes", "no", "no"], codes, protocol=agreed)
        assert [one.invitation for one in doubt.value.pending] == codes
        service.ways = [good]
        found = client.contribute_table(STUDY, table, ["yes", "no", "no"], codes)
        assert [one.submission for one in found] == [one.submission for one in doubt.value.pending]
        service.ways = [plainly(answered(409, b'{"reason":"invitation-used","detail":"It was used."}'))]
        again = client.send_table(doubt.value.pending)
    assert [one.pending for one in again] == [(one,) for one in doubt.value.pending]
    assert len(draws(service)) == 3


def test_a_file_and_the_memory_agree(service, agreed, tmp_path):
    """What was drawn without a file is written to one that is named later."""
    place = tmp_path / "kept.jsonl"
    service.ways = [plainly(answered(504, b""))]
    with calling(service) as client:
        with pytest.raises(Unanswered) as doubt:
            client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed)
        with pytest.raises(Unanswered):
            client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed, keep=place)
    assert pendings.kept(place) == list(doubt.value.pending)


def test_another_process_reads_the_file(service, agreed, tmp_path, monkeypatch):
    place = tmp_path / "kept.jsonl"
    with calling(service) as client:
        first = client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed, keep=place)
    monkeypatch.setattr("tacit.collector.client.MEMORY", once.Memory())
    with calling(service) as client:
        assert client.contribute(STUDY, PERSON, "yes", CODE, keep=place) == first
        with pytest.raises(PrivacyError, match="from a file") as refused:
            client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed)
    assert [one.submission for one in refused.value.pending] == [first.submission]
    assert len(draws(service)) == 1


def test_what_cannot_be_kept_is_neither_sent_nor_remembered(service, agreed, tmp_path):
    with calling(service) as client:
        with pytest.raises(FileNotFoundError):
            client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed, keep=tmp_path / "nowhere" / "x")
        assert service.seen == []
        assert isinstance(client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed), Receipt)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks Linux which file was flushed")
def test_file_and_folder_are_on_the_disk_before_the_first_byte_leaves(service, agreed, tmp_path, monkeypatch):
    flushed, real = [], os.fsync

    def noted(number):
        flushed.append((os.readlink(f"/proc/self/fd/{number}"), len(service.seen)))
        real(number)

    monkeypatch.setattr(os, "fsync", noted)
    with calling(service) as client:
        client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed, keep=tmp_path / "kept")
    assert flushed == [(str(tmp_path / "kept"), 0), (str(tmp_path), 0)]


def test_threads_draw_once_for_one_invitation(service, agreed, monkeypatch):
    """Two that ask at the same time: both look before either has drawn."""
    both, real = threading.Barrier(2, timeout=20), Client._agreed

    def together(*arguments):
        found = real(*arguments)
        both.wait()
        return found

    monkeypatch.setattr(Client, "_agreed", together)

    def one():
        with calling(service) as client:
            client.contribute(STUDY, PERSON, "yes", CODE, protocol=agreed)

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(service.seen), len(draws(service))) == (2, 1)


def test_the_memory_is_bounded_and_never_draws_for_whom_it_knows(agreed):
    memory = once.Memory(numbers=60, people=3)
    submission = agreed.perturb(PERSON, "yes")  # 14 numbers
    mark = once.marked(PERSON, "yes")
    for name in "abcd":
        memory.add(once.Draw((name.encode(),), (pendings.Pending(STUDY, submission),) * 2, agreed, mark(agreed)))
    assert memory.recall([b"a"], b"", False, mark, None) is None
    with pytest.raises(PrivacyError, match="in memory") as gone:
        memory.recall([b"b"], b"", False, mark, None)
    assert gone.value.pending == ()
    assert len(memory.recall([b"d"], b"", False, mark, agreed)) == 2


def test_a_connection_counts_all_its_time(monkeypatch):
    """Every step has what is left, not the whole again: connecting, sending and reading."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = TimedConnection("127.0.0.1", listener.getsockname()[1], None)
        line.begin(10.0)
        line.connect()
        now[0] = 9.0
        assert line.remaining() == 1.0
        now[0] = 10.0
        for step in (lambda: line.sock.sendall(b"x"), lambda: line.sock.makefile("rb").read(1), line.connect):
            with pytest.raises(TimeoutError):
                step()
        line.close()


def test_a_connection_that_was_hung_up_is_not_asked_on():
    """Otherwise a question is lost on it, and a clear answer to the next try is in doubt."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = TimedConnection("127.0.0.1", listener.getsockname()[1], None)
        line.begin(20.0)
        line.connect()
        other, _ = listener.accept()
        line.begin(20.0)
        assert line.sock is not None
        other.close()
        assert line.sock.makefile("rb").read() == b""  # it is known here, too
        line.begin(20.0)
        assert line.sock is None
