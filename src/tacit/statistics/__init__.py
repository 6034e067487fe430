"""Private statistics of a table: numbers with intervals, and bounds and categories that are not known beforehand."""

from tacit.statistics.aggregates import count, histogram, mean, sum
from tacit.statistics.asked_rows import Bounds
from tacit.statistics.bounds import private_bounds
from tacit.statistics.categories import private_categories
from tacit.statistics.covariances import covariance
from tacit.statistics.describe import describe
from tacit.statistics.description import Description
from tacit.statistics.finding import FoundSchema, private_schema
from tacit.statistics.ranks import quantiles
from tacit.statistics.scaler import PrivateScaler
from tacit.statistics.statistic import Statistic

__all__ = [
    "Bounds", "Description", "FoundSchema", "PrivateScaler", "Statistic", "count", "covariance", "describe",
    "histogram", "mean", "private_bounds", "private_categories", "private_schema", "quantiles", "sum",
]  # fmt: skip
