"""Looking at a table, for a price: numbers with intervals, and what nobody knows beforehand."""

from tacit.statistics.result import Statistic
from tacit.statistics.totals import count, histogram, mean, sum  # noqa: A004

__all__ = ["Statistic", "count", "histogram", "mean", "sum"]
