"""Statements whose verdict changed since the last version, and why.

``before.json`` holds the verdicts of the rows that were kept last (``python -m papers.pages --remember`` writes it).
``changes.json`` holds reasons, by ``paper/figure/statement`` or, for all statements of a figure, ``paper/figure``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from papers.pages.kept import Stand

HERE = Path(__file__).parent
BEFORE, REASONS = HERE / "before.json", HERE / "changes.json"
WORDS = {True: "seen", False: "not seen", None: "cannot tell"}
Verdicts = Mapping[tuple[str, str, str], str]


@dataclass(frozen=True)
class Change:
    """A statement of a figure; ``before`` or ``now`` is empty where it was not, or is no longer, asked."""

    paper: str
    figure: str
    statement: str
    before: str
    now: str
    reason: str


def verdicts(all_stands: Mapping[str, Sequence[Stand]]) -> Verdicts:
    """'seen', 'not seen' or 'cannot tell' by paper, figure and statement; one that is asked again has a number.

    Figures that are not complete have none.
    """
    found: dict[tuple[str, str, str], str] = {}
    for paper, stands in all_stands.items():
        for stand in (stand for stand in stands if stand.whole):
            for number, finding in enumerate(stand.findings):
                same = sum(other.statement == finding.statement for other in stand.findings[:number])
                statement = f"{finding.statement} ({same + 1})" if same else finding.statement
                found[paper, stand.figure.name, statement] = WORDS[finding.holds]
    return found


def under_way(all_stands: Mapping[str, Sequence[Stand]]) -> set[tuple[str, str]]:
    """Paper and figure where cells have no rows yet: what was said of them has neither changed nor gone."""
    return {(paper, stand.figure.name) for paper, stands in all_stands.items() for stand in stands if not stand.whole}


def waiting(before: Verdicts, incomplete: Collection[tuple[str, str]]) -> Verdicts:
    """What was said of figures that are not complete: it is compared when they are."""
    return {key: verdict for key, verdict in before.items() if key[:2] in incomplete}


def changes(before: Verdicts, now: Verdicts, reasons: Mapping[str, str]) -> list[Change]:
    """What differs, in the order of ``now``; then what is no longer asked."""
    return [
        Change(*key, before.get(key, ""), now.get(key, ""), _reason(key, reasons))
        for key in dict.fromkeys((*now, *before))
        if before.get(key) != now.get(key)
    ]


def without_reason(found: Sequence[Change]) -> list[Change]:
    """Those that need a reason and have none. A statement that was not asked before needs none."""
    return [change for change in found if change.before and not change.reason]


def unused(found: Sequence[Change], reasons: Mapping[str, str]) -> list[str]:
    """Reasons of single statements that explain nothing; those of whole figures may, where all verdicts stayed."""
    used = {"/".join((change.paper, change.figure, change.statement)) for change in found}
    return [place for place in reasons if place.count("/") > 1 and place not in used]


def read_before(place: Path = BEFORE) -> Verdicts:
    """The verdicts that were remembered; none where nothing was."""
    given = json.loads(place.read_text(encoding="utf-8"))["verdicts"] if place.exists() else []
    return {(paper, figure, statement): verdict for paper, figure, statement, verdict in given}


def read_reasons(place: Path = REASONS) -> Mapping[str, str]:
    """Reasons by place."""
    return json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}


def remember(now: Verdicts, versions: Sequence[str], place: Path = BEFORE) -> None:
    """Write the verdicts of now, to be compared with next time."""
    lines = ",\n".join(json.dumps([*key, verdict], ensure_ascii=False) for key, verdict in now.items())
    place.write_text(f'{{"versions": {json.dumps(list(versions))},\n"verdicts": [\n{lines}\n]}}\n', encoding="utf-8")


def _reason(key: tuple[str, str, str], reasons: Mapping[str, str]) -> str:
    return next((reasons[place] for place in _places(key) if place in reasons), "")


def _places(key: tuple[str, str, str]) -> Iterator[str]:
    """The most particular first."""
    yield "/".join(key)
    yield "/".join(key[:2])
