"""A scaler whose means and scales are paid for: the first step of a pipeline that keeps its promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tacit.arguments import check_fields
from tacit.checks import check, check_positive, shown
from tacit.data.canonical import canonical, check_names, thin
from tacit.data.curator import tell
from tacit.data.origins import handing_on, note_origin
from tacit.estimators.earlier import Earlier, of_rows, remembered
from tacit.estimators.misuse import Watched, watch
from tacit.ledger import CarriesLedger, Ledger
from tacit.privacy.guarantee import checksum
from tacit.schema import Number
from tacit.settings import described
from tacit.statistics.aggregates import positive
from tacit.statistics.asked_rows import Bounds, column_numbers
from tacit.statistics.bounds import ELSE, bound_parts, bound_totals, bounds_from
from tacit.statistics.exact_sums import Asked, Part, Released, Sums
from tacit.statistics.looked import InMemory, Looked, look_through, name_in, selected
from tacit.statistics.ranks import Ranks
from tacit.statistics.release import Request, answer
from tacit.statistics.unit import Unit
from tacit.streams.scanned import Selected, check_in_memory
from tacit.training import Prepared
from tacit.types import Adjacency, Array

BOUNDS_SHARE = 0.5
"""The part of the budget's mu^2 that finds bounds where none are declared."""
CELLS = 128
SUM, SQUARES, RANKS = Part(1, signed=True), Part(1), Part(CELLS, rising=True)
UNKNOWN = Bounds(-1.0, 1.0)
"""For a column in which no magnitude stands out: only small numbers and the signs of others are told apart."""
_LOST = "No magnitude stands out from the noise in the columns {lost}, which are clipped to -1 and 1. " + ELSE
NOT_FINITE = "X has NaN or infinite cells. Leave those rows out or fill them in with a public number."
NORMAL_QUARTILES = 1.349
"""How far apart the outer quartiles of a normal distribution are, in standard deviations."""


