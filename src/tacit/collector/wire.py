"""What goes over the wire, for the OpenAPI document: bodies and answers, with bounds and examples.

Nothing is parsed or checked with these models: the service reads bodies by itself (``api.py``), and the tests hold its
answers to this description.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tacit.protocol.facts import MOST_FEATURES

WHOLE = 2**53 - 1
"""Numbers of a submission are at most this large: every language reads such numbers exactly."""
_CODE = "[0-9A-HJKMNP-TV-Z]{5}"

Slug = Annotated[str, Field(pattern="^[a-z2-9]{10}$", examples=["k7m2xw9pqa"], description="The name of a study.")]
Fingerprint = Annotated[
    str, Field(pattern="^[0-9a-f]{32}$", examples=["0f" * 16], description="The checksum of a protocol.")
]
Content = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{32}$", examples=["a1" * 16],
        description="BLAKE2b of all q, then all p, as little-endian 64-bit whole numbers: 16 bytes, keyed with the "
        "protocol's fingerprint (ASCII), personal string 'tacit-submission'.",
    ),
]  # fmt: skip
Numbers = Annotated[
    list[Annotated[int, Field(ge=-WHOLE, le=WHOLE)]],
    Field(
        min_length=1, max_length=MOST_FEATURES, examples=[[1043, -88412, 7]],
        description="Whole steps of the study's grid, noise included; as many as `facts.features` says.",
    ),
]  # fmt: skip
State = Literal["open", "closed", "training", "trained", "published"]


class Strict(BaseModel):
    """Has the fields that are listed, and no others."""

    model_config = ConfigDict(extra="forbid")


class Submission(Strict):
    """One perturbed record: what `tacit.protocol.Protocol.perturb` and the browser's client make."""

    format: Literal["tacit-submission"]
    protocol: Fingerprint
    q: Numbers
    p: Numbers
    seeded: Literal[False] = Field(description="Noise that can be computed again protects nobody, and is refused.")


class SubmissionBody(Strict):
    """A submission, with the invitation that admits it (null where anyone may contribute)."""

    submission: Submission
    invitation: Annotated[str, Field(pattern=f"^{_CODE}(-{_CODE}){{3}}$")] | None = Field(
        None, examples=["7K3QZ-0M9XW-PA5RT-6B2HC"],
        description="Usable once. Case, spaces and hyphens do not matter, nor O for 0, I and L for 1.",
    )  # fmt: skip


class WithdrawalBody(Strict):
    """The very submission that is to be taken back: whoever knows its numbers may ask."""

    submission: Submission


class Receipt(Strict):
    """The service has stored the numbers with this content. The same submission always gets the same receipt."""

    study: Slug
    protocol: Fingerprint
    content: Content
    code: str = Field(
        pattern=f"^{_CODE}(-{_CODE}){{2}}$", examples=["9V1ZT-Q0DKM-3S7XE"],
        description="A keyed hash that only this service can make.",
    )  # fmt: skip


class Withdrawn(Strict):
    """The submission with this content is not counted, and does not come in again."""

    study: Slug
    content: Content
    withdrawn: Literal[True]


class Health(Strict):
    """The service and its database answer."""

    state: Literal["well"]


class Listed(Strict):
    """A study that takes submissions, or has published a model."""

    study: Slug
    state: Literal["open", "published"]
    title: str


class Guarantee(BaseModel):
    """What is promised, with its evidence: `tacit.Guarantee.from_dict` reads it, and `verify` computes it again."""

    format: Literal["tacit-guarantee"]
    epsilon: float | None = Field(description="null: no bound.")
    delta: float = Field(ge=0, le=1)
    status: Literal["proven", "claimed", "refuted"]
    records: int = Field(ge=0)
    protects: str
    assumptions: list[str]
    events: list[dict[str, Any]] = Field(description="What was, or is, released; the price follows from these alone.")
    checksum: str


class Guarantees(Strict):
    """Of the model, and of one record, whoever sees what its owner sends."""

    model: Guarantee
    record: Guarantee


class Part(Strict):
    """Noise, grid and limit of one half of a submission: `scale / step` is the noise in whole steps."""

    scale: float = Field(gt=0, description="The standard deviation of the noise.")
    step: float = Field(gt=0, description="A power of two.")
    limit: int = Field(ge=1, le=WHOLE, description="The largest Euclidean norm, in steps, that is counted.")


class Grid(Strict):
    """Rows are clipped to the limit, then rounded to whole steps."""

    step: float = Field(gt=0)
    limit: float = Field(gt=0)


class Facts(Strict):
    """The numbers that a contributor's program needs; how they are used is in the docs, page 'Input perturbation'."""

    format: Literal["tacit-facts"]
    version: Literal[1]
    protocol: Fingerprint
    delta: float = Field(gt=0, lt=1)
    features: int = Field(ge=1, le=MOST_FEATURES)
    width: int = Field(ge=1)
    clip: float = Field(gt=0)
    intercept: float = Field(ge=0, description="The constant behind every row; 0 where there is none.")
    curvature: float = Field(gt=0)
    root: float = Field(gt=0, description="The square root of the curvature.")
    slope: float = Field(gt=0)
    row: Part
    cross: Part
    rounding: Grid
    predicting: Grid
    encoding: dict[str, Any] | None = Field(description="How answers become a row.")
    target: dict[str, Any] = Field(description="Two classes, or bounds with their middle and half their width.")


class ProtocolFile(BaseModel):
    """The public agreement, as `tacit.protocol.Protocol.from_json` reads it; all of it is in the fingerprint."""

    format: Literal["tacit-protocol"]
    version: int
    fingerprint: Fingerprint
    purpose: str
    epsilon: float = Field(gt=0)
    delta: float = Field(gt=0, lt=1)
    columns: int = Field(ge=1)
    schema_: dict[str, Any] | None = Field(alias="schema", description="The questions, with their bounds and values.")
    target: dict[str, Any]
    numbers: dict[str, Any]


class Described(Strict):
    """Everything public about a study."""

    study: Slug
    state: State
    admission: Literal["invitation", "open"]
    withdrawal: bool = Field(description="Whether a submission can be withdrawn until the model is trained.")
    count: int = Field(ge=0, description="Submissions that are counted.")
    cohort: int = Field(ge=1, description="Contributors that the study is designed for.")
    languages: list[Literal["en", "de"]] = Field(min_length=1)
    texts: dict[str, dict[str, Any]] = Field(description="Title, purpose and labels of the questions, by language.")
    protocol: ProtocolFile
    facts: Facts
    guarantees: Guarantees


class ModelFile(BaseModel):
    """A model, as `tacit.files.load` reads it and `tacit verify` checks it."""

    format: Literal["tacit-model"]
    version: int
    guarantee: Guarantee
    record_guarantee: Guarantee
    checksum: str
