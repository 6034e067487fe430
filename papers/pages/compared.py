"""What the page of changes includes: verdicts that changed, statements that are gone or new, what waits for rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from papers.engine.summary import Entry
from papers.pages import changes
from papers.pages.markdown import plain, sentence


def blocks(
    found: Sequence[changes.Change], summary: Mapping[str, Entry], incomplete: Sequence[tuple[str, str]], waiting: int
) -> Iterator[tuple[str, Sequence[str]]]:
    """Marks and texts; ``waiting`` is how many verdicts the last version had on figures that are incomplete now."""
    yield "under way", [_not_compared(incomplete, waiting)]
    for mark, words, mine in (
        ("changed", "No verdict changed.", [c for c in found if c.before and c.now]),
        ("gone", "All statements are asked as before.", [c for c in found if not c.now]),
        ("new", "No statement is new.", [c for c in found if not c.before]),
    ):
        yield (
            mark,
            [_why(place, mine, summary) for place in dict.fromkeys((c.paper, c.figure) for c in mine)] or [words],
        )


def _not_compared(incomplete: Sequence[tuple[str, str]], waiting: int) -> str:
    if not incomplete:
        return "All figures are complete, and all of their statements are compared."
    named = ", ".join(f"`{paper} {figure}`" for paper, figure in incomplete)
    return (
        f"**Under way.** {len(incomplete)} figures do not have all of their rows yet: {named}. What they state is left "
        f"out below, also the {waiting} verdicts that the last version had on them: they have neither changed nor gone."
    )


def _why(place: tuple[str, str], found: Sequence[changes.Change], summary: Mapping[str, Entry]) -> str:
    """One figure's statements, under each reason that some of them share."""
    mine = [change for change in found if (change.paper, change.figure) == place]
    who = summary[place[0]].label if place[0] in summary else place[0]
    lines = []
    for reason in dict.fromkeys(change.reason for change in mine):
        lines += [f"**{plain(who)}, `{place[1]}`.** {plain(reason)}".strip(), ""]
        for change in (change for change in mine if change.reason == reason):
            verdict = " → ".join(filter(None, (change.before, change.now)))
            lines.append(f"* {plain(sentence(change.statement))}: *{verdict}*.")
        lines.append("")
    return "\n".join(lines).rstrip()
