"""What was released: frozen, validated values that carry everything its price depends on, and nothing else.

Every event states its sensitivity under both adjacencies; ``None`` says that the analysis does not cover that one.
Prices are computed elsewhere (:mod:`tacit.curves`).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from tacit.checks import check, check_count, check_positive
from tacit.types import Adjacency


@dataclass(frozen=True)
class Sensitivity:
    """The largest change between neighbours: ``add_remove``, and ``replace_one``; None where it is not covered."""

    add_remove: float | None
    replace_one: float | None

    def __post_init__(self) -> None:
        for name in ("add_remove", "replace_one"):
            value = getattr(self, name)
            if value is not None:
                check_positive(name, value)

    @classmethod
    def of_record(cls, norm: float) -> Sensitivity:
        """One record's part of a sum has this norm at most: adding moves by it, replacing by twice it."""
        return cls(norm, 2.0 * norm)

    def under(self, adjacency: Adjacency) -> float | None:
        """The value for one adjacency."""
        return self.add_remove if adjacency == "add-remove" else self.replace_one

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
        check_positive("scale", self.scale)
        check_count("count", self.count)


@dataclass(frozen=True)
class PoissonGaussian:
    """``count`` noisy sums over Poisson samples: each record joins each sum independently with probability ``rate``.

    ``clip`` bounds the norm of one record's part of a sum.
    """

    clip: float
    scale: float
    rate: float
    count: int

    def __post_init__(self) -> None:
        check_positive("clip", self.clip)
        check_positive("scale", self.scale)
        check(0 < self.rate <= 1, f"Expected 0 < rate={self.rate} <= 1.")
        check_count("count", self.count)


@dataclass(frozen=True)
class SubsetGaussian:
    """``count`` noisy sums over uniformly drawn subsets of ``batch`` out of ``records`` records (replace-one only)."""

    clip: float
    scale: float
    batch: int
    records: int
    count: int

    def __post_init__(self) -> None:
        check_positive("clip", self.clip)
        check_positive("scale", self.scale)
        check_count("count", self.count)
        check(1 <= self.batch <= self.records, f"Expected 1 <= batch={self.batch} <= records={self.records}.")


@dataclass(frozen=True)
class Sphere:
    """One release with noise of density proportional to ``exp(-||b|| / scale)``: pure epsilon = sensitivity / scale.

    Several releases that use disjoint records count as one (parallel composition).
    """

    sensitivity: Sensitivity
    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)


@dataclass(frozen=True)
class Objective:
    """The exact minimiser of a sum of losses plus a random linear term ``<b, w>`` and (Lambda/2)||w||^2.

    ``slope`` bounds one record's gradient norm in one model and ``trace`` the trace of its Hessian; Lambda is
    ``regularization``. ``geometry`` says which gradients one record can have, whatever w, as a convex set of corners
    (see :func:`tacit.curves.corners`): 'logistic', 'monotone', 'two-sided' or 'simplex'. ``outputs`` counts the
    classes of a simplex, or the independent models. ``noise`` is 'gaussian' (standard deviation ``scale``) or 'sphere'
    (density proportional to exp(-||b||/scale)).
    """

    slope: float
    trace: float
    regularization: float
    scale: float
    geometry: str
    outputs: int = 1
    noise: str = "gaussian"

    def __post_init__(self) -> None:
        for name in ("slope", "trace", "regularization", "scale"):
            check_positive(name, getattr(self, name))
        check_count("outputs", self.outputs)
        kinds = ("logistic", "monotone", "two-sided", "simplex")
        check(self.geometry in kinds, f"Expected geometry={self.geometry!r} to be one of {', '.join(kinds)}.")
        check(self.noise in ("gaussian", "sphere"), f"Expected noise={self.noise!r} to be 'gaussian' or 'sphere'.")


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
        check_positive("epsilon", self.epsilon)
        check(0 <= self.delta < 1, f"Expected 0 <= delta={self.delta} < 1.")
        check(isinstance(self.reference, str) and self.reference, "Expected a claim to name its reference.")


@dataclass(frozen=True, kw_only=True)
class InputMinimum:
    """The minimiser over the ball of radius eta of a quadratic whose terms were perturbed by those who gave them.

    ``records`` submissions are added; ``honest`` of them, the differing one included, are (q + u, p - r) with
    ||q|| <= ``row``, ||p|| <= ``cross``, u of standard deviation ``row_scale`` a coordinate, and all those r together
    of standard deviation ``scale``. The others are anything, known to whoever has the model. ``ridge`` (Delta_in, of
    either sign) is added to the quadratic. ``tail`` is the probability given to each of two rare events of the row
    noise; ``rare`` that the run is not the one that is analysed (:func:`tacit.curves.input_delta`).
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
        for name in ("row", "cross", "radius", "scale"):
            check_positive(name, getattr(self, name))
        for name in ("features", "records", "honest"):
            check_count(name, getattr(self, name))
        check(self.honest <= self.records, f"Expected honest={self.honest} <= records={self.records}.")
        check(0 <= self.row_scale < float("inf"), f"Expected row_scale={self.row_scale} >= 0 and finite.")
        check(abs(self.ridge) < float("inf"), f"Expected ridge={self.ridge} to be finite.")
        check(0 < self.tail < 1, f"Expected 0 < tail={self.tail} < 1.")
        check(0 <= self.rare <= 1, f"Expected 0 <= rare={self.rare} <= 1.")


@dataclass(frozen=True)
class Response:
    """One record's own release by a mechanism of pure ``epsilon``: randomised response, or noise on a sphere."""

    epsilon: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)


@dataclass(frozen=True)
class Shuffled:
    """The releases of ``records`` people, each (epsilon, delta)-private by itself, in an order that tells nothing."""

    epsilon: float
    delta: float
    records: int

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check(0 <= self.delta < 1, f"Expected 0 <= delta={self.delta} < 1.")
        check_count("records", self.records)


Event = Gaussian | PoissonGaussian | SubsetGaussian | Sphere | Objective | Claimed | InputMinimum | Response | Shuffled

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Gaussian,
        PoissonGaussian,
        SubsetGaussian,
        Sphere,
        Objective,
        Claimed,
        InputMinimum,
        Response,
        Shuffled,
    )
}


def to_dict(event: Event) -> dict[str, Any]:
    """An event as plain data, for JSON."""
    return {"kind": type(event).__name__, **dataclasses.asdict(event)}


def from_dict(data: dict[str, Any]) -> Event:
    """The event that :func:`to_dict` described; every field is checked again."""
    fields = dict(data)
    kind = _KINDS.get(str(fields.pop("kind", "")))
    check(kind is not None, "Expected an event of a known kind: " + ", ".join(_KINDS) + ".")
    assert kind is not None  # for the type checker: check() raised above
    names = {f.name for f in dataclasses.fields(kind)}
    check(
        set(fields) == names, f"Expected a {kind.__name__} event to have exactly the fields {', '.join(sorted(names))}."
    )
    if "sensitivity" in fields:
        fields["sensitivity"] = Sensitivity(**fields["sensitivity"])
        numbers = [v for v in dataclasses.asdict(fields["sensitivity"]).values() if v is not None]
    else:
        numbers = []
    numbers += [fields[f.name] for f in dataclasses.fields(kind) if f.type in ("int", "float")]
    check(all(type(v) in (int, float) for v in numbers), "Expected numbers in an event where it has numbers.")
    event: Event = kind(**fields)
    return event
