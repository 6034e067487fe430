"""The service on a real socket: what it believes, what it keeps, how it stops; and the commands that start it."""

import http.client
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest

from tacit.cli.main import main
from tacit.collector import Collector, accounts, serving
from tacit.collector.limits import Limits

SILENT = {**os.environ, "PYTHONUNBUFFERED": "1"}


@pytest.fixture
def started(tmp_path):
    """Processes of the command line; those that are left are ended."""
    processes = []

    def start(*words):
        command = [sys.executable, "-m", "tacit", *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        processes.append(subprocess.Popen(command, cwd=tmp_path, env=SILENT, **pipes))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def until(process, pattern):
    """Lines up to the first one that a pattern is in."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if re.search(pattern, line):
            return "".join(lines)
    raise AssertionError("".join(lines) + process.stderr.read())


def ask(address, path, method="GET", body=None, headers=None):
    place = urlsplit(address)
    line = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
    line.request(method, path, body, headers or {})
    answer = line.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read().decode()
    line.close()
    return found


@pytest.fixture
def service(collector, request, monkeypatch, capfd):
    """A collector behind a real socket, with what the test asks of :func:`serving.serve`; yields its address."""
    import uvicorn

    addresses, servers, known, real = [], [], threading.Event(), uvicorn.Server.__init__

    def noted(self, config):
        real(self, config)
        servers.append(self)

    def ready(address):
        addresses.append(address)
        known.set()

    settings = {"port": 0, "ready": ready, "rate": 0, **getattr(request, "param", {})}
    monkeypatch.setattr(uvicorn.Server, "__init__", noted)
    thread = threading.Thread(target=serving.serve, args=(collector,), kwargs=settings)
    thread.start()
    assert known.wait(30)
    yield addresses[0]
    servers[0].should_exit = True
    thread.join(30)
    assert not thread.is_alive()


@pytest.fixture
def addresses(monkeypatch):
    """The addresses and schemes that the application is told."""
    seen, real = [], Limits.__call__

    async def noted(self, scope, receive, send):
        if scope["type"] == "http":
            seen.append((scope["client"][0], scope["scheme"]))
        await real(self, scope, receive, send)

    monkeypatch.setattr(Limits, "__call__", noted)
    return seen


CLAIM = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("service", "believed"),
    [
        ({}, False),
        ({"proxy": "10.9.0.0/24"}, False),
        ({"proxy": "127.0.0.1"}, True),
        ({"proxy": ["127.0.0.0/8"]}, True),
    ],
    indirect=["service"],
)
def test_a_proxy_is_believed_if_it_is_named(addresses, service, believed):
    status, headers, _ = ask(service, "/healthz", headers=CLAIM)
    assert status == 200
    assert addresses == [("203.0.113.7", "https") if believed else ("127.0.0.1", "http")]
    assert ("strict-transport-security" in headers) == believed
    assert "server" not in headers


def test_nobody_is_believed_by_a_pattern():
    for named in ("*", "proxy.example", "10.0.0.1/8", ""):
        with pytest.raises(ValueError, match="by address or network"):
            serving.proxies(named)
    assert serving.proxies(None) == []


def test_what_is_this_machine():
    assert all(map(serving.loopback, ("127.0.0.1", "::1", "localhost", "127.9.9.9")))
    assert not any(map(serving.loopback, ("0.0.0.0", "::", "192.0.2.1", "example.org", "")))


def test_a_log_names_lines_and_types_and_no_message(caplog):
    try:
        raise ValueError("age 47")
    except ValueError:
        record = logging.LogRecord("uvicorn", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    text = serving.Discreet().format(record)
    assert "test_serving.py" in text
    assert text.endswith("ValueError")
    assert text.count("age 47") == 1  # the line of code; the message is not there
    assert "\nValueError: " not in text


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_an_error_in_the_service_quotes_nothing(collector, capfd, monkeypatch, service):
    secret, written = "made-up " + "words", threading.Event()

    class Last(logging.Handler):
        def emit(self, record):
            written.set()

    last = Last()
    logging.getLogger("uvicorn").addHandler(last)  # after the one of the service
    monkeypatch.setattr(collector, "studies", lambda *states: (_ for _ in ()).throw(RuntimeError(secret)))
    status, _, text = ask(service, "/api/studies")
    assert status == 500
    assert secret not in text
    assert written.wait(30)
    logging.getLogger("uvicorn").removeHandler(last)
    heard = capfd.readouterr().err
    assert "RuntimeError" in heard
    assert secret not in heard
    assert "127.0.0.1" not in heard


@pytest.mark.parametrize("name", ["uvicorn", "uvicorn.error"])
def test_handlers_of_others_hear_nothing_while_it_runs(name, capfd):
    other, log = logging.StreamHandler(), logging.getLogger(name)
    log.addHandler(other)
    with serving._discreet_log():
        logging.getLogger("uvicorn.error").error("age 47")
    assert capfd.readouterr().err.count("age 47") == 1
    assert other in log.handlers
    log.removeHandler(other)


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_errors_of_the_database_quote_no_values(collector):
    from sqlalchemy import insert
    from sqlalchemy.exc import SQLAlchemyError

    from tacit.collector.layout import SETTINGS

    line = insert(SETTINGS).values(name="a private word", value=b"")
    with collector.engine.begin() as base:
        base.execute(line)
    with pytest.raises(SQLAlchemyError) as caught, collector.engine.begin() as base:
        base.execute(line)
    assert "a private word" not in str(caught.value)


def test_the_service_from_the_command_line(tmp_path, started):
    process = started("serve", "--port", 0)
    said = until(process, r"^  \S+$")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    address = re.search(r"at (http://127\.0\.0\.1:\d+) ", said)[1]
    assert f"in {tmp_path / 'collector.sqlite'}." in said
    assert "this machine only" in said
    assert ask(address, "/healthz")[0] == 200
    process.send_signal(signal.SIGTERM)
    out, heard = process.communicate(timeout=60)
    assert (process.returncode, heard) == (0, "")
    assert "Stopped" in out
    base = Collector(tmp_path / "collector.sqlite")
    with base.engine.begin() as lines:
        secret = re.search(r"^  (\S+)$", said, re.MULTILINE)[1]
        assert accounts.listed(lines) == [("curator", "curator")]
        assert accounts.verified(lines, "curator", secret) == "curator"
    base.close()


def test_a_first_account_is_made_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serving, "serve", lambda collector, *, ready, **settings: ready("http://stub"))
    for shown in (True, False):
        assert main(["serve"]) == 0
        assert ("with this secret" in capsys.readouterr().out) == shown


def test_a_port_in_use(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert said.err == f"tacit: Cannot listen on 127.0.0.1, port {port}: address already in use.\n"
    assert main(["account", "list", "--database", "collector.sqlite"]) == 0
    assert "curator" not in capsys.readouterr().out  # a secret that nobody has seen would be lost


def test_a_demonstration_to_its_end(tmp_path, started):
    words = ("serve", "--demo", "--people", 60, "--for", 0, "--earlier", 200, "--finish", "--port", 0)
    process = started(*words)
    said = until(process, "The service stays")
    address = re.search(r"at (http://127\.0\.0\.1:\d+) ", said)[1]
    slug = re.search(r"/m/(\w+)", said)[1]
    assert "60 counted, 6 sent twice, 5 refused." in said
    found = json.loads(ask(address, f"/api/studies/{slug}")[2])
    assert (found["state"], found["count"]) == ("published", 260)
    assert sorted(found["texts"]) == ["de", "en"]
    assert ask(address, f"/api/studies/{slug}/model")[0] == 200
    process.send_signal(signal.SIGINT)
    _, heard = process.communicate(timeout=60)
    assert (process.returncode, heard) == (0, "")
    assert list(tmp_path.iterdir()) == []  # it lay in a folder of its own


@pytest.mark.parametrize(
    ("words", "warned"),
    [(("--host", "0.0.0.0"), True), (("--host", "0.0.0.0", "--behind-proxy", "10.0.0.7"), False), ((), False)],
)
def test_the_network_without_tls_is_warned_about(words, warned, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serving, "serve", lambda collector, *, ready, **settings: ready("http://stub"))
    assert main(["serve", *words]) == 0
    said = capsys.readouterr()
    assert ("this machine only" in said.out) == (words == ())
    assert said.err.startswith("WARNING: this address is open to the network without TLS") == warned


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--database", "postgresql://nobody@127.0.0.1:1/none"), "the server cannot be reached"),
        (("--database", "mysql://x"), "to begin with postgresql://"),
        (("--behind-proxy", "*"), "by address or network"),
        (("--ledger", "none.sqlite"), ""),
        (("--host", "192.0.2.1"), "Cannot listen on 192.0.2.1"),
        (("--port", "70000"), "from 0 to 65535"),
        (("--rate", "-1"), "--rate"),
        (("--demo", "--database", "x.sqlite"), "its own database"),
    ],
)
def test_what_is_wrong_is_one_sentence(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *words]) == 2
    heard = capsys.readouterr().err
    assert sentence in heard
    assert heard.startswith("tacit: ")
    assert heard.count("\n") == 1


@pytest.mark.parametrize(
    "words", [("serve",), ("study", "list", "--database", "x"), ("account", "list", "--database", "x")]
)
def test_without_the_extra(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tacit.cli.serve.find_spec", lambda name: None if name == "alembic" else name)
    assert main([*words]) == 2
    assert "pip install '.[collector]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_study_and_accounts_by_commands(tmp_path, protocol, make_people, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    protocol.save("p.json")
    (tmp_path / "t.json").write_text(json.dumps({"en": {"title": "Sleep"}}), encoding="utf-8")

    def tell(*words, rc=0):
        assert main([*words, "--database", "c.sqlite"]) == rc
        return capsys.readouterr()

    slug = tell("study", "create", "--protocol", "p.json", "--texts", "t.json").out.strip()
    codes = tell("study", "invite", slug, "--number", "3").out.split()
    assert len(set(codes)) == 3
    links = tell("study", "invite", slug, "--number", "1", "--address", "https://study.example/").out.strip()
    assert re.fullmatch(rf"https://study\.example/s/{slug}#[0-9A-Z-]{{23}}", links)
    tell("study", "open", slug)
    base = Collector("c.sqlite")
    base.database(slug).add(make_people(30))
    base.close()
    assert "30 submissions" in tell("study", "status", slug).out
    assert re.search(rf"^{slug} +open +30 +Sleep$", tell("study", "list").out, re.MULTILINE)
    assert "possible only while it is closed" in tell("study", "train", slug, rc=2).err
    tell("study", "close", slug)
    assert "epsilon" in tell("study", "train", slug).out
    tell("study", "publish", slug)
    assert "There is no such study here" in tell("study", "status", "aaaaaaaaaa", rc=2).err
    first = tell("account", "add", "ana", "--role", "viewer").out.split()[-1]
    assert tell("account", "renew", "ana").out.split()[-1] != first
    assert re.search(r"^ana +viewer$", tell("account", "list").out, re.MULTILINE)
    assert "already" in tell("account", "add", "ana", rc=2).err
    tell("account", "remove", "ana")
    assert "ana" not in tell("account", "list").out


def test_a_socket_is_let_go_when_it_cannot_be_had():
    with serving.listening("127.0.0.1", 0) as door:
        port = door.getsockname()[1]
        with pytest.raises(ValueError, match="in use"), serving.listening("127.0.0.1", port):
            pass
    with socket.create_server(("127.0.0.1", port)):
        pass
