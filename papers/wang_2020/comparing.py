"""Two groups of runs compared: the difference of their means with a 95% interval (Welch 1947), and what it can tell."""

import math
import statistics
from dataclasses import dataclass

from scipy import stats


@dataclass(frozen=True)
class Difference:
    """One mean minus another; ``half`` is NaN where a group has fewer than two runs."""

    one: float
    other: float
    half: float

    @property
    def mean(self):
        """The difference."""
        return self.one - self.other

    def above(self, least=0.0):
        """Whether it exceeds this number: None where the interval holds it, or there is no interval."""
        if math.isnan(self.half) or abs(self.mean - least) <= self.half:
            return None
        return self.mean > least

    def reaches(self, claimed):
        """Whether a claimed gain is seen: False when the whole interval is below it, None when it also holds zero."""
        if self.above(claimed) is False:
            return False
        return self.above()

    def __str__(self):
        width = "" if math.isnan(self.half) else f" ± {self.half:.2f}"
        return f"{self.one:.2f} against {self.other:.2f}: {self.mean:+.2f}{width}"


def difference(one, other):
    """Of two lists of values, one a run."""
    means = statistics.fmean(one), statistics.fmean(other)
    if min(len(one), len(other)) < 2:
        return Difference(*means, math.nan)
    parts = [statistics.variance(values) / len(values) for values in (one, other)]
    total = sum(parts)
    if not total:
        return Difference(*means, 0.0)
    freedom = total**2 / sum(p**2 / (len(v) - 1) for p, v in zip(parts, (one, other), strict=True))
    return Difference(*means, float(stats.t.ppf(0.975, freedom)) * math.sqrt(total))
