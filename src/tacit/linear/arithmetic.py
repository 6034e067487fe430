r"""What rounding can do to sums over records: from public facts alone.

Sums are exact (:mod:`tacit.linear.whole`), and a record's part of a sum depends on the record and the weights alone. So
two neighbours' sums differ by exactly one record's computed part, or by two, and the sensitivity of a computed sum is
the bound on a part, plus what rounding adds to *one* part. What is left that grows with the number of records is writing
the sum as doubles: an ulp or two of it. The proofs are on the docs' page "Noise".
"""

from __future__ import annotations

import math

from tacit.data.rows import BITS
from tacit.linear.records import most_rows
from tacit.linear.whole import DIGITS, added_digits, digits_of, power
from tacit.types import Facts

U = 2.0**-53
NOISY_DIGITS = 16
"""Binary digits of a slope, at least, in a sum that gets noise."""
CERTAIN_DIGITS = 20
"""And in one that certifies a minimum, beyond those that n roundings take."""
ALL_DIGITS = 90
"""As many as hold every digit of numbers 2**37 times smaller than the largest."""
FARTHEST = 1e6
"""Where noisy steps cut each weight, for rows of norm 1: so that nothing overflows; far above what is reached."""
WRITTEN = 16
"""Roundings of a sum at most: as it is written in doubles, and as it is brought to the units in which noise is added."""


def several(facts: Facts) -> int:
    """The most rows of one record, each of which is rounded by itself."""
    return facts.rows_per_person or 1


def slope_digits(facts: Facts) -> int:
    """Binary digits of one piece of a slope."""
    return DIGITS - BITS - digits_of(most_rows(facts.features, facts.rows_per_person))


def slope_pieces(facts: Facts, digits: int) -> int:
    """Pieces that hold so many digits of a slope; four are faster than three."""
    count = math.ceil(digits / slope_digits(facts))
    return 4 if count == 3 else count


def noisy_pieces(facts: Facts) -> int:
    """Of slopes in sums that get noise."""
    return slope_pieces(facts, NOISY_DIGITS + digits_of(several(facts)))


def certain_pieces(facts: Facts) -> int:
    """Of slopes in sums that certify a minimum."""
    return slope_pieces(facts, CERTAIN_DIGITS + math.ceil(math.log2(facts.records + 1)) + digits_of(several(facts)))


def largest_slope(facts: Facts, clip: float = math.inf, slopes: int = 1) -> float:
    """What no slope, or no difference of two ``slopes``, exceeds once gradients are cut to ``clip``.

    The loss's bound, or the clip over the least norm of a row.
    """
    least = facts.constant * (1 - 2.0**-40)
    return min(slopes * facts.loss.lipschitz, clip / least if least else math.inf)


def slope_rounding(facts: Facts, largest: float, pieces: int) -> float:
    """How far a record's slopes of one model move when they are rounded, as a norm: half a step of the last piece each."""
    scores = facts.outputs // facts.models
    return 0.5 * several(facts) * math.sqrt(scores) * power(largest) * 2.0 ** (-slope_digits(facts) * pieces)


def rounding_slack(facts: Facts, clip: float | None = None) -> float:
    """Growth of a noisy gradient sum's sensitivity by rounding, relative to ``clip`` (None: the loss's own G).

    A part is slope times row, the slope cut so that its norm is at most ``clip``: right to (d + k + 64) u, and a person's
    mean of m of them to m u more. Then slopes are rounded. There are at most two such parts in the difference of two
    sums, and each sum is written as doubles.
    """
    clip = facts.radius * facts.loss.lipschitz if clip is None else clip
    rounded = facts.radius * slope_rounding(facts, largest_slope(facts, clip), noisy_pieces(facts)) / clip
    return 2.0 * ((facts.features + facts.outputs + several(facts) + 64) * U + rounded) + written(facts)


def written(facts: Facts) -> float:
    """What writing two neighbours' exact sums as doubles adds to their distance, relative to the largest part."""
    return 2.0 * WRITTEN * (facts.records + 1) * U


def added_rounding(facts: Facts) -> float:
    """How far a record's numbers move when they are rounded to be added up, relative to the largest of them."""
    return several(facts) * 2.0 ** -added_digits(most_rows(facts.features, facts.rows_per_person))


def hessian_slack(facts: Facts, runs: int = 1) -> float:
    """As :func:`rounding_slack`, of a sum of outer products, relative to the largest part, ``beta R^2``.

    A row v = sqrt(c) x is rounded to v', |v' - v| <= sqrt(d)/2 steps =: r; ||v'v'^T - vv^T|| <= (2 + r) r. Computing v
    costs (d + 128) u. At most two parts. Where a record comes as q rows, a person's or ``runs`` shorter ones of each,
    whose outer products are added up, the norms of those add up to at most sqrt(q) times the bound on one.
    """
    digits = (DIGITS - digits_of(runs * most_rows(facts.features, facts.rows_per_person))) // 2
    rounded = math.sqrt(facts.features / runs) * 2.0**-digits  # of a step's power of two, at most twice R
    rows = runs * several(facts)
    computed = (facts.features + several(facts) + 128) * U
    return 2.0 * ((2 * math.sqrt(rows) + rows * rounded) * rounded + computed) + written(facts)


def largest_weight(facts: Facts) -> float:
    """Where noisy steps cut each weight: a public number."""
    return FARTHEST / facts.radius


def gradient_rounding(facts: Facts, reach: float, pieces: int | None = None) -> float:
    """How far a computed gradient can be from the exact one, for weights within the norm ``reach``.

    A score is wrong by at most (d + 8) u times the norms of row and weights, and a slope by the loss's curvature times
    that; its evaluation takes 64 u, and rounding it to ``pieces`` (None: :func:`certain_pieces`) what
    :func:`slope_rounding` says. The sum is exact until it is written as a double.
    """
    pieces = certain_pieces(facts) if pieces is None else pieces
    slopes = slope_rounding(facts, facts.loss.lipschitz, pieces) * math.sqrt(facts.models)
    scores = (facts.features + 8) * (1 + facts.radius * reach) * facts.loss.smoothness / facts.loss.lipschitz
    each = (facts.features + facts.outputs + several(facts) + 72 + scores) * U * facts.gradient + facts.radius * slopes
    return (facts.records + 1) * each


def relative_rounding(facts: Facts) -> float:
    """eta: the error of a change of the gradient over the step, relative to the objective's largest curvature."""
    return (facts.features + facts.outputs + 72) * U


def linear_rounding(linear: float) -> float:
    """What adding a linear term of this norm to a gradient can round off: it is added once, to a sum of that size."""
    return 8 * U * linear


def minimum_reach(facts: Facts, strength: float, linear: float = 0.0) -> float:
    """The norm that a minimiser has at most, for a linear term of norm at most ``linear``: public.

    The objective there is at most its value at zero, n times the loss at zero; losses are not negative. So
    ``Lambda/2 ||w||^2 - linear ||w|| <= n loss(0)``, and ||w|| is at most ``sqrt(2 n loss(0) / Lambda) + 2 linear /
    Lambda``; G / Lambda is added for the point where the solver stops.
    """
    height = 2 * (facts.records + 1) * facts.loss.at_zero / strength
    return math.sqrt(height) + (2 * linear + facts.gradient) / strength
