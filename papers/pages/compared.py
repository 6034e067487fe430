"""What the page of changes includes: verdicts that changed, statements in other forms, gone or new, what waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from papers.engine.summary import Entry
from papers.pages import changes
from papers.pages.markdown import plain, sentence


def blocks(
    found: Sequence[changes.Change], summary: Mapping[str, Entry], incomplete: Sequence[tuple[str, str]], waiting: int
) -> Iterator[tuple[str, Sequence[str]]]:
    """Marks and texts; ``waiting`` is how many verdicts the last version had on figures that are incomplete now."""
    yield "under way", [_not_compared(incomplete, waiting), _counted(found)]
    for mark, words, mine in (
        ("changed", "No verdict changed.", [c for c in found if c.before and c.now and not c.earlier]),
        ("forms", "No statement has more forms than before.", [c for c in found if c.earlier]),
        ("gone", "All statements are asked as before.", [c for c in found if not c.now]),
        ("new", "No statement is new.", [c for c in found if not c.before]),
    ):
        yield (
            mark,
            [_why(place, mine, summary) for place in dict.fromkeys((c.paper, c.figure) for c in mine)] or [words],
        )


def _counted(found: Sequence[changes.Change]) -> str:
    weaker, stronger = changes.for_the_paper(found)
    return (
        f"Of the statements of papers that are asked as before, {weaker + stronger} have another verdict: {weaker} a "
        f"weaker one for the paper, {stronger} a stronger one."
    )


def _not_compared(incomplete: Sequence[tuple[str, str]], waiting: int) -> str:
    if not incomplete:
        return "All figures are complete, and all of their statements are compared."
    named = ", ".join(f"`{paper} {figure}`" for paper, figure in incomplete)
    return (
        f"**Under way.** {len(incomplete)} figures are not complete: {named}. What they state is left out below, also "
        f"the {waiting} verdicts that the last version had on them: they have neither changed nor gone."
    )


def _why(place: tuple[str, str], found: Sequence[changes.Change], summary: Mapping[str, Entry]) -> str:
    """One figure's statements, under each reason that some of them share."""
    mine = [change for change in found if (change.paper, change.figure) == place]
    who = summary[place[0]].label if place[0] in summary else place[0]
    lines = []
    for reason in dict.fromkeys(change.reason for change in mine):
        lines += [f"**{plain(who)}, `{place[1]}`.** {plain(reason)}".strip(), ""]
        together = [change for change in mine if change.reason == reason]
        for earlier, before in dict.fromkeys((change.earlier, change.before) for change in together):
            if not earlier:
                continue
            lines.append(f"* Before: {_said(earlier)}: *{before}*. Now:")
            lines += [f"  * {_said(c.statement)}: *{c.now}*." for c in together if c.earlier == earlier]
        for change in (change for change in together if not change.earlier):
            verdict = " → ".join(filter(None, (change.before, change.now)))
            lines.append(f"* {_said(change.statement)}: *{verdict}*.")
        lines.append("")
    return "\n".join(lines).rstrip()


def _said(statement: str) -> str:
    ours = changes.OURS.match(statement)
    return plain(("Not in the paper: " if ours else "") + sentence(changes.OURS.sub("", statement)))
