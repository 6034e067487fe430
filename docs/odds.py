"""What an attacker can gain from a private release, and the picture of it: ``python -m docs.odds``.

Somebody compares two tables that are neighbours. For every set S of results, (epsilon, delta) says that
``P1(S) <= e^epsilon P0(S) + delta``, and the same with the tables exchanged (Kairouz, Oh & Viswanath 2015, "The
composition theorem for differential privacy"). Everything here follows from these two lines.
"""

import math
from pathlib import Path

from scipy.special import ndtr

from tacit.privacy.accounting import gaussian_mu

PICTURE = Path(__file__).parent / "pictures" / "odds.svg"
EPSILONS = (0.1, 1, 3, 8)
LEFT, TOP, SIDE = 52, 16, 320


def guess(epsilon: float, delta: float) -> float:
    """How often the best guess between two neighbours is right, when both are equally likely: exact."""
    return 1 - (1 - delta) / (1 + math.exp(epsilon))


def belief(prior: float, epsilon: float) -> float:
    """The most that a belief of ``prior`` can become: odds grow by at most a factor of e^epsilon (delta = 0)."""
    odds = prior / (1 - prior) * math.exp(epsilon)
    return odds / (1 + odds)


def found(accused: float, epsilon: float, delta: float) -> float:
    """How many of the people in the table a test can find that accuses this part of those who are not."""
    return min(math.exp(epsilon) * accused + delta, 1 - math.exp(-epsilon) * (1 - delta - accused))


def gaussian_guess(epsilon: float, delta: float) -> float:
    """:func:`guess` where the release is one Gaussian mechanism with this price (Dong, Roth & Su 2022)."""
    return float(ndtr(gaussian_mu(epsilon, delta) / 2))


def _place(before: float, after: float) -> tuple[float, float]:
    return LEFT + SIDE * before, TOP + SIDE * (1 - after)


def _curve(epsilon: float) -> str:
    steps = 60
    # Even steps in the log-odds of both ends together draw the steep part as finely as the flat one.
    priors = [1 / (1 + math.exp(epsilon / 2 - 14 * (k / steps - 0.5))) for k in range(1, steps)]
    points = [(0.0, 0.0), *((prior, belief(prior, epsilon)) for prior in priors), (1.0, 1.0)]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(*point) for point in points))


def drawing() -> str:
    """Belief before and after, as SVG text that takes its colours from the page around it."""
    parts = []
    for tick in (0, 25, 50, 75, 100):
        x, y = _place(tick / 100, tick / 100)
        parts.append(f'<path d="M{x:g} {TOP}V{TOP + SIDE}M{LEFT} {y:g}H{LEFT + SIDE}" opacity=".18"/>')
        parts.append(f'<text x="{x:g}" y="{TOP + SIDE + 18}" text-anchor="middle">{tick}%</text>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end">{tick}%</text>')
    parts.append(f'<path d="M{LEFT} {TOP + SIDE}L{LEFT + SIDE} {TOP}" stroke-dasharray="4 4" opacity=".6"/>')
    for place, epsilon in enumerate(EPSILONS):
        parts.append(f'<polyline points="{_curve(epsilon)}" stroke-width="{1.2 + 0.5 * place:g}"/>')
        x, y = _place(1 / (1 + math.exp(epsilon / 2)), 1 - 1 / (1 + math.exp(epsilon / 2)))
        parts.append(f'<text class="name" x="{x + 7:.1f}" y="{y + 15:.1f}">ε = {epsilon:g}</text>')
    middle = TOP + SIDE / 2
    return "\n".join(
        [
            f'<svg class="odds" role="img" viewBox="0 0 {LEFT + SIDE + 20} {TOP + SIDE + 46}" '
            'style="max-width: 30rem; width: 100%">',
            "<title>The most that a belief can grow, for epsilon 0.1, 1, 3 and 8</title>",
            "<style>.odds{fill:none;stroke:currentColor}.odds text{fill:currentColor;stroke:none;font-size:12px}"
            ".odds .name{font-weight:600}</style>",
            *parts,
            f'<text x="{LEFT + SIDE / 2:g}" y="{TOP + SIDE + 40}" text-anchor="middle">believed before</text>',
            f'<text transform="translate(12 {middle:g}) rotate(-90)" text-anchor="middle">believed after, '
            "at most</text>",
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")
