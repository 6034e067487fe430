"""A real server on loopback, raw sockets, and requests that no well-meaning program sends.

Whatever comes, the service answers with a refusal or hangs up, counts nothing, and is well afterwards.
"""

import gzip
import json
import re
import socket
from dataclasses import replace

import pytest
from serving import served

from tacit.collector import Collector, serving
from tacit.collector.app import STATIC, create_app
from tacit.collector.heads import Heads
from tacit.collector.limits import LARGEST, Limits

SECONDS = 0.5
"""That a body may take in these tests; it is waited for, and never measured."""


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    made = Collector(tmp_path_factory.mktemp("hostile") / "collector.sqlite")
    yield made
    made.close()


@pytest.fixture(scope="module")
def study(collector, protocol):
    slug = collector.create(replace(protocol, purpose="hostile"), {}, admission="open")
    collector.open(slug)
    return slug


class Impatient(Heads):
    seconds = SECONDS


@pytest.fixture(scope="module", params=["h11", Impatient], ids=["h11", "httptools"])
def place(request, collector):
    """A server by each of the two parsers, with little patience."""
    app = create_app(collector, rate=0)
    (limits,) = (one for one in app.user_middleware if one.cls is Limits)
    limits.kwargs["seconds"] = SECONDS
    with served(app, http=request.param, timeout_keep_alive=2) as found:
        yield found


