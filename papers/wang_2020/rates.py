"""Settings to try for a network: places half a decade apart around the paper's learning rate, three settings at each.

Without smoothing the three are learning rates a third of a place apart; with it they are three sigmas at one rate. So
every optimiser is offered as many settings, over the same rates, and further ones where the best place is an edge.
"""

FIRST = (-2, -1, 0, 1, 2)
FURTHEST = 5
"""Half decades from the paper's rate beyond which nothing is tried."""
SIGMAS = (1.0, 2.0, 3.0)
"""The paper's."""


def rate_at(paper, k):
    """The paper's learning rate, k half decades up."""
    return float(f"{paper * 10 ** (k / 2):.4g}")


def offers(paper, k, smooth):
    """Rate and sigma of the settings at place k."""
    if smooth:
        return [(rate_at(paper, k), sigma) for sigma in SIGMAS]
    return [(rate_at(paper, k + third / 3), 0.0) for third in (-1, 0, 1)]


def next_try(scores):
    """Places to try next, given validation scores by place and setting: none when the best is inside or furthest."""
    places, (best, _) = {place for place, _ in scores}, max(scores, key=scores.get)
    beyond = {min(places): best - 1, max(places): best + 1}.get(best)
    return () if beyond is None or abs(beyond) > FURTHEST else (beyond,)


def at_edge(scores):
    """Whether the best is at the first or the last place."""
    places, (best, _) = {place for place, _ in scores}, max(scores, key=scores.get)
    return best in (min(places), max(places))
