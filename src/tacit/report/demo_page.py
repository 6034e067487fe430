"""The page of the demonstration: result, guarantee, chart, curves beside the truth, the job; the rest is folded."""

from __future__ import annotations

import inspect
from pathlib import Path

from tacit.datasets import hospital
from tacit.reading import write_whole
from tacit.report import pictures
from tacit.report.demo import Demonstration
from tacit.report.meaning import Meaning
from tacit.report.page import drawn_terms, rendered

_EXAMPLE = ": that you came back to hospital, or that you did not"


def write_demo_report(path: str | Path, found: Demonstration) -> None:
    """Write what the demonstration found."""
    page = rendered(
        "demo.html",
        title="A private model of a made-up hospital",
        study=found.study,
        job=found.job,
        meaning=Meaning.of(found.guarantee, _EXAMPLE),
        chart=pictures.chart(found.study, "chart") if pictures.available() else "",
        part=found.effects,
        figures=drawn_terms(found.effects, "t", found.shapes),
        recipe=inspect.getsource(hospital),
    )
    write_whole(path, page)
