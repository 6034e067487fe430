"""The files of ``deploy/``, as far as one machine can try them: parsed, checked by their programs, nginx run."""

import asyncio
import contextlib
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import pytest
from serving import served

from tacit.cli.main import build_parser
from tacit.collector.app import create_app
from tacit.collector.headers import HEADERS

DEPLOY = Path(__file__).parents[2] / "deploy"
NAME = "study.example.org"


def program(name):
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def steps():
    """The instructions of the container file, with their continued lines."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Containerfile").read_text(encoding="utf-8"))
    return [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_container_is_pinned_and_not_root():
    bases = [rest.split()[0] for word, rest in steps() if word == "FROM"]
    assert len(set(bases)) == 1
    assert re.fullmatch(r"docker\.io/library/python:\d+\.\d+\.\d+-slim-bookworm", bases[0])
    (user,) = [rest for word, rest in steps() if word == "USER"]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user)
    words = [word for word, _ in steps()]
    assert words.index("USER") > max(place for place, word in enumerate(words) if word == "RUN")  # root installs only
    assert {"VOLUME", "HEALTHCHECK", "EXPOSE"} <= set(words)


def test_the_container_starts_a_command_that_exists():
    (line,) = [json.loads(rest) for word, rest in steps() if word == "ENTRYPOINT"]
    assert line[0] == "tacit"
    options = build_parser().parse_args([*line[1:], "--behind-proxy", "10.88.0.1"])
    (volume,) = [rest for word, rest in steps() if word == "VOLUME"]
    assert options.database.startswith(f"{volume}/")
    (port,) = [rest for word, rest in steps() if word == "EXPOSE"]
    assert options.port == int(port)


def test_the_unit_starts_a_command_that_exists():
    text = (DEPLOY / "tacit-collector.service").read_text(encoding="utf-8")
    words = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1].split()
    assert words[0].endswith("/bin/tacit")
    assert build_parser().parse_args(words[1:]).behind_proxy == ["127.0.0.1"]


def test_the_unit_is_well_formed_and_closed(tmp_path):
    """By systemd's own checks; exposure goes from 0 to 10, and 2 is good."""
    analyze = program("systemd-analyze")
    text = (DEPLOY / "tacit-collector.service").read_text(encoding="utf-8")
    unit = tmp_path / "tacit-collector.service"
    unit.write_text(re.sub("(?<==)/opt/tacit/bin/tacit", shutil.which("true"), text), encoding="utf-8")
    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([analyze, "security", "--offline=true", unit], capture_output=True, text=True, check=False)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze cannot look at a file alone")
    assert float(re.search(r"exposure level for \S+: (\d+\.\d+)", done.stdout)[1]) <= 2.0


def test_the_caddyfile_is_well_formed(tmp_path):
    done = subprocess.run(
        [program("caddy"), "validate", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile"],
        capture_output=True, text=True, check=False, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def proxied(port, tmp_path):
    """nginx with the file of ``deploy/``, a certificate of its own, and free ports; yields a way to connect."""
    nginx, openssl = program("nginx"), program("openssl")
    files = {"ssl_certificate": tmp_path / "cert.pem", "ssl_certificate_key": tmp_path / "key.pem"}
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}",
         "-addext", f"subjectAltName=DNS:{NAME}",
         "-out", files["ssl_certificate"], "-keyout", files["ssl_certificate_key"]],
        check=True, capture_output=True,
    )  # fmt: skip
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        plain, secure = one.getsockname()[1], other.getsockname()[1]
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    changes = {
        r"listen 80;": f"listen 127.0.0.1:{plain};", r"listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl;",
        r"http://127\.0\.0\.1:8700": f"http://127.0.0.1:{port}",
        **{rf"(?m)^    {name} .*;$": f"    {name} {path};" for name, path in files.items()},
        r"error_log stderr alert": f"error_log {tmp_path}/error.log alert",
    }  # fmt: skip
    for pattern, new in changes.items():
        text, times = re.subn(pattern, new, text)
        assert times == 1, pattern
    kept = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{name}_temp_path {tmp_path}/{name};\n" for name in kept)
    whole = f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/main.log warn;\n"
    whole += f"events {{}}\nhttp {{\n{paths}{text}}}\n"
    (tmp_path / "nginx.conf").write_text(whole, encoding="utf-8")
    process = subprocess.Popen(
        [nginx, "-p", tmp_path, "-c", tmp_path / "nginx.conf"], stderr=subprocess.PIPE, text=True
    )
    trusted = ssl.create_default_context(cafile=files["ssl_certificate"])

    def connect(tls=True):
        raw = socket.create_connection(("127.0.0.1", secure if tls else plain), timeout=30)
        line = http.client.HTTPConnection(NAME, timeout=30)
        line.sock = trusted.wrap_socket(raw, server_hostname=NAME) if tls else raw
        return line

    try:
        while True:  # until it listens, or has ended
            with contextlib.suppress(ConnectionRefusedError):
                connect().close()
                break
            assert process.poll() is None, process.stderr.read()
        yield connect
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
def test_nginx_before_the_service(collector, study, make_people, tmp_path):
    seen = []
    inner = create_app(collector, rate=0)

    async def noting(scope, receive, send):
        if scope["type"] == "http":
            seen.append((scope["client"][0], scope["scheme"], dict(scope["headers"]).get(b"host")))
        await inner(scope, receive, send)

    (code,) = collector.invite(study, 1)
    (one,) = make_people(1).each()
    body = json.dumps({"invitation": code, "submission": json.loads(one.to_json())}).encode()
    with (
        served(noting, server_header=False, proxy_headers=True, forwarded_allow_ips="127.0.0.1") as (_, port),
        proxied(port, tmp_path) as connect,
    ):
        line = connect()
        claims = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "http", "Forwarded": "for=203.0.113.8"}
        line.request("POST", f"/api/studies/{study}/submissions", body, claims)
        answer = line.getresponse()
        assert (answer.status, json.loads(answer.read())["study"]) == (201, study)
        for name, value in HEADERS.items():
            assert answer.headers.get_all(name) == [value]
        assert answer.headers.get_all("Strict-Transport-Security") == ["max-age=31536000"]
        assert not re.search(r"\d", answer.headers.get("Server") or "")
        assert seen == [("127.0.0.1", "https", NAME.encode())]  # not what the client claims
        line.request("POST", f"/api/studies/{study}/submissions", b"x" * (2**20 + 1))
        assert line.getresponse().status == 413
        line.close()
        line = connect(tls=False)
        line.request("GET", f"/s/{study}")
        answer = line.getresponse()
        assert (answer.status, answer.headers["Location"]) == (301, f"https://{NAME}/s/{study}")
        line.close()
    logs = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("*.log"))
    assert "127.0.0.1" not in logs
    assert list((tmp_path / "client_body").rglob("*")) == []


def test_live_counts_pass_nginx_at_once(tmp_path):
    """The second event is sent when the first was read: a proxy that waits for more would wait for ever."""
    read, loops = asyncio.Event(), []

    async def events(scope, receive, send):
        loops.append(asyncio.get_running_loop())
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        await read.wait()
        await send({"type": "http.response.body", "body": b"data: 2\n\n"})

    with served(events, server_header=False, lifespan="off") as (_, port), proxied(port, tmp_path) as connect:
        line = connect()
        line.request("GET", "/curator/studies/abcdefghjk/events")
        answer = line.getresponse()
        assert answer.readline() == b"data: 1\n"
        loops[0].call_soon_threadsafe(read.set)
        assert answer.read() == b"\ndata: 2\n\n"
        line.close()
