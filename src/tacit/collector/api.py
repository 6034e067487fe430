"""The public interface for programs: studies, submissions, withdrawals, models. No cookies, no accounts."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse
from starlette.routing import Route

from tacit.collector import replies, wire
from tacit.collector.collection import Collector
from tacit.collector.intake import Intake
from tacit.collector.refusals import BY_SENTENCE, NO_STUDY, UNREADABLE, Refused
from tacit.collector.studies import Study
from tacit.protocol import Protocol, Submission
from tacit.protocol.facts import facts

SLUG = "[a-z2-9]{10}"
Slug = Annotated[str, Path(pattern=f"^{SLUG}$", description="The name of a study.")]


def router(collector: Collector, intake: Intake) -> APIRouter:
    """The routes under ``/api``, and ``/healthz``."""
    routes = APIRouter(generate_unique_id_function=lambda route: route.name)

    @routes.get("/healthz", responses=replies.HEALTH)
    def health() -> JSONResponse:
        """Whether the service and its database answer."""
        collector.studies("published")
        return JSONResponse({"state": "well"})

    @routes.get("/api/studies", responses=replies.STUDIES)
    def studies() -> JSONResponse:
        """The studies that anyone may contribute to now, and those that have published a model.

        Studies that take invitations are not listed: whoever has one has their address.
        """
        found = [
            one for one in collector.studies("open", "published") if one.state == "published" or one.admission == "open"
        ]
        return JSONResponse([{"study": one.slug, "state": one.state, "title": one.title} for one in found])

    @routes.get("/api/studies/{study}", responses=replies.STUDY)
    def study(study: Slug) -> JSONResponse:
        """Everything public about one study: what a contributor's program needs.

        The count of contributions is among it, for whoever knows the study's address.
        """
        return JSONResponse(described(_shown(collector, study), collector.count(study)))

    @routes.post(
        "/api/studies/{study}/submissions", status_code=201, responses=replies.SUBMIT,
        openapi_extra=replies.taking(wire.SubmissionBody),
    )  # fmt: skip
    async def submit(study: Slug, request: Request) -> Response:
        """Count a submission, and give a receipt; the same submission again gets the same receipt, and counts once.

        So whoever is not sure whether it arrived sends the very same numbers again, and never new ones: a second draw
        of noise tells more about the same person.
        """
        return await submitted(request, study, intake)

    @routes.post(
        "/api/studies/{study}/withdrawals", responses=replies.WITHDRAW,
        openapi_extra=replies.taking(wire.WithdrawalBody),
    )  # fmt: skip
    async def withdraw(study: Slug, request: Request) -> JSONResponse:
        """Withdraw a submission, where the study allows it; anyone who knows its exact numbers may ask."""
        submission, _ = _read(await request.body())
        if submission is None:
            raise Refused(BY_SENTENCE[UNREADABLE])
        return JSONResponse(await intake.take_back(study, submission))

    @routes.get("/api/studies/{study}/model", responses=replies.MODEL)
    def model(study: Slug) -> Response:
        """The model file of a published study."""
        name = f'attachment; filename="{study}.json"'
        return Response(collector.model(study), 200, {"Content-Disposition": name}, "application/json")

    @routes.get("/api/studies/{study}/guarantees", responses=replies.GUARANTEES)
    def guarantees(study: Slug) -> JSONResponse:
        """What the model and what one record is promised: of the published model, else of the protocol."""
        found = _shown(collector, study)
        if found.state == "published" and found.model is not None:
            content = json.loads(found.model)
            return JSONResponse({"model": content["guarantee"], "record": content["record_guarantee"]})
        return JSONResponse(promised(found.protocol))

    return routes


def shortcut(intake: Intake) -> Route:
    """The route that many use at once, for the front of an application's: it does without the framework's own steps."""

    async def submit(request: Request) -> Response:
        return await submitted(request, request.path_params["study"], intake)

    return Route("/api/studies/{study}/submissions", submit, methods=["POST"], include_in_schema=False)


async def submitted(request: Request, study: str, intake: Intake) -> Response:
    """The answer to a request that brings a submission."""
    if not re.fullmatch(SLUG, study):
        raise Refused(NO_STUDY)
    submission, invitation = _read(await request.body())
    answer = await intake.bring(study, submission, invitation)
    return JSONResponse(answer.receipt, 201 if answer.new else 200)


def _shown(collector: Collector, slug: str) -> Study:
    """A study that the public may see: of a draft nobody is told that it exists."""
    found = collector.study(slug)
    if found.state == "draft":
        raise Refused(NO_STUDY)
    return found


@lru_cache(maxsize=64)
def promised(protocol: Protocol) -> dict[str, Any]:
    """Both guarantees that a protocol gives, for its cohort; pricing takes a while, so the last ones are remembered."""
    return {"model": protocol.guarantee().to_dict(), "record": protocol.record_guarantee().to_dict()}


def described(study: Study, count: int) -> dict[str, Any]:
    """A study, for programs."""
    protocol = study.protocol
    return {
        "study": study.slug, "state": study.state, "admission": study.admission, "withdrawal": protocol.withdrawal,
        "count": count, "cohort": protocol.numbers.cohort, "languages": sorted(study.texts) or ["en"],
        "texts": study.texts, "protocol": json.loads(protocol.to_json()), "facts": facts(protocol),
        "guarantees": promised(protocol),
    }  # fmt: skip


def _read(body: bytes) -> tuple[Submission | None, str | None]:
    """The submission and the invitation of a body; None for a submission that is none."""
    try:
        data = _DECODER.decode(body.decode("utf-8"))
        if not isinstance(data, dict) or not set(data) <= {"submission", "invitation"}:
            return None, None
        invitation = data.get("invitation")
        if not isinstance(invitation, str | None):
            return None, None
        return Submission.from_dict(data.get("submission")), invitation
    except (ValueError, RecursionError):
        return None, None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object that states every field once: of two, readers along the way would not agree which one counts."""
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("a field is stated twice")
    return entries


_DECODER = json.JSONDecoder(object_pairs_hook=_once)