@pytest.fixture(autouse=True)
def still_well(place, collector, study):
    """After every test: the service answers, and nothing was counted."""
    yield
    assert status(talk(place, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")) == 200
    assert collector.count(study) == 0


def talk(place, *parts, end=False):
    """Send parts, and read until the other side hangs up; ``end`` tells it that nothing more will come."""
    with socket.create_connection(place, timeout=20) as line:
        try:
            for part in parts:
                line.sendall(part)
            if end:
                line.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it hung up before all was said
        found = b""
        try:
            while part := line.recv(65536):
                found += part
        except ConnectionResetError:
            pass
        return found


def status(answer):
    """The status of the first answer; None where there is none."""
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found[1]) if found else None


def reason(answer):
    return json.loads(answer.partition(b"\r\n\r\n")[2])["reason"]


def post(study, body, *headers, size=None):
    lines = [
        f"POST /api/studies/{study}/submissions HTTP/1.1", "Host: x", "Connection: close",
        f"Content-Length: {len(body) if size is None else size}", *headers,
    ]  # fmt: skip
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def get(path, *headers, method="GET"):
    lines = [f"{method} {path} HTTP/1.1", "Connection: close", *(headers or ("Host: x",))]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


NUMBERS = '{"submission":{"format":"tacit-submission","protocol":"%s","q":[%s],"p":[1],"seeded":false}}'
BODIES = {
    "nothing": b"",
    "text": b"hello",
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "an integer of many digits": (NUMBERS % ("0" * 32, "9" * 100_000)).encode(),
    "many integers of 4000 digits": (NUMBERS % ("0" * 32, ",".join(["9" * 4000] * 200))).encode(),
    "a real number of many digits": (NUMBERS % ("0" * 32, "1" * 10_000 + ".5")).encode(),
    "NaN": (NUMBERS % ("0" * 32, "NaN")).encode(),
    "infinity": (NUMBERS % ("0" * 32, "-Infinity")).encode(),
    "1e999": (NUMBERS % ("0" * 32, "1e999")).encode(),
    "a field twice": b'{"submission":null,"submission":null}',
    "a field twice inside": b'{"submission":{"q":[],"q":[1]}}',
    "a lone surrogate": (NUMBERS % ("\\ud800", "1")).encode(),
    "invalid UTF-8": b'{"submission":"\xff\xfe"}',
    "UTF-16": (NUMBERS % ("0" * 32, "1")).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + (NUMBERS % ("0" * 32, "1")).encode(),
    "null bytes": b"\x00" * 1000,
    "booleans for numbers": (NUMBERS % ("0" * 32, "true")).encode(),
    "a list": b"[]",
    "null": b"null",
    "another field": b'{"submission":null,"more":1}',
    "an invitation that is a list": b'{"submission":null,"invitation":[]}',
    "a name that reaches for more": b'{"__proto__":{},"submission":null}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_bodies(place, study, body):
    answer = talk(place, post(study, body))
    assert status(answer) == 400
    assert reason(answer) in ("unreadable", "foreign")
    assert b"Traceback" not in answer


def test_a_packed_body_is_not_unpacked(place, study):
    """A small body that would become large: it is not JSON as it stands, and that is the end of it."""
    packed = gzip.compress(b" " * 50_000_000)
    answer = talk(place, post(study, packed, "Content-Encoding: gzip", "Content-Type: application/json"))
    assert (status(answer), reason(answer)) == (400, "unreadable")


def test_bodies_that_are_too_large(place, study):
    answer = talk(place, post(study, b" " * (LARGEST + 1)))
    assert (status(answer), reason(answer)) == (413, "too-large")
    head = f"POST /api/studies/{study}/submissions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    answer = talk(place, head, *[chunk] * 20)  # it never ends
    assert (status(answer), reason(answer)) == (413, "too-large")
    assert b"connection: close" in answer.lower()


def test_bodies_that_never_come(place, study):
    answer = talk(place, post(study, b"{", size=1000))
    assert (status(answer), reason(answer)) == (408, "too-slow")
    assert b"connection: close" in answer.lower()
    head = f"POST /api/studies/{study}/submissions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    answer = talk(place, head, b"1\r\n{\r\n")
    assert (status(answer), reason(answer)) == (408, "too-slow")
    assert status(talk(place, post(study, b"{", size=1000), end=True)) in (None, 400)


def test_sizes_that_contradict(place, study):
    for wrong in (
        "Content-Length: -1",
        "Content-Length: 1e3",
        "Content-Length: 0x10",
        "Content-Length: 99999999999999999999999",
    ):
        answer = talk(
            place,
            f"POST /api/studies/{study}/submissions HTTP/1.1\r\nHost: x\r\n{wrong}\r\n\r\n{{}}".encode(),
            end=True,
        )
        assert status(answer) in (400, 413, None), wrong
    for pair in ("Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nTransfer-Encoding: chunked"):
        answer = talk(
            place,
            f"POST /api/studies/{study}/submissions HTTP/1.1\r\nHost: x\r\n{pair}\r\n\r\n{{}}x".encode(),
            end=True,
        )
        assert status(answer) in (400, None), pair


def test_a_second_request_in_a_body_is_no_request(place, study):
    """A body of stated size is one body, whatever it looks like."""
    inner = get("/openapi.json")
    answer = talk(place, post(study, inner))
    assert answer.count(b"HTTP/1.1 ") == 1
    assert status(answer) == 400


def test_many_requests_in_one_packet(place, study):
    kept = post(study, b"{}").replace(b"Connection: close\r\n", b"")
    answer = talk(place, kept * 5 + post(study, b"{}"))
    assert answer.count(b"HTTP/1.1 400 ") == 6


def test_floods_of_headers(place):
    """More than any browser sends: it is not kept, and the connection is closed."""
    for flood in (b"X-A: " + b"a" * 2**20, b"\r\n".join(b"X-%d: a" % i for i in range(50_000))):
        answer = talk(place, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + flood + b"\r\n\r\n")
        assert status(answer) in (400, 431, None)
    answer = talk(place, b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert status(answer) in (400, 414, 431, None)


def test_a_flood_that_never_ends_is_cut_off(place):
    """As many headers as one likes to send, and one header that goes on: the other side hangs up."""
    for first, part in ((b"", b"X-A: " + b"a" * 8000 + b"\r\n"), (b"X-A: ", b"a" * 8000)):
        with socket.create_connection(place, timeout=20) as line, pytest.raises(ConnectionError):  # noqa: PT012
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + first)
            for _ in range(50_000):
                line.sendall(part)


def test_heads_that_never_come(place, request):
    """Nothing at all, half a head, and half a second head: all are closed. (h11 has no such limit.)"""
    if "h11" in request.node.callspec.id:
        pytest.skip("this parser waits for ever; the service does not use it")
    assert talk(place) == b""
    assert talk(place, b"GET /healthz HTTP/1.1\r\nHost") == b""
    answer = talk(place, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /healthz HTT")
    assert (status(answer), answer.count(b"HTTP/1.1")) == (200, 1)
    with socket.create_connection(place, timeout=20) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert status(line.recv(65536)) == 200
        line.sendall(b"\r\n")  # no head begins by that, and the time until one does goes on
        while line.recv(65536):
            pass


def test_the_service_uses_it(monkeypatch, collector):
    """What is tried here is what is served."""
    found = []
    monkeypatch.setattr(serving.uvicorn.Server, "run", lambda server, **_: found.append(server.config.http))
    serving.serve(collector, port=0)
    assert found == [Heads]


def test_a_large_body_behind_a_head_is_not_taken_for_one(place, study):
    assert reason(talk(place, post(study, b" " * 500_000))) == "unreadable"


@pytest.mark.parametrize(
    "line",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x00" * 100,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_request(place, line):
    assert status(talk(place, line, end=True)) in (None, 400, 404, 405)


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "PROPFIND"])
def test_other_methods(place, study, method):
    for path in ("/api/studies", f"/api/studies/{study}/submissions", "/healthz", "/", f"/s/{study}", f"/m/{study}"):
        answer = talk(place, get(path, "Host: x", "X-Secret: seven", method=method))
        assert status(answer) in (400, 405), (method, path)
        assert b"seven" not in answer


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/%2e%2e%2fapp.py",
        "/static/..%5capp.py", "/static//etc/passwd", "/static/%2fetc/passwd", "/static/client/../../app.py",
        "/static/....//app.py", "/static/%00", "/static/style.css%00.js", "/static/client", "/static/",
        "/words/..%2f..%2fapp.py", "/words/page.xx.json", "/%2e%2e/%2e%2e/etc/passwd", "/m/..%2f..%2fetc", "/s/%00",
    ],
)  # fmt: skip
def test_paths_that_climb(place, path):
    answer = talk(place, get(path))
    assert status(answer) in (400, 404), answer[:100]
    assert b"create_app" not in answer
    assert b"root:" not in answer


def test_static_files_are_given(place):
    """So that the test before is about something."""
    answer = talk(place, get("/static/style.css"))
    assert status(answer) == 200
    assert (STATIC / "style.css").read_bytes()[:200] in answer


@pytest.mark.parametrize("host", ["evil.example", "evil.example:1/x", 'a"><script>', "a b", "", "x@y", "[::1", "\xff"])
def test_hosts(place, host):
    """What a client calls this server is not repeated in headers, and escaped in pages."""
    answer = talk(place, get("/", f"Host: {host}"))
    assert status(answer) in (200, 400)
    assert b"<script>" not in answer
    head = answer.partition(b"\r\n\r\n")[0]
    assert b"evil" not in head
    assert b"\r\nlocation:" not in head.lower()


def test_hosts_that_contradict(place):
    assert status(talk(place, get("/healthz", "Host: x", "Host: y"))) in (200, 400)
    assert status(talk(place, get("/healthz", "X-Nothing: x"))) in (200, 400)
    assert status(talk(place, get("http://evil.example/healthz"))) in (200, 400, 404)
    assert status(talk(place, get("/healthz", "Host: x", "X-Forwarded-Host: evil", "Forwarded: host=evil"))) == 200
    assert status(talk(place, get("/api/studies/", "Host: evil.example"))) == 404  # and is not sent on to that host


def test_other_origins_get_no_permission(place, study):
    asked = ("Host: x", "Origin: https://evil.example", "Access-Control-Request-Method: POST")
    for answer in (
        talk(place, get(f"/api/studies/{study}/submissions", *asked, method="OPTIONS")),
        talk(place, get(f"/api/studies/{study}", *asked[:2])),
        talk(place, post(study, b"{}", "Origin: https://evil.example", "Content-Type: text/plain")),
    ):
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert b"access-control-" not in head
        assert b"cross-origin-resource-policy: same-origin" in head
        assert b"set-cookie" not in head


def test_every_refusal_has_the_headers(place, study):
    for asked in (post(study, b"{}"), post(study, b" " * (LARGEST + 1)), post("nothing", b"{}"), get("/nowhere")):
        head = talk(place, asked).partition(b"\r\n\r\n")[0].lower()
        assert b"content-security-policy: default-src 'none'" in head
        assert b"x-content-type-options: nosniff" in head


def test_unicode_in_addresses(place):
    for path in (
        "/api/studies/%F0%9F%98%80",
        "/api/studies/%ff%fe",
        "/api/studies/aaaaaaaaaa%0a",
        "/m/%ed%a0%80",
        "/s/%C0%AF",
    ):
        assert status(talk(place, get(path))) == 404, path
