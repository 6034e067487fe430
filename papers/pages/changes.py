"""Statements whose verdict changed since the last version, and why.

``before.json`` holds the verdicts of the rows that were kept last (``python -m papers.pages --remember`` writes it).
``changes.json`` holds reasons, by ``paper/figure/statement`` or, for all statements of a figure, ``paper/figure``.
``reworded.json`` holds words of the last version and those in their place, by paper: a statement in other words is
compared with what it was. So is one that now has several forms, whose words have those of the old one in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from papers.pages.kept import Stand

HERE = Path(__file__).parent
BEFORE, REASONS, REWORDED = HERE / "before.json", HERE / "changes.json", HERE / "reworded.json"
WORDS = {True: "seen", False: "not seen", None: "cannot tell"}
OURS = re.compile(r"^(?:Not in the paper|Ours): ")
TAKEN = re.compile(r" \(taken as: [^()]*\)")
Key = tuple[str, str, str]
Verdicts = Mapping[Key, str]
Reworded = Mapping[str, Sequence[tuple[str, str]]]


@dataclass(frozen=True)
class Change:
    """A statement of a figure; ``before`` or ``now`` is empty where it was not, or is no longer, asked.

    ``earlier`` is what was asked, where this is one of the forms that are asked in its place.
    """

    paper: str
    figure: str
    statement: str
    before: str
    now: str
    reason: str
    earlier: str = ""


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


def changes(
    before: Verdicts, now: Verdicts, reasons: Mapping[str, str], reworded: Reworded = MappingProxyType({})
) -> list[Change]:
    """What differs, in the order of ``now``; then what is no longer asked."""
    follows = _follows(before, now, reworded)
    found = []
    for key, verdict in now.items():
        old, whole = follows.get(key, (key, True))
        if not whole or before.get(old) != verdict:
            found.append(Change(*key, before.get(old, ""), verdict, _reason(key, reasons), "" if whole else old[2]))
    gone = before.keys() - now.keys() - {old for old, _ in follows.values()}
    return found + [Change(*key, before[key], "", _reason(key, reasons)) for key in before if key in gone]


def _follows(before: Verdicts, now: Verdicts, reworded: Reworded) -> dict[Key, tuple[Key, bool]]:
    """Which old statement a new one is asked in place of, and whether it is all that is asked in its place."""
    found: dict[Key, tuple[Key, bool]] = {}
    news = [key for key in now if key not in before]
    for old in (key for key in before if key not in now):
        asked = _core(old, reworded)
        beside = {new: _core(new) for new in news if new[:2] == old[:2]}
        same = [new for new, words in beside.items() if words == asked]
        part = re.compile(rf"\b{re.escape(asked.rstrip(')'))}(?!\w|\.\d)")
        forms = same[:1] or [new for new, words in beside.items() if part.search(words)]
        for new in forms:
            found.setdefault(new, (old, bool(same)))
    return found


def _core(key: Key, reworded: Reworded = MappingProxyType({})) -> str:
    """A statement without whose it is and the limit at which it is read, in the words of now."""
    statement = key[2]
    for old, new in reworded.get(key[0], ()):
        statement = statement.replace(old, new)
    return TAKEN.sub("", OURS.sub("", statement)).rstrip(".").casefold()


def without_reason(found: Sequence[Change]) -> list[Change]:
    """Those that need a reason and have none. What was not asked before, or has the verdict it had, needs none."""
    return [change for change in found if change.before and change.before != change.now and not change.reason]


def for_the_paper(found: Sequence[Change]) -> tuple[int, int]:
    """How many verdicts on statements of papers got weaker for the paper, and how many stronger."""
    order = [WORDS[False], WORDS[None], WORDS[True]]
    steps = [
        order.index(change.now) - order.index(change.before)
        for change in found
        if change.before and change.now and not change.earlier and not OURS.match(change.statement)
    ]
    return sum(step < 0 for step in steps), sum(step > 0 for step in steps)


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


def read_reworded(place: Path = REWORDED) -> Reworded:
    """Words of the last version and those in their place, by paper."""
    given = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return {paper: [(old, new) for old, new in pairs] for paper, pairs in given.items()}


def remember(now: Verdicts, versions: Sequence[str], place: Path = BEFORE) -> None:
    """Write the verdicts of now, to be compared with next time."""
    lines = ",\n".join(json.dumps([*key, verdict], ensure_ascii=False) for key, verdict in now.items())
    place.write_text(f'{{"versions": {json.dumps(list(versions))},\n"verdicts": [\n{lines}\n]}}\n', encoding="utf-8")


def _reason(key: Key, reasons: Mapping[str, str]) -> str:
    return next((reasons[place] for place in _places(key) if place in reasons), "")


def _places(key: Key) -> Iterator[str]:
    """The most particular first."""
    yield "/".join(key)
    yield "/".join(key[:2])
