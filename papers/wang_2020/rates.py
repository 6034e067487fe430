"""Learning rates to try for a network: thirds of a decade around the paper's, the same for every optimiser and sigma.

Two decades at first, and one place further as long as the best is an edge.
"""

FIRST = (-3, -2, -1, 0, 1, 2, 3)
FURTHEST = 7
"""Thirds of a decade from the paper's rate beyond which nothing is tried."""


def rate_at(paper, k):
    """The paper's learning rate, k thirds of a decade up."""
    return float(f"{paper * 10 ** (k / 3):.4g}")


def next_try(scores):
    """Places to try next, given validation scores by place: none when the best is inside or furthest."""
    best = max(scores, key=scores.get)
    beyond = {min(scores): best - 1, max(scores): best + 1}.get(best)
    return () if beyond is None or abs(beyond) > FURTHEST else (beyond,)


def at_edge(scores):
    """Whether the best is at the first or the last place."""
    return max(scores, key=scores.get) in (min(scores), max(scores))
