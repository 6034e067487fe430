"""What was released: frozen, validated values that carry everything its price depends on, and nothing else.

Every event states its sensitivity under both adjacencies; ``None`` says that the analysis does not cover that one.
Prices are computed elsewhere (:mod:`tacit.privacy.accounting`). Scales, norms and epsilons lie between LEAST and MOST,
and counts are at most COUNT: no run needs more, and double precision holds the quotients of such numbers.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from dataclasses import dataclass
from typing import Any, TypeGuard, get_args

from tacit.checks import check, refuse
from tacit.types import Adjacency

LEAST, MOST = 1e-150, 1e150
"""Where scales, norms and epsilons lie."""
SMALLEST = 1e-300
"""The smallest probability beside 0."""
COUNT = 10**12
"""The most steps or records."""
OUTPUTS = 10**6
"""The most classes, or models, of one release."""
CANDIDATES, LEAST_STOP = 64, 1e-4
"""The most candidates of a selection; the least probability to stop after a trial."""


def _is_real(value: object) -> TypeGuard[float]:
    """Whether this is a number; truth values and text are not."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_amount(value: object) -> bool:
    """Whether this is a number between LEAST and MOST."""
    return _is_real(value) and LEAST <= (value if isinstance(value, int) else float(value)) <= MOST


def is_probability(value: object) -> bool:
    """Whether this is 0 (but not -0.0), or a number from SMALLEST up to 1, without 1."""
    return _is_real(value) and (SMALLEST <= value < 1 or (value == 0 and math.copysign(1.0, value) > 0))


def is_count(value: object, least: int = 1, most: int = COUNT) -> bool:
    """Whether this is a whole number between these."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and least <= int(value) <= most


def _check_amounts(event: object, *names: str) -> None:
    for name in names:
        if not is_amount(value := getattr(event, name)):
            raise ValueError(f"Expected {name}={_shown(value)} > 0 and finite, from {LEAST:g} to {MOST:g}.")


def _check_counts(event: object, *names: str, least: int = 1, most: int = COUNT) -> None:
    for name in names:
        if not is_count(value := getattr(event, name), least, most):
            raise ValueError(f"Expected {name}={_shown(value)} to be a whole number >= {least}, at most {most:,}.")


def _check_probability(name: str, value: object) -> None:
    check(is_probability(value), f"Expected 0 <= {name}={_shown(value)} < 1, and 0 or at least {SMALLEST:g}.")


def _shown(value: object) -> str:
    """A value in few letters: a number of hundreds of digits is not repeated."""
    if isinstance(value, int) and abs(value) >= 10**18:
        return "(a number of more than 18 digits)"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


@dataclass(frozen=True)
class Sensitivity:
    """The largest change between neighbours: ``add_remove``, and ``replace_one``; None where it is not covered."""

    add_remove: float | None
    replace_one: float | None

    def __post_init__(self) -> None:
        _check_amounts(self, *(name for name in ("add_remove", "replace_one") if getattr(self, name) is not None))

    @classmethod
    def of_record(cls, norm: float) -> Sensitivity:
        """One record's part of a sum has this norm at most: adding moves by it, replacing by twice it."""
        return cls(norm, 2.0 * norm)

    def under(self, adjacency: Adjacency) -> float:
        """The value for one adjacency; refused where it is not covered."""
        value = self.add_remove if adjacency == "add-remove" else self.replace_one
        if value is None:
            refuse(f"The analysis of this method does not cover {adjacency} neighbours. Use the other adjacency.")
        return value

    def times(self, factor: float) -> Sensitivity:
        """Both values scaled."""
        grown = [None if v is None else v * factor for v in (self.add_remove, self.replace_one)]
        return Sensitivity(grown[0], grown[1])

    def plus(self, slack: float) -> Sensitivity:
        """Both values enlarged by a slack."""
        grown = [None if v is None else v + slack for v in (self.add_remove, self.replace_one)]
        return Sensitivity(grown[0], grown[1])


@dataclass(frozen=True)
class Gaussian:
    """``count`` releases of a statistic with Gaussian noise of standard deviation ``scale``."""

    sensitivity: Sensitivity
    scale: float
    count: int = 1

    def __post_init__(self) -> None:
        _check_amounts(self, "scale")
        _check_counts(self, "count")


@dataclass(frozen=True, kw_only=True)
class PoissonGaussian:
    """``count`` noisy sums over Poisson samples: each record joins each sum independently with probability ``rate``.

    ``clip`` bounds the norm of one record's part of a sum.
    """

    clip: float
    scale: float
    rate: float
    count: int

    def __post_init__(self) -> None:
        _check_amounts(self, "clip", "scale")
        check(is_amount(self.rate) and self.rate <= 1, f"Expected 0 < rate={_shown(self.rate)} <= 1.")
        _check_counts(self, "count")


@dataclass(frozen=True, kw_only=True)
class SubsetGaussian:
    """``count`` noisy sums over uniformly drawn subsets of ``batch`` out of ``records`` records (replace-one only)."""

    clip: float
    scale: float
    batch: int
    records: int
    count: int

    def __post_init__(self) -> None:
        _check_amounts(self, "clip", "scale")
        _check_counts(self, "count", "records")
        check(
            is_count(self.batch, 1, self.records),
            f"Expected 1 <= batch={_shown(self.batch)} <= records={self.records}.",
        )


