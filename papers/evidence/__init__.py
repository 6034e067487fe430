"""Recorded evidence: what published theorems promise, computed exactly where the law is known and measured by runs.

One study a theorem, of the very mechanism that users import, inside the theorem's premises and with the paper's open
constants as a table. ``python -m papers.evidence`` computes, runs, and writes the JSON files beside this module; a
status 'refuted' cites one of them. ``python -m papers.evidence --page`` prints ``docs/audit-evidence.inc`` from
them.
"""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.evidence import kang_2020a, kang_2020b_1, kang_2020b_2, kang_2020b_data, kang_2023, wang_2020
from papers.evidence.runs import CONFIDENCE, SEED
from papers.evidence.text import number, table
from tacit._version import __version__
from tacit.checks import check

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Study:
    """A theorem, how it is computed and measured, and how the result is written."""

    name: str
    paper: str
    verdict: str
    measure: Callable[[int], dict[str, Any]]
    markdown: Callable[[dict[str, Any]], str]


STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Study(
            "kang-2020a", "Kang et al. 2020a, Theorem 1",
            "false for every c once n is large; with one draw of noise for all records, for every c at once",
            kang_2020a.measure, kang_2020a.markdown,
        ),
        Study(
            "kang-2023", "Kang et al. 2023, Theorem 5", "false for all c and c' once n is large", kang_2023.measure,
            kang_2023.markdown,
        ),
        Study(
            "kang-2020b-algorithm-1", "Kang et al. 2020b, Theorem 1",
            "false for every c once delta is small; with one draw of noise for all records, for every c at once",
            kang_2020b_1.measure, kang_2020b_1.markdown,
        ),
        Study(
            "kang-2020b-algorithm-2", "Kang et al. 2020b, Theorem 2", "false for every c and c₁", kang_2020b_2.measure,
            kang_2020b_2.markdown,
        ),
        Study(
            "kang-2020b-data", "Kang et al. 2020b, Theorem 2, D_priv",
            "false for every c and c₁ if T < (n − 1) log(1/δ)", kang_2020b_data.measure,
            kang_2020b_data.markdown,
        ),
        Study(
            "wang-2020", "Wang et al. 2020, section 4.1, as released",
            "false at every ε of Table 2 after one step of 23,450: the mean of a batch is clipped, not each record",
            wang_2020.measure, wang_2020.markdown,
        ),
    )
}  # fmt: skip


def record(name: str, seed: int = SEED) -> Path:
    """Make one study and write its file."""
    check(name in STUDIES, f"Unknown study {name!r}. Known: {', '.join(STUDIES)}.")
    study, start = STUDIES[name], time.perf_counter()
    found = study.measure(seed)
    data = {
        "format": "tacit-evidence-2", "study": name, "theorem": study.paper, "version": __version__,
        "date": datetime.date.today().isoformat(), "seed": seed, "confidence": CONFIDENCE,
        "seconds": round(time.perf_counter() - start), **found,
    }  # fmt: skip
    path = HERE / f"{name}.json"
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def load(name: str) -> dict[str, Any]:
    """The recorded study."""
    check(name in STUDIES, f"Unknown study {name!r}. Known: {', '.join(STUDIES)}.")
    data: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return data


def _summary() -> list[str]:
    rows = []
    for study in STUDIES.values():
        data = load(study.name)
        best = max(data["runs"], key=lambda row: float(row["epsilon"]))
        claim = f"({data['claim'][0]:g}, {data['claim'][1]:g})"
        runs = f"{best['hits']:,} against {best['false']:,} of {best['trials']:,}"
        rows.append([study.paper, claim, f"{number(best['epsilon'])} ({runs})", study.verdict])
    return table(["theorem", "claimed", "runs show at least", "which constants (proofs on the pages)"], rows)


def markdown() -> str:
    """All recorded studies as the include file of the documentation, a comment before each part."""
    parts = [["<!-- summary -->", *_summary()]]
    for study in STUDIES.values():
        data = load(study.name)
        made = f"Recorded {data['date']}, version {data['version']}, seed {data['seed']}, confidence of runs 99.9%."
        parts.append([f"<!-- {study.name} -->", study.markdown(data), "", made])
    parts.append(["<!-- end -->"])
    return "\n\n".join("\n".join([part[0], "", *part[1:]]).rstrip() for part in parts) + "\n"
