"""The browser's client, run by node or by a browser: where it is, what it runs with, and how it is served."""

import contextlib
import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import ClassVar

import pytest

CLIENT = Path(__file__).resolve().parents[2] / "src" / "tacit" / "collector" / "static" / "client"
RUNNER = Path(__file__).with_name("run_client.mjs")
VECTORS = Path(__file__).with_name("vectors.json")
MODULES = ("refused", "exponential", "source", "normals", "perturb", "price", "predict", "blake2")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def vectors():
    return json.loads(VECTORS.read_text(encoding="utf-8"))


def loading(root):
    """JavaScript that gives one object with everything the client exports, and the runner."""
    names = ", ".join(f'import("{root}/client/{name}.js")' for name in MODULES)
    return f"const client = Object.assign({{}}, ...(await Promise.all([{names}])));\n" + (
        f'const {{ run, fresh }} = await import("{root}/run_client.mjs");\n'
    )


def copied(folder):
    """The client and the runner side by side, as they are served; node is told that these are modules."""
    shutil.copytree(CLIENT, folder / "client")
    shutil.copy(RUNNER, folder)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    return folder


class Node:
    """Runs jobs with the client in node."""

    def __init__(self, folder):
        self.folder = copied(folder)

    def run(self, job):
        script = loading(self.folder.as_uri()) + (
            'import { readFileSync } from "node:fs";\n'
            'console.log(JSON.stringify(run(client, JSON.parse(readFileSync(0, "utf-8")))));'
        )
        done = subprocess.run(
            ["node", "--input-type=module", "--eval", script],
            input=json.dumps(job, allow_nan=False), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)


class _Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map: ClassVar = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html"}

    def end_headers(self):
        from tacit.collector.headers import POLICY  # what runs in node needs no server

        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_):
        """Nothing: tests print what matters."""


@contextlib.contextmanager
def served(folder):
    """The address of a server of the client, the runner and an empty page."""
    copied(folder)
    (folder / "index.html").write_text("<!doctype html><title>Client</title>", encoding="utf-8")
    handler = functools.partial(_Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def check_vectors(found, expected):
    """What a run of all vectors gave, against what Python gives."""
    for got, draw in zip(found["draws"], expected["draws"], strict=True):
        assert got == {"whole": draw["whole"], "left": 0}, draw["name"]
    for cases, study in zip(found["studies"], expected["studies"], strict=True):
        for place, (got, case) in enumerate(zip(cases, study["cases"], strict=True)):
            assert same(got, study["facts"], case), (study["name"], place)
    for got, study in zip(found["epsilons"], expected["studies"], strict=True):
        assert got <= study["epsilon"] <= got * (1 + 1e-7), study["name"]


def same(got, facts, case):
    """Whether a submission is Python's in every field, used the same words, and has no -0 in what is shown."""
    fields = {"format": "tacit-submission", "protocol": facts["protocol"], "q": case["q"], "p": case["p"]}
    found = (got["submission"], got["content"], got["left"], got["zeros"])
    return found == ({**fields, "seeded": True}, case["content"], 0, False)


def vectors_job(expected):
    epsilons = [{"facts": study["facts"], "delta": study["facts"]["delta"]} for study in expected["studies"]]
    return {"draws": expected["draws"], "studies": expected["studies"], "epsilons": epsilons}


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