@dataclass(frozen=True)
class Sphere:
    """One release with noise of density proportional to ``exp(-||b|| / scale)``: pure epsilon = sensitivity / scale.

    Several releases that use disjoint records count as one (parallel composition).
    """

    sensitivity: Sensitivity
    scale: float

    def __post_init__(self) -> None:
        _check_amounts(self, "scale")


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The exact minimiser of a sum of losses plus a random linear term ``<b, w>`` and (Lambda/2)||w||^2.

    ``slope`` bounds one record's gradient norm in one model and ``trace`` the trace of its Hessian; Lambda is
    ``strength``. ``geometry`` says which gradients one record can have, whatever w, as a convex set of corners
    (see :func:`tacit.privacy.minimisers.corners`): 'logistic', 'monotone', 'two-sided' or 'simplex'. ``outputs`` counts
    the classes of a simplex, or the independent models. ``rows``: a record is a person with up to so many rows, whose
    weighted mean is as short as one row. ``noise`` is 'gaussian' (standard deviation ``scale``) or
    'sphere' (density proportional to exp(-||b||/scale)).
    """

    slope: float
    trace: float
    strength: float
    scale: float
    geometry: str
    outputs: int = 1
    noise: str = "gaussian"
    rows: int = 1

    def __post_init__(self) -> None:
        _check_amounts(self, "slope", "trace", "strength", "scale")
        _check_counts(self, "rows")
        _check_counts(self, "outputs", least=2 if self.geometry == "simplex" else 1, most=OUTPUTS)
        kinds = ("logistic", "monotone", "two-sided", "simplex")
        check(self.geometry in kinds, f"Expected geometry={_shown(self.geometry)} to be one of {', '.join(kinds)}.")
        check(
            self.noise in ("gaussian", "sphere"), f"Expected noise={_shown(self.noise)} to be 'gaussian' or 'sphere'."
        )


@dataclass(frozen=True)
class Claimed:
    """A release that a paper calls (epsilon, delta)-private, without an analysis that anyone can price.

    Accountants repeat the claim, for replace-one neighbours only; whether it holds is said by the status of the
    theorem.
    """

    epsilon: float
    delta: float
    reference: str

    def __post_init__(self) -> None:
        _check_amounts(self, "epsilon")
        _check_probability("delta", self.delta)
        check(isinstance(self.reference, str) and self.reference, "Expected a claim to name its reference.")


@dataclass(frozen=True, kw_only=True)
class InputMinimum:
    """The minimiser over the ball of radius eta of a quadratic whose terms were perturbed by those who gave them.

    ``records`` submissions are added; ``honest`` of them, the differing one included, are (q + u, p - r) with
    ||q|| <= ``row``, ||p|| <= ``cross``, u of standard deviation ``row_scale`` a coordinate, and all those r together
    of standard deviation ``scale``. The others are anything, known to whoever has the model. ``ridge`` (Delta_in, of
    either sign) is added to the quadratic. ``tail`` is the probability given to each of two rare events of the row
    noise; ``rare`` that the run is not the one that is analysed (:func:`tacit.privacy.minimisers.input_delta`).
    """

    features: int
    records: int
    honest: int
    row: float
    cross: float
    radius: float
    row_scale: float
    scale: float
    ridge: float
    tail: float
    rare: float

    def __post_init__(self) -> None:
        _check_amounts(self, "row", "cross", "radius", "scale")
        _check_counts(self, "features", "records", "honest")
        check(self.honest <= self.records, f"Expected honest={self.honest} <= records={self.records}.")
        bounded = _is_real(self.row_scale) and (self.row_scale == 0 or is_amount(self.row_scale))
        check(bounded, f"Expected row_scale={_shown(self.row_scale)} >= 0 and finite, 0 or from {LEAST:g} to {MOST:g}.")
        bounded = _is_real(self.ridge) and -MOST <= self.ridge <= MOST
        check(bounded, f"Expected ridge={_shown(self.ridge)} to be finite, at most {MOST:g}.")
        check(is_probability(self.tail) and self.tail > 0, f"Expected 0 < tail={_shown(self.tail)} < 1.")
        known = is_probability(self.rare) or (_is_real(self.rare) and self.rare == 1)
        check(known, f"Expected 0 <= rare={_shown(self.rare)} <= 1.")


@dataclass(frozen=True)
class Response:
    """One record's own release by a mechanism of pure ``epsilon``: randomised response, or noise on a sphere."""

    epsilon: float

    def __post_init__(self) -> None:
        _check_amounts(self, "epsilon")


@dataclass(frozen=True)
class Shuffled:
    """The releases of ``records`` people, each (epsilon, delta)-private by itself, in an order that tells nothing."""

    epsilon: float
    delta: float
    records: int

    def __post_init__(self) -> None:
        _check_amounts(self, "epsilon")
        _check_probability("delta", self.delta)
        _check_counts(self, "records")