@described
@dataclass(eq=False, repr=False)
class PrivateScaler(TransformerMixin, CarriesLedger, Watched):  # type: ignore[misc]
    """Centre and scale columns by statistics that are paid for, and clip at ``limit`` scales to either side.

    Parameters
    ----------
    bounds : pair of floats, list of pairs or None
        Public bounds: one pair for all columns, or one for each. None: a part of the budget finds them.
    scale : {'deviation', 'quartiles'}
        'deviation': mean and standard deviation. 'quartiles': the median, and the distance of the quartiles over 1.349,
        which a few far values do not move.
    limit : float
        What comes out lies within [-limit, limit].
    """

    epsilon: float = 1.0
    _: KW_ONLY
    bounds: Any = None
    scale: Literal["deviation", "quartiles"] = "deviation"
    limit: float = 4.0
    delta: float | None = None
    adjacency: Adjacency = "replace-one"
    rows_per_person: int | None = None
    random_state: Any = None
    ledger: Ledger | str | None = None

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Pay for bounds, centres and scales of the columns; y is not looked at."""
        for name in ("center_", "scale_", "guarantee_"):
            self.__dict__.pop(name, None)
        watch(self, (*of_rows(X), *_paid(self.bounds)))
        check_fields(self)
        check_positive("limit", self.limit)
        looked = self._looked(X, groups)
        request = Request(
            epsilon=self.epsilon, delta=self.delta, adjacency=self.adjacency, ledger=self.ledger,
            random_state=self.random_state,
        )  # fmt: skip
        unit, columns = looked.unit, self.n_features_in_
        declared = None if self.bounds is None else _listed(self.bounds, columns)
        parts = (SUM, SQUARES) if self.scale == "deviation" else (RANKS,)
        rows = () if request.counted else (Part(1),)

        def limits(earlier: list[Released]) -> list[Bounds]:
            return declared if declared is not None else _found(earlier[0], columns)

        def magnitudes(_: list[Released]) -> Sums:
            return looked.add_up(partial(_magnitudes, columns))

        def added(earlier: list[Released]) -> Sums:
            return looked.add_up(partial(_scaled_sums, rows, parts, limits(earlier)))

        first = [(Asked(bound_parts() * columns), BOUNDS_SHARE, magnitudes)] if declared is None else []
        last = (Asked((*rows, *parts * columns)), 1.0 - BOUNDS_SHARE * len(first), added)
        found = answer(request, unit, "scaler", [*first, last], spend=self._spend, paid=remembered(self))
        count = float(unit.count) if request.counted else max(float(found.stages[-1].numbers[0][0]), 1.0)
        self.bounds_ = [(one.lower, one.upper) for one in limits(found.stages)]
        lost = [place for place, one in enumerate(limits(found.stages)) if one is UNKNOWN]
        if lost:
            tell(_LOST.format(lost=lost), UserWarning)
        read = _deviations if self.scale == "deviation" else _quartiles
        self.center_, self.scale_ = read(found.stages[-1], len(rows), limits(found.stages), count)
        return self

    def _looked(self, X: Any, groups: Any) -> Looked:
        """The columns by their places; of a scan, all but the one that names people."""
        most, table = None if groups is None else self.rows_per_person, selected(X)
        if not isinstance(table, Selected):
            matrix = self._validated(X, reset=True)
            unit = Unit.of(len(matrix), groups, most)
            return InMemory({str(place): column for place, column in enumerate(unit.take(matrix).T)}, unit)
        person = None if groups is None else name_in(table.scan, groups, "groups")
        names = tuple(name for name in table.names if name != person)
        looked = look_through(table.scan, tuple((str(n), name, _finite) for n, name in enumerate(names)), person, most)
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        return looked

    def _spend(self, prepared: Prepared) -> None:
        self.guarantee_ = prepared.guarantee

    @property
    def digest(self) -> str:
        """A hash of what this fit released: it tells it from other fits with the same settings."""
        check_is_fitted(self, "scale_")
        return checksum([np.asarray(part).tolist() for part in (self.bounds_, self.center_, self.scale_)])

    def transform(self, X: Any) -> Array:
        """Each row by itself: less the centres, over the scales, clipped at the limit."""
        check_is_fitted(self, "scale_")
        matrix = self._validated(X, reset=False)
        lower, upper = np.array(self.bounds_).T
        with np.errstate(over="ignore"):
            moved = (np.clip(matrix, lower, upper) - self.center_) / self.scale_
        rows = np.clip(moved, -float(self.limit), float(self.limit))
        note_origin(rows, self._behind(X))
        return rows

    def _behind(self, X: Any) -> tuple[Earlier, ...]:
        """What rows that come out were made with."""
        return (*of_rows(X), *remembered(self), Earlier("the scaler", self.guarantee_, self.digest))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns: those that went in."""
        check_is_fitted(self, "scale_")
        names = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            names = np.asarray(input_features, dtype=object)
            check(len(names) == self.n_features_in_, "Expected one name for each column.")
        return names if names is not None else np.array([f"x{i}" for i in range(self.n_features_in_)], dtype=object)

    def _validated(self, X: Any, reset: bool) -> Array:
        check_in_memory(X, "A scaler is fitted to a scan, and scales tables in memory: give them one after the other.")
        check(not thin(X), "Expected a dense X; a scaler would fill a sparse one.")
        matrix = canonical(X)
        check_names(X)
        validate_data(self, X, y="no_validation", reset=reset, skip_check_array=True)
        check(
            bool(np.isfinite(matrix).all()),
            NOT_FINITE,
        )
        return np.asarray(check_array(matrix, estimator=self, dtype=np.float64))


PrivateScaler.transform = handing_on(PrivateScaler.transform, PrivateScaler._behind)  # type: ignore[method-assign]


def _finite(cells: Any) -> Array:
    values = column_numbers(cells, "X")
    check(bool(np.isfinite(values).all()), NOT_FINITE)
    return values


