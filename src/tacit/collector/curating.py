"""The curator's pages: all studies, one study while it runs, what can be done to it, and the log of what was done."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from tacit.checks import at_most
from tacit.collector import acts, outlook
from tacit.collector.collection import SITE, Collector
from tacit.collector.engine import reading
from tacit.collector.forms import Form
from tacit.collector.live import Live
from tacit.collector.planning import add_planning
from tacit.collector.reception import Reception, Turned
from tacit.collector.refusals import Refused
from tacit.collector.studies import State, Study
from tacit.collector.trainer import Trainer, standing
from tacit.collector.visits import PATH, Visit

AT_ONCE = 5000
"""Invitations that one page shows; ask again for more."""
LINES = 500
"""Acts that the log's page shows."""
_STUDY = PATH + "/studies/{slug}"


@dataclass(frozen=True)
class Step:
    """Something that is done to a study once: when it is possible, and what a curator is told before."""

    name: str
    button: str
    before: tuple[State, ...]
    sentences: tuple[str, ...]


STEPS = {
    step.name: step
    for step in (
        Step("open", "Open the study", ("draft",), (
            "From now on the study accepts contributions, and its page can be seen by anyone who has the address, "
            "together with how many have contributed so far.",
            "If anyone may contribute, it is listed for everyone on the first page of this service and in its "
            "interface for programs. A study by invitation is listed once its model is published.",
            "It cannot become a draft again. It can be closed at any time.",
        )),
        Step("close", "Close the study", ("draft", "open"), (
            "The study accepts no more contributions. It cannot be opened again.",
            "Invitations that were not used can no longer be used.",
        )),
        Step("train", "Train the model", ("closed", "training"), (
            "One model is trained on all that was counted. A study gives one model: it cannot be trained a second "
            "time, because two models would share their contributors' noise, and together could show one person's "
            "record.",
            "Contributions can no longer be withdrawn.",
        )),
        Step("publish", "Publish the model", ("trained",), (
            "The model, with both guarantees, can be seen and downloaded by everyone. Downloads cannot be undone.",
        )),
    )
}  # fmt: skip
_LEDGER = "The model's guarantee is charged to the ledger that this service was started with."
_NO_LEDGER = (
    "This service was started without a ledger. The model's guarantee is charged to none, and only your own care "
    "prevents a restored backup of this study from being trained again."
)
_RECORD_ONLY = (
    "A training was begun before, and its model was not kept. It counts as released. For a model that is trained now, "
    "the guarantee of the model does not hold: what holds is the guarantee of one record alone, {record}.",
    "Do this only if no other process of this service is training this study.",
    "This cannot be undone.",
)


def router(collector: Collector) -> APIRouter:
    """All routes under ``/curator``; streams and trainings end with the service."""
    reception, trainer = Reception(collector), Trainer(collector)
    live = Live(lambda slug: outlook.outlook(collector, collector.study(slug), training=trainer.running(slug)))

    @asynccontextmanager
    async def life(app: Any) -> AsyncIterator[None]:
        app.state.live = live  # so that a server that is told to stop can end the streams, before it waits for them
        yield
        live.stop()
        await run_in_threadpool(trainer.stop)

    reception.routes.lifespan_context = life
    add_planning(reception)
    _add_pages(reception, trainer)
    _add_steps(reception, trainer)
    _add_invitations(reception)
    _add_stream(reception, live)
    return reception.routes


def _add_pages(reception: Reception, trainer: Trainer) -> None:
    collector = reception.collector

    def listed(_: Request, visit: Visit) -> Response:
        rows = [(one, collector.count(one.slug)) for one in collector.studies()]
        return reception.page("studies", visit, rows=rows)

    def logged(_: Request, visit: Visit) -> Response:
        with reading(collector.engine) as base:
            found, sound, last = acts.acts(base, LINES + 1), acts.verify(base), acts.last_digest(base)
        return reception.page("acts", visit, acts=found[:LINES], more=len(found) > LINES, sound=sound, last=last)

    def one(request: Request, visit: Visit) -> Response:
        return study_page(reception, trainer, collector.study(request.path_params["slug"]), visit)

    reception.look(PATH, listed)
    reception.look(f"{PATH}/acts", logged)
    reception.look(_STUDY, one)


def study_page(reception: Reception, trainer: Trainer, study: Study, visit: Visit) -> Response:
    """One study: its numbers, what can be done next, and what was done."""
    running = trainer.running(study.slug)
    with reading(reception.collector.engine) as base:
        done = [act for act in acts.acts(base) if act.study == study.slug]
    possible = [step for step in STEPS.values() if study.state in step.before and not running]
    protocol = study.protocol
    return reception.page(
        "study", visit, study=study, acts=done, steps=possible, failed=trainer.failed(study.slug), running=running,
        now=outlook.outlook(reception.collector, study, training=running), picture=outlook.ahead(protocol),
        standing=standing(reception.collector, study) if study.state == "training" and not running else "",
        made=outlook.made(study), delta=outlook.small(protocol.delta), holds=_record(study),
        record=at_most(protocol.record_guarantee().epsilon, 4),
        model=at_most(protocol.guarantee().epsilon, 4), caution=protocol.protects_little, at_once=AT_ONCE,
    )  # fmt: skip


