"""What the pages about the papers include. No number is typed in: all comes from the kept rows."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from papers.engine.figure import Finding, Panel, Point, TextTable
from papers.engine.progress import duration, spent
from papers.engine.summary import HEAD, Entry
from papers.engine.summary import read as read_summary
from papers.engine.under_way import PILOTS
from papers.pages import changes, compared, pictures
from papers.pages.excerpts import EXCERPTS, Excerpt
from papers.pages.kept import ROWS, Stand, all_papers, quick_seconds, stand_of
from papers.pages.markdown import fold, plain, sentence, table
from papers.shared.statements import BY_ACCURACY

OURS = "Not in the paper"
MARKS = {True: "Seen. ", False: "Not seen. ", None: "Cannot tell. "}
LINES = {
    "proven": "solid is proven", "claimed": "dashes and dots are claimed", "refuted": "dashes are refuted",
    None: "grey dots have no privacy",
}  # fmt: skip
"""How a picture draws what a guarantee is."""
Judged = tuple[Stand, Finding]
Stands = Mapping[str, Sequence[Stand]]


def all_stands(rows: Path = ROWS) -> Stands:
    """Every figure of every paper as its rows have it, by paper."""
    return {paper.name: [stand_of(paper, figure, rows) for figure in paper.figures] for paper in all_papers()}


def texts(stands: Stands, rows: Path = ROWS) -> dict[str, str]:
    """What the pages include, by file name."""
    found = {f"{name}.inc": _blocks(_of_paper(name, mine)) for name, mine in stands.items()}
    found["index.inc"] = _blocks(_of_all(stands, quick_seconds(rows)))
    before, incomplete = changes.read_before(), changes.under_way(stands)
    waiting = changes.waiting(before, incomplete)
    asked = {key: verdict for key, verdict in before.items() if key not in waiting}
    changed = changes.changes(asked, changes.verdicts(stands), changes.read_reasons(), changes.read_reworded())
    found["changes.inc"] = _blocks(compared.blocks(changed, read_summary("papers"), sorted(incomplete), len(waiting)))
    return found


def versions_of(stands: Stands) -> dict[str, int]:
    """The versions that made the rows, each with the figures it had a part in."""
    names = sorted({version for mine in stands.values() for stand in mine for version in stand.versions})
    return {name: sum(name in stand.versions for mine in stands.values() for stand in mine) for name in names}


def _blocks(parts: Iterator[tuple[str, Sequence[str]]]) -> str:
    """Each part after its mark, by which pages include it."""
    blocks = [block for mark, texts in parts for block in (f"<!-- {mark} -->", *texts)]
    return "\n\n".join([*blocks, "<!-- end -->"]) + "\n"


def _of_paper(name: str, stands: Sequence[Stand]) -> Iterator[tuple[str, Sequence[str]]]:
    by_figure = {stand.figure.name: stand for stand in stands}
    drawn = pictures.panels_of(name, by_figure)
    paper, ours = _findings(stands)
    yield "state", [_state(stands)]
    yield "pictures", [_picture(excerpt, panel, by_figure) for excerpt, panel in drawn.values()]
    yield "tables", [_shown(excerpt, by_figure) for excerpt in EXCERPTS.get(name, ()) if not excerpt.file]
    for mark, holds, words in (
        ("seen", True, "are seen"), ("not seen", False, "are not seen"), ("cannot tell", None, "we cannot decide"),
    ):  # fmt: skip
        mine = [pair for pair in paper if pair[1].holds is holds]
        missing = [_without_rows(stands)] if holds is None and _without_rows(stands) else []
        yield mark, [_group(f"Statements of the paper that {words}", mine), *missing]
    marked = [(stand, Finding(f.statement, f.holds, MARKS[f.holds] + f.seen)) for stand, f in ours]
    yield "own", [_group("Checks of our own", marked)]
    yield "chosen", [text for stand in stands if (text := _chosen(stand))]
    yield "ran", [_ran(stands), _settings(stands)]


def _of_all(stands: Stands, quick: Mapping[str, float]) -> Iterator[tuple[str, Sequence[str]]]:
    summary = read_summary("papers")
    yield "state", [_state([stand for mine in stands.values() for stand in mine], named=False)]
    yield "summary", [_summary(summary, stands)]
    yield "totals", [_totals(stands, summary, quick)]
    yield "time", [_time(stands, quick)]
    yield "versions", [_versions(versions_of(stands))]


def _state(stands: Sequence[Stand], named: bool = True) -> str:
    """Whether all cells (runs, on pages) have rows; while some have none, what is said of them is not from rows."""
    done, cells = (sum(getattr(stand, part) for stand in stands) for part in ("done", "cells"))
    left = [f"`{stand.figure.name}`" for stand in stands if not stand.whole]
    if not left:
        return f"All {len(stands)} figures are complete ({cells:,} of {cells:,} runs)."
    which = f": {', '.join(left)}" if named else ""
    are = "is" if len(left) == 1 else "are"
    return (
        "**Under way.** The figures are being run again, with equal chances for every method: "
        f"{done:,} of {cells:,} runs are done, and {len(left)} of {len(stands)} figures {are} not complete{which}. "
        f"What is said here of learning (accuracy, gaps, who is ahead) in those figures comes from {PILOTS} until "
        "then, and no statement about them is decided."
    )


def _without_rows(stands: Sequence[Stand]) -> str:
    """A sentence about figures that have nothing to judge yet."""
    names = [f"`{stand.figure.name}`" for stand in stands if not stand.findings and not stand.whole]
    return f"Not yet judged, for want of rows, are the statements about {', '.join(names)}." if names else ""


def _picture(excerpt: Excerpt, panel: Panel, stands: Mapping[str, Stand]) -> str:
    statuses = {line.status for line in panel.lines}
    lines = ", ".join(words for status, words in LINES.items() if status in statuses)
    words = (
        f"{excerpt.caption}{_unless_whole(stands[excerpt.figure])}. The line shows the guarantee: {lines}; a band is a "
        f"95% interval.{_aside(excerpt)}"
    )
    return f"![{plain(excerpt.caption)}]({excerpt.file})\n\n*{plain(words)}*"


def _shown(excerpt: Excerpt, stands: Mapping[str, Stand]) -> str:
    part = excerpt.part(stands)
    caption = f"**{excerpt.caption}**" + (_unless_whole(stands[excerpt.figure]) if excerpt.figure in stands else "")
    caption += f".{said}" if (said := _aside(excerpt)) else ""
    if part is None:
        return f"{caption}\n\nNot measured yet."
    shown = part if isinstance(part, TextTable) else _tabled(part, excerpt)
    return f"{caption}\n\n{table(shown.head, shown.rows)}"


def _tabled(panel: Panel, excerpt: Excerpt) -> TextTable:
    places = sorted({x for line in panel.lines for x in line.x})
    rows = []
    for line in panel.lines:
        means = dict(zip(line.x, line.mean, strict=True))
        cells = [f"{means[x]:.{excerpt.digits}f}" if x in means else "" for x in places]
        rows.append((line.label, line.status or "none", *cells))
    return TextTable(panel.title, ("method", "guarantee", *map(excerpt.x, places)), tuple(rows))


def _findings(stands: Sequence[Stand]) -> tuple[list[Judged], list[Judged]]:
    """Those about the paper's statements, and our own."""
    pairs = [(stand, finding) for stand in stands for finding in stand.findings]
    own = [stand.ours or finding.statement.startswith(OURS) for stand, finding in pairs]
    return (
        [pair for pair, mine in zip(pairs, own, strict=True) if not mine],
        [pair for pair, mine in zip(pairs, own, strict=True) if mine],
    )


