"""The answers of the interface as its document describes them: every refusal with its status, word and sentence."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pydantic import BaseModel

from tacit.collector import refusals as no
from tacit.collector import wire

Replies = dict[int | str, dict[str, Any]]
_MEANS = {
    400: "It is not a submission to this study.", 403: "It is not allowed.",
    404: "There is no such study, model or submission.", 408: "It took too long to arrive.",
    409: "It is too late, or it was done before.", 410: "The study does not accept submissions.",
    413: "It is too large.", 429: "There were too many requests.", 503: "The service cannot answer now.",
}  # fmt: skip
_RETRY = {"Retry-After": {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer"}}}


def refusing(*refusals: no.Refusal) -> Replies:
    """Refusals by status, for ``responses=`` of a route: which words there are, with the very answers as examples."""
    found: dict[int, list[no.Refusal]] = defaultdict(list)
    for one in refusals:
        found[one.status].append(one)
    return {status: _refused(status, group) for status, group in sorted(found.items())}


def _refused(status: int, group: list[no.Refusal]) -> dict[str, Any]:
    schema = {
        "type": "object", "required": ["reason", "detail"], "additionalProperties": False,
        "properties": {
            "reason": {"type": "string", "enum": sorted({one.reason for one in group}), "description": "For programs."},
            "detail": {"type": "string", "description": "For people. It never quotes what was sent."},
        },
    }  # fmt: skip
    examples = {one.reason: {"value": {"reason": one.reason, "detail": one.detail}} for one in group}
    content = {"application/json": {"schema": schema, "examples": examples}}
    return {"description": _MEANS[status], "content": content} | ({"headers": _RETRY} if status == 429 else {})


def giving(status: int, model: Any, description: str) -> Replies:
    """A good answer, described by a model; what is sent is not passed through it."""
    return {status: {"model": model, "description": description}}


def taking(model: type[BaseModel]) -> dict[str, Any]:
    """``openapi_extra=`` of a route that reads its body by itself."""
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


BODIES: tuple[type[BaseModel], ...] = (wire.SubmissionBody, wire.WithdrawalBody)
"""Models of bodies: no route names them, so the document takes them from here."""
_NOWHERE = (no.NO_STUDY, no.NO_PAGE)
_BODY = (*_NOWHERE, no.TOO_LARGE, no.TOO_SLOW, no.TOO_MANY, no.UNAVAILABLE)

HEALTH = giving(200, wire.Health, "All is well.") | refusing(no.ANSWERLESS)
STUDIES = giving(200, list[wire.Listed], "The studies.") | refusing(no.ANSWERLESS)
STUDY = giving(200, wire.Described, "The study.") | refusing(*_NOWHERE, no.ANSWERLESS)
MODEL = giving(200, wire.ModelFile, "The file.") | refusing(*_NOWHERE, no.NO_MODEL, no.ANSWERLESS)
GUARANTEES = giving(200, wire.Guarantees, "Both guarantees.") | refusing(*_NOWHERE, no.ANSWERLESS)
SUBMIT = (
    giving(200, wire.Receipt, "It was counted before: the same receipt again.")
    | giving(201, wire.Receipt, "It is counted, and on the disk.")
    | refusing(*_BODY, *no.BY_SENTENCE.values())
)
WITHDRAW = giving(200, wire.Withdrawn, "It is withdrawn, now or before.") | refusing(
    *_BODY, no.BY_SENTENCE[no.UNREADABLE], no.NO_WITHDRAWAL, no.NOT_COUNTED, no.TRAINED
)