def _magnitudes(columns: int, rows: Mapping[str, Array], unit: Unit) -> Sums:
    totals = [total for place in range(columns) for total in bound_totals(rows[str(place)], unit)]
    return Sums(bound_parts() * columns, tuple(totals))


def _scaled_sums(
    count: tuple[Part, ...], parts: tuple[Part, ...], limits: list[Bounds], rows: Mapping[str, Array], unit: Unit
) -> Sums:
    """How many rows there are, where that is asked for, and then each column's sum and squares, or ranks."""
    totals = [part.total(*unit.entries()) for part in count]
    for place, one in enumerate(limits):
        values = rows[str(place)]
        if RANKS in parts:
            totals.append(RANKS.total(*unit.entries(one.cells(values, CELLS))))
        else:
            scaled = one.scaled(values)
            totals += [SUM.total(*unit.entries(None, scaled)), SQUARES.total(*unit.entries(None, scaled**2))]
    return Sums((*count, *parts * len(limits)), tuple(totals))


def _paid(bounds: Any) -> list[Earlier]:
    """What finding the bounds cost, where :func:`tacit.statistics.private_bounds` found them."""
    given = [bounds] if isinstance(bounds, Bounds) else bounds if isinstance(bounds, list | tuple | np.ndarray) else []
    return [
        Earlier("the bounds of the scaler", one.guarantee, checksum(one.release))
        for one in given
        if isinstance(one, Bounds) and one.guarantee is not None
    ]


def _listed(bounds: Any, columns: int) -> list[Bounds]:
    """One pair a column, from one pair for all or a list of pairs."""
    ends = (bounds.lower, bounds.upper) if isinstance(bounds, Bounds | Number) else bounds
    check(
        isinstance(ends, tuple | list) or (isinstance(ends, np.ndarray) and ends.ndim > 0),
        f"Expected bounds to be a pair (lower, upper), or a list of one pair for each column, not {shown(bounds)}.",
    )
    pairs = [ends] * columns if len(ends) == 2 and all(np.isscalar(end) for end in ends) else list(ends)
    check(len(pairs) == columns, f"Expected bounds of {columns} columns: one public pair each, or one pair for all.")
    listed = [Bounds.of(pair, f"column {place}") for place, pair in enumerate(pairs)]
    for one in listed:
        one.edges(CELLS)  # refused now or never: before anything is charged
    return listed


def _found(released: Released, columns: int) -> list[Bounds]:
    numbers, deviations = released.numbers, released.deviations
    firsts = range(0, 2 * columns, 2)
    found = [bounds_from(numbers[place], numbers[place + 1], deviations[place : place + 2]) for place in firsts]
    return [UNKNOWN if one is None else one for one in found]


def _deviations(released: Released, first: int, limits: list[Bounds], count: float) -> tuple[Array, Array]:
    """Means and standard deviations; a scale that is lost in noise is what the noise alone would give."""
    centers, scales = [], []
    for place, one in enumerate(limits):
        (total, noise), (second, rough) = (released.part(first + 2 * place + step) for step in (0, 1))
        mean = float(np.clip(total[0] / count, -1.0, 1.0))
        roughly = np.array([np.hypot(rough, 2 * mean * noise) / count])
        variance = positive(np.array([second[0] / count - mean**2]), roughly)
        centers.append(one.middle + one.half * mean)
        scales.append(one.half * float(np.sqrt(np.clip(variance[0], 1e-12, 1.0))))
    return np.array(centers), np.array(scales)


def _quartiles(released: Released, first: int, limits: list[Bounds], count: float) -> tuple[Array, Array]:
    """Medians, and distances of the quartiles, at least a cell."""
    centers, scales = [], []
    for place, one in enumerate(limits):
        ranks = Ranks.of(released, first + place, one.edges(CELLS), count)
        low, middle, high = (ranks.at(share) for share in (0.25, 0.5, 0.75))
        centers.append(middle)
        scales.append(max(high - low, 2 * one.half / CELLS) / NORMAL_QUARTILES)
    return np.array(centers), np.array(scales)
