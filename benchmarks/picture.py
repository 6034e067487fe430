"""Draw the accuracy on Adult over epsilon, ours and others', from the table in docs/benchmarks.md: docs/accuracy.svg.

python benchmarks/picture.py

The picture has no numbers of its own: it is drawn from the page that the benchmark writes, so the two cannot disagree.
"""

import math
import re
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGE, PICTURE = DOCS / "benchmarks.md", DOCS / "accuracy.svg"
PRIVATE = {
    ("additive", "add-remove"): ("Tacit, additive", "ours"),
    ("linear", "add-remove"): ("Tacit, linear", "ours second"),
    ("Opacus bins", "add-remove"): ("Opacus bins, tuned", "peer"),
    ("Opacus", "add-remove"): ("Opacus, tuned", "peer"),
    ("DP-EBM", "add-remove"): ("DP-EBM", "peer"),
    ("diffprivlib", "replace-one"): ("diffprivlib, tuned", "peer"),
}
"""Which rows of the table are curves, by model and neighbours; what they are called, and how they are drawn."""
PLAIN = {"scikit-learn additive": "additive, no privacy", "scikit-learn linear": "linear, no privacy"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, SHOWN = 520, 400, 32, 180, 40, 54, 640
"""SHOWN is the width where there is room. The rest is for WIDTH: text of 16 is still read on a phone, at 11 pixels."""
LOWEST, HIGHEST, APART = 77.0, 88.0, 20.0
STYLE = """
text{font:16px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#57606a}
.title{font-size:17px;font-weight:600;fill:#1f2328}.name.ours{fill:#0b6e5a;font-weight:600}
.grid,.lead{stroke:#d8dee4}.curve{fill:none;stroke-width:2}.peer.curve{stroke:#8c959f}.peer.dot{fill:#8c959f}
.ours.curve{stroke:#0b6e5a;stroke-width:3.5}.ours.dot{fill:#0b6e5a}.second.curve{stroke-dasharray:9 4}
.plain{stroke:#9a6700;stroke-dasharray:2 4;stroke-width:1.5}.name.plainly{fill:#9a6700}
@media(prefers-color-scheme:dark){text{fill:#9198a1}.title{fill:#e6edf3}.grid,.lead{stroke:#30363d}
.name.ours{fill:#4fd1b0}.ours.curve{stroke:#4fd1b0}.ours.dot{fill:#4fd1b0}.plain{stroke:#d9a441}.name.plainly{fill:#d9a441}}
"""


def read(page: str) -> tuple[list[float], dict[tuple[str, str], list[float]], dict[str, float]]:
    """The epsilons, the accuracies of each private row in percent, and those without privacy, of the first table."""
    lines = iter(page.split("#### Adult", 1)[1].splitlines())
    head = _cells(next(line for line in lines if line.startswith("| model")))
    epsilons = [float(cell.removeprefix("ε = ")) for cell in head if cell.startswith("ε = ")]
    private, plain = {}, {}
    for line in lines:
        if not line.startswith("|"):
            break
        name, way, *rest = _cells(line.replace("**", ""))
        if name in PLAIN:
            plain[name] = _percent(rest[len(epsilons)])
        elif (name, way) in PRIVATE:
            private[name, way] = [_percent(cell) for cell in rest[: len(epsilons)]]
    if set(private) != set(PRIVATE) or set(plain) != set(PLAIN):
        raise ValueError("The table of Adult in docs/benchmarks.md lacks a row that the picture shows.")
    return epsilons, private, plain


def draw(page: str) -> str:
    """The picture as SVG text, for light and dark pages."""
    epsilons, private, plain = read(page)
    across = {epsilon: _across(epsilon, epsilons) for epsilon in epsilons}
    parts = ['<text class="title" x="2" y="22">Adult: test accuracy in percent, at δ = 1e-5</text>']
    for level in range(math.ceil(LOWEST), math.floor(HIGHEST) + 1, 2):
        y = _height(level)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 5:.1f}" text-anchor="end">{level}</text>')
    for epsilon, x in across.items():
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 24}" text-anchor="middle">{epsilon:g}</text>')
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">ε (smaller: more private)</text>'
    )
    names = []
    for name, level in plain.items():
        parts.append(f'<path class="plain" d="M{LEFT} {_height(level):.1f}H{WIDTH - RIGHT}"/>')
        names.append((_height(level), PLAIN[name], "plainly"))
    for row in sorted(PRIVATE, key=lambda row: PRIVATE[row][1].startswith("ours")):  # ours on top
        name, kind = PRIVATE[row]
        points = [(across[epsilon], _height(level)) for epsilon, level in zip(epsilons, private[row], strict=True)]
        parts.append(f'<path class="{kind} curve" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>')
        parts += [f'<circle class="{kind} dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points]
        names.append((points[-1][1], name, kind))
    parts += _names(names)
    about = "Test accuracy on Adult over epsilon: Tacit's defaults, tuned peers, and models without privacy."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SHOWN}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{about}">'
        f"<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _names(names: list[tuple[float, str, str]]) -> list[str]:
    """Every name beside the end of its curve, with a line to it, pushed down where it would cover the one above."""
    parts, free, end = [], -math.inf, WIDTH - RIGHT
    for y, name, kind in sorted(names):
        free = max(y + 5, free + APART)
        parts.append(f'<path class="lead" d="M{end - 8} {y:.1f}L{end + 14} {free - 5:.1f}"/>')
        parts.append(f'<text class="name {kind}" x="{end + 18}" y="{free:.1f}">{escape(name)}</text>')
    return parts


def _across(epsilon: float, epsilons: list[float]) -> float:
    share = math.log(epsilon / epsilons[0]) / math.log(epsilons[-1] / epsilons[0])
    return LEFT + 14 + share * (WIDTH - RIGHT - LEFT - 28)


def _height(percent: float) -> float:
    return TOP + (HIGHEST - percent) / (HIGHEST - LOWEST) * (HEIGHT - TOP - BOTTOM)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _percent(cell: str) -> float:
    return float(re.match(r"\d+\.\d+", cell).group())


def main() -> None:
    """Draw, from the page as it stands."""
    PICTURE.write_text(draw(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Drawn: {PICTURE}")


if __name__ == "__main__":
    main()