@dataclass(frozen=True)
class Rare:
    """With at most this ``probability`` a release is anything, and else the same for both of two neighbours."""

    probability: float

    def __post_init__(self) -> None:
        is_positive = is_probability(self.probability) and self.probability > 0
        check(is_positive, f"Expected 0 < probability={_shown(self.probability)} < 1, and at least {SMALLEST:g}.")


Trained = Gaussian | PoissonGaussian | SubsetGaussian | Objective
"""What a trial of a search may release: all of it composes with the Gaussian noise of its score."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The best of some trials by a score that is private itself: a trial releases one list of ``candidates``.

    Each list is as likely; the score's own event is its last. After each trial the run stops with probability ``stop``.
    """

    candidates: tuple[tuple[Event, ...], ...]
    stop: float

    def __post_init__(self) -> None:
        lists = isinstance(self.candidates, tuple) and all(isinstance(one, tuple) and one for one in self.candidates)
        check(lists and self.candidates, "Expected the candidates of a selection to be lists of events.")
        check(
            len(self.candidates) <= CANDIDATES and max(map(len, self.candidates)) <= CANDIDATES,
            f"Expected at most {CANDIDATES} candidates, and as many events of each.",
        )
        known = all(isinstance(event, Trained) for one in self.candidates for event in one)
        check(known, "Expected a candidate to release sums or minimisers with Gaussian noise, and nothing else.")
        bounded = _is_real(self.stop) and LEAST_STOP <= self.stop <= 1
        check(bounded, f"Expected {LEAST_STOP:g} <= stop={_shown(self.stop)} <= 1.")


Event = Trained | Sphere | Claimed | InputMinimum | Response | Shuffled | Rare | Selection

_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Event)}


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What events say of themselves, and what holds where a kind of event does not say it."""

    count: int = 1
    records: int = 0
    rows: int | None = None
    scale: float | None = None
    noise: str | None = None
    sensitivity: Sensitivity | None = None


_COMMON = {field.name for field in dataclasses.fields(Declared)}


def declared(event: Event) -> Declared:
    """The common facts of any event; a selection's are its candidates', with 0 rows, nobody's, where they differ."""
    if isinstance(event, Selection):
        parts = [declared(part) for one in event.candidates for part in one]
        rows: set[int | None] = {part.rows for part in parts if part.rows} or {None}
        return Declared(records=max(part.records for part in parts), rows=rows.pop() if len(rows) == 1 else 0)
    return Declared(**{name: value for name, value in vars(event).items() if name in _COMMON})


def to_dict(event: Event) -> dict[str, Any]:
    """An event as plain data, for JSON."""
    if isinstance(event, Selection):
        lists = [[to_dict(part) for part in one] for one in event.candidates]
        return {"kind": type(event).__name__, "candidates": lists, "stop": event.stop}
    return {"kind": type(event).__name__, **dataclasses.asdict(event)}


_NAMES = {"regularization": "strength"}
"""Fields of guarantees that were written before lambda and Lambda had two names."""


def from_dict(data: object) -> Event:
    """The event that :func:`to_dict` described; every field is checked again."""
    check(isinstance(data, dict), "Expected an event to be a mapping of fields.")
    assert isinstance(data, dict)  # for the type checker: check() raised above
    kind = _KINDS.get(str(data.get("kind")))
    check(kind is not None, "Expected an event of a known kind: " + ", ".join(_KINDS) + ".")
    assert kind is not None
    given = {_NAMES.get(name, name): value for name, value in data.items() if name != "kind"}
    check(len(given) == len(data) - 1, "Expected an event to state a field once.")
    if kind is Objective:
        given.setdefault("rows", 1)  # written before people had several
    fields = _fields(kind, given)
    if "sensitivity" in fields:
        fields["sensitivity"] = Sensitivity(**_fields(Sensitivity, fields["sensitivity"]))
    if kind is Selection:
        fields["candidates"] = _candidates(fields["candidates"])
    event: Event = kind(**fields)
    return event


def _candidates(data: object) -> tuple[tuple[Event, ...], ...]:
    """The lists of a selection; a selection within one is refused before it is looked into."""
    check(
        isinstance(data, list) and all(isinstance(one, list) for one in data) and len(data) <= CANDIDATES,
        f"Expected the candidates of a selection to be at most {CANDIDATES} lists of events.",
    )
    assert isinstance(data, list)  # for the type checker
    nested = any(isinstance(part, dict) and part.get("kind") == Selection.__name__ for one in data for part in one)
    check(not nested, "Expected no selection within a selection.")
    return tuple(tuple(from_dict(part) for part in one) for one in data)


def _fields(kind: type[Any], data: object) -> dict[str, Any]:
    """The fields of a kind of value, all of them and no other."""
    names = {field.name for field in dataclasses.fields(kind)}
    check(
        isinstance(data, dict) and set(data) == names,
        f"Expected a {kind.__name__} event to have exactly the fields {', '.join(sorted(names))}.",
    )
    return dict(data)  # type: ignore[call-overload,no-any-return]
