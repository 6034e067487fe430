"""The pictures of the pages, drawn from the kept rows. Each file says in a comment which numbers it was drawn from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from papers.engine import drawing
from papers.engine.figure import Panel
from papers.pages.excerpts import EXCERPTS, Excerpt
from papers.pages.kept import DOCS, Stand

MOST_BYTES = 80_000
"""No picture of a page is larger."""


def panels_of(paper: str, stands: Mapping[str, Stand]) -> dict[str, tuple[Excerpt, Panel]]:
    """What is to be drawn for a paper's page, by file name."""
    wanted = [excerpt for excerpt in EXCERPTS.get(paper, ()) if excerpt.file]
    found = {excerpt.file: (excerpt, excerpt.part(stands)) for excerpt in wanted}
    return {
        name: (excerpt, replace(panel, title=excerpt.caption))
        for name, (excerpt, panel) in found.items()
        if isinstance(panel, Panel)
    }


def fingerprint(panel: Panel) -> str:
    """SHA-256 of the numbers and words of a panel, to six digits: how matplotlib draws them may change."""
    numbers = [
        (line.label, line.status, [[f"{value:.6g}" for value in part] for part in (line.x, line.mean, line.low)])
        for line in panel.lines
    ]
    return hashlib.sha256(repr((panel.title, panel.x, panel.y, numbers)).encode()).hexdigest()


def drawn_from(path: Path) -> str:
    """The fingerprint that a file names; nothing where there is none."""
    found = (
        re.search(r"<!-- drawn from ([0-9a-f]{64}) -->", path.read_text(encoding="utf-8")) if path.exists() else None
    )
    return found[1] if found else ""


def draw(paper: str, stands: Mapping[str, Stand], folder: Path = DOCS / "papers") -> list[Path]:
    """Draw them, and return the files."""
    files = []
    for name, (_, panel) in panels_of(paper, stands).items():
        (picture,) = drawing.draw([panel], re.sub(r"\W", "-", Path(name).stem))
        files.append(folder / name)
        text = f"{picture.svg.rstrip()}\n<!-- drawn from {fingerprint(panel)} -->\n"
        files[-1].write_text(text, encoding="utf-8")
    return files