def _group(words: str, pairs: Sequence[Judged]) -> str:
    if not pairs:
        return f"{words}: none."
    lines = []
    for stand, finding in pairs:
        said = sentence(finding.statement.removeprefix(f"{OURS}: "))
        lines.append(f"* {plain(said)}. *{plain(finding.seen)}* `{stand.figure.name}`")
    return fold(f"{words}: {len(pairs)}", lines)


def _chosen(stand: Stand) -> str:
    """Which setting the validation records chose, for each data set, method and epsilon."""
    points = [p for p in stand.points if p.get("chosen") and p.get("epsilon") is not None]
    if not points:
        return ""
    places = sorted({p["epsilon"] for p in points})
    cells: dict[tuple[str, str], dict[float, list[Point]]] = {}
    for p in points:
        sigma = "" if p.get("smoothing") is None else f", σ = {p['smoothing']:g}"
        mine = cells.setdefault((str(p.get("data") or ""), f"{p.get('method', '')}{sigma}"), {})
        mine.setdefault(p["epsilon"], []).append(p)
    named = any(data for data, _ in cells)
    rows = [
        (*key[0 if named else 1 :], *(_choice(mine.get(place, ())) for place in places)) for key, mine in cells.items()
    ]
    head = (*(("data",) if named else ()), "method", *(f"ε = {place:g}" for place in places))
    title = (
        f"Settings that validation records chose, <code>{stand.figure.name}</code> (in brackets: mean accuracy there)"
    )
    return fold(title, [table(head, rows)])


