"""Draws the import graph into ``docs/architecture.svg``: ``make graph``.

One line a room, from top to bottom, with its modules in their order; on the right, which rooms it imports from. Dots
left of the diagonal are imports from above. What breaks the order is red: a dot on the right, or the modules of a room
that go round in circles.
"""

from collections.abc import Iterator
from graphlib import CycleError
from html import escape
from pathlib import Path
from textwrap import wrap

from docs.rooms import ROOMS, Graph, floors, graph, modules, room

PICTURE = Path(__file__).parent / "architecture.svg"
LETTERS, LINE, CELL = 51, 15, 17
LEFT, RIGHT, TOP = 104, 452, 92
WIDTH = RIGHT + CELL * len(ROOMS) + 28
STYLE = (
    "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#24292f}text.room{font-weight:700}"
    "text.above{fill:#57606a}.above{fill:#2f7d6b}text.below,.below{fill:#c8322b}.self{fill:#d0d7de}path{stroke:#d8dee4}"
)


def modules_of(uses: Graph, name: str) -> tuple[str, list[str]]:
    """Lines of text and their class: in ``a b › c``, c may import a and b."""
    try:
        kind, ordered = "above", floors(uses, name)
    except CycleError:
        kind, ordered = "below", [sorted(module for module in uses if room(module) == name)]
    inner = [[module.split(".", 2)[2] for module in floor if module.count(".") > 1] for floor in ordered]
    return kind, wrap(" › ".join(" ".join(floor) for floor in inner if floor), LETTERS) or [""]


def row(uses: Graph, name: str, top: float, lines: list[str], kind: str) -> Iterator[str]:
    """One room: its name, its modules, and a dot for each room that it imports from."""
    middle, own = top + CELL / 2, ROOMS.index(name)
    used = {room(target) for module, targets in uses.items() if room(module) == name for target in targets}
    yield f'<path d="M0 {top - 1:g}H{WIDTH}"/>'
    yield f'<text class="room" x="8" y="{middle + 4:g}">{name}</text>'
    for place, line in enumerate(lines):
        yield f'<text class="{kind}" x="{LEFT}" y="{middle + 4 + LINE * place:g}">{escape(line)}</text>'
    for place, other in enumerate(ROOMS):
        x = RIGHT + CELL * place
        if other == name:
            yield f'<rect class="self" x="{x + 1}" y="{top + 1:g}" width="{CELL - 2}" height="{CELL - 4}"/>'
        elif other in used:
            side = "above" if place < own else "below"
            yield f'<circle class="{side}" cx="{x + CELL / 2:g}" cy="{middle - 1:g}" r="4.5"/>'


def drawing(uses: Graph) -> str:
    """The whole picture, as SVG text."""
    parts, top = [], float(TOP)
    for place, name in enumerate(ROOMS):
        kind, lines = modules_of(uses, name)
        parts.append(f'<text transform="translate({RIGHT + CELL * place + 8} {TOP - 8}) rotate(-55)">{name}</text>')
        parts += row(uses, name, top, lines, kind)
        top += max(CELL + 2, LINE * len(lines) + 4)
    size = f'width="{WIDTH}" height="{top:g}" viewBox="0 0 {WIDTH} {top:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
            "<title>The rooms of Tacit, their modules, and what each imports</title>",
            f"<style>{STYLE}</style>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *parts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(drawing(graph(modules())), encoding="utf-8")
