"""Nothing tells anyone to install `tacit` from the package index, where the name belongs to another project."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORDS = {".py", ".md", ".html", ".js", ".json", ".service", ".toml", ".conf", ".inc", ""}
STRANGER = re.compile(r"install\s+(?:-\S+\s+)*['\"`]*tacit\b(?![-./\w])|tacit\[\w+\]'")


def test_no_page_file_or_message_names_the_index():
    found = []
    for folder in ("src", "docs", "deploy", "papers", "README.md", "CONTRIBUTING.md", "SECURITY.md"):
        start = ROOT / folder
        for path in [start] if start.is_file() else start.rglob("*"):
            if path.is_file() and path.suffix in WORDS and "_build" not in path.parts:
                text = path.read_text(encoding="utf-8", errors="replace")
                found += [f"{path.relative_to(ROOT)}: {hit[0]}" for hit in STRANGER.finditer(text)]
    assert found == []


def test_the_pattern_finds_what_it_is_for():
    for line in ("pip install tacit", "pip install 'tacit[collector]'", "pip install -U tacit", "get 'tacit[plot]'"):
        assert STRANGER.search(line), line
    for line in (
        "pip install '.[collector]'",
        "pip install .",
        "install tacit-collector.service",
        "install /opt/tacit",
    ):
        assert not STRANGER.search(line), line