def _choice(points: Sequence[Point]) -> str:
    """The setting, with its score; where every split chose for itself, the one that most chose and how many did."""
    if not points:
        return ""
    words = [f"{p['chosen']}{'' if p.get('inside', True) else ', at the edge'}" for p in points]
    most, count = Counter(words).most_common(1)[0]
    scores = [p["validation"] for p, said in zip(points, words, strict=True) if said == most and p.get("validation")]
    shared = [f"{count} of {len(points)} splits"] if any(p.get("resplit") for p in points) else []
    brackets = ", ".join([*shared, *([f"{statistics.fmean(scores):.4f}"] if scores else [])])
    return most + (f" ({brackets})" if brackets else "")


def _ran(stands: Sequence[Stand]) -> str:
    rows = [
        (f"`{s.figure.name}`", plain(s.figure.title), _count(s.done, s.cells), spent([s.seconds]) if s.done else "",
         ", ".join(f"`{version}`" for version in sorted(s.versions)))
        for s in stands
    ]  # fmt: skip
    return table(("figure", "what it is", "runs", "time", "version"), rows, escaped=False)


def _settings(stands: Sequence[Stand]) -> str:
    emphasis = r"\*"  # the only Markdown in a figure's words
    lines = [f"* `{s.figure.name}`: {plain(s.figure.about).replace(emphasis, '*')}" for s in stands]
    return fold("Settings of each figure, and what is cut for time", lines)


def _summary(summary: Mapping[str, Entry], stands: Stands) -> str:
    waits = {name for name, mine in stands.items() if not all(stand.whole for stand in mine)}
    rows = [
        (f"[{plain(e.label)}]({name}.md)", plain(e.does), f"**{e.promise}**. {plain(e.why)}",
         plain(e.learns) + " (In part from pilots.)" * (name in waits), e.use)
        for name, e in summary.items()
    ]  # fmt: skip
    return table(HEAD, rows, escaped=False)


def _totals(all_stands: Stands, summary: Mapping[str, Entry], quick: Mapping[str, float]) -> str:
    rows = []
    for name, stands in all_stands.items():
        marks = [finding.holds for stand, finding in _findings(stands)[0] if stand.whole]
        done, cells = (sum(getattr(stand, part) for stand in stands) for part in ("done", "cells"))
        counts = [str(sum(mark is holds for mark in marks)) for holds in (True, False, None)]
        took = spent(stand.seconds for stand in stands)
        open_ = sum(not stand.whole for stand in stands)
        who = summary[name].label if name in summary else name
        rows.append(
            (
                who, *counts, f"{open_} of {len(stands)}", _count(done, cells), took,
                duration(quick[name]) if name in quick else "not measured",
            )
        )  # fmt: skip
    head = (
        "paper", "seen", "not seen", "cannot tell", "figures not complete, whose statements are not counted", "runs",
        "time at the size of the paper", "quick, one core",
    )  # fmt: skip
    return table(head, rows)


def _time(stands: Stands, quick: Mapping[str, float]) -> str:
    every = [stand for mine in stands.values() for stand in mine]
    took = spent(stand.seconds for stand in every)
    which = "all runs" if all(stand.whole for stand in every) else "the runs that are done"
    small = f"With `SIZE=--quick` it is {duration(sum(quick.values()))}. " if quick else ""
    return (
        f"At the size of the papers {which} together took {took}. {small}One process runs on each core, so divide the "
        "cores' time by the number of yours; seconds of a GPU are those of networks that were trained side by side on "
        "it, and say nothing about a core."
    )


def _versions(versions: Mapping[str, int]) -> str:
    named = ", ".join(f"`{name}` ({count} figure{'s' * (count > 1)})" for name, count in versions.items())
    if len(versions) == 1 and not any("dirty" in name for name in versions):
        return f"All rows were made by one state of the code: {named}."
    return f"The rows were made by {len(versions)} states of the code: {named}."


def _count(done: int, cells: int) -> str:
    """'18', or how far it is."""
    return f"{cells:,}" if done == cells else f"{done:,} of {cells:,}, incomplete"


def _aside(excerpt: Excerpt) -> str:
    """Beside every gap: who chose the settings."""
    return BY_ACCURACY if excerpt.y == "optimality gap" else ""


def _unless_whole(stand: Stand) -> str:
    return "" if stand.whole else f" ({stand.done:,} of {stand.cells:,} cells)"
