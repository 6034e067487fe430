"""Two kinds of networks compared, run by run: the mean difference with its 95% interval, and what it can tell.

Networks of one seed share their start and their batches, so differences are paired by seed (Student's t).
"""

import math
import statistics
from dataclasses import dataclass

from papers.shared import intervals


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
        """Whether a claimed gain is in line: False when the whole interval is below it, None when it holds zero."""
        if self.above(claimed) is False:
            return False
        return self.above()

    def __str__(self):
        width = "" if math.isnan(self.half) else f" ± {self.half:.2f}"
        return f"{self.one:.2f} against {self.other:.2f}: {self.mean:+.2f}{width}"


def difference(one, other):
    """Of two mappings from runs to values, over the runs that both have."""
    runs = sorted(one.keys() & other.keys())
    seen = intervals.mean([one[run] - other[run] for run in runs])
    return Difference(*(statistics.fmean(mine[run] for run in runs) for mine in (one, other)), seen.high - seen.mean)


def against(values, number=0.0):
    """The values of runs beside one number."""
    return difference(values, dict.fromkeys(values, number))