def _record(study: Study) -> str:
    """The guarantee of one record, in words that do not make more of it than it is."""
    epsilon = at_most(study.protocol.record_guarantee().epsilon, 4)
    return f"epsilon = {epsilon}" + (", which is practically no protection" if study.protocol.protects_little else "")


def _add_steps(reception: Reception, trainer: Trainer) -> None:
    collector = reception.collector

    def chosen(request: Request) -> tuple[Study, Step]:
        step = STEPS.get(request.path_params["step"])
        if step is None:
            raise Turned(404, "There is no such page here.")
        return collector.study(request.path_params["slug"]), step

    def asked(request: Request, visit: Visit) -> Response:
        study, step = chosen(request)
        if study.state not in step.before:
            raise Turned(409, f"This study is {study.state}: that is not possible, or it was done already.")
        lost = study.state == "training" and standing(collector, study) == "lost"
        sentences = step.sentences
        if lost:
            sentences = tuple(sentence.format(record=_record(study)) for sentence in _RECORD_ONLY)
        if step.name == "train":
            sentences = (*sentences, _LEDGER if collector.ledger is not None else _NO_LEDGER)
        count, cohort = collector.count(study.slug), study.protocol.numbers.cohort
        people = cohort if step.name == "open" else count
        return reception.page(
            "confirm", visit, study=study, step=step, sentences=sentences, lost=lost, people=people, count=count,
            few=count < cohort and step.name in ("close", "train"), made=outlook.made(study),
            quality=outlook.so_far(study.protocol, people), hopeless=outlook.hopeless(study.protocol, people),
        )  # fmt: skip

    def done(request: Request, visit: Visit, form: Form) -> Response:
        study, step = chosen(request)
        try:
            if step.name == "train":
                _train(study, visit, form)
            else:
                change = {"open": collector.open, "close": collector.shut, "publish": collector.publish}[step.name]
                change(study.slug, who=visit.account)
        except ValueError as error:
            raise Turned(409, str(error)) from None
        return RedirectResponse(f"{PATH}/studies/{study.slug}", 303)

    def _train(study: Study, visit: Visit, form: Form) -> None:
        if study.state not in STEPS["train"].before:
            raise Turned(409, f"This study is {study.state}: it cannot be trained, or it was trained already.")
        lost = study.state == "training" and standing(collector, study) == "lost"
        accept = lost and form.get("accept") == "record"
        if lost and not accept and not trainer.running(study.slug):
            raise Turned(409, "What still holds has to be accepted first. Nothing was trained.")
        trainer.start(study.slug, who=visit.account, accept_record_guarantee=accept)

    reception.look(_STUDY + "/do/{step}", asked, acting=True)
    reception.act(_STUDY + "/do/{step}", done)


def _add_invitations(reception: Reception) -> None:
    def invited(request: Request, visit: Visit, form: Form) -> Response:
        slug, number = request.path_params["slug"], form.get("number", "").strip()
        if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= AT_ONCE):
            raise Turned(422, f"Please type how many invitations you need: a whole number from 1 to {AT_ONCE:,}.")
        public = reception.collector.public
        site = public or f"{request.url.scheme}://{request.headers['host']}"
        if not SITE.fullmatch(site):
            raise Turned(400, "Links cannot begin with the address that your browser used. Nothing was made.")
        try:
            codes = reception.collector.invite(slug, int(number), who=visit.account)
        except ValueError as error:
            raise Turned(409, str(error)) from None
        links = [f"{site}/s/{slug}#{code}" for code in codes]
        study = reception.collector.study(slug)
        rows = list(zip(codes, links, strict=True))
        return reception.page("invited", visit, study=study, rows=rows, site=site, told=public is not None,
                              **_files(codes, links))  # fmt: skip

    reception.act(_STUDY + "/invitations", invited)


def _files(codes: list[str], links: list[str]) -> dict[str, str]:
    """The codes as files within the page: they are made once and kept nowhere, so no address could give them later."""
    table = io.StringIO()
    csv.writer(table).writerows([("code", "link"), *zip(codes, links, strict=True)])
    return {"table": f"data:text/csv;charset=utf-8,{quote(table.getvalue())}",
            "plain": f"data:text/plain;charset=utf-8,{quote(chr(10).join(links) + chr(10))}"}  # fmt: skip


def _add_stream(reception: Reception, live: Live) -> None:
    async def events(request: Request) -> Response:
        try:
            visit = await run_in_threadpool(reception.visitor, request, using=False)
            study = await run_in_threadpool(reception.collector.study, request.path_params["slug"])
        except Turned as turned:
            return Response(status_code=turned.status)
        except Refused as refused:
            return Response(status_code=refused.refusal.status)
        if live.full:
            return Response(status_code=503)
        stream = live.stream(study.slug, lambda: reception.present(visit.token))
        return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    reception.routes.add_route(f"{_STUDY}/events", events, ["GET"], include_in_schema=False)
